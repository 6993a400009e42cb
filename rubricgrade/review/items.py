"""What people can decide: one criterion, or one item of it, in one episode. No `Item` holds what a judge said."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from rubricgrade import digest
from rubricgrade.agreement.joining import row_of
from rubricgrade.agreement.measures import CANNOT_TELL, MET, NOT_MET
from rubricgrade.result import CriterionResult, Grade
from rubricgrade.rubric import Criterion, Judge, Rubric


@dataclass(frozen=True, slots=True)
class Answer:
    """A verdict that may be given.

    Attributes:
        verdict: As records have it.
        label: As people read it.
        about: What it means.
        value: 0 to 1; None for ``cannot_tell``.
    """

    verdict: str
    label: str
    about: str = ""
    value: float | None = None


@dataclass(frozen=True, slots=True)
class Item:
    """One thing to decide.

    Attributes:
        id: 12 hex digits, for addresses; says nothing about it.
        episode: The episode's key.
        criterion: Its id; ``ID[2]`` for the second item of a `for_each`.
        text: What is asked.
        guidance: What the author added for who decides; may be empty.
        references: Hidden material that who decides may use, by name.
        answers: What may be said, ``cannot_tell`` last.
        by: Who was to decide it: a judge, or people only.
        points: As in the rubric; None for a veto and for one item of a `for_each`.
        veto: Met, it makes the score 0.
        question: Hash of all that is asked.
    """

    id: str
    episode: str
    criterion: str
    text: str
    guidance: str
    references: tuple[tuple[str, str], ...]
    answers: tuple[Answer, ...]
    by: Literal["judge", "human"]
    points: float | None
    veto: bool
    question: str

    @property
    def row(self) -> str:
        """The criterion that it belongs to, without the number of an item."""
        return row_of(self.criterion)

    @property
    def verdicts(self) -> frozenset[str]:
        """What a record may say."""
        return frozenset(answer.verdict for answer in self.answers)

    def label(self, verdict: str) -> str:
        """A verdict as people read it."""
        return next((answer.label for answer in self.answers if answer.verdict == verdict), verdict)


_DOUBT = Answer(CANNOT_TELL, "Cannot tell", "what is shown does not decide it")
_TWO = (
    Answer(MET, "Met", "the statement is true of this episode", 1.0),
    Answer(NOT_MET, "Not met", "it is not true", 0.0),
)


def items_of(episode: str, grade: Grade, rubric: Rubric) -> Iterator[Item]:
    """What people can decide in an episode, in the rubric's order."""
    criteria = {leaf.id: leaf for leaf in rubric.leaves()}
    for result in _reviewable(grade.leaves()):
        criterion = criteria[row_of(result.id)]
        settings = (criterion.judge or Judge()).over(rubric.judge)
        guidance = settings.guidance if criterion.human is None else criterion.human.guidance
        answers = (*_answers(settings if criterion.judge is not None else Judge()), _DOUBT)
        references = tuple(_references(settings, rubric))
        yield Item(
            id=digest.of_value([episode, result.id])[7:19],
            episode=episode,
            criterion=result.id,
            text=result.description,
            guidance=rubric.wording(guidance) if guidance else "",
            references=references,
            answers=answers,
            by="judge" if result.by == "judge" else "human",
            points=result.points,
            veto=result.veto,
            question=digest.of_value(
                [result.description, guidance, [[each.verdict, each.about] for each in answers], references]
            ),
        )


def results_of(grade: Grade) -> Mapping[str, CriterionResult]:
    """What the grade says, by the criterion of an item."""
    return {result.id: result for result in _reviewable(grade.leaves())}


def _reviewable(leaves: Iterable[CriterionResult]) -> Iterator[CriterionResult]:
    for leaf in leaves:
        if leaf.by in ("judge", "human") and leaf.verdict != "not_applicable" and leaf.cause != "gate_failed":
            # An empty `for_each`, or one that the agent spoiled, was decided by code.
            yield from leaf.parts or ((leaf,) if leaf.judge is not None or leaf.open else ())


def _answers(settings: Judge) -> tuple[Answer, ...]:
    if settings.scale is None:
        return _TWO
    return tuple(
        Answer(choice.choice, choice.choice, choice.description or "", choice.value)
        for choice in reversed(settings.scale)
    )


def _references(settings: Judge, rubric: Rubric) -> Iterator[tuple[str, str]]:
    if settings.reference:
        yield "reference", rubric.wording(settings.reference)
    for path in settings.reference_files:
        yield path, rubric.sealed[path].decode(errors="replace")


def criterion_of(item: Item, rubric: Rubric) -> Criterion:
    """The rubric's criterion that an item belongs to."""
    return next(leaf for leaf in rubric.leaves() if leaf.id == item.row)
