"""Whether sealed files hold what the rubric takes from them: functions, cases, tables. Nothing is ever imported."""

from __future__ import annotations

import ast
import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from rubricgrade.errors import Fault
from rubricgrade.loading import codes
from rubricgrade.loading.data import data_document
from rubricgrade.loading.document import Document
from rubricgrade.loading.functions import function_fault, module_of
from rubricgrade.loading.references import Reference
from rubricgrade.rubric.check import Cases
from rubricgrade.rubric.files import Table
from rubricgrade.rubric.rules import nearest

FUNCTION_CASE = frozenset({"id", "args", "kwargs", "expected", "raises"})
PROGRAM_CASE = frozenset({"id", "args", "stdin", "files", "stdout", "lines", "exit_code"})
FUNCTION_FORM = '[{"args": [2, 3], "expected": 5}, {"args": ["x"], "raises": "ValueError"}]'
PROGRAM_FORM = '[{"args": ["--total"], "stdin": "2\\n3\\n", "stdout": "5\\n"}]'


def content_faults(named: Iterable[Reference], sealed: Mapping[str, bytes], document: Document) -> list[Fault]:
    """A fault for each file that lacks what is asked of it, at the key that names it or inside the file."""
    faults: list[Fault] = []
    modules: dict[str, ast.Module | str] = {}
    for reference in named:
        path, data = reference.path, sealed.get(reference.path)
        if data is None:
            continue
        match reference.use:
            case str() as function:
                if path not in modules:
                    modules[path] = module_of(data, path)
                message = function_fault(modules[path], function, path, reference.given)
                faults += [document.fault(reference.place, message, codes.CONTENT)] if message else []
            case Cases() as spec:
                faults += _case_faults(spec, data, path)
            case Table() as spec:
                message = _no_table(spec, data)
                faults += [document.fault(reference.place, f"{path!r} {message}", codes.CONTENT)] if message else []
            case None:
                pass
    return faults


def _case_faults(spec: Cases, data: bytes, path: str) -> list[Fault]:
    cases = data_document(data, path)
    if cases.faults:
        return cases.faults
    found: Any = cases.data
    listed = cast("list[Any]", found) if isinstance(found, list) else []
    if not listed:
        form = PROGRAM_FORM if spec.function is None else FUNCTION_FORM
        return [cases.fault((), f"holds no list of cases; its form is {form}", codes.CONTENT)]
    one = _function_case if spec.function is not None else _program_case
    return [
        cases.fault((index,), f"case {index + 1}: {message}", codes.CONTENT)
        for index, case in enumerate(listed)
        for message in one(case)
    ]


def _function_case(case: Any) -> Iterator[str]:
    if not isinstance(case, dict):
        yield f"is no map; the form is {FUNCTION_FORM}"
        return
    given = cast("dict[str, Any]", case)
    yield from _unknown(given, FUNCTION_CASE)
    if ("expected" in given) == ("raises" in given):
        yield f"needs exactly one of 'expected' and 'raises', as in {FUNCTION_FORM}"
    if not isinstance(given.get("args", []), list):
        yield "'args' must be a list"
    if not isinstance(given.get("kwargs", {}), dict):
        yield "'kwargs' must be a map"
    if not isinstance(given.get("raises", ""), str):
        yield "'raises' must be the name of an exception"


def _program_case(case: Any) -> Iterator[str]:
    if not isinstance(case, dict):
        yield f"is no map; the form is {PROGRAM_FORM}"
        return
    given = cast("dict[str, Any]", case)
    yield from _unknown(given, PROGRAM_CASE)
    if "stdout" in given and "lines" in given:
        yield "has both 'stdout' and 'lines'"
    if not {"stdout", "lines", "exit_code"} & set(given):
        yield f"expects nothing: give 'stdout', 'lines' or 'exit_code', as in {PROGRAM_FORM}"
    for key in ("args", "lines"):
        if not _texts(given.get(key, [])):
            yield f"{key!r} must be a list of texts"
    for key in ("stdin", "stdout"):
        if not isinstance(given.get(key, ""), str):
            yield f"{key!r} must be text"
    files = given.get("files", {})
    if not (isinstance(files, dict) and _texts(list(cast("dict[str, Any]", files).values()))):
        yield "'files' must be a map of paths to texts"
    code = given.get("exit_code", 0)
    if not isinstance(code, int) or isinstance(code, bool):
        yield "'exit_code' must be a whole number"


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in cast("list[Any]", value))


def _unknown(given: Mapping[str, Any], known: frozenset[str]) -> Iterator[str]:
    for key in given:
        if key not in known:
            yield f"unknown key {key!r}{nearest(key, known) or '; known: ' + ', '.join(sorted(known))}"


def _no_table(spec: Table, data: bytes) -> str:
    try:
        rows = list(csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""), strict=True))
    except (UnicodeDecodeError, csv.Error) as error:
        return f"is no CSV: {error}"
    header = rows[0] if rows else []
    if len(set(header)) < len(header):
        return "has two columns of the same name"
    absent = [column for column in (*spec.key, *spec.columns) if column not in header]
    if absent:
        return f"has no column {absent[0]!r}{nearest(absent[0], header)}"
    if not spec.columns and set(header) <= set(spec.key):
        return "has no column beside its key, so there is nothing to compare"
    uneven = next((number for number, row in enumerate(rows[1:], 2) if row and len(row) != len(header)), None)
    if uneven is not None:
        return f"has {len(rows[uneven - 1])} cells in row {uneven}, and {len(header)} columns"
    return "" if any(rows[1:]) else "has no rows"
