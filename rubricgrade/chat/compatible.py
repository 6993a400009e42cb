"""The built-in route to every endpoint that speaks OpenAI's chat completions: one POST over aiohttp."""

from __future__ import annotations

import asyncio
import io
import zlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import aiohttp

from rubricgrade.chat.contract import Request
from rubricgrade.chat.encoding import Encoder
from rubricgrade.chat.faults import Fault, Part, from_status, shown
from rubricgrade.chat.in_step import InStep
from rubricgrade.chat.loops import PerLoop
from rubricgrade.chat.reading import Answer, read_body

BODY_LIMIT = 8 << 20
"""Bytes of an answer, unpacked. A verdict takes a few thousand."""

OK = 200
_STREAMED = 1 << 20
"""Bytes from which on aiohttp wants a body as a stream."""


@dataclass(frozen=True, slots=True)
class Compatible:
    """An endpoint.

    Attributes:
        base: URL up to and without ``/chat/completions``, by the caller.
        name: The model's name there.
        key: Sent as a bearer token; None sends none.
        headers: Sent besides.
        extra: Fields of every request's body, as the caller wants them.
        proxy: URL of the proxy that leads there; None goes straight.
        official: Whether this is OpenAI itself, where ``max_tokens`` has a new name.
        cache_keys: Whether the model takes ``prompt_cache_key``, because it is OpenAI's.
    """

    base: str
    name: str
    key: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])
    proxy: str | None = None
    official: bool = False
    cache_keys: bool = False
    _encoder: Encoder = field(default_factory=Encoder, repr=False)

    @property
    def shown_base(self) -> str:
        """The base as it may be shown: without a user, a password or a query."""
        parts = urlsplit(self.base)
        return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))

    async def ready(self) -> None:
        """Nothing is to be done."""

    async def send(self, request: Request, left_out: Collection[Part]) -> Answer:
        """As `Route.send`."""
        body = self._body(request, left_out)
        headers = {"content-type": "application/json", "accept-encoding": "gzip, deflate", **self.headers}
        if self.key:
            headers["authorization"] = f"Bearer {self.key}"
        client = await _clients.get()
        try:
            async with (
                asyncio.timeout(request.timeout),
                client.post(
                    f"{self.base}/chat/completions",
                    data=io.BytesIO(body) if len(body) > _STREAMED else body,
                    headers=headers,
                    allow_redirects=False,
                    proxy=self.proxy,
                    timeout=_NO_TIMEOUT,
                ) as response,
            ):
                if request.on_begin and response.status == OK:
                    request.on_begin()
                raw = await _read(response)
        except TimeoutError:
            raise Fault("timeout", f"no answer within {request.timeout:g} s", maybe_billed=True) from None
        except (aiohttp.ClientConnectorError, aiohttp.ClientProxyConnectionError) as error:
            raise Fault("unreachable", shown(str(error), self.key)) from None
        except aiohttp.InvalidURL:
            raise Fault("not_found", "the base is no URL") from None
        except zlib.error as error:
            raise Fault("unreadable", f"an answer that can't be unpacked: {error}", maybe_billed=True) from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            detail = f"the connection broke: {type(error).__name__} {shown(str(error), self.key)}"
            raise Fault("unreachable", detail, maybe_billed=True) from None
        if response.status != OK:
            raise from_status(response.status, raw.decode("utf-8", "replace"), response.headers, key=self.key)
        return read_body(raw, key=self.key)

    def _body(self, request: Request, left_out: Collection[Part]) -> bytes:
        fields: dict[str, Any] = dict(self.extra)
        fields["model"] = self.name
        if request.max_tokens is not None:
            new_name = self.official or "max_tokens" in left_out
            fields["max_completion_tokens" if new_name else "max_tokens"] = request.max_tokens
        if request.temperature is not None and "temperature" not in left_out:
            fields["temperature"] = request.temperature
        if request.schema is not None and "schema" not in left_out:
            fields["response_format"] = response_format(request.schema)
        if request.tools:
            fields["tools"] = list(request.tools)
        if request.cache_key and self.cache_keys and "cache_key" not in left_out:
            fields["prompt_cache_key"] = request.cache_key
        return self._encoder.body(request.messages, fields)


_NO_TIMEOUT = aiohttp.ClientTimeout(total=None)


def _open_client() -> aiohttp.ClientSession:
    # The limit on calls is `slots`', over all loops; unpacking is ours, within bounds.
    return aiohttp.ClientSession(connector=InStep(limit=0), cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=False)


_clients = PerLoop(_open_client, aiohttp.ClientSession.close)
"""One client per process and loop, never one per call."""


def response_format(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON schema in OpenAI's envelope."""
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema, "strict": True}}


async def _read(response: aiohttp.ClientResponse) -> bytes:
    """The whole body, unpacked, within `BODY_LIMIT`."""
    encoding = response.headers.get("content-encoding", "identity").lower()
    unpack = _unpacker(encoding)
    body = bytearray()
    while chunk := await response.content.readany():
        body += unpack.decompress(chunk, BODY_LIMIT + 1 - len(body)) if unpack else chunk
        if len(body) > BODY_LIMIT:
            response.close()
            raise Fault("unreadable", f"an answer of more than {BODY_LIMIT >> 20} MiB", maybe_billed=True)
        if unpack and unpack.unused_data:
            response.close()
            raise Fault("unreadable", "an answer with something behind its packed end", maybe_billed=True)
    if unpack and not unpack.eof:
        raise Fault("unreadable", "an answer whose packed end is missing", maybe_billed=True)
    return bytes(body)


def _unpacker(encoding: str) -> Any:
    match encoding:
        case "identity" | "":
            return None
        case "gzip" | "x-gzip" | "deflate":
            # 32 + 15: zlib's or gzip's header, whichever is there.
            return zlib.decompressobj(32 + zlib.MAX_WBITS)
        case _:
            raise Fault("unreadable", f"an answer packed as {shown(encoding)!r}, which was not asked for")
