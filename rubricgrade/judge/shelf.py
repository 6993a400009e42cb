"""The records of one grade: made once for all criteria that see the same, fitted to the room that the judge has."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from rubricgrade.errors import JudgeError, RubricgradeError
from rubricgrade.evidence import Document
from rubricgrade.judge.record import Record, Sight
from rubricgrade.judge.room import LEAST, VIEW_SHARE
from rubricgrade.judge.view import View, fitted
from rubricgrade.trajectory import Trajectory


class Documents(Protocol):
    """Gives the text of files, and pictures of their pages, by globs over the workspace and over the world."""

    async def __call__(
        self, globs: Sequence[str], *, world: Sequence[str] = (), pictures: bool = False
    ) -> tuple[Document, ...]:
        """Extract them, and draw pages if asked to. Raises an error of ours when that fails for a reason of ours."""
        ...


@dataclass(slots=True)
class _Shared:
    making: asyncio.Lock = field(default_factory=asyncio.Lock)
    record: Record | None = None
    fault: RubricgradeError | None = None
    views: dict[int, View | JudgeError] = field(default_factory=dict[int, View | JudgeError])


class Shelf:
    """Of one grade.

    Attributes:
        room: Characters of a prompt; less once a model has refused one for its length.
    """

    def __init__(self, trajectory: Trajectory, documents: Documents | None, room: int, *, seeing: bool = False) -> None:
        self._trajectory = trajectory
        self._seeing = seeing
        self._documents = documents
        self._shared: defaultdict[Sight, _Shared] = defaultdict(_Shared)
        self.room = room

    @property
    def view_room(self) -> int:
        """Characters that a view may take."""
        return int(self.room * VIEW_SHARE)

    async def of(self, sight: Sight) -> Record:
        """What a sight holds.

        Raises:
            RubricgradeError: Its files can't be read, for a reason of ours.
        """
        shared = self._shared[sight]
        if shared.record is None:
            async with shared.making:
                await self._make(shared, sight)
        if shared.record is None:
            raise shared.fault or JudgeError("the record could not be made")
        return shared.record

    async def _make(self, shared: _Shared, sight: Sight) -> None:
        """Make what is shared, if nobody has tried."""
        if shared.record is None and shared.fault is None:
            try:
                shared.record = Record(self._trajectory, sight, await self._files(sight), self._seeing)
            except RubricgradeError as error:
                shared.fault = error

    def fitted(self, record: Record) -> View | JudgeError:
        """The record, with tool results cut as the room demands; or an error that says why that is not enough."""
        views = self._shared[record.sight].views
        if self.room not in views:
            try:
                views[self.room] = fitted(record, self.view_room)
            except JudgeError as error:
                views[self.room] = error
        return views[self.room]

    def shrink(self, room: int, sent: int) -> bool:
        """Take half of what a model has refused, unless somebody else has done so.

        Args:
            room: What it was when the prompt was made.
            sent: Characters of the prompt; 0 if that is not known.

        Returns:
            Whether it is worth another try.
        """
        half = min(room, sent or room) // 2
        if self.room == room and half >= LEAST:
            self.room = half
        return self.room < room

    async def _files(self, sight: Sight) -> tuple[Document, ...]:
        if self._documents is None or not (sight.artifacts or sight.world):
            return ()
        pictures = self._seeing and sight.render != "text"
        return await self._documents(sight.artifacts, world=sight.world, pictures=pictures)
