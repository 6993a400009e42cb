"""The golden numbers are still what the libraries compute; `make test-statistics` installs them."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from typing import Any

import pytest

from rubricgrade import agreement
from rubricgrade.agreement import Undefined
from tests.agreement.reference import GOLDEN, SCALE, computed, libraries

pytestmark = pytest.mark.filterwarnings(
    "ignore"
)  # of the libraries: about what they depend on, and about numbers that they can't give


def needs_the_libraries() -> None:
    for name in ("sklearn.metrics", "statsmodels.api", "krippendorff"):
        pytest.importorskip(name, reason=f"{name.partition('.')[0]} is for `make test-statistics` only")


def test_the_golden_numbers_are_the_libraries() -> None:
    needs_the_libraries()
    found, kept = computed(), json.loads(GOLDEN.read_text())
    for kind in ("pairs", "units"):
        for ours, theirs in zip(found[kind], kept[kind], strict=True):
            assert ours == pytest.approx(theirs, abs=1e-12)
    assert found["rates"] == pytest.approx(kept["rates"], abs=1e-12)


@pytest.mark.timeout(300)
def test_random_answers_and_those_without_a_number() -> None:
    """What the libraries can't say, or say by a convention of theirs, is undefined here; all else is equal."""
    needs_the_libraries()
    source = random.Random(7)
    agreed = 0
    for _ in range(1500):
        order = source.choice((["not_met", "met"], SCALE[:3], SCALE))
        size, share = source.choice((0, 1, 2, 3, 5, 20)), source.random()
        rates = [share, *[(1 - share) / (len(order) - 1)] * (len(order) - 1)]
        people = source.choices(order, rates, k=size)
        judge = [answer if source.random() < share else source.choice(order) for answer in people]
        units = [[source.choice(order) for _ in range(source.randint(0, 3))] for _ in range(source.randint(1, 8))]
        theirs = libraries(order, people, judge, units)
        for name, number in ours(order, people, judge, units).items():
            known = theirs.get(name, math.nan)
            if isinstance(number, Undefined):
                # One rater without variance: 0 by scikit-learn's convention, and a recall of one class is no balance.
                assert math.isnan(known) or name in ("phi", "balanced_accuracy"), (name, known, number)
            else:
                assert number == pytest.approx(known, abs=1e-9), name
                agreed += 1
    assert agreed > 6000


def ours(order: list[str], people: list[str], judge: list[str], units: list[list[str]]) -> dict[str, Any]:
    pairs = Counter(zip(people, judge, strict=True))
    found: dict[str, Any] = {
        "accuracy": agreement.accuracy(pairs),
        "balanced_accuracy": agreement.balanced_accuracy(pairs),
        "phi": agreement.phi(pairs),
        "kappa": agreement.cohen_kappa(pairs),
        "linear": agreement.cohen_kappa(pairs, order=order, weights="linear"),
        "quadratic": agreement.cohen_kappa(pairs, order=order, weights="quadratic"),
        "nominal": agreement.krippendorff_alpha(units),
        "ordinal": agreement.krippendorff_alpha(units, order=order),
    }
    if len(order) == 2:
        found |= {"sensitivity": agreement.sensitivity(pairs), "specificity": agreement.specificity(pairs)}
    return found
