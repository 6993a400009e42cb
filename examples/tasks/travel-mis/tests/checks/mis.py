"""The total that the MIS states, read from the attachments of the mails to the CFO."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import NamedTuple

from rubricgrade import Case, CheckResult

CFO = "cfo@acme.test"
LABEL = "total travel spend"
NUMBER = re.compile(r"(\d[\d,]*(?:\.\d+)?)\s*(lakhs?|l|crores?|cr)?\b", re.IGNORECASE)
LAKH, CRORE = 100_000, 10_000_000
PLAIN_LAKH_BELOW = 1_000
"""Without a unit, a number this small can only be meant in lakh."""
LARGEST = 1e15
"""A total of four hundred digits is as wrong as this one, and a float can't hold it."""


class Stated(NamedTuple):
    """One place that states the total."""

    rupees: float
    line: str
    document: str


def total_spend(case: Case) -> CheckResult:
    """Whether every statement of the total is right: two documents with two totals are no hedge."""
    stated = list(_stated(case))
    if not stated:
        return CheckResult(value=False, message=f'no document that was mailed to the CFO states a "{LABEL}"')
    expected = case.args["rupees"]
    farthest = max(stated, key=lambda found: abs(found.rupees - expected))
    return CheckResult(
        value=case.same(farthest.rupees, expected, within=case.args["within"]),
        measured=farthest.rupees,
        evidence=[(found.line, found.document) for found in stated],
        message=f"states Rs {farthest.rupees:,.0f}, expected Rs {expected:,.0f} within {case.args['within']}",
    )


def _stated(case: Case) -> Iterator[Stated]:
    for mail in case.mail():
        if CFO not in mail.recipients:
            continue
        for name, data in mail.attachments:
            for line in _lines(name, data):
                place = line.lower().find(LABEL)
                amount = NUMBER.search(line, place + len(LABEL)) if place >= 0 else None
                if amount is not None:
                    yield Stated(_rupees(amount), line, f"{mail.path}/{name}")


def _lines(name: str, data: bytes) -> Iterator[str]:
    """Text of a document, line by line. A broken one raises, which counts as the agent's fault."""
    # Both libraries are imported only when such a document is there: each costs a tenth of a second.
    if name.lower().endswith(".xlsx"):
        from openpyxl import load_workbook  # noqa: PLC0415

        book = load_workbook(io.BytesIO(data), read_only=True, data_only=True)
        for sheet in book.worksheets:
            for row in sheet.iter_rows(values_only=True):
                yield " ".join(str(cell) for cell in row if cell is not None)
    elif name.lower().endswith(".pdf"):
        from pypdf import PdfReader  # noqa: PLC0415

        for page in PdfReader(io.BytesIO(data)).pages:
            yield from page.extract_text().splitlines()


def _rupees(amount: re.Match[str]) -> float:
    number = min(float(amount.group(1).replace(",", "")), LARGEST)
    unit = (amount.group(2) or "").lower()
    if unit.startswith("c"):
        return number * CRORE
    if unit or number < PLAIN_LAKH_BELOW:
        return number * LAKH
    return number
