"""Whether a judge may decide on its own: agreement well above chance, and not by luck. Otherwise it may only flag."""

from __future__ import annotations

import math
from collections import Counter

from rubricgrade.agreement.number import Number, Pairs, Undefined

LEAST_KAPPA = 0.6
LEAST_BALANCED = 0.75
_Z = 1.959963984540054  # the 97.5 % point of the normal distribution


def permit(kappa: Number, balanced_low: Number) -> tuple[bool, str]:
    """Decide.

    Args:
        kappa: Cohen's, over what is compared.
        balanced_low: The lower 95 % bound of the balanced accuracy.

    Returns:
        Whether the judge may be used without a person, and the reason in words. What is undefined permits nothing.
    """
    doubts: list[str] = []
    for name, number, least in (
        ("kappa", kappa, LEAST_KAPPA),
        ("the lower bound of balanced accuracy", balanced_low, LEAST_BALANCED),
    ):
        if isinstance(number, Undefined):
            doubts.append(f"{name} is undefined ({number.reason})")
        elif number < least:
            # Rounded down: 0.5996 is not to be told as 0.600.
            doubts.append(f"{name} is {math.floor(number * 1000) / 1000:.3f}, below {least}")
    return not doubts, "; ".join(
        doubts
    ) or f"kappa >= {LEAST_KAPPA}, lower bound of balanced accuracy >= {LEAST_BALANCED}"


def balanced_floor(pairs: Pairs) -> Number:
    """A lower 95 % bound of the balanced accuracy that few answers can't reach, however right they are.

    Where nothing went wrong a bootstrap draws nothing that did, and its interval has no width. This bound joins
    Wilson's for the recall of each of people's answers by the variance method of Zou and Donner (2008).
    """
    right, asked = Counter[str](), Counter[str]()
    for (person, judge), count in pairs.items():
        asked[person] += count
        right[person] += count if person == judge else 0
    recalls = [
        (right[answer] / number, wilson_low(right[answer], number)) for answer, number in asked.items() if number
    ]
    if len(recalls) < 2:  # noqa: PLR2004 - balance takes two
        return Undefined("people did not give two different answers")
    mean = math.fsum(recall for recall, _ in recalls) / len(recalls)
    return mean - math.sqrt(math.fsum((recall - low) ** 2 for recall, low in recalls)) / len(recalls)


def wilson_low(successes: int, trials: int) -> float:
    """The lower end of Wilson's 95 % interval of a rate, 0 to 1; `trials` is at least 1."""
    rate, spread = successes / trials, _Z**2 / trials
    half = _Z * math.sqrt(rate * (1 - rate) / trials + _Z**2 / (4 * trials**2))
    return max((rate + spread / 2 - half) / (1 + spread), 0.0)
