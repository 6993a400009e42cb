"""Totals of invoices, in the invoice's currency with two decimals."""

from decimal import ROUND_HALF_UP, Decimal

from invoicekit.lines import checked

CENT = Decimal("0.01")


def line_total(quantity, unit_price):
    """Quantity times unit price, not rounded: an invoice is rounded once."""
    return Decimal(str(quantity)) * Decimal(str(unit_price))


def invoice_total(lines):
    """The sum of all lines, rounded to cents, half a cent up."""
    subtotal = sum((line_total(*checked(line)) for line in lines), Decimal(0))
    return float(subtotal.quantize(CENT, rounding=ROUND_HALF_UP))


def tax(lines, percent):
    """Tax on an invoice's total, rounded to cents."""
    return round(invoice_total(lines) * percent / 100, 2)
