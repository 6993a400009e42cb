"""The JSON of a request's body. Messages that come again, in other requests, are encoded once."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

KEPT = 32 << 20
"""Bytes of encoded messages that are kept: the shared prefixes of some hundred trajectories."""

_PLAIN_KEYS = {"role", "content", "cache"}


class Encoder:
    """Encodes bodies and remembers messages, the latest used ones, up to `KEPT` bytes."""

    def __init__(self) -> None:
        self._messages: OrderedDict[tuple[Any, str], bytes] = OrderedDict()
        self._fields: dict[str, tuple[Mapping[str, Any], bytes]] = {}
        self._size = 0
        self._lock = threading.Lock()

    def body(self, messages: Sequence[Mapping[str, Any]], fields: Mapping[str, Any]) -> bytes:
        """The body of a chat completion request.

        Args:
            messages: As in `Request.messages`; their marks are left out.
            fields: Everything else.
        """
        # Joined once: a record is long.
        parts = [b'{"messages":[']
        for number, message in enumerate(messages):
            parts += (b"," if number else b"", self._message(message))
        return b"".join([*parts, b"],", self._rest(fields)[1:]])

    def _message(self, message: Mapping[str, Any]) -> bytes:
        content = message.get("content")
        if not isinstance(content, str) or not message.keys() <= _PLAIN_KEYS:
            return _json(plain(message))
        name = message.get("role"), content
        with self._lock:
            encoded = self._messages.pop(name, None)
            if encoded is None:
                encoded = _json(plain(message))
                self._size += len(encoded)
            self._messages[name] = encoded
            while self._size > KEPT:
                self._size -= len(self._messages.popitem(last=False)[1])
        return encoded

    def _rest(self, fields: Mapping[str, Any]) -> bytes:
        """Everything but the messages; mostly the same as in the request before."""
        name = str(fields.get("model"))
        known = self._fields.get(name)
        if known is None or known[0] != fields:
            known = self._fields[name] = (dict(fields), _json(fields))
        return known[1]


def plain(message: Mapping[str, Any]) -> dict[str, Any]:
    """A message without its mark."""
    return {name: value for name, value in message.items() if name != "cache"}


def _json(value: Any) -> bytes:
    # ASCII: the fastest, and a lone surrogate in a transcript can't break it.
    return json.dumps(value, separators=(",", ":")).encode()
