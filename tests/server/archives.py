"""Archives that no packer of ours would make."""

from __future__ import annotations

import base64
import io
import tarfile

import zstandard


def archive(name: str, content: bytes = b"", link: str = "") -> str:
    """Base64 of a ``.tar.zst`` with one entry."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        info = tarfile.TarInfo(name)
        info.size, info.linkname = len(content), link
        info.type = tarfile.SYMTYPE if link else tarfile.REGTYPE
        tar.addfile(info, io.BytesIO(content))
    return base64.b64encode(zstandard.compress(made.getvalue())).decode()
