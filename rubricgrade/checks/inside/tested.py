"""Tests of a sealed suite: what is run, and what their process, which the agent's code shares, says came of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
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
class Setting:
    """What the tests of a suite are run in.

    Attributes:
        files: What lies beside each of them.
        allow: Globs of what is taken of the agent's files; nothing: all that a suite may meet.
        keep: Globs of what is not.
        pythonpath: Folders below the work folder to import from.
        in_place: Whether the suite is laid over the agent's files, in the work folder.
        config: Pytest's settings, as an INI file.
        plugins: Modules of pytest plugins.
    """

    files: Mapping[str, bytes]
    allow: Sequence[str] = ()
    keep: Sequence[str] = ()
    pythonpath: Sequence[str] = (".",)
    in_place: bool = False
    config: str = ""
    plugins: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Tested:
    """How the run of one test ended, as far as the process that the agent's code shares can be believed.

    Attributes:
        ran: There is exactly one report on the test's call.
        passed: It passed, as did its set-up and tear-down, and pytest ended with the exit code that goes with it.
        faulted: The process gave no readable answer.
        message: What happened, if it did not pass.
    """

    ran: bool
    passed: bool
    faulted: bool
    message: str


def tested(answer: dict[str, Any], group: Sequence[TestRun]) -> list[Tested]:
    """The reply of a process that ran some tests. It is hostile as well: what does not look as it must has not passed.

    Returns:
        One for each test of the group, in its order.
    """
    tail = answer["stderr"].strip()[-300:]
    if answer["fault"] or answer["reply"] is None:
        how = answer["fault"] or f"its process ended with exit code {answer['code']} and gave no single reply"
        return _none(group, f"{how}. {tail}".strip())
    try:
        reply: Any = json.loads(answer["reply"], parse_constant=no_constant)
    except (ValueError, RecursionError) as error:
        return _none(group, f"its reply is no strict JSON: {error}")
    match reply:
        case {"rc": int(rc), "reports": [*reports], "trouble": {**trouble}}:
            told = [[_said(one, run.select) for one in reports if _is_on(one, run.file)] for run in group]
        case _:
            return _none(group, "its reply has the wrong shape")
    strays = sum(not any(_is_on(one, run.file) for run in group) for one in reports)
    # When every test passes, so does pytest; when some don't, its exit code says nothing about the others.
    believed = not strays and (rc == 0 or any(sorted(one) != PASSED for one in told))
    ending = f"pytest ended with exit code {rc} and {len(reports)} reports. {tail}"
    return [
        _one(one, believed=believed, trouble=trouble.get(run.file), ending=ending)
        for one, run in zip(told, group, strict=True)
    ]


def _none(group: Sequence[TestRun], message: str) -> list[Tested]:
    return [Tested(ran=False, passed=False, faulted=True, message=message)] * len(group)


def _one(told: list[tuple[str, str, str]], *, believed: bool, trouble: object, ending: str) -> Tested:
    calls = [outcome for when, outcome, _ in told if when == "call"]
    passed = believed and sorted(told) == PASSED
    told_of = trouble if isinstance(trouble, str) else ""
    words = next((text for _, outcome, text in told if outcome != "passed"), "") or told_of
    return Tested(len(calls) == 1, passed, faulted=False, message="" if passed else words.strip() or ending)


def _is_on(report: Any, file: str) -> bool:
    match report:
        case {"file": str(named)}:
            return named == file
        case _:
            return False


def _said(report: Any, select: str) -> tuple[str, str, str]:
    """When, how it went, and what was said; a report on any other test is none of a pass."""
    match report:
        case {"when": str(when), "outcome": str(outcome), "name": str(name), "text": str(text)}:
            if name == select or name.startswith(f"{select}["):
                return when, outcome, text
            return when, "other", f"a report on {name}"
        case _:
            return "", "", "a report of the wrong shape"
