"""``xlsx``: a cell of a workbook, as its last saved value."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rubricgrade.checks.inside.case import Case, CheckResult
from rubricgrade.checks.inside.expect import judged


def check(case: Case, spec: Mapping[str, Any]) -> CheckResult:
    """Met when the cell is as expected (or not empty); measures it when it is a number."""
    path, cell, sheet = spec["path"], spec["cell"], spec.get("sheet")
    column, row = position_of(cell)
    rows = case.read_xlsx(path, sheet)
    found = rows[row - 1][column - 1] if row <= len(rows) and column <= len(rows[row - 1]) else None
    where = f"{path}!{sheet}!{cell}" if sheet else f"{path}!{cell}"
    return judged(case, spec, found, name=cell, where=where)


def position_of(cell: str) -> tuple[int, int]:
    """Column and row, from 1, of a name such as ``B4``."""
    letters, digits = re.fullmatch(r"([A-Z]+)([0-9]+)", cell).groups()  # pyright: ignore[reportOptionalMemberAccess] - the rubric's model holds names of this form only
    column = 0
    for letter in letters:
        column = column * 26 + ord(letter) - ord("A") + 1
    return column, int(digits)
