"""``table``: the cells of a CSV or XLSX file against a sealed CSV."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rubricgrade.checks.inside import readers
from rubricgrade.checks.inside.artifacts import parts_of
from rubricgrade.checks.inside.case import AuthorFault, BadArtifact, Case, CheckResult, Seen
from rubricgrade.checks.inside.compare import cut, number, same, show

MOST_SHOWN = 10

Key = tuple[Any, ...]


def check(case: Case, spec: Mapping[str, Any]) -> CheckResult:
    """Value = matching cells / expected cells.

    A row that stands twice is wrong. So are all cells of a row that nobody expects, unless `extra_rows` allows it: else
    a table of every row that there can be would be as good as the right one.
    """
    path, key = spec["path"], spec["key"]
    expected = _sealed(case, spec["expected"])
    columns: list[str] = list(spec.get("columns") or [name for name in expected[0] if name not in key])
    _has_columns(expected[0], [*key, *columns], spec["expected"])
    if not columns:
        raise AuthorFault(f"the sealed file {spec['expected']} has no column beside its key")
    wanted = _by_key(expected, key)
    if len(wanted) < len(expected):
        raise AuthorFault(f"the sealed file {spec['expected']} has two rows of the same key")
    found = _by_key(_found(case, spec), key)
    evidence: list[Seen] = []
    matching = 0
    for row in expected:
        name = _key(row, key)
        rows = found.get(name, [])
        shown = _shown(name)
        if len(rows) != 1:
            evidence.append(Seen(f"{shown}: {'stands there twice' if rows else 'is missing'}", path))
            continue
        for column in columns:
            cell = rows[0].get(column)
            if _cells_same(cell, row[column], case.within):
                matching += 1
            else:
                text = f"{shown}, {column}: found {show(cell)}, expected {show(row[column])}"
                evidence.append(Seen(text, path))
    extra: list[str] = []
    if spec.get("extra_rows") != "allowed":
        extra = [_shown(name) for name, rows in found.items() if name not in wanted for _ in rows]
    evidence += [Seen(f"{name}: is not expected", path) for name in extra[:MOST_SHOWN]]
    total = (len(expected) + len(extra)) * len(columns)
    message = f"{path}: {matching} of {total} cells are right"
    if extra:
        message += f" (wrong ones include those of {len(extra):,} rows that are not expected)"
    evidence = [Seen(message, path), *evidence[:MOST_SHOWN]]
    return CheckResult(matching / total, evidence=evidence, message=message, passed=matching, total=total)


def _sealed(case: Case, name: str) -> list[dict[str, Any]]:
    try:
        rows = readers.csv_records(case.sealed.joinpath(*parts_of(name)).read_bytes(), name)
    except (OSError, BadArtifact) as error:
        raise AuthorFault(f"the sealed file {name} can't be read: {error}") from None
    if not rows:
        raise AuthorFault(f"the sealed file {name} has no rows")
    return rows


def _found(case: Case, spec: Mapping[str, Any]) -> list[dict[str, Any]]:
    path = spec["path"]
    if path.lower().endswith((".xlsx", ".xlsm")):
        rows = readers.records(case.read_xlsx(path, spec.get("sheet")), path)
    else:
        rows = case.read_csv(path)
    # What looks like an empty line is none to anybody.
    return [row for row in rows if any(cell is not None and str(cell).strip() for cell in row.values())]


def _has_columns(row: Mapping[str, Any], names: Sequence[str], file: str) -> None:
    missing = [name for name in names if name not in row]
    if missing or not names:
        raise AuthorFault(f"the sealed file {file} has no column {', '.join(map(repr, missing))}")


def _by_key(rows: Sequence[Mapping[str, Any]], key: Sequence[str]) -> dict[Key, list[Mapping[str, Any]]]:
    found: dict[Key, list[Mapping[str, Any]]] = {}
    for row in rows:
        found.setdefault(_key(row, key), []).append(row)
    return found


def _key(row: Mapping[str, Any], key: Sequence[str]) -> Key:
    """What names a row: numbers by their value, texts without outer white space and case."""
    return tuple(_folded(row.get(name)) for name in key)


def _shown(key: Key) -> str:
    return cut(", ".join(str(part) for part in key), 200)


def _folded(cell: Any) -> Any:
    if isinstance(cell, str):
        value = number(cell)
        return cell.strip().casefold() if value is None else value
    return cell


def _cells_same(found: Any, expected: str, within: float | str | None) -> bool:
    wanted = number(expected)
    if wanted is not None:
        return same(number(found) if isinstance(found, str) else found, wanted, within)
    return ("" if found is None else str(found)).strip() == expected.strip()
