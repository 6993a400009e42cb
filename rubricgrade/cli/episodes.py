"""The trajectories that arguments name, and the folders that their grades belong in. All faults are found first."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, count
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from rubricgrade.cli.expecting import misplaced, unreadable
from rubricgrade.cli.kinds import EPISODE
from rubricgrade.errors import Fault, InputError, TrajectoryError
from rubricgrade.readers import load_trajectories, load_trajectory
from rubricgrade.runs.places import Place, place_of
from rubricgrade.runs.places.local import LocalPlace
from rubricgrade.trajectory import Trajectory

FILE = "trajectory.json"
NAME_LENGTH = 120
NAMED = 3
"""Ids, and trajectories of one, in a sentence."""


class Found(NamedTuple):
    """A trajectory, and the file or the episode's folder that it was read from."""

    trajectory: Trajectory
    path: Path


def find_trajectories(
    paths: Sequence[Path], skipped: list[Fault] | None = None, twice: list[str] | None = None
) -> list[Found]:
    """Every trajectory of some files, episode folders, or folders of episode folders.

    Args:
        paths: Where they are.
        skipped: Takes the faults of what can't be read, which is then left out; None: that is an error.
        twice: Takes a sentence for each file that was named before, by whatever path; it is read once all the same.

    Raises:
        TrajectoryError: With the faults of all of them; or nothing can be read at all.
    """
    found: list[Found] = []
    faults: list[Fault] = []
    known: dict[Path, Path] = {}
    for path in paths:
        if fault := unreadable(path):
            faults.append(fault)
            continue
        episodes = list(episode_folders(path)) if path.is_dir() else [path]
        if not episodes:
            nothing = Fault(f"no {FILE} in this folder, nor in any folder below it", str(path))
            faults.append(misplaced(path, EPISODE) or nothing)
        for episode in episodes:
            file = _file(episode).resolve()
            if file in known:
                if twice is not None:
                    also = "named twice" if episode == known[file] else f"the same file as {known[file]}"
                    twice.append(f"{episode} is {also}, and counts once")
                continue
            known[file] = episode
            try:
                read = [load_trajectory(episode)] if path.is_dir() else load_trajectories(episode)
            except TrajectoryError as error:
                faults += [fault] if (fault := misplaced(episode, EPISODE)) else error.faults
                read = [] if skipped is None else _rest(episode)
            found += [Found(trajectory, episode) for trajectory in read]
    if faults and (skipped is None or not found):
        raise TrajectoryError(faults)
    if skipped is not None:
        skipped += faults
    return found


def same_ids(found: Sequence[Found]) -> str | None:
    """One sentence on different trajectories that have one id; None if there are none. They all count."""
    by_id: dict[str, list[Found]] = {}
    for each in found:
        by_id.setdefault(each.trajectory.id, []).append(each)
    several = {name: these for name, these in by_id.items() if len(these) > 1}
    if not several:
        return None
    named = "; ".join(
        f"{name!r} is {', '.join(str(each.path) for each in these[:NAMED])}"
        + (" and more" if len(these) > NAMED else "")
        + (", with the same content" if len({each.trajectory.hash for each in these}) == 1 else "")
        for name, these in list(several.items())[:NAMED]
    )
    rest = f"; and {len(several) - NAMED} more ids" if len(several) > NAMED else ""
    return f"different trajectories have one id, and all of them count: {named}{rest}"


def _file(episode: Path) -> Path:
    return episode / FILE if episode.is_dir() else episode


def _rest(file: Path) -> list[Trajectory]:
    """The other episodes of a file in which one can't be read. What is left of a single one is no episode."""
    try:
        found = load_trajectories(file, strict=False)
    except TrajectoryError:
        return []
    return found if len(found) > 1 else []


def episode_folders(top: Path) -> Iterator[Path]:
    """The folders with a trajectory, in the order of their names; nothing below one is looked at.

    An episode's workspace is the agent's: what lies in there is never taken for an episode. Links are not followed.
    """
    for folder, children, files in os.walk(top):
        children.sort()
        if FILE in files:
            children.clear()
            yield Path(folder)


def grade_places(trajectories: Sequence[Trajectory], output: str | None) -> list[Place]:
    """The place of each trajectory's grades (they go into ``grades/`` in it).

    Args:
        trajectories: In the order of the result.
        output: Where to put a folder for each, named after its id: a folder or a URL; None puts grades beside the
            trajectories.

    Raises:
        InputError: A trajectory has no folder of its own, or grades can't be written there.
    """
    faults: list[Fault] = []
    places: list[Place]
    if output is not None:
        top = place_of(output)
        top.check_writable()
        places = [top.below(name) for name in _names(trajectories)]
    else:
        places = [LocalPlace(each.folder) for each in trajectories if each.folder is not None]
        without = [each.id for each in trajectories if each.folder is None]
        faults += [Fault(f"trajectory {name!r} has no folder of its own") for name in without]
    for place in places:
        # A store is asked once for all of them, above.
        if isinstance(place, LocalPlace):
            try:
                place.check_writable()
            except InputError as error:
                faults += error.faults
    if faults:
        where = "say where grades go with -o DIR" if output is None else "name another folder with -o DIR"
        raise InputError([*faults, Fault(f"{where}, or keep none with --no-store")])
    return places


def _names(trajectories: Sequence[Trajectory]) -> Iterator[str]:
    """A folder's name for each, no two alike: of those with one id also a part of the hash, then a number."""
    names = [_file_name(trajectory.id) for trajectory in trajectories]
    often = Counter(names)
    taken = {name for name in names if often[name] == 1}
    for name, trajectory in zip(names, trajectories, strict=True):
        if often[name] == 1:
            yield name
            continue
        short = f"{name}.{_short(trajectory)}"
        numbered = (f"{short}.{number}" for number in count(2))
        free = next(each for each in chain([short], numbered) if each not in taken)
        taken.add(free)
        yield free


def _file_name(name: str) -> str:
    """A hostile id as the name of one folder: no separator, no leading dot, not too long."""
    safe = quote(name, safe=" +=@,", errors="backslashreplace")
    safe = re.sub(r"^\.", "%2E", safe)
    return safe if len(safe) <= NAME_LENGTH else safe[:NAME_LENGTH].rstrip("%")


def _short(trajectory: Trajectory) -> str:
    return trajectory.hash.removeprefix("sha256:")[:8]
