"""What of a rubric applies, what counts, and in which order values rest on each other; the rubric alone says so."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rubricgrade.rubric.model import Criterion, Rubric


@dataclass(frozen=True, slots=True)
class Counting:
    """Of one rubric; no agent can change it.

    Attributes:
        by_id: Every criterion, groups too, in the rubric's order.
        order: Those that apply, what a value rests on first, so that no chain of needs is too long to follow.
        earning: Ids of those that apply and can be worth more than 0.
        deciding: Ids of the leaves whose values the score rests on, in the rubric's order.
        gates: Ids of the gates that apply.
    """

    by_id: Mapping[str, Criterion]
    order: tuple[Criterion, ...]
    earning: frozenset[str]
    deciding: tuple[str, ...]
    gates: tuple[str, ...]

    @classmethod
    def of(cls, rubric: Rubric) -> Counting:
        """What follows from a rubric."""
        by_id = {criterion.id: criterion for criterion in _all(rubric.tops)}
        applying: set[str] = set()
        earning: set[str] = set()
        for top in rubric.tops:
            _spread(rubric, top, applying, earning)
        order = TopologicalSorter({name: _rests_on(criterion) for name, criterion in by_id.items()}).static_order()
        reached = _reached(rubric.tops, by_id, earning)
        return cls(
            by_id,
            order=tuple(by_id[name] for name in order if name in applying),
            earning=frozenset(earning),
            deciding=tuple(name for name, each in by_id.items() if name in reached and each.criteria is None),
            gates=tuple(gate.id for gate in rubric.gates if rubric.applies(gate)),
        )

    def counts(self, criterion: Criterion) -> bool:
        """Whether it applies and its value can change what it is a part of."""
        return _counts(criterion, self.earning)


def _counts(criterion: Criterion, earning: Iterable[str]) -> bool:
    return criterion.id in earning and bool(criterion.veto or criterion.points)


def _all(criteria: Iterable[Criterion]) -> Iterator[Criterion]:
    for criterion in criteria:
        yield criterion
        yield from _all(criterion.criteria or ())


def _spread(rubric: Rubric, criterion: Criterion, applying: set[str], earning: set[str]) -> None:
    """Mark what applies: its own `when` and those around it hold, and some part of a group applies.

    A group of which only penalties apply can't be worth more than 0: it applies but does not count, or its points would
    be out of reach for everybody.
    """
    if not rubric.applies(criterion):
        return
    if criterion.criteria is None:
        applying.add(criterion.id)
        earning.add(criterion.id)
        return
    for part in criterion.criteria:
        _spread(rubric, part, applying, earning)
    if any(part.id in applying for part in criterion.criteria):
        applying.add(criterion.id)
    if any(part.id in earning and (part.points or 0) > 0 for part in criterion.criteria):
        earning.add(criterion.id)


def _rests_on(criterion: Criterion) -> set[str]:
    return {*criterion.needs, *(part.id for part in criterion.criteria or ())}


def _reached(tops: Iterable[Criterion], by_id: Mapping[str, Criterion], earning: set[str]) -> set[str]:
    """Ids of all criteria whose values the score rests on."""
    reached: set[str] = set()
    todo = [top for top in tops if _counts(top, earning)]
    while todo:
        criterion = todo.pop()
        if criterion.id not in reached:
            reached.add(criterion.id)
            todo += [part for part in criterion.criteria or () if _counts(part, earning)]
            # A criterion that is only reported counts where another one needs it.
            todo += [by_id[need] for need in criterion.needs if need in earning]
    return reached
