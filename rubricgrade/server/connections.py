"""A connection that is not waited on for ever: the head of a request has to arrive in time, as its body has to."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle


class Connection(H11Protocol):
    """Closed when its next request does not come. The parser in pure Python is the one that bounds a head's size.

    Attributes:
        head_seconds: In which the head of a request has to arrive: from its first byte, the first one from the start.
    """

    head_seconds: float = 30.0
    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in its parent
        """Wait for the first request."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Wait for the rest of a head, unless it was all."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._rest()
        super().connection_lost(exc)

    def _watch(self) -> None:
        cycle: RequestResponseCycle | Any = self.cycle
        if cycle is not None and not cycle.response_complete:
            self._rest()
        elif self._late is None:
            self._late = self.loop.call_later(self.head_seconds, self.transport.close)

    def _rest(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None
