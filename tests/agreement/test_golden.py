"""Our numbers are those of scikit-learn, statsmodels and krippendorff (see `reference`)."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from rubricgrade import agreement
from rubricgrade.agreement.permission import wilson_low
from tests.agreement.reference import GOLDEN, cases, devai

MADE = cases()
WANTED = json.loads(GOLDEN.read_text())


@pytest.mark.parametrize("index", range(len(MADE["pairs"])))
def test_two_raters(index: int) -> None:
    case: dict[str, Any] = MADE["pairs"][index]
    pairs = Counter(zip(case["people"], case["judge"], strict=True))
    order = case["order"]
    ours = {
        "accuracy": agreement.accuracy(pairs),
        "balanced_accuracy": agreement.balanced_accuracy(pairs),
        "phi": agreement.phi(pairs),
        "kappa": agreement.cohen_kappa(pairs),
        "statsmodels_kappa": agreement.cohen_kappa(pairs),
    }
    for weights in ("linear", "quadratic"):
        ours[weights] = ours[f"statsmodels_{weights}"] = agreement.cohen_kappa(pairs, order=order, weights=weights)
    if len(order) == 2:
        ours |= {"sensitivity": agreement.sensitivity(pairs), "specificity": agreement.specificity(pairs)}
    assert ours == pytest.approx(WANTED["pairs"][index], abs=1e-12)


@pytest.mark.parametrize("index", range(len(MADE["units"])))
def test_several_raters(index: int) -> None:
    case: dict[str, Any] = MADE["units"][index]
    ours = {
        "nominal": agreement.krippendorff_alpha(case["units"]),
        "ordinal": agreement.krippendorff_alpha(case["units"], order=case["order"]),
    }
    assert ours == pytest.approx(WANTED["units"][index], abs=1e-12)


@pytest.mark.parametrize("index", range(len(MADE["rates"])))
def test_lower_bounds_of_rates(index: int) -> None:
    assert wilson_low(*MADE["rates"][index]) == pytest.approx(WANTED["rates"][index], abs=1e-12)


def test_an_agent_as_a_judge_against_people() -> None:
    labels = devai()
    pairs = Counter(zip(labels["people"], labels["judge"], strict=True))
    assert sum(pairs.values()) == 1098
    assert agreement.accuracy(pairs) == pytest.approx(0.896, abs=5e-4)
    assert agreement.cohen_kappa(pairs) == pytest.approx(0.778, abs=5e-4)
    assert agreement.sensitivity(pairs) == pytest.approx(0.875, abs=5e-4)
    assert agreement.specificity(pairs) == pytest.approx(0.908, abs=5e-4)
