"""What code can see of an agent that goes round in circles."""

from __future__ import annotations

from rubricgrade import Case, CheckResult


def three_alike(case: Case) -> CheckResult:
    """The same tool with the same arguments, three times in a row."""
    calls = case.calls()
    asked = [(call.name, call.arguments, call.raw) for call in calls]
    third = [calls[last] for last in range(2, len(calls)) if asked[last] == asked[last - 1] == asked[last - 2]]
    return CheckResult(
        bool(third), evidence=[(f"calls {call.name} a third time, unchanged", call.address) for call in third]
    )
