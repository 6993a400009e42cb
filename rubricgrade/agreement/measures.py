"""Agreement of two raters over paired answers: people first, the judge second.

Two-valued measures read `MET` and `NOT_MET`; any other answer of the judge (an abstention that is a class of its own)
is a wrong one. All of them work on whole counts, so that 0 / 0 is found exactly.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Literal

from rubricgrade.agreement.number import Number, Pairs, Undefined

MET, NOT_MET, CANNOT_TELL = "met", "not_met", "cannot_tell"

_NOTHING = Undefined("nothing to compare")
_ONE_LABEL = Undefined("one label: both gave the same answer everywhere")

Weights = Literal["linear", "quadratic"]


def accuracy(pairs: Pairs) -> Number:
    """The share of equal answers, 0 to 1."""
    total = sum(pairs.values())
    return sum(count for (person, judge), count in pairs.items() if person == judge) / total if total else _NOTHING


def sensitivity(pairs: Pairs) -> Number:
    """The share of the judge's ``met`` among people's ``met``, 0 to 1."""
    return _recall(pairs, MET)


def specificity(pairs: Pairs) -> Number:
    """The share of the judge's ``not_met`` among people's ``not_met``, 0 to 1."""
    return _recall(pairs, NOT_MET)


def balanced_accuracy(pairs: Pairs) -> Number:
    """The mean over people's answers of the share that the judge got right, 0 to 1; 0.5 is chance for two answers.

    Undefined unless people gave at least two different answers: half of it would say nothing about the other half.
    """
    given = {person for (person, _), count in pairs.items() if count}
    if not given:
        return _NOTHING
    if len(given) == 1:
        return Undefined(f"people answered {given.pop()} everywhere")
    right = Counter[str]()
    asked = Counter[str]()
    for (person, judge), count in pairs.items():
        asked[person] += count
        right[person] += count if person == judge else 0
    return math.fsum(right[answer] / asked[answer] for answer in given) / len(given)


def cohen_kappa(pairs: Pairs, *, order: Sequence[str] = (), weights: Weights | None = None) -> Number:
    """Cohen's kappa: the part of the disagreement expected by chance that is absent, -1 to 1.

    Args:
        pairs: The counts.
        order: With weights: all answers, lowest first.
        weights: Count a disagreement by its distance in `order`, or by the distance's square. None: all alike.

    Returns:
        ``1 - seen / expected`` disagreement, expected from the two raters' own rates (Cohen 1960, 1968). Undefined if
        no disagreement can be expected: both gave one and the same answer everywhere.
    """
    total = sum(pairs.values())
    if not total:
        return _NOTHING
    people, judges = _margins(pairs)
    if weights is not None and (unknown := sorted((people.keys() | judges.keys()) - set(order))):
        return Undefined(f"the place of {', '.join(unknown)} in the scale is not known")
    cost = _cost(order, weights)
    seen = sum(count * cost(person, judge) for (person, judge), count in pairs.items())
    expected = sum(n * m * cost(person, judge) for person, n in people.items() for judge, m in judges.items())
    return 1 - total * seen / expected if expected else _ONE_LABEL


def phi(pairs: Pairs) -> Number:
    """Correlation of the two raters' answers, -1 to 1.

    For two answers it is phi, and also Pearson's r, Spearman's rho, Kendall's tau-b and Matthews' coefficient;
    for more, Gorodkin's extension of the last. Undefined if one rater gave one answer everywhere.
    """
    total = sum(pairs.values())
    if not total:
        return _NOTHING
    people, judges = _margins(pairs)
    spread_of_people = total**2 - sum(n**2 for n in people.values())
    spread_of_judge = total**2 - sum(n**2 for n in judges.values())
    if not spread_of_people or not spread_of_judge:
        return Undefined(f"{'people' if not spread_of_people else 'the judge'} gave one answer everywhere")
    right = sum(count for (person, judge), count in pairs.items() if person == judge)
    together = total * right - sum(n * judges[answer] for answer, n in people.items())
    return together / math.sqrt(spread_of_people * spread_of_judge)


def people_met(pairs: Pairs) -> Number:
    """People's rate of ``met``, 0 to 1: the prevalence."""
    total = sum(pairs.values())
    return _margins(pairs)[0][MET] / total if total else _NOTHING


def prevalence_gap(pairs: Pairs) -> Number:
    """The judge's rate of ``met`` less people's, -1 to 1: above 0 it is lenient."""
    total = sum(pairs.values())
    if not total:
        return _NOTHING
    people, judges = _margins(pairs)
    return (judges[MET] - people[MET]) / total


def _recall(pairs: Pairs, answer: str) -> Number:
    asked = sum(count for (person, _), count in pairs.items() if person == answer)
    return pairs.get((answer, answer), 0) / asked if asked else Undefined(f"people never answered {answer}")


def _margins(pairs: Pairs) -> tuple[Counter[str], Counter[str]]:
    people, judges = Counter[str](), Counter[str]()
    for (person, judge), count in pairs.items():
        people[person] += count
        judges[judge] += count
    return people, judges


def _cost(order: Sequence[str], weights: Weights | None) -> Callable[[str, str], int]:
    if weights is None:
        return lambda person, judge: person != judge
    place = {answer: index for index, answer in enumerate(order)}
    power = 1 if weights == "linear" else 2
    return lambda person, judge: abs(place[person] - place[judge]) ** power
