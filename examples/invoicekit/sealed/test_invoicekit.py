"""The hidden tests of task-0417: what the public functions of invoicekit must return, before and after the fix.

Each compares with a literal, so that each has a twin with a wrong one; also where an exception is wanted.
"""

from collections.abc import Callable
from typing import Any

import pytest
from invoicekit.totals import invoice_total, line_total, tax


def line(quantity: float, unit_price: float) -> dict[str, float]:
    """A line item as invoicekit takes it."""
    return {"quantity": quantity, "unit_price": unit_price}


def raised(function: Callable[..., Any], *args: Any) -> str | None:
    """Name of the exception that a call raises; None if it returns."""
    try:
        function(*args)
    except Exception as error:  # noqa: BLE001 - which one it is decides the test
        return type(error).__name__
    return None


@pytest.mark.parametrize(
    ("lines", "total"),
    [
        ([line(5, 1.135)], 5.68),
        ([line(1, 1.115), line(2, 10.0)], 21.12),
        ([line(1, 0.5), line(1, 0.625)], 1.13),
    ],
)
def test_half_a_cent_is_rounded_up(lines: list[dict[str, float]], total: float) -> None:
    assert invoice_total(lines) == total


@pytest.mark.parametrize(
    ("lines", "total"),
    [
        ([], 0.0),
        ([line(2, 10.5)], 21.0),
        ([line(1, 0.1), line(1, 0.2)], 0.3),
        ([line(3, 2.345)], 7.04),
        ([line(3, 2.344)], 7.03),
        ([line(1, 19.99), line(2, 5.01), line(4, 0.25)], 31.01),
    ],
)
def test_invoice_total(lines: list[dict[str, float]], total: float) -> None:
    assert invoice_total(lines) == total


def test_an_invoice_refuses_a_negative_quantity() -> None:
    assert raised(invoice_total, [line(-1, 2.5)]) == "ValueError"


@pytest.mark.parametrize(("item", "total"), [(line(2, 0.125), 0.25), (line(3, 0.001), 0.003)])
def test_line_total_is_not_rounded(item: dict[str, float], total: float) -> None:
    assert line_total(item) == total


def test_a_line_refuses_a_negative_price() -> None:
    assert raised(line_total, line(1, -0.5)) == "ValueError"


@pytest.mark.parametrize(
    ("lines", "percent", "amount"),
    [
        ([line(1, 100.0)], 19, 19.0),
        ([line(1, 10.0), line(1, 5.0)], 7, 1.05),
    ],
)
def test_tax(lines: list[dict[str, float]], percent: int, amount: float) -> None:
    assert tax(lines, percent) == amount
