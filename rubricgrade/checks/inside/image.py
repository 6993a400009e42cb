"""``image``: width, height and format of a PNG, JPEG or GIF, from its header."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

from rubricgrade.checks.inside.case import BadArtifact, Case, CheckResult, Seen

PNG = b"\x89PNG\r\n\x1a\n"
NOT_FRAMES = frozenset({0xC4, 0xC8, 0xCC})
"""JPEG markers between C0 and CF that start no frame."""


def check(case: Case, spec: Mapping[str, Any]) -> CheckResult:
    """Met when everything that is asked of format, width and height holds."""
    path = spec["path"]
    form, width, height = read_header(case.read_bytes(path), path)
    found = {"format": form, "width": width, "height": height}
    wanted = {key: spec[key] for key in found if spec.get(key) is not None}
    met = all(found[key] == value for key, value in wanted.items())
    message = f"{path}: {form}, {width} x {height} pixels"
    if not met:
        message += f"; expected {', '.join(f'{key} {value}' for key, value in wanted.items())}"
    fields = {"width": float(width), "height": float(height)}
    return CheckResult(met, fields=fields, evidence=[Seen(message, path)], message=message)


def read_header(data: bytes, path: str) -> tuple[str, int, int]:
    """Format, width and height. Raises `BadArtifact` when it is none of the three."""
    try:
        if data.startswith(PNG) and data[12:16] == b"IHDR":
            width, height = struct.unpack(">II", data[16:24])
            return "png", width, height
        if data.startswith((b"GIF87a", b"GIF89a")):
            width, height = struct.unpack("<HH", data[6:10])
            return "gif", width, height
        if data.startswith(b"\xff\xd8"):
            return "jpeg", *_jpeg_size(data)
    except struct.error:
        raise BadArtifact(path, "is an image that ends within its header") from None
    raise BadArtifact(path, "is no PNG, JPEG or GIF image")


def _jpeg_size(data: bytes) -> tuple[int, int]:
    position = 2
    while True:
        prefix, marker = struct.unpack(">BB", data[position : position + 2])
        if prefix != 0xFF:  # noqa: PLR2004 - every JPEG marker begins with this byte
            raise struct.error
        if marker == 0xFF:  # noqa: PLR2004 - fill bytes before a marker
            position += 1
            continue
        (length,) = struct.unpack(">H", data[position + 2 : position + 4])
        if 0xC0 <= marker <= 0xCF and marker not in NOT_FRAMES:  # noqa: PLR2004 - start of frame
            height, width = struct.unpack(">HH", data[position + 5 : position + 9])
            return width, height
        position += 2 + max(length, 2)
