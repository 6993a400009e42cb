"""What a run needs of the place where it lives; `LocalPlace` and `RemotePlace` are the two that there are."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol, Self

from rubricgrade.result import Grade
from rubricgrade.runs.lines import Line


class Claim(Protocol):
    """An attempt that is being made here."""

    @property
    def folder(self) -> Path:
        """A folder on this machine for the attempt's files. It may hold what an attempt that was cut has left."""
        ...

    def keep(self, line: Line) -> Line | None:
        """Keep the files and then the line: from now on the attempt is made.

        Returns:
            The line as it is kept; None when somebody else has made the same attempt first, whose line counts.

        Raises:
            StoreError: It could not be kept. There is no line then.
        """
        ...


class Place(Protocol):
    """A folder of a run, wherever it is: the run's own, or one of an attempt. ``str()`` shows it without credentials.

    Every method may raise `StoreError`: it can't be read or written.
    """

    @property
    def name(self) -> str:
        """Its last part."""
        ...

    def below(self, path: str) -> Self:
        """The folder of that path below it; it need not exist."""
        ...

    def read(self, name: str) -> bytes | None:
        """A file of it, whole; None when there is none."""
        ...

    def write(self, name: str, data: bytes) -> None:
        """Make or replace a file of it; a reader sees the old one or the new one, whole."""
        ...

    def lines(self) -> list[Line]:
        """The line of every attempt that was made."""
        ...

    def has(self, task: str, sample: int) -> bool:
        """Whether this attempt was made."""
        ...

    def claim(self, task: str, sample: int) -> AbstractContextManager[Claim | None]:
        """Begin an attempt; None when another process of this machine is at it. A crash gives it back."""
        ...

    def episode(self) -> AbstractContextManager[Path]:
        """This attempt's trajectory, workspace and world in a folder on this machine, as long as the block runs."""
        ...

    def write_grade(self, grade: Grade) -> str:
        """Add a grade to this attempt, to be its current one; returns where it is."""
        ...

    def grades(self, paths: Sequence[str]) -> list[Grade | None]:
        """The current grade of each of these attempts below it; None where there is none."""
        ...

    def history(self, path: str) -> list[Grade]:
        """Every grade of the attempt at this path below it, oldest first."""
        ...

    def graded(self) -> list[str]:
        """The paths of the attempts at or below it that may have grades, in order."""
        ...

    def check_writable(self) -> None:
        """Find out now that it can't be written to, not when there is something to write.

        Raises:
            InputError: It can't; says why.
        """
        ...
