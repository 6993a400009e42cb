"""`probe`: what a rubric gives to agents that did not do the work."""

from __future__ import annotations

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from rubricgrade.authoring.impostors import IMPOSTORS, Impostor, episode_of
from rubricgrade.grading import agrade
from rubricgrade.grading.judges import Judges
from rubricgrade.grading.together import together
from rubricgrade.result import Grade, Subject, Unit, Usage
from rubricgrade.rubric import Rubric
from rubricgrade.sandbox import Provider, default_provider
from rubricgrade.trajectory import Trajectory

CLOSE = 1e-9


class Earned(BaseModel):
    """What one impostor earned.

    Attributes:
        agent: What it did instead of the work.
        score: 0 to 1; None while something is open.
        bounds: Lowest and highest score that the open verdicts allow.
        cause: Why it is open.
        most: The highest score that is no cause for concern.
        concern: Whether it earned more; None while that is open.
        gates: Ids of the gates that stopped it.
        given: Ids of the top-level criteria that gave it points.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    agent: str
    score: Unit | None
    bounds: tuple[Unit, Unit]
    cause: str | None
    most: Unit
    concern: bool | None
    gates: tuple[str, ...]
    given: tuple[str, ...]


class Probe(BaseModel):
    """What all impostors earned."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_: Literal["rubricgrade.probe/1"] = Field(default="rubricgrade.probe/1", alias="schema")
    rubric: Subject
    earned: tuple[Earned, ...]
    usage: Usage


async def probe(
    rubric: Rubric, *, judge: Judges, like: Trajectory | None = None, provider: Provider | None = None
) -> Probe:
    """Let every impostor be graded.

    Args:
        rubric: With all its variables.
        judge: Decides judged criteria; without one, only what code decides is known, and bounds.
        like: An episode of the task: gives the instruction and the template.
        provider: Where sandboxes come from.
    """
    provider = provider or default_provider()
    with TemporaryDirectory() as place:
        episodes = [
            episode_of(impostor, rubric, Path(place) / str(index), like) for index, impostor in enumerate(IMPOSTORS)
        ]
        slots = asyncio.Semaphore(2)
        async with judge:

            async def graded(episode: Trajectory) -> Grade:
                async with slots:
                    return await agrade(episode, rubric, judge=judge, provider=provider)

            grades = await together(graded(episode) for episode in episodes)
    return Probe(
        rubric=Subject(id=rubric.id, hash=rubric.hash, version=rubric.version),
        earned=tuple(_earned(impostor, grade) for impostor, grade in zip(IMPOSTORS, grades, strict=True)),
        usage=sum((grade.usage for grade in grades), Usage()),
    )


def _earned(impostor: Impostor, grade: Grade) -> Earned:
    least, most = grade.bounds
    concern = True if least > impostor.most + CLOSE else False if most <= impostor.most + CLOSE else None
    return Earned(
        agent=impostor.name,
        score=grade.score,
        bounds=grade.bounds,
        cause=grade.cause,
        most=impostor.most,
        concern=concern,
        gates=tuple(gate.id for gate in grade.gates if gate.verdict == "not_met"),
        given=tuple(item.id for item in grade.criteria if (item.earned or 0) > 0),
    )
