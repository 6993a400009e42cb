"""The hidden tests of task-0417: what the public functions of invoicekit must return, before and after the fix.

Each compares with a literal, so that each has a twin with a wrong one.
"""

import pytest
from invoicekit.totals import invoice_total, line_total, tax


def line(quantity: float, unit_price: float) -> dict[str, float]:
    """A line item as invoicekit takes it."""
    return {"quantity": quantity, "unit_price": unit_price}


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
        ([line(3, 2.345)], 7.04),
        ([line(1, 19.99), line(2, 5.01), line(4, 0.25)], 31.01),
    ],
)
def test_invoice_total(lines: list[dict[str, float]], total: float) -> None:
    assert invoice_total(lines) == total


def test_line_total_is_not_rounded() -> None:
    assert line_total(line(3, 0.001)) == 0.003


def test_tax() -> None:
    assert tax([line(1, 10.0), line(1, 5.0)], 7) == 1.05
