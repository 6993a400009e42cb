"""Examples that prove nothing: none at all, or none that meets a criterion, or none that misses it."""

from __future__ import annotations

from collections.abc import Iterator

from rubricgrade.loading import codes
from rubricgrade.loading.document import Place
from rubricgrade.rubric import Rubric
from rubricgrade.rubric.rules import Placed, placed

Finding = tuple[Place, str, str]


def examples(rubric: Rubric) -> Iterator[Finding]:
    """What is the matter with the examples of a rubric."""
    criteria = placed(rubric)
    tested = [one for one in criteria if _expected(one)]
    judged = any(one.criterion.judge is not None for one in criteria)
    if judged and not tested and not rubric.examples:
        told = (
            "no criterion has 'examples': nothing shows that a judge reads them as you do; `rubricgrade test` runs them"
        )
        yield ("criteria",), codes.UNTESTED, told
    for one in tested:
        yield from _one_sided(one, rubric)


def _one_sided(one: Placed, rubric: Rubric) -> Iterator[Finding]:
    judge = one.criterion.judge
    scale = judge.over(rubric.judge).scale if judge is not None else None
    lowest, highest = (scale[0].choice, scale[-1].choice) if scale else ("not_met", "met")
    expected = _expected(one)
    place = (*one.place, "examples")
    if expected == {highest}:
        told = f"{one.criterion.id!r}: every example meets it; one that does not shows that it can be missed"
        yield place, codes.NEVER_MISSED, told
    if expected == {lowest}:
        told = f"{one.criterion.id!r}: no example meets it; one that does shows that it can be met"
        yield place, codes.NEVER_MET, told


def _expected(one: Placed) -> set[str]:
    return {example.expect for example in one.criterion.examples if not example.show}
