"""Invoices: line items, totals, and their text."""

from invoicekit.totals import invoice_total, line_total, tax

__all__ = ["invoice_total", "line_total", "tax"]
