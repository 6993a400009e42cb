"""Places that are called, an API's origin or a provider, with what limits the calls to each and to all of them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from types import TracebackType

from rubricgrade.chat.pacing import Pace
from rubricgrade.chat.sharing import Ask, Purpose
from rubricgrade.chat.slots import Slots

Waiting = AbstractAsyncContextManager[None]


@dataclass(slots=True)
class _Place:
    """Calls at a time are limited for all that is asked of a place, calls a minute for each purpose by itself."""

    slots: Slots = field(default_factory=Slots)
    paces: Mapping[Purpose, Pace] = field(default_factory=lambda: {"judge": Pace(), "agent": Pace()})


class Places:
    """Places by name: the origin of an API (``https://host:port``), or a provider's name."""

    def __init__(self) -> None:
        self._places: dict[str, _Place] = {}
        self._totals: Mapping[Purpose, Slots] = {"judge": Slots(), "agent": Slots()}

    def call(self, ask: Ask) -> Waiting:
        """Wait until an attempt may be made; the block is the attempt."""
        # Several threads may be the first to ask.
        place = self._places.get(ask.place) or self._places.setdefault(ask.place, _Place())
        # First one of the place's: who waits for a place that is busy keeps no others from theirs.
        slots = _Both(place.slots.slot(ask.limit), self._totals[ask.purpose].slot(ask.total))
        if not (ask.per_minute or ask.load):
            return slots
        return _Paced(slots, place.paces[ask.purpose], ask.per_minute, ask.load)

    def correct(self, ask: Ask, load: float) -> None:
        """Say what load an attempt did turn out to be."""
        self._places[ask.place].paces[ask.purpose].correct(load - ask.load)


@dataclass(frozen=True, slots=True)
class _Both(Waiting):
    """One after the other."""

    first: Waiting
    second: Waiting

    async def __aenter__(self) -> None:
        await self.first.__aenter__()
        try:
            await self.second.__aenter__()
        except BaseException as error:
            await self.first.__aexit__(type(error), error, error.__traceback__)
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.second.__aexit__(kind, error, trace)
        await self.first.__aexit__(kind, error, trace)


@dataclass(frozen=True, slots=True)
class _Paced(Waiting):
    """Slots that are taken when it is the call's turn: who waits for that keeps none from others."""

    slots: Waiting
    pace: Pace
    per_minute: float | None
    load: float

    async def __aenter__(self) -> None:
        async with self.pace.start(self.per_minute, self.load):
            await self.slots.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self.slots.__aexit__(kind, error, trace)


_here: dict[int, Places] = {}


def places() -> Places:
    """The process's own. A forked child starts anew."""
    process = os.getpid()
    return _here.get(process) or _here.setdefault(process, Places())
