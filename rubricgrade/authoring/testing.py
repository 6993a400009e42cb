"""`try_rubric`: a rubric's examples as its tests, and an agent that does nothing, which must earn nothing."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from rubricgrade.authoring.impostors import NOTHING, episode_of
from rubricgrade.authoring.trials import Subject, Trial, spot, subjects
from rubricgrade.errors import InputError
from rubricgrade.grading import agrade
from rubricgrade.grading.judges import Judges
from rubricgrade.grading.together import together
from rubricgrade.loading.document import Document
from rubricgrade.readers import load_trajectory
from rubricgrade.result import Grade, Usage
from rubricgrade.result import Subject as Named
from rubricgrade.rubric import Rubric
from rubricgrade.sandbox import Provider, default_provider
from rubricgrade.trajectory import Trajectory

Outcome = Literal["pass", "fail", "flaky", "open"]


class Tried(BaseModel):
    """How one example came out.

    Attributes:
        where: ``file:line:column`` of the example.
        criterion: What was tried; None for the rubric as a whole.
        example: The episode's path, or the beginning of the text.
        expected: A verdict or a range of scores, in words.
        found: What came out, once for each repetition.
        outcome: ``flaky``: not always the same. ``open``: the grader could not tell, which is no failure of the rubric.
        why: The author's reason.
        reason: Of the judge or the check, the first time that it did not come out as expected.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    where: str
    criterion: str | None
    example: str
    expected: str
    found: tuple[str, ...]
    outcome: Outcome
    why: str = ""
    reason: str = ""


class Trials(BaseModel):
    """How all examples of a rubric came out.

    Attributes:
        rubric: By its id and hash.
        repeat: How often each was tried.
        tried: In the order of the file; the rubric as a whole last.
        untried: Ids of criteria that have no example.
        usage: What judging took.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_: Literal["rubricgrade.trials/1"] = Field(default="rubricgrade.trials/1", alias="schema")
    rubric: Named
    repeat: int
    tried: tuple[Tried, ...]
    untried: tuple[str, ...]
    usage: Usage

    def count(self, outcome: Outcome) -> int:
        """How many came out so."""
        return sum(one.outcome == outcome for one in self.tried)


async def try_rubric(
    rubric: Rubric,
    document: Document,
    *,
    judge: Judges,
    only: str | None = None,
    repeat: int = 1,
    concurrency: int = 4,
    provider: Provider | None = None,
) -> Trials:
    """Try every example of a rubric.

    Args:
        rubric: With its sealed files and all its variables.
        document: Its text, for the places of examples.
        judge: Decides judged criteria; whoever asks for repetitions gives one without a cache.
        only: The id of the one criterion to try.
        repeat: How often; what does not come out the same every time is flaky.
        concurrency: Episodes at a time.
        provider: Where sandboxes come from.

    Raises:
        InputError: A trajectory can't be read, no criterion is called `only`, or there is nothing to try.
    """
    folder = Path(document.file).parent
    provider = provider or default_provider()
    found = subjects(rubric, folder, only=only)
    with TemporaryDirectory() as place:
        if only is None:
            like = load_trajectory(folder / rubric.examples[0].trajectory) if rubric.examples else None
            found.append(_nothing(rubric, Path(place), like))
        if not found:
            raise InputError(f"criterion {only!r} has no examples to try")
        slots = asyncio.Semaphore(concurrency)
        async with judge:

            async def graded(subject: Subject) -> Grade:
                async with slots:
                    return await agrade(subject.trajectory, subject.rubric, judge=judge, provider=provider)

            grades = await together(graded(subject) for subject in found for _ in range(repeat))
    tried = [
        _tried(trial, grades[index * repeat : (index + 1) * repeat], document)
        for index, subject in enumerate(found)
        for trial in subject.trials
    ]
    named = {one.criterion for one in tried}
    untried = tuple(leaf.id for leaf in rubric.leaves() if leaf.id not in named) if only is None else ()
    usage = sum((grade.usage for grade in grades), Usage())
    return Trials(
        rubric=Named(id=rubric.id, hash=rubric.hash), repeat=repeat, tried=tuple(tried), untried=untried, usage=usage
    )


def _nothing(rubric: Rubric, folder: Path, like: Trajectory | None) -> Subject:
    trial = Trial(None, f"an agent that {NOTHING.name}", (0.0, NOTHING.most), "what was not done earns nothing")
    return Subject(episode_of(NOTHING, rubric, folder, like), rubric, (trial,))


def _tried(trial: Trial, grades: tuple[Grade, ...], document: Document) -> Tried:
    held = [trial.holds(grade) for grade in grades]
    unexpected = next((grade for grade, right in zip(grades, held, strict=True) if not right), None)
    return Tried(
        where=spot(trial, document),
        criterion=trial.criterion,
        example=trial.example,
        expected=trial.wanted,
        found=tuple(trial.found(grade) for grade in grades),
        outcome=_outcome(held),
        why=trial.why,
        reason=trial.reason(unexpected) if unexpected is not None else "",
    )


def _outcome(held: list[bool | None]) -> Outcome:
    """Failing every time is a failure, sometimes is flaky; what was never seen to fail and is open once is open."""
    counts = Counter(held)
    if counts[False]:
        return "flaky" if counts[True] else "fail"
    return "open" if counts[None] else "pass"
