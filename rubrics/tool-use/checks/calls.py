"""What code can see of an agent's way with its tools."""

from __future__ import annotations

from itertools import pairwise

from rubricgrade import Case, CheckResult


def repeats_a_failed_call(case: Case) -> CheckResult:
    """Two calls in a row are the same, and the first was marked as failed by the source of the trajectory."""
    repeated = [
        later
        for first, later in pairwise(case.calls())
        if first.failed and (first.name, first.arguments, first.raw) == (later.name, later.arguments, later.raw)
    ]
    return CheckResult(
        value=bool(repeated), evidence=[(f"calls {call.name} again, unchanged", call.address) for call in repeated]
    )
