"""What agreement comes to: a row for each criterion and one for all with two answers, numbers with intervals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from rubricgrade.agreement import measures
from rubricgrade.agreement.alpha import krippendorff_alpha
from rubricgrade.agreement.bootstrap import DRAWS, Interval, intervals
from rubricgrade.agreement.corrected import judged_rate, ppi, rogan_gladen
from rubricgrade.agreement.decision import Abstentions, Decision, count, paired
from rubricgrade.agreement.number import Counts, Number, Undefined
from rubricgrade.agreement.permission import balanced_floor, permit

SCHEMA = "rubricgrade.agreement/1"

_HAS_SCALE = Undefined("the criterion has a scale")
_NO_SCALE = Undefined("two answers have no distances")


class Value(BaseModel):
    """A frozen part of a summary."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, serialize_by_alias=True)


class Estimate(Value):
    """A number.

    Attributes:
        value: None if it is undefined.
        low: Lower end of its 95 % interval by drawing trajectories; None if there is none.
        high: Upper end.
        undefined: Why there is no value, or no interval; empty if there are both.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    undefined: str = ""


class Cell(Value):
    """How often people said one thing and the judge another."""

    people: str
    judge: str
    count: int


class Row(Value):
    """One criterion, or all of them together.

    Attributes:
        criterion: Its id; None: all criteria with two answers that people labelled.
        scale: Whether it has a scale.
        decisions: The judge's, labelled or not, those without a verdict included.
        open: How many of these have none; they are in no rate.
        labelled: Decisions that people answered with a majority.
        split: Decisions on which people had none; they are in no measure.
        trajectories: With a labelled decision.
        abstained: Labelled ones where the judge could not tell.
        undecided: Labelled ones without a verdict: a fault of the grader's, or never asked. They are in no measure.
        coverage: The share of `labelled` that the judge answered, 0 to 1; None without any.
        compared: Pairs of answers that the measures are over.
        table: The same, counted.
        accuracy: Share of equal answers.
        kappa: Cohen's.
        weighted_kappa: The same of a scale, with linear weights.
        phi: Correlation.
        balanced_accuracy: Mean recall of people's answers.
        sensitivity: The judge's ``met`` among people's.
        specificity: The judge's ``not_met`` among people's.
        people_met: People's rate of ``met`` among what is compared: the prevalence.
        prevalence_gap: The judge's rate less people's.
        alpha_people: Krippendorff's alpha of people among themselves: the ceiling.
        alpha_with_judge: The same with the judge as one more.
        pass_rate: The judge's rate of ``met`` over all decisions with a verdict.
        pass_rate_rogan_gladen: The same, corrected by sensitivity and specificity.
        pass_rate_ppi: The same, corrected by the mean error.
        automatic: Whether the judge may decide alone; else it may only flag.
        because: Why.
    """

    criterion: str | None
    scale: bool
    decisions: int
    open: int
    labelled: int
    split: int
    trajectories: int
    abstained: int
    undecided: int
    coverage: float | None
    compared: int
    table: tuple[Cell, ...]
    accuracy: Estimate
    kappa: Estimate
    weighted_kappa: Estimate
    phi: Estimate
    balanced_accuracy: Estimate
    sensitivity: Estimate
    specificity: Estimate
    people_met: Estimate
    prevalence_gap: Estimate
    alpha_people: Estimate
    alpha_with_judge: Estimate
    pass_rate: Estimate
    pass_rate_rogan_gladen: Estimate
    pass_rate_ppi: Estimate
    automatic: bool
    because: str

    @property
    def decisive_kappa(self) -> Estimate:
        """The kappa that decides: for a scale the weighted one, if its choices' order is known."""
        return self.weighted_kappa if self.scale and self.weighted_kappa.value is not None else self.kappa


class Agreement(Value):
    """All of it.

    Attributes:
        abstentions: What a ``cannot_tell`` counted as.
        draws: Of the bootstrap.
        seed: Of the bootstrap.
        pooled: All criteria with two answers that people labelled.
        criteria: Each one, by name; those that nobody labelled too.
    """

    schema_: Literal["rubricgrade.agreement/1"] = Field(default=SCHEMA, alias="schema")
    abstentions: Abstentions
    draws: int
    seed: int
    pooled: Row
    criteria: tuple[Row, ...]


def summarise(
    decisions: Iterable[Decision],
    *,
    scales: Mapping[str, Sequence[str]] | None = None,
    abstentions: Abstentions = "excluded",
    draws: int = DRAWS,
    seed: int = 0,
) -> Agreement:
    """Compare a judge with people.

    Args:
        decisions: Labelled or not; unlabelled ones are in the pass rates only.
        scales: For each criterion with a scale its choices, lowest first; empty if their order is not known.
        abstentions: What a ``cannot_tell`` is; corrected pass rates do not depend on it.
        draws: Of the bootstrap.
        seed: Of the bootstrap.
    """
    scales = scales or {}
    by_criterion: dict[str, list[Decision]] = {}
    for decision in decisions:
        by_criterion.setdefault(decision.criterion, []).append(decision)
    row = partial(_row, abstentions=abstentions, draws=draws, seed=seed)
    # A criterion that nobody labelled can't be corrected by the labels of others.
    two_valued = [
        each
        for name, group in by_criterion.items()
        if name not in scales and any(decision.person is not None for decision in group)
        for each in group
    ]
    return Agreement(
        abstentions=abstentions,
        draws=draws,
        seed=seed,
        pooled=row(None, two_valued, None),
        criteria=tuple(row(name, by_criterion[name], scales.get(name)) for name in sorted(by_criterion)),
    )


