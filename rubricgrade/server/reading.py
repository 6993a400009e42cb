"""Reading the body of a request: within limits of size and time while it streams, as JSON or as a form with files."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any

from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.types import Message

from rubricgrade.errors import Fault, InputError
from rubricgrade.readers.jsontext import NotJson, parse
from rubricgrade.readers.shapes import as_object
from rubricgrade.server.readers import Readers
from rubricgrade.server.refusing import CLOSE, Refused
from rubricgrade.server.room import Share
from rubricgrade.server.scratch import Scratch
from rubricgrade.server.settings import Limits

LARGE = 256 << 10
"""Bytes from which a body is parsed in a thread: other requests need not wait for it."""
MOST_FILES = 3
LARGEST_FIELD = 1 << 30
"""A field is a part of the body, which has its own limit."""

JSON = "application/json"
FORM = "multipart/form-data"


@dataclass(frozen=True, slots=True)
class Body:
    """A request's body.

    Attributes:
        value: The JSON object.
        notes: What was changed while parsing.
        files: Where the files of a form lie, by field.
    """

    value: Mapping[str, Any]
    notes: tuple[str, ...] = ()
    files: Mapping[str, Path] = field(default_factory=dict[str, Path])


async def read_body(request: Request, limits: Limits, scratch: Scratch, readers: Readers) -> Body:
    """The body of a request.

    Args:
        request: Nothing of its body was read yet.
        limits: Of the server.
        scratch: Its share grows with what is read; gets the files of a form.
        readers: Parse what is large.

    Raises:
        TooLate: It could not be parsed in time.
        Refused: It is of another type, too large, too slow, or there is no room for it.
        InputError: It is no JSON object.
        ClientDisconnect: The client went away.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in (JSON, FORM):
        message = f"the body must be {JSON}, or {FORM} with files, not {kind or 'of no type'!r}"
        raise Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "wrong_type", message, CLOSE)
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        message = "the body must not be compressed; only workspaces are, as .tar.zst"
        raise Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "wrong_type", message, CLOSE)
    until = asyncio.get_running_loop().time() + limits.timeout
    limited = _Limited(request, limits.body, scratch.share)
    seconds = min(limits.read_timeout, limits.timeout)
    try:
        async with asyncio.timeout(seconds):
            text = await (_json(limited) if kind == JSON else _form(limited, scratch))
    except TimeoutError:
        message = f"the body did not arrive within {seconds:g} s"
        raise Refused(HTTPStatus.REQUEST_TIMEOUT, "too_slow", message, CLOSE) from None
    if len(text.data) > LARGE:
        return await readers.read(partial(_parsed, text), scratch, until)
    return _parsed(text)


class _Limited(Request):
    """A request whose body is counted while it arrives."""

    def __init__(self, request: Request, most: int, share: Share) -> None:
        super().__init__(request.scope, self._counted)
        self._source = request.receive
        self._most = most
        self._share = share
        declared = request.headers.get("content-length", "")
        if declared.isdecimal() and int(declared) > most:
            raise self._too_large()

    async def _counted(self) -> Message:
        message = await self._source()
        size = len(message.get("body", b""))
        if self._share.size + size > self._most:
            raise self._too_large()
        self._share.grow(size)
        return message

    def _too_large(self) -> Refused:
        message = f"the request has more than the {self._most} bytes that are taken"
        return Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too_large", message, CLOSE)


@dataclass(frozen=True, slots=True)
class _Text:
    """A JSON text before it is parsed, what to call it, and the files that came with it."""

    data: bytes
    name: str
    files: Mapping[str, Path] = field(default_factory=dict[str, Path])


async def _json(request: Request) -> _Text:
    return _Text(await request.body(), "body")


async def _form(request: Request, scratch: Scratch) -> _Text:
    files: dict[str, Path] = {}
    async with request.form(max_files=MOST_FILES, max_fields=1, max_part_size=LARGEST_FIELD) as form:
        items = dict(form.multi_items())
        asked = items.pop("request", None)
        if asked is None or len(items) + 1 != len(form.multi_items()):
            raise InputError("a form has one field 'request', which is JSON, and each of its files once")
        data = await asked.read() if isinstance(asked, UploadFile) else asked.encode()
        for number, (name, upload) in enumerate(items.items()):
            if not isinstance(upload, UploadFile):
                raise InputError(f"form field {name!r} must be a file")
            files[name] = scratch.path(f"form-{number}")
            await asyncio.to_thread(_copy, upload, files[name])
    return _Text(data, "request", files)


def _copy(upload: UploadFile, to: Path) -> None:
    with to.open("xb") as file:
        shutil.copyfileobj(upload.file, file)


def _parsed(text: _Text) -> Body:
    try:
        value, notes = parse(text.data.decode())
    except UnicodeDecodeError as error:
        raise InputError(Fault(f"is not UTF-8: byte {error.start} can't be read", text.name)) from None
    except NotJson as error:
        raise InputError(Fault(error.reason, text.name, error.line, error.column)) from None
    fields = as_object(value)
    if fields is None:
        raise InputError(Fault("must be a JSON object", text.name))
    return Body(fields, notes, text.files)


async def gone(request: Request) -> None:
    """Return when the client has gone away. For a request whose body was read."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
