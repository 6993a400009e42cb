"""Checks of an answer: they run in the checker's sandbox."""

from __future__ import annotations

import re

from rubricgrade import Case, CheckResult

MOST_WORDS = 20


def right(case: Case) -> CheckResult:
    """Whether the last number that was said is the task's answer."""
    numbers = re.findall(r"-?\d+", case.final_message or "")
    said = numbers[-1] if numbers else "nothing"
    return CheckResult(said == case.vars["answer"], message=f"the last number is {said}")


def brief(case: Case) -> CheckResult:
    words = len((case.final_message or "").split())
    return CheckResult(words <= MOST_WORDS, message=f"{words} words")
