"""The JSON of a request's body. What requests share (messages marked `cache`) is encoded once, not once per request."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

KEPT = 32 << 20
"""Bytes of encoded text that are kept: the shared prefixes of some hundred trajectories."""


class Encoder:
    """Encodes bodies and remembers shared texts, the latest used ones, up to `KEPT` bytes."""

    def __init__(self) -> None:
        self._texts: OrderedDict[str, bytes] = OrderedDict()
        self._fields: dict[str, tuple[Mapping[str, Any], bytes]] = {}
        self._size = 0
        self._lock = threading.Lock()

    def body(self, messages: Sequence[Mapping[str, Any]], fields: Mapping[str, Any]) -> bytes:
        """The body of a chat completion request.

        Args:
            messages: As in `Request.messages`; their marks are left out.
            fields: Everything else.
        """
        encoded = b",".join([self._message(message) for message in messages])
        return b'{"messages":[%s],%s' % (encoded, self._rest(fields)[1:])

    def _message(self, message: Mapping[str, Any]) -> bytes:
        content = message.get("content")
        shared = message.get("cache") or message.get("role") == "system"
        if not shared or not isinstance(content, str):
            return _json(plain(message))
        rest = {name: value for name, value in message.items() if name not in ("cache", "content")}
        return b'{"content":%s,%s' % (self._shared(content), _json(rest)[1:])

    def _rest(self, fields: Mapping[str, Any]) -> bytes:
        """Everything but the messages; mostly the same as in the request before."""
        name = str(fields.get("model"))
        known = self._fields.get(name)
        if known is None or known[0] != fields:
            known = self._fields[name] = (dict(fields), _json(fields))
        return known[1]

    def _shared(self, text: str) -> bytes:
        with self._lock:
            encoded = self._texts.pop(text, None)
            if encoded is None:
                encoded = _json(text)
                self._size += len(encoded)
            self._texts[text] = encoded
            while self._size > KEPT:
                self._size -= len(self._texts.popitem(last=False)[1])
        return encoded


def plain(message: Mapping[str, Any]) -> dict[str, Any]:
    """A message without its mark."""
    return {name: value for name, value in message.items() if name != "cache"}


def _json(value: Any) -> bytes:
    # ASCII: the fastest, and a lone surrogate in a transcript can't break it.
    return json.dumps(value, separators=(",", ":")).encode()
