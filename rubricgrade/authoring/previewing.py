"""`preview`: one criterion on a few episodes, side by side, while its wording is being written."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rubricgrade.authoring.trials import Subject, alone, subjects
from rubricgrade.errors import Fault, InputError
from rubricgrade.grading import agrade
from rubricgrade.grading.judges import Judges
from rubricgrade.grading.together import together
from rubricgrade.result import CriterionResult
from rubricgrade.rubric import Rubric
from rubricgrade.rubric.rules import placed
from rubricgrade.sandbox import Provider, default_provider
from rubricgrade.trajectory import Trajectory

POLL = 0.3  # seconds between looks at the rubric's files


@dataclass(frozen=True, slots=True)
class Seen:
    """One criterion on one episode.

    Attributes:
        episode: Its path, its id, or the beginning of an example's text.
        expected: The verdict that an example asks for; None for an episode that nobody expects anything of.
        result: The verdict with its reasoning and evidence.
    """

    episode: str
    expected: str | None
    result: CriterionResult


async def preview(
    rubric: Rubric,
    folder: Path,
    criterion: str,
    episodes: Sequence[tuple[str, Trajectory]],
    *,
    judge: Judges,
    provider: Provider | None = None,
) -> list[Seen]:
    """Decide one criterion on its examples and on other episodes, each for itself: no gate stops it.

    Args:
        rubric: With its sealed files and variables.
        folder: What paths of the rubric's trajectories are relative to.
        criterion: Its id, also of one inside a group.
        episodes: Further ones, each with what to call it.
        judge: Decides it, if it is judged.
        provider: Where sandboxes come from.

    Raises:
        InputError: There is no such criterion, or nothing to show it on.
    """
    provider = provider or default_provider()
    found = [(_name(subject), subject) for subject in subjects(rubric, folder, only=criterion)]
    single = alone(rubric, [one for one in placed(rubric) if one.criterion.id == criterion])
    found += [(name, Subject(episode, single, ())) for name, episode in episodes]
    if not found:
        raise InputError(Fault(f"{criterion!r} has no examples: name episodes to show it on with --on"))
    async with judge:
        grades = await together(
            agrade(subject.trajectory, subject.rubric, judge=judge, provider=provider) for _, subject in found
        )
    seen: list[Seen] = []
    for (name, subject), grade in zip(found, grades, strict=True):
        expected = next((trial.expected for trial in subject.trials), None)
        seen.append(Seen(name, expected if isinstance(expected, str) else None, grade.criteria[0]))
    return seen


def changes(folder: Path) -> Iterator[None]:
    """Yield now, and again whenever a file of the rubric's folder has changed; never ends by itself."""
    before: dict[Path, int] | None = None
    while True:
        now = dict(_times(folder))
        if now != before:
            before = now
            yield
        time.sleep(POLL)


def _times(folder: Path) -> Iterator[tuple[Path, int]]:
    for path in folder.rglob("*"):
        try:
            if path.is_file():
                yield path, path.stat().st_mtime_ns
        except FileNotFoundError:
            continue  # an editor that saves by renaming


def _name(subject: Subject) -> str:
    return subject.trials[0].example
