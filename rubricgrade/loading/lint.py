"""What is allowed in a rubric and often a mistake: points out of balance, wording that a judge can't answer well."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from os import PathLike

from rubricgrade.errors import Fault, RubricError
from rubricgrade.loading import codes
from rubricgrade.loading.document import Document, read_document
from rubricgrade.loading.rubric import load_rubric, rubric_file
from rubricgrade.rubric import Criterion, Rubric
from rubricgrade.rubric.rules import Place, Placed, Problem, placed

COMPOUND = re.compile(r"\bas well as\b|\band (?:also|then)\b|\band\b.+\band\b|[.;]\s+\w", re.IGNORECASE)
VAGUE = re.compile(
    r"\b(?:good|appropriate|reasonable|adequate|proper|nice|high[- ]quality|well[- ]written)\b", re.IGNORECASE
)
OWN_SCALE = re.compile(
    r"\b\d+(?:\.\d+)?\s*(?:/|out of)\s*\d+\b|\b(?:score|rate|grade) (?:it |this )?(?:from|of|on)\b|\bgive \d",
    re.IGNORECASE,
)
LARGE_SHARE = 0.5
FEW = 3


Finding = tuple[Place, str, str]
"""The place in a rubric, a code, and what is the matter there."""


def check_rubric(
    path: str | PathLike[str], *, more: Callable[[Rubric], Iterable[Finding]] | None = None
) -> list[Fault]:
    """All there is to say about a rubric file without a task: errors (``RG0..``), else warnings (other codes).

    Args:
        path: As in `load_rubric`.
        more: Finds what else to warn of in a rubric that can be used.
    """
    try:
        rubric = load_rubric(path, partial=True)
    except RubricError as error:
        return error.faults
    file = rubric_file(path)
    document = read_document(file.read_bytes(), str(file))
    found = [document.fault(place, message, code) for place, code, message in more(rubric)] if more else []
    return sorted([*_warnings(rubric, document), *found], key=lambda fault: (fault.line, fault.column))


def _warnings(rubric: Rubric, document: Document) -> Iterator[Fault]:
    for code, problem in _points(rubric):
        yield document.fault(problem.place, problem.message, code)
    for one in placed(rubric):
        for code, key, message in (*_wording(one.criterion), *_group(one)):
            yield document.fault((*one.place, key), f"{one.criterion.id!r}: {message}", code)


def _wording(criterion: Criterion) -> Iterator[tuple[str, str, str]]:
    if criterion.judge is None:
        return
    if COMPOUND.search(criterion.description):
        yield (
            codes.COMPOUND,
            "description",
            "asks several things at once; a judge that finds one of them missing has to guess",
        )
    anchored = criterion.judge.guidance or criterion.judge.scale or criterion.judge.reference or criterion.examples
    if not anchored and (match := VAGUE.search(criterion.description)):
        yield (
            codes.VAGUE,
            "description",
            f"{match.group().lower()!r} means something else to every judge; say what is looked for",
        )
    for key, text in (("description", criterion.description), ("judge", criterion.judge.guidance or "")):
        if OWN_SCALE.search(text):
            yield codes.OWN_SCALE, key, "names a scale of its own; the judge answers yes or no, or by 'judge.scale'"


def _group(one: Placed) -> Iterator[tuple[str, str, str]]:
    criterion = one.criterion
    if one.sign < 0 and criterion.needs:
        yield codes.ESCAPE, "needs", "is a penalty (or a veto) that falls away when what it needs is not met"
    inside = sum(part.points for part in criterion.criteria or () if part.points is not None and part.points > 0)
    if criterion.full_at is not None and criterion.full_at > inside:
        yield codes.UNREACHABLE, "full_at", f"is above the {inside:g} points in the group, so it can never be fully met"


def _points(rubric: Rubric) -> Iterator[tuple[str, Problem]]:
    points = [(index, top.points) for index, top in enumerate(rubric.tops) if top.points]
    total = sum(number for _, number in points if number > 0)
    positive = [(index, number) for index, number in points if number > 0]
    for index, number in positive:
        if len(positive) >= FEW and number > LARGE_SHARE * total:
            message = f"{rubric.tops[index].id!r} alone is worth {number / total:.0%} of the points"
            yield codes.SHARE, Problem(("criteria", index, "points"), message)
    penalties = -sum(number for _, number in points if number < 0)
    if penalties > total:
        message = (
            f"penalties of {penalties:g} exceed the {total:g} points that can be earned: the score says little below 0"
        )
        yield codes.PENALTIES, Problem(("criteria",), message)