def _row(
    criterion: str | None,
    decisions: Sequence[Decision],
    scale: Sequence[str] | None,
    *,
    abstentions: Abstentions,
    draws: int,
    seed: int,
) -> Row:
    order = tuple(scale or ())
    clusters: dict[str, Counter[tuple[str | None, str]]] = {}
    for decision in decisions:
        clusters.setdefault(decision.trajectory, Counter()).update(count([decision]))
    total = sum(clusters.values(), Counter[tuple[str | None, str]]())
    pairs = paired(total, abstentions, order)
    labelled = [each for each in decisions if each.person is not None]
    answered = sum(each.judge not in (None, measures.CANNOT_TELL) for each in labelled)
    measure = partial(_numbers, order=order, abstentions=abstentions, scale=scale is not None)
    numbers = measure(total)
    drawn = intervals(list(clusters.values()), measure, draws=draws, seed=seed)
    estimates = {name: _estimate(number, drawn[name]) for name, number in numbers.items()}
    alphas = {
        "alpha_people": [[answer for _, answer in each.people] for each in decisions],
        "alpha_with_judge": [
            [answer for _, answer in each.people] + ([each.judge] if each.judge is not None else [])
            for each in decisions
            if each.people
        ],
    }
    estimates |= {name: _alpha(units, order) for name, units in alphas.items()}
    weighted = numbers["weighted_kappa"]
    automatic, because = permit(
        numbers["kappa"] if isinstance(weighted, Undefined) else weighted,
        _lowest(drawn["balanced_accuracy"], balanced_floor(pairs)),
    )
    facts: dict[str, Any] = estimates
    return Row(
        criterion=criterion,
        scale=scale is not None,
        decisions=len(decisions),
        open=sum(each.judge is None for each in decisions),
        labelled=len(labelled),
        split=sum(bool(each.people) and each.person is None for each in decisions),
        trajectories=len({each.trajectory for each in labelled}),
        abstained=sum(each.judge == measures.CANNOT_TELL for each in labelled),
        undecided=sum(each.judge is None for each in labelled),
        coverage=answered / len(labelled) if labelled else None,
        compared=sum(pairs.values()),
        table=tuple(Cell(people=person, judge=judge, count=n) for (person, judge), n in sorted(pairs.items())),
        automatic=automatic,
        because=because,
        **facts,
    )


def _numbers(counts: Counts, *, order: Sequence[str], abstentions: Abstentions, scale: bool) -> dict[str, Number]:
    pairs = paired(counts, abstentions, order)
    two_valued: dict[str, Callable[[], Number]] = {
        "sensitivity": lambda: measures.sensitivity(pairs),
        "specificity": lambda: measures.specificity(pairs),
        "people_met": lambda: measures.people_met(pairs),
        "prevalence_gap": lambda: measures.prevalence_gap(pairs),
        "pass_rate": lambda: judged_rate(counts),
        "pass_rate_rogan_gladen": lambda: rogan_gladen(counts),
        "pass_rate_ppi": lambda: ppi(counts),
    }
    return {
        "accuracy": measures.accuracy(pairs),
        "kappa": measures.cohen_kappa(pairs),
        "weighted_kappa": measures.cohen_kappa(pairs, order=order, weights="linear") if scale else _NO_SCALE,
        "phi": measures.phi(pairs),
        "balanced_accuracy": measures.balanced_accuracy(pairs),
        **{name: _HAS_SCALE if scale else number() for name, number in two_valued.items()},
    }


def _estimate(number: Number, interval: Interval | Undefined) -> Estimate:
    if isinstance(number, Undefined):
        return Estimate(value=None, undefined=number.reason)
    if isinstance(interval, Undefined):
        return Estimate(value=number, undefined=f"no interval: {interval.reason}")
    return Estimate(value=number, low=interval.low, high=interval.high)


def _alpha(units: Sequence[Sequence[str]], order: Sequence[str]) -> Estimate:
    number = krippendorff_alpha(units, order=order or None)
    if isinstance(number, Undefined):
        return Estimate(value=None, undefined=number.reason)
    return Estimate(value=number, undefined="no interval: not drawn")


def _lowest(interval: Interval | Undefined, floor: Number) -> Number:
    if isinstance(interval, Undefined) or isinstance(floor, Undefined):
        return interval if isinstance(interval, Undefined) else floor
    return min(interval.low, floor)
