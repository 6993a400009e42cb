"""An argument that names the wrong thing is refused at once: what is wanted, what lies there, and what takes that."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

from rubricgrade.cli.kinds import (
    DELIVERY,
    EMPTY,
    EPISODE,
    GRADED,
    LABELS,
    RUBRIC,
    RUN,
    TASK,
    VENDOR,
    VERDICTS,
    Kind,
    Lying,
    folders_of,
    lying_at,
)
from rubricgrade.cli.output import note
from rubricgrade.errors import Fault, InputError
from rubricgrade.plural import count

WHOLE = (TASK, RUN, DELIVERY, VENDOR)
"""Kinds that are folders of files with fixed names."""

LISTS = (LABELS, VERDICTS)
"""Kinds that may be empty."""


def takes(*wanted: Kind) -> Callable[[Any], Any]:
    """A callback for an argument or an option that names one thing, several, or none.

    What is not recognised is let pass: whoever reads it knows what is wrong with it, and in which line.

    Args:
        wanted: Any of these will do.
    """

    def check(value: Any) -> Any:
        refuse(_places(value), *wanted)
        return value

    return check


def refuse(places: Sequence[Path], *wanted: Kind) -> None:
    """Make sure that no place is something else.

    Raises:
        InputError: With a fault for each that is.
    """
    if faults := [fault for place in places if (fault := misplaced(place, *wanted)) is not None]:
        raise InputError(faults)


def misplaced(place: Path, *wanted: Kind) -> Fault | None:
    """What to say of a place that is none of what is wanted; None if it is, or nobody can tell."""
    try:
        return unreadable(place) or _misplaced(place, wanted)
    except OSError as error:
        return Fault(f"can't be read: {error.strerror}", str(place))


def unreadable(place: Path) -> Fault | None:
    """Why the system won't even say what lies there (a name too long, a folder that is closed to us), if so."""
    try:
        place.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        return Fault(f"can't be read: {error.strerror}", str(place))
    return None


def _misplaced(place: Path, wanted: Sequence[Kind]) -> Fault | None:
    # What is not there is told by whoever reads it, together with all else; a pipe can be read only once, not by us.
    if not (place.is_dir() or place.is_file()) or any(kind.fits(place) for kind in wanted):
        return None
    if place.is_file() and (
        around := next((kind for kind in wanted if kind in WHOLE and kind.fits(place.parent)), None)
    ):
        return Fault(f"is one file of {around.one}. Name its folder: {place.parent}", str(place))
    found = lying_at(place)
    if not found.what or (found.what == EMPTY and {*LISTS} & {*wanted}):
        return None
    forms = ", or ".join(f"{kind.one} ({kind.form})" for kind in wanted)
    advice = _advice(place, found, wanted)
    return Fault(f"is {found.what}, not {forms}{f'. {advice}' if advice else ''}", str(place))


def task_folders(value: Any) -> Any:
    """A callback for an argument that names tasks: a folder of tasks stands for all of them, by name.

    Raises:
        InputError: Something is neither.
    """
    if value is None:
        return None
    folders: list[Path] = []
    faults: list[Fault] = []
    for place in _places(value):
        if inside := _tasks_in(place):
            folders += inside
            note(f"{place}: {count(len(inside), 'task')}: {', '.join(each.name for each in inside)}")
        elif fault := misplaced(place, TASK):
            faults.append(fault)
        else:
            folders.append(place)
    if faults:
        raise InputError(faults)
    return folders


def _tasks_in(place: Path) -> tuple[Path, ...]:
    try:
        return () if TASK.fits(place) or not place.is_dir() else folders_of(TASK, place)
    except OSError:
        return ()


def _places(value: Any) -> list[Path]:
    """The paths on this machine that an argument names; a run may also be a URL, which is text."""
    values = cast("list[Any]", value) if isinstance(value, list) else [value]
    return [Path(each) for each in values if each is not None and "://" not in str(each)]


def _advice(place: Path, found: Lying, wanted: Sequence[Kind]) -> str:
    """What would do in its place, or who takes it."""
    if found.kind is None:
        return "Unpack it first." if found.what == "an archive" else ""
    if found.kind in wanted:
        return f"Name what is in it, such as {found.inside[0]}."
    if found.kind is TASK and RUBRIC in wanted and not found.inside:
        return f"Its rubric is {place / 'tests' / 'rubric.yaml'}."
    if found.kind is DELIVERY and TASK in wanted:
        return f"Its tasks lie in {place / 'tasks'}."
    if found.kind is RUN and EPISODE in wanted:
        return "Name one of its episodes' folders."
    if found.kind is EPISODE and GRADED in wanted:
        return f"`rubricgrade grade RUBRIC {place}` grades it first."
    if found.kind is TASK and {RUN, GRADED} & {*wanted}:
        return f"`rubricgrade run {place} --agent AGENT` makes episodes of it first."
    taken = found.inside[0] if found.inside and found.kind not in (EPISODE, TASK, RUBRIC) else place
    return f"`rubricgrade {found.kind.verb.format(taken)}` takes it."
