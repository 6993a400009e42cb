"""Totals of invoices, in the invoice's currency with two decimals."""

from invoicekit.lines import checked


def line_total(line):
    """Quantity times unit price, not rounded: an invoice is rounded once."""
    quantity, unit_price = checked(line)
    return quantity * unit_price


def invoice_total(lines):
    """The sum of all lines, rounded to cents."""
    subtotal = 0.0
    for line in lines:
        subtotal += line_total(line)
    return round(subtotal, 2)


def tax(lines, percent):
    """Tax on an invoice's total, rounded to cents."""
    return round(invoice_total(lines) * percent / 100, 2)
