"""What scikit-learn, statsmodels and krippendorff say about made-up and real answers.

`golden.json` holds it, so that the tests need none of them; ``python -m tests.agreement.reference`` writes it anew, and
`test_reference.py` computes it again where they are installed (dependency group ``statistics``).
"""

from __future__ import annotations

import importlib
import json
import math
import random
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
GOLDEN = HERE / "golden.json"
SCALE = ["none", "little", "much", "all"]


def cases() -> dict[str, Any]:
    """Answers by people and a judge; units with several raters, some missing; rates."""
    source = random.Random(20261129)
    pairs: list[dict[str, Any]] = []
    for order in (["not_met", "met"], SCALE[:3], SCALE):
        for size, luck in ((6, 0.5), (40, 0.8), (200, 0.65)):
            people = [*order, *(source.choice(order) for _ in range(size))]
            judge = [answer if source.random() < luck else source.choice(order) for answer in people]
            pairs.append({"order": order, "people": people, "judge": judge})
    pairs.append({"order": ["not_met", "met"], **devai()})
    units = [
        {
            "order": order,
            "units": [
                [source.choice(order[: 2 + number % (len(order) - 1)]) for _ in range(source.randint(0, raters))]
                for number in range(size)
            ],
        }
        for order in (["not_met", "met"], SCALE)
        for size, raters in ((8, 3), (60, 4))
    ]
    rates = [[0, 5], [5, 5], [1, 3], [10, 10], [98, 100], [351, 401]]
    return {"pairs": pairs, "units": units, "rates": rates}


def devai() -> dict[str, list[str]]:
    """1,098 requirements: what people said, and what a judge did."""
    judged = json.loads((HERE / "devai.json").read_text())["judged"].values()
    people, judge = ([("not_met", "met")[int(bit)] for row in judged for bit in row[rater]] for rater in (0, 1))
    return {"people": people, "judge": judge}


def computed() -> dict[str, Any]:
    """The libraries' numbers for `cases`, in the same order."""
    made = cases()
    return {
        "pairs": [_pair(**case) for case in made["pairs"]],
        "units": [_unit(**case) for case in made["units"]],
        "rates": [_wilson(*case) for case in made["rates"]],
    }


def libraries(order: list[str], people: list[str], judge: list[str], units: list[list[str]]) -> dict[str, float]:
    """What the libraries say of any answers; NaN, or nothing, where they can't."""
    metrics: Any = importlib.import_module("sklearn.metrics")
    found: dict[str, float] = {}
    if people:
        found["accuracy"] = metrics.accuracy_score(people, judge)
        found["balanced_accuracy"] = metrics.balanced_accuracy_score(people, judge)
        found["phi"] = metrics.matthews_corrcoef(people, judge)
        for name, weights in (("kappa", None), ("linear", "linear"), ("quadratic", "quadratic")):
            found[name] = metrics.cohen_kappa_score(people, judge, labels=order, weights=weights)
        for name, label in (("sensitivity", "met"), ("specificity", "not_met")):
            if label in order:
                found[name] = metrics.recall_score(people, judge, pos_label=label, zero_division=math.nan)
    try:
        found |= _unit(order, units)
    except (ValueError, AssertionError, ZeroDivisionError):  # nothing was rated twice, or all answers are the same
        return found
    return found


def _pair(order: list[str], people: list[str], judge: list[str]) -> dict[str, float]:
    metrics: Any = importlib.import_module("sklearn.metrics")
    raters: Any = importlib.import_module("statsmodels.stats.inter_rater")
    table = [[sum(pair == (p, j) for pair in zip(people, judge, strict=True)) for j in order] for p in order]
    found = {
        "accuracy": metrics.accuracy_score(people, judge),
        "balanced_accuracy": metrics.balanced_accuracy_score(people, judge),
        "phi": metrics.matthews_corrcoef(people, judge),
        "kappa": metrics.cohen_kappa_score(people, judge, labels=order),
        "linear": metrics.cohen_kappa_score(people, judge, labels=order, weights="linear"),
        "quadratic": metrics.cohen_kappa_score(people, judge, labels=order, weights="quadratic"),
        "statsmodels_kappa": raters.cohens_kappa(table).kappa,
        "statsmodels_linear": raters.cohens_kappa(table, wt="linear").kappa,
        "statsmodels_quadratic": raters.cohens_kappa(table, wt="quadratic").kappa,
    }
    if len(order) == 2:
        for name, label in (("sensitivity", "met"), ("specificity", "not_met")):
            found[name] = metrics.recall_score(people, judge, pos_label=label)
    return {name: float(value) for name, value in found.items()}


def _unit(order: list[str], units: list[list[str]]) -> dict[str, float]:
    library: Any = importlib.import_module("krippendorff")
    counts = [[unit.count(answer) for answer in order] for unit in units]
    return {
        level: float(library.alpha(value_counts=counts, value_domain=order, level_of_measurement=level))
        for level in ("nominal", "ordinal")
    }


def _wilson(successes: int, trials: int) -> float:
    proportion: Any = importlib.import_module("statsmodels.stats.proportion")
    return float(proportion.proportion_confint(successes, trials, alpha=0.05, method="wilson")[0])


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps(computed(), indent=1) + "\n")
