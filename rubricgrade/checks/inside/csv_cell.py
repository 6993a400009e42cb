"""``csv``: a cell of a CSV file, by its column's name and a row number or a filter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rubricgrade.checks.inside.case import BadArtifact, Case, CheckResult, Seen
from rubricgrade.checks.inside.compare import same_text, show
from rubricgrade.checks.inside.expect import judged


def check(case: Case, spec: Mapping[str, Any]) -> CheckResult:
    """Met when the cell is as expected (or not empty). A filter that fits several rows is not met: none is meant."""
    path, column = spec["path"], spec["column"]
    rows = case.read_csv(path)
    if not rows or column not in rows[0]:
        has = ", ".join(map(repr, rows[0])) if rows else "no rows"
        raise BadArtifact(path, f"has no cell in column {column!r}; it has {has[:300]}")
    where: dict[str, Any] = spec.get("where") or {}
    fits = [
        number
        for number, row in enumerate(rows, 1)
        if all(name in row and same_text(row[name], wanted) for name, wanted in where.items())
    ]
    if spec.get("row") is not None:
        fits = [number for number in fits if number == spec["row"]]
    if len(fits) != 1:
        asked = ", ".join(f"{name} = {show(wanted)}" for name, wanted in where.items()) or f"row {spec.get('row')}"
        message = f"{path}: {len(fits) or 'no'} rows fit {asked}"
        return CheckResult(value=False, evidence=[Seen(message, path)], message=message)
    found = rows[fits[0] - 1][column]
    return judged(case, spec, found, name=column, where=f"{path}:row {fits[0]}", of_text=True)
