"""A pass rate by a fallible judge, corrected with the answers that people gave on a part of the same decisions.

Both corrections hold if that part was drawn at random. They take the judge's ``met`` as a signal and everything else
that it says, an abstention too, as its absence, so that no decision is dropped.
"""

from __future__ import annotations

from collections import Counter

from rubricgrade.agreement.measures import MET, NOT_MET, sensitivity, specificity
from rubricgrade.agreement.number import Counts, Number, Pairs, Undefined, labelled_only

LEAST_SIGNAL = 0.2
"""Sensitivity plus specificity less 1 below which dividing by it would make noise of any rate."""


def judged_rate(counts: Counts) -> Number:
    """The judge's own rate of ``met`` over all of its decisions, labelled or not; 0 to 1."""
    total = sum(counts.values())
    return sum(n for (_, judge), n in counts.items() if judge == MET) / total if total else Undefined("nothing judged")


def rogan_gladen(counts: Counts) -> Number:
    """The rate of ``met`` that would make this judge say what it said, 0 to 1 (Rogan and Gladen 1978).

    ``(rate + specificity - 1) / (sensitivity + specificity - 1)``, cut to 0..1. Undefined if people gave only one
    answer, or if the judge is so near to chance that the denominator is below `LEAST_SIGNAL`.
    """
    pairs = _two_valued(counts)
    # What is not "met" is the absence of the signal.
    folded = Counter[tuple[str, str]]()
    for (person, judge), count in pairs.items():
        folded[person, judge if judge == MET else NOT_MET] += count
    rate, sense, exact = judged_rate(counts), sensitivity(folded), specificity(folded)
    if isinstance(rate, Undefined):
        return rate
    if isinstance(sense, Undefined):
        return sense
    if isinstance(exact, Undefined):
        return exact
    signal = sense + exact - 1
    if signal < LEAST_SIGNAL:
        return Undefined(
            f"sensitivity + specificity - 1 is {signal:.2f}, below {LEAST_SIGNAL}: the judge tells too little"
        )
    return _cut((rate + exact - 1) / signal)


def ppi(counts: Counts) -> Number:
    """The judge's rate over all decisions, plus its mean error where people answered; 0 to 1.

    Prediction-powered inference (Angelopoulos and others 2023); unbiased however bad the judge is. Undefined if people
    answered nothing.
    """
    pairs, rate = _two_valued(counts), judged_rate(counts)
    labelled = sum(pairs.values())
    if isinstance(rate, Undefined):
        return rate
    if not labelled:
        return Undefined("people answered nothing")
    errors = sum(((person == MET) - (judge == MET)) * count for (person, judge), count in pairs.items())
    return _cut(rate + errors / labelled)


def _two_valued(counts: Counts) -> Pairs:
    """What people decided; where they could not tell, they gave no answer."""
    return {pair: count for pair, count in labelled_only(counts).items() if pair[0] in (MET, NOT_MET)}


def _cut(rate: float) -> float:
    return min(max(rate, 0.0), 1.0)
