"""From the parts of a request to episodes that can be graded: trajectories are read, archives unpacked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rubricgrade import tree
from rubricgrade.errors import Fault, InputError, TrajectoryError
from rubricgrade.readers import read_trajectory
from rubricgrade.server.desk import Episode
from rubricgrade.server.reading import Body
from rubricgrade.server.scratch import Scratch
from rubricgrade.server.shapes import Batch, Given, One, read_as
from rubricgrade.server.shelf import Shelf, unpacked, unpacked_file
from rubricgrade.trajectory import Trajectory

FILES = frozenset({"workspace", "world"})


def one_episode(body: Body, shelf: Shelf, scratch: Scratch, budget: tree.Budget) -> list[Episode]:
    """The episode of ``POST /grade``.

    Raises:
        InputError: Something in it can't be used.
        Refused: The rubric is not to be had.
    """
    one = read_as(One, body)
    if unknown := sorted(body.files.keys() - FILES):
        raise InputError(Fault(f"a form has no file {unknown[0]!r}; known are {', '.join(sorted(FILES))}", "request"))
    name, rubric = shelf.wanted(one.rubric, one.vars, scratch)
    trajectory = _located(one, "", body, scratch, budget)
    return [Episode(trajectory, rubric, name, scratch, one.ungated)]


def episodes_of(body: Body, shelf: Shelf, scratch: Scratch, budget: tree.Budget) -> list[Episode]:
    """The episodes of ``POST /grade/batch``.

    Raises:
        InputError: Something in it can't be used; the faults of all episodes are named.
        Refused: The rubric is not to be had.
    """
    batch = read_as(Batch, body)
    if body.files:
        raise InputError(Fault("files come with one episode only; a batch holds them as base64", "request"))
    name, rubric = shelf.wanted(batch.rubric, batch.vars, scratch)
    faults: list[Fault] = []
    episodes: list[Episode] = []
    for number, given in enumerate(batch.episodes):
        try:
            trajectory = _located(given, f"episodes[{number}].", body, scratch, budget)
        except InputError as error:
            faults += error.faults
        else:
            episodes.append(Episode(trajectory, rubric, name, scratch, batch.ungated))
    if faults:
        raise TrajectoryError(faults)
    return episodes


def timeout_of(body: Body) -> float | None:
    """Seconds that a request asks for, as far as that can be told before it is read. What is wrong is found later."""
    match body.value.get("timeout"):
        case bool():
            return None
        case int() | float() as seconds if seconds > 0:
            return seconds
        case _:
            return None


def _located(given: Given, prefix: str, body: Body, scratch: Scratch, budget: tree.Budget) -> Trajectory:
    trajectory = read_trajectory(given.trajectory, file=f"{prefix}trajectory", format=given.format, notes=body.notes)
    found = {
        name: _unpacked(name, prefix, getattr(given, name), files=body.files, scratch=scratch, budget=budget)
        for name in sorted(FILES)
    }
    workspace, world = found["workspace"], found["world"]
    return trajectory.located(
        workspace=None if workspace is None else workspace[given.workspace_as == "folder"],
        world=None if world is None else world[True],
    )


def _unpacked(
    name: str, prefix: str, data: str | None, *, files: Mapping[str, Path], scratch: Scratch, budget: tree.Budget
) -> tuple[Path, Path] | None:
    """An archive and the folder that it holds; None when the request has none."""
    label = f"{prefix}{name}"
    if name in files:
        if data is not None:
            raise InputError(Fault(f"{label}: comes as a file and in the JSON; give it once", "request"))
        archive = files[name].rename(files[name].with_name(f"{name}.tar.zst"))
        return archive, unpacked_file(archive, label, scratch, budget)
    return None if data is None else unpacked(data, label, scratch, budget)
