"""The exam that a judge takes before money is spent on it: questions about small episodes, with the right answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from rubricgrade import digest
from rubricgrade.loading import read_data
from rubricgrade.rubric import Rubric
from rubricgrade.trajectory import Call, Image, Role, Step, Text, Trajectory

FILE = Path(__file__).with_name("exam.yaml")

Part = Literal["questions", "abstain", "resist", "benign"]
"""What a question is for: knowing the right answer, knowing that there is none, not being talked to, not being shy."""


@dataclass(frozen=True, slots=True)
class ExamQuestion:
    """One question of the exam.

    Attributes:
        id: Names it.
        part: What it is for.
        rubric: With the criterion as its only one.
        trajectory: The episode.
        expect: ``yes``, ``no`` or ``cannot_tell``.
        quote: Where a ``yes`` stands; empty for the others.
    """

    id: str
    part: Part
    rubric: Rubric
    trajectory: Trajectory
    expect: str
    quote: str = ""

    @property
    def asks(self) -> str:
        """The criterion's wording."""
        return self.rubric.tops[0].description


@dataclass(frozen=True, slots=True)
class Exam:
    """All questions, and the hash of the file that they come from."""

    hash: str
    questions: tuple[ExamQuestion, ...]


class _Shape(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class _Step(_Shape):
    role: Role
    text: str
    calls: tuple[Call, ...] = ()
    image: bool = False
    failed: bool | None = None


class _Episode(_Shape):
    task: str
    steps: tuple[_Step, ...]

    def trajectory(self, name: str, planted: tuple[int, str] | None = None) -> Trajectory:
        """As a judge sees it; `planted` text is put behind that of a step."""
        steps: list[Step] = []
        waiting: list[tuple[int, int]] = []
        for index, step in enumerate(self.steps):
            text = f"{step.text}\n{planted[1]}" if planted and planted[0] == index else step.text
            picture = (Image(media_type="image/png", sha256=digest.of_bytes(name.encode())[-64:], size=48_211),)
            waiting += ((index, number) for number, _ in enumerate(step.calls, 1))
            made = Step(
                role=step.role,
                content=(*((Text(text=text),) if text else ()), *(picture if step.image else ())),
                calls=step.calls,
                answers=waiting.pop(0) if step.role == "tool" else None,
                failed=step.failed,
            )
            steps.append(made)
        return Trajectory(id=name, task=self.task or None, steps=tuple(steps))


class _About(_Shape):
    id: str
    episode: str
    asks: str
    expect: Literal["yes", "no"]
    quote: str = ""


class _Alone(_Episode):
    id: str
    asks: str
    expect: Literal["yes", "no", "cannot_tell"] = "cannot_tell"
    quote: str = ""
    artifacts: tuple[str, ...] = ()
    world: tuple[str, ...] = ()


class _Planted(_Shape):
    id: str
    step: int
    text: str


class _Attacks(_Shape):
    episode: str
    asks: str
    texts: tuple[_Planted, ...]


class _File(_Shape):
    episodes: dict[str, _Episode]
    questions: tuple[_About, ...]
    abstain: tuple[_Alone, ...]
    resist: _Attacks
    benign: tuple[_Alone, ...]


@lru_cache(maxsize=1)
def load_exam() -> Exam:
    """The exam that this package ships."""
    source = FILE.read_bytes()
    file = _File.model_validate(read_data(source, FILE.name))
    return Exam(digest.of_bytes(source), tuple(_questions(file)))


def _questions(file: _File) -> Iterator[ExamQuestion]:
    for each in file.questions:
        episode = file.episodes[each.episode].trajectory(each.episode)
        yield ExamQuestion(each.id, "questions", _rubric(each.id, each.asks), episode, each.expect, each.quote)
    yield from _alone("abstain", file.abstain)
    attacked = file.episodes[file.resist.episode]
    for planted in file.resist.texts:
        episode = attacked.trajectory(file.resist.episode, (planted.step, planted.text))
        yield ExamQuestion(planted.id, "resist", _rubric(planted.id, file.resist.asks), episode, "no")
    yield from _alone("benign", file.benign)


def _alone(part: Part, questions: Sequence[_Alone]) -> Iterator[ExamQuestion]:
    for each in questions:
        rubric = _rubric(each.id, each.asks, artifacts=each.artifacts, world=each.world)
        yield ExamQuestion(each.id, part, rubric, each.trajectory(each.id), each.expect, each.quote)


def _rubric(name: str, asks: str, **sees: tuple[str, ...]) -> Rubric:
    judge: dict[str, Any] = {key: globs for key, globs in sees.items() if globs}
    criterion = {"id": name, "description": asks, "points": 1, "judge": judge}
    return Rubric.model_validate({"id": "judge-exam", "criteria": [criterion]})
