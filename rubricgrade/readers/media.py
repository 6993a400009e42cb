"""Images and other binary content: decoded, measured and hashed, so that base64 never stands in a text."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any

from rubricgrade.digest import of_bytes
from rubricgrade.readers.shapes import as_list, as_object
from rubricgrade.trajectory import Image

MEDIA_TYPE = re.compile(r"[\w.+-]{1,60}/[\w.+*-]{1,80}\Z", re.ASCII)
# A base64 text of this length is an image, a sound or a document; no word of a language is.
LONG = 500
SIGNATURES = {"iVBORw0KGgo": "image/png", "/9j/": "image/jpeg", "R0lGOD": "image/gif", "UklGR": "image/webp"}
INLINE = re.compile(
    r"data:(?P<type>image/[\w.+-]{1,40})(?:;[\w=.-]{1,40}){0,4};base64,(?P<data>[A-Za-z0-9+/_-]{64,}={0,2})"
    rf"|(?<![\w+/])(?P<bare>(?P<mark>{'|'.join(map(re.escape, SIGNATURES))})[A-Za-z0-9+/]{{{LONG},}}={{0,2}})",
    re.ASCII,
)
BASE64 = re.compile(rf"(?:data:[\w./+;=-]{{1,120}},)?[A-Za-z0-9+/_-]{{{LONG},}}={{0,2}}\Z", re.ASCII)


def image_of(source: str, media_type: str | None = None) -> Image | None:
    """An image from base64 or a data URL; None when it can't be decoded.

    The data is kept in one canonical spelling, so that the same image always has the same hash.
    """
    if source.startswith("data:"):
        head, _, source = source.partition(",")
        media_type = head[len("data:") :].split(";", 1)[0] or media_type
    try:
        packed = "".join(source.split()).replace("-", "+").replace("_", "/").rstrip("=")
        data = base64.b64decode(packed + "=" * (-len(packed) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None
    if not data:
        return None
    return Image(
        media_type=_media_type(media_type),
        sha256=of_bytes(data).removeprefix("sha256:"),
        size=len(data),
        data=base64.b64encode(data).decode(),
    )


def image_at(url: str, media_type: str | None = None) -> Image:
    """An image that is only known by its URL or file name. It is never fetched."""
    return Image(media_type=_media_type(media_type), url=url[:2000])


def taken_out(text: str) -> tuple[str, list[Image]]:
    """The text with every inline image of some size replaced by a placeholder, and those images."""
    if "data:image/" not in text and not any(mark in text for mark in SIGNATURES):
        return text, []
    images: list[Image] = []

    def take(found: re.Match[str]) -> str:
        media_type = found["type"] or SIGNATURES[found["mark"]]
        data = found["data"] or found["bare"]
        image = image_of(data, media_type)
        if image is None:
            return f"[{media_type} data of {len(data)} characters that can't be decoded]"
        images.append(image)
        return image.placeholder

    return INLINE.sub(take, text), images


def without_binary(value: Any, images: list[Image]) -> tuple[Any, bool]:
    """A JSON value without base64: images go to `images`, other long base64 becomes its size and hash.

    Returns:
        The value, with placeholders; and whether anything that is no image was left out.
    """
    if isinstance(value, str):
        text, found = taken_out(value)
        images.extend(found)
        if BASE64.match(text):
            return f"[{len(text)} characters of base64, {of_bytes(text.encode())[:19]}]", True
        return text, False
    fields = as_object(value)
    if fields is not None:
        slim = {key: without_binary(item, images) for key, item in fields.items()}
        return {key: item for key, (item, _) in slim.items()}, any(cut for _, cut in slim.values())
    entries = as_list(value)
    if entries is not None:
        rest = [without_binary(item, images) for item in entries]
        return [item for item, _ in rest], any(cut for _, cut in rest)
    return value, False


def _media_type(name: str | None) -> str:
    return name if name and MEDIA_TYPE.match(name) else "image/*"
