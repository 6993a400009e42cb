"""Keeps our calls by way of litellm within bounds: no answer of any size or to another question, no other place.

httpx unpacks whatever comes. On the way to another host it takes the Authorization header off, but no other one with a
key in it (Anthropic's, Gemini's), and not the prompt. What else in the process calls litellm keeps its ways.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import AsyncIterator, Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import httpx

from rubricgrade.chat.compatible import BODY_LIMIT
from rubricgrade.chat.in_step import InStep

PACKED_LIMIT = BODY_LIMIT // 64
"""Bytes of an answer that is packed: zlib makes up to a thousand times as much of them."""


@dataclass(frozen=True, slots=True)
class _Call:
    """A call of ours: what is to be told when its answer begins, and the bodies that came."""

    on_begin: Callable[[], None] | None
    bodies: list[bytes] = field(default_factory=list[bytes])


_ours: ContextVar[_Call | None] = ContextVar("ours", default=None)
_UNPACKED, _PACKED = ("", "identity"), ("gzip", "deflate")


class _Bounded(httpx.AsyncByteStream):
    """A body that ends with an error where it is too long."""

    def __init__(self, stream: httpx.AsyncByteStream, limit: int, request: httpx.Request) -> None:
        self._stream = stream
        self._limit = limit
        self._request = request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._stream:
            size += len(chunk)
            if size > self._limit:
                raise httpx.ReadError(f"an answer of more than {self._limit:,} bytes", request=self._request)
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


@contextmanager
def bounded(on_begin: Callable[[], None] | None = None) -> Generator[list[bytes]]:
    """Whatever is called in the block is a call of ours; yields the bodies of its answers as they come, no errors.

    Args:
        on_begin: Called when the headers of an answer have come, and it is no error.
    """
    call = _Call(on_begin)
    token = _ours.set(call)
    try:
        yield call.bodies
    finally:
        _ours.reset(token)


async def _unpackable(request: httpx.Request) -> None:
    """Ask for nothing that is packed in a way that can't be bounded."""
    if _ours.get() is not None:
        request.headers["accept-encoding"] = ", ".join(_PACKED)


async def _bound(response: httpx.Response) -> None:
    """Bound the body of an answer, which has not been read yet, keep it, and go nowhere that it sends us."""
    call = _ours.get()
    if call is None:
        return
    response.headers.pop("location", None)
    encoding = response.headers.get("content-encoding", "").lower()
    if encoding not in (*_UNPACKED, *_PACKED):
        raise httpx.ReadError("an answer packed in a way that was not asked for", request=response.request)
    if isinstance(response.stream, httpx.AsyncByteStream):
        limit = PACKED_LIMIT if encoding in _PACKED else BODY_LIMIT
        response.stream = _Bounded(response.stream, limit, response.request)
        if response.is_success:
            if call.on_begin:
                call.on_begin()
            # Read here, unpacked; whoever asks for it afterwards gets the same.
            call.bodies.append(await response.aread())


def bound_litellm() -> None:
    """Have the clients that litellm makes from now on, for itself and for OpenAI's library, know calls of ours."""
    handlers: Any = importlib.import_module("litellm.llms.custom_httpx.http_handler")
    handlers.TCPConnector = InStep
    own: Any = handlers.AsyncHTTPHandler
    openai: Any = importlib.import_module("litellm.llms.openai.common_utils").BaseOpenAILLM
    own.create_client = _bounding(own.create_client)
    # Private, but the one place where these are made.
    openai._get_async_http_client = staticmethod(_bounding(openai._get_async_http_client))  # noqa: SLF001 - as above


def _bounding(make: Callable[..., httpx.AsyncClient | None]) -> Callable[..., httpx.AsyncClient | None]:
    @functools.wraps(make)
    def made(*args: Any, **named: Any) -> httpx.AsyncClient | None:
        client = make(*args, **named)
        if client is not None:
            client.event_hooks["request"].append(_unpackable)
            client.event_hooks["response"].append(_bound)
        return client

    return made
