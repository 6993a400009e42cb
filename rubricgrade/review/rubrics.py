"""The rubrics of grades, found again by their hash: a grade holds verdicts, but not how they make a score."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rubricgrade.episode.task import Task
from rubricgrade.errors import Fault, InputError
from rubricgrade.loading import load_rubric
from rubricgrade.result import Grade
from rubricgrade.rubric import Rubric
from rubricgrade.runs.manifest import FILE as MANIFEST
from rubricgrade.runs.manifest import read_manifest
from rubricgrade.store.sources import Sources

NAME = "rubric.yaml"
ABOVE = 3
"""Folders above a run in which a ``rubric.yaml`` is looked for."""


def find_rubrics(
    top: Path,
    grades: Sequence[Grade],
    given: Sequence[Path] = (),
    sources: Sequence[Sources] = (),
    *,
    variables: Mapping[str, Any] | Path | None = None,
) -> dict[str, Rubric]:
    """The rubric of every grade, by hash.

    Args:
        top: The folder that is reviewed: rubrics of its tasks, and those in and above it, are found by themselves.
        grades: Whose rubrics are wanted.
        given: Rubric files that the caller names; they must be good.
        sources: What the grades' folders say about where their rubrics lay.
        variables: Values for those that the caller names.

    Raises:
        InputError: One that was named can't be read, or one that is wanted is not to be found.
    """
    wanted = {grade.rubric.hash for grade in grades}
    found: dict[str, Rubric] = {}
    named = [load_rubric(path, vars=variables) for path in given]
    for rubric in (*named, *_candidates(top, sources)):
        if wanted <= found.keys():
            break
        found.setdefault(rubric.hash, rubric)
    if missing := wanted - found.keys():
        raise InputError(list(_faults(grades, missing, found)))
    return {name: found[name] for name in wanted}


def _candidates(top: Path, sources: Sequence[Sources]) -> Iterator[Rubric]:
    yield from _where_they_lay(sources)
    for manifest in (top / MANIFEST, *sorted(top.glob(f"*/{MANIFEST}"))):
        if manifest.is_file():
            yield from _of_tasks(manifest.parent)
    places = [top.resolve(), *top.resolve().parents[:ABOVE]]
    yield from _readable(place / NAME for place in places)


def _where_they_lay(sources: Sequence[Sources]) -> Iterator[Rubric]:
    for each in {(each.rubric.path, each.rubric.hash): each for each in sources}.values():
        try:
            yield load_rubric(each.rubric.path, vars=each.vars)
        except InputError:
            # It is gone or was changed; if no other place has it, the caller is told.
            continue


def _of_tasks(run: Path) -> Iterator[Rubric]:
    for facts in read_manifest(run).tasks.values():
        try:
            yield Task.load(facts.path).rubric
        except InputError:
            # The task is gone or was changed; if no other place has its rubric, the caller is told.
            continue


def _readable(files: Iterable[Path]) -> Iterator[Rubric]:
    for file in files:
        if file.is_file():
            try:
                yield load_rubric(file, partial=True)
            except InputError:
                # Whatever lies above the run need not be ours.
                continue


def _faults(grades: Sequence[Grade], missing: set[str], found: Mapping[str, Rubric]) -> Iterator[Fault]:
    for name in sorted(missing):
        of = [grade.rubric.id for grade in grades if grade.rubric.hash == name]
        counted = f"{len(of)} grade{'' if len(of) == 1 else 's'}"
        changed = any(rubric.id == of[0] for rubric in found.values())
        hint = (
            "it has changed since; grade again (unchanged questions cost nothing), or name the file as it was, --rubric"
            " FILE, with --vars if its variables had other values"
            if changed
            else "name its file, --rubric FILE"
        )
        yield Fault(f"the rubric {of[0]!r} ({name[:19]}) of {counted} is not here: {hint}")
