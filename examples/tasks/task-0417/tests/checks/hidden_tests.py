"""The hidden tests of task-0417: what the public functions of invoicekit must return, before and after the fix."""

from __future__ import annotations

from typing import Any, NamedTuple

from rubricgrade import Case, CheckResult

INVOICE_TOTAL = "invoicekit/totals.py:invoice_total"
LINE_TOTAL = "invoicekit/totals.py:line_total"
TAX = "invoicekit/totals.py:tax"


def line(quantity: float, unit_price: float) -> dict[str, float]:
    """A line item as invoicekit takes it."""
    return {"quantity": quantity, "unit_price": unit_price}


class HiddenTest(NamedTuple):
    """One call, and what it must return or raise."""

    function: str
    args: list[Any]
    returns: float | None = None
    raises: str | None = None


FAIL_TO_PASS = [
    HiddenTest(INVOICE_TOTAL, [[line(5, 1.135)]], 5.68),
    HiddenTest(INVOICE_TOTAL, [[line(1, 1.115), line(2, 10.0)]], 21.12),
    HiddenTest(INVOICE_TOTAL, [[line(1, 0.5), line(1, 0.625)]], 1.13),
]
PASS_TO_PASS = [
    HiddenTest(INVOICE_TOTAL, [[]], 0.0),
    HiddenTest(INVOICE_TOTAL, [[line(2, 10.5)]], 21.0),
    HiddenTest(INVOICE_TOTAL, [[line(1, 0.1), line(1, 0.2)]], 0.3),
    HiddenTest(INVOICE_TOTAL, [[line(3, 2.345)]], 7.04),
    HiddenTest(INVOICE_TOTAL, [[line(3, 2.344)]], 7.03),
    HiddenTest(INVOICE_TOTAL, [[line(1, 19.99), line(2, 5.01), line(4, 0.25)]], 31.01),
    HiddenTest(INVOICE_TOTAL, [[line(-1, 2.5)]], raises="ValueError"),
    HiddenTest(LINE_TOTAL, [line(2, 0.125)], 0.25),
    HiddenTest(LINE_TOTAL, [line(3, 0.001)], 0.003),
    HiddenTest(LINE_TOTAL, [line(1, -0.5)], raises="ValueError"),
    HiddenTest(TAX, [[line(1, 100.0)], 19], 19.0),
    HiddenTest(TAX, [[line(1, 10.0), line(1, 5.0)], 7], 1.05),
]


def fail_to_pass(case: Case) -> CheckResult:
    """How many of the tests that the bug breaks now pass."""
    return _run(case, FAIL_TO_PASS)


def pass_to_pass(case: Case) -> CheckResult:
    """How many of the tests that always passed still do."""
    return _run(case, PASS_TO_PASS)


def _run(case: Case, tests: list[HiddenTest]) -> CheckResult:
    failures = [message for test in tests if (message := _failure(case, test))]
    passed = len(tests) - len(failures)
    return CheckResult(
        value=passed / len(tests),
        passed=passed,
        total=len(tests),
        evidence=failures,
        message=f"{passed}/{len(tests)} passed",
    )


def _failure(case: Case, test: HiddenTest) -> str:
    """What is wrong about the answer to one call; empty if nothing is."""
    called = case.solution.call(test.function, *test.args)
    shown = f"{test.function.rpartition(':')[2]}({', '.join(map(repr, test.args))})"
    if test.raises is not None:
        return "" if called.raised == test.raises else f"{shown} should raise {test.raises}"
    if called.raised is not None:
        return f"{shown} raised {called.raised}: {called.message}"
    return "" if case.same(called.value, test.returns) else f"{shown} returned {called.value!r}, not {test.returns!r}"
