"""A place that is called, an API's origin or a provider, with what limits the calls to it over the whole process."""

from __future__ import annotations

import os
from collections import defaultdict
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from types import TracebackType

from rubricgrade.chat.pacing import Pace
from rubricgrade.chat.sharing import Purpose
from rubricgrade.chat.slots import Slots

_places: dict[tuple[int, str], Place] = {}


class Place:
    """Calls at a time are limited for all that is asked of the place, calls a minute for each purpose by itself."""

    def __init__(self) -> None:
        self._slots = Slots()
        self._paces: defaultdict[Purpose, Pace] = defaultdict(Pace)

    def call(
        self, purpose: Purpose, limit: int, per_minute: float | None = None, load: float = 0.0
    ) -> AbstractAsyncContextManager[None]:
        """Wait until a call may be made; the block is the call.

        Args:
            purpose: What it is for.
            limit: As in `Slots.slot`.
            per_minute: As in `Pace.start`; None sets no pace.
            load: As in `Pace.start`. A call with neither does not count for others' paces.
        """
        slot = self._slots.slot(limit)
        return _Paced(slot, self._paces[purpose], per_minute, load) if per_minute or load else slot

    def correct(self, purpose: Purpose, seconds: float) -> None:
        """As `Pace.correct`."""
        self._paces[purpose].correct(seconds)


@dataclass(frozen=True, slots=True)
class _Paced(AbstractAsyncContextManager[None]):
    """A slot that is taken when it is the call's turn: who waits for that keeps no slot from others."""

    slot: AbstractAsyncContextManager[None]
    pace: Pace
    per_minute: float | None
    load: float

    async def __aenter__(self) -> None:
        async with self.pace.start(self.per_minute, self.load):
            await self.slot.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self.slot.__aexit__(kind, error, trace)


def place_of(name: str) -> Place:
    """The process's place of a name: the origin of an API (``https://host:port``), or a provider's name.

    A forked child starts with places of its own.
    """
    return _places.setdefault((os.getpid(), name), Place())
