"""One test of a sealed suite: what is run, and what its process, which the agent's code shares, says came of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from rubricgrade.checks.inside.wire import no_constant

PASSED = [("call", "passed", ""), ("setup", "passed", ""), ("teardown", "passed", "")]
"""All reports of a test that passed, sorted."""


@dataclass(frozen=True, slots=True)
class TestRun:
    """One test of a sealed suite to run.

    Attributes:
        module: Text of its module as it is to lie there.
        file: Path of the module in the suite.
        select: The test in it: ``test_x``, ``TestX::test_y[1]``. Without brackets, exactly one must have the name.
    """

    __test__ = False

    module: str
    file: str
    select: str


@dataclass(frozen=True, slots=True)
class Tested:
    """How the run of one test ended, as far as the process that the agent's code shares can be believed.

    Attributes:
        ran: There is exactly one report on the test's call.
        passed: It passed, as did its set-up and tear-down, and pytest ended with exit code 0.
        faulted: The process gave no readable answer.
        message: What happened, if it did not pass.
    """

    ran: bool
    passed: bool
    faulted: bool
    message: str


def tested(answer: dict[str, Any], select: str) -> Tested:
    """The reply of a test's process, which is hostile as well: what does not look as it must has not passed."""
    tail = answer["stderr"].strip()[-300:]
    if answer["fault"] or answer["reply"] is None:
        how = answer["fault"] or f"its process ended with exit code {answer['code']} and gave no single reply"
        return Tested(ran=False, passed=False, faulted=True, message=f"{how}. {tail}".strip())
    try:
        reply: Any = json.loads(answer["reply"], parse_constant=no_constant)
    except (ValueError, RecursionError) as error:
        return Tested(ran=False, passed=False, faulted=True, message=f"its reply is no strict JSON: {error}")
    match reply:
        case {"rc": int(rc), "reports": [*reports], "trouble": str(trouble)}:
            told = [_report(one, select) for one in reports]
        case _:
            return Tested(ran=False, passed=False, faulted=True, message="its reply has the wrong shape")
    calls = [outcome for when, outcome, _ in told if when == "call"]
    passed = rc == 0 and sorted(told) == PASSED
    words = next((text for _, outcome, text in told if outcome != "passed"), "") or trouble
    message = "" if passed else words.strip() or f"pytest ended with exit code {rc} and {len(calls)} reports. {tail}"
    return Tested(ran=len(calls) == 1, passed=passed, faulted=False, message=message)


def _report(report: Any, select: str) -> tuple[str, str, str]:
    """When, how it went, and what was said; a report on any other test is none of a pass."""
    match report:
        case {"when": str(when), "outcome": str(outcome), "name": str(name), "text": str(text)}:
            if name == select or name.startswith(f"{select}["):
                return when, outcome, text
            return when, "other", f"a report on {name}"
        case _:
            return "", "", "a report of the wrong shape"
