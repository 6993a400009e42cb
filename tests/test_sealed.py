"""Sealed files: what is kept with a rubric, what is refused, and what must be in them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from rubricgrade.errors import Fault, RubricError
from rubricgrade.loading import load_rubric, sealed

CHECK = "def total(case):\n    return True\n"


def write(folder: Path, check: str, files: dict[str, str | bytes]) -> Path:
    """A rubric with one gate; its check stands on line 5."""
    (folder / "rubric.yaml").write_text(f"id: r\ngates:\n  - id: g\n    description: d\n    check: {check}\n")
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def faults(folder: Path) -> list[Fault]:
    with pytest.raises(RubricError) as caught:
        load_rubric(folder)
    return caught.value.faults


def refused(folder: Path, line: int = 5) -> str:
    """Why a rubric is refused, at that line and for its sealed files."""
    (fault,) = faults(folder)
    assert (fault.line, fault.file) == (line, str(folder / "rubric.yaml"))
    assert fault.code in {"RG020", "RG021"}
    return fault.message


def test_named_files_and_their_folders_are_kept(tmp_path: Path) -> None:
    files = {"checks/a.py": CHECK, "checks/lib/b.py": "x = 1", "sealed/.hidden": "h", "data/t.csv": "k,v\n1,2\n"}
    junk = {
        "checks/__pycache__/a.pyc": b"\0",
        "checks/c.pyc": b"\0",
        "sealed/.DS_Store": "x",
        "README.md": "not sealed",
    }
    table = "{not: {table: {path: out.csv, expected: data/t.csv, key: [k]}}}"
    rubric = load_rubric(write(tmp_path, table, {**files, **junk}))
    assert dict(rubric.sealed) == {name: str(content).encode() for name, content in files.items()}


def test_the_bytes_are_part_of_the_hash(tmp_path: Path) -> None:
    before = load_rubric(write(tmp_path, "{python: checks/a.py:total}", {"checks/a.py": CHECK})).hash
    assert load_rubric(tmp_path).hash == before
    (tmp_path / "checks/data.json").write_text("{}")
    assert load_rubric(tmp_path).hash != before


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("checks/none.py:f", "is not there"),
        ("../outside.py:f", "leads out"),
        ("checks/../checks/a.py:f", "leads out"),
        ("/etc/passwd.py:f", "leads out"),
        ("./checks/a.py:f", "is written as 'checks/a.py'"),
        ("checks//a.py:f", "is written as 'checks/a.py'"),
        ("checks\\a.py:f", "write it with '/'"),
        ("checks/folder.py:f", "no regular file"),
        ("checks/pipe.py:f", "no regular file"),
        ("checks/a.py/b.py:f", "is not there"),
    ],
)
def test_paths_that_are_refused(tmp_path: Path, path: str, words: str) -> None:
    inside = tmp_path / "rubric"
    inside.mkdir()
    (tmp_path / "outside.py").write_text("def f(case): ...")
    write(inside, f"{{python: '{path}'}}", {"checks/a.py": "def f(case): ..."})
    (inside / "checks/folder.py").mkdir()
    if "pipe" in path:
        os.mkfifo(inside / "checks/pipe.py")
    assert words in refused(inside)


@pytest.mark.parametrize("link", ["checks/a.py", "checks"])
def test_no_component_may_be_a_link(tmp_path: Path, link: str) -> None:
    inside = write(tmp_path, "{python: checks/a.py:total}", {"real/a.py": CHECK, "real/checks/a.py": CHECK})
    (inside / link).parent.mkdir(exist_ok=True)
    (inside / link).symlink_to(inside / "real" / ("a.py" if link.endswith(".py") else "checks"))
    assert "symbolic link" in refused(inside)


@pytest.mark.parametrize("name", ["sealed/link.txt", "sealed/linked-folder", "checks"])
def test_links_beside_the_rubric_are_refused_unnamed(tmp_path: Path, name: str) -> None:
    write(tmp_path, "{exists: a.txt}", {"elsewhere/x.txt": "x"})
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).symlink_to(tmp_path / "elsewhere" / ("x.txt" if name.endswith(".txt") else ""))
    assert "symbolic link" in refused(tmp_path, line=0)


def test_sizes_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "{python: checks/a.py:total}", {"checks/a.py": CHECK + "#" * 100, "sealed/b": "x" * 100})
    monkeypatch.setattr(sealed, "MAX_TOTAL", 150)
    assert "sealed files" in refused(tmp_path, line=0)
    monkeypatch.setattr(sealed, "MAX_FILE", 50)
    assert "larger than" in refused(tmp_path)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("def totl(case): ...", "did you mean 'totl'"),
        ("def outer():\n    def total(case): ...", "no function 'total'"),
        ("def total(case) ...", "is no Python"),
        ("\0", "is no Python"),
        ("(" * 100_000, "is no Python"),
        (b"# \xff\ndef total(case): ...", "is no Python"),
        ("\ndef total(): ...", "'checks/a.py', line 2: 'total' is called with 1 argument: write def total(case)"),
        ("def total(case, other): ...", "write def total(case)"),
        ("def total(case, *, other): ...", "write def total(case)"),
        ("def total(*, case): ...", "write def total(case)"),
        ("async def total(case): ...", "is async"),
    ],
)
def test_a_named_function_must_be_there_and_take_the_case(tmp_path: Path, source: str | bytes, words: str) -> None:
    assert words in refused(write(tmp_path, "{python: checks/a.py:total}", {"checks/a.py": source}))


@pytest.mark.parametrize(
    "source",
    [
        "def total(case, within=0.1, *rest, **named): ...",
        "def total(*given): ...",
        "import functools\n@functools.cache\ndef total(): ...",
    ],
)
def test_what_may_take_the_case_is_let_be(tmp_path: Path, source: str) -> None:
    assert load_rubric(write(tmp_path, "{python: checks/a.py:total}", {"checks/a.py": source})).sealed


def test_a_comparison_takes_what_was_found_and_what_was_expected(tmp_path: Path) -> None:
    check = "{cases: {file: c.json, function: 'calc.py:f', compare: {python: 'compare.py:alike'}}}"
    cases = json.dumps([{"args": [1], "expected": 1}])
    folder = write(tmp_path, check, {"c.json": cases, "compare.py": "def alike(one): ..."})
    assert "is called with 2 arguments: write def alike(found, expected)" in refused(folder)


@pytest.mark.parametrize(
    "source",
    [
        "from lib import total",
        "from lib import x as total",
        "total = 1",
        "if True:\n    def total(case): ...",
        "def total(case):\n    return '\\d'",
        "raise SystemExit  # never run\ndef total(case): ...",
    ],
)
def test_the_file_is_read_and_never_run(tmp_path: Path, source: str) -> None:
    assert load_rubric(write(tmp_path, "{python: checks/a.py:total}", {"checks/a.py": source})).sealed


def test_a_comparison_must_be_there_and_is_sealed(tmp_path: Path) -> None:
    check = "{cases: {file: c.json, function: 'calc.py:f', compare: {python: 'compare.py:alike'}}}"
    write(tmp_path, check, {"c.json": '[{"expected": 1}]', "compare.py": "def alik(found, expected): ..."})
    assert "'alike'; did you mean 'alik'" in refused(tmp_path)
    (tmp_path / "compare.py").write_text("def alike(found, expected): ...")
    rubric = load_rubric(tmp_path)
    assert sorted(rubric.sealed) == ["c.json", "compare.py"]
    check_of = rubric.gates[0].check
    assert not isinstance(check_of, str)
    assert check_of.sealed == ("c.json", "compare.py")


def test_a_function_for_items_must_be_there(tmp_path: Path) -> None:
    (tmp_path / "rubric.yaml").write_text(
        "id: r\ncriteria:\n  - id: a\n    points: 1\n    description: '{{ item }}'\n    judge:\n"
        "    for_each: {python: 'a.py:items', if_none: met}\n"
    )
    (tmp_path / "a.py").write_text("def item(case): ...")
    assert "'items'" in refused(tmp_path, line=7)


@pytest.mark.parametrize(
    ("cases", "words"),
    [
        ([], 'no list of cases; its form is [{"args"'),
        ({"args": []}, "no list of cases"),
        ([1], "case 1: is no map"),
        ([{"args": [1]}], "exactly one of 'expected' and 'raises'"),
        ([{"args": [1], "expected": 1, "raises": "ValueError"}], "exactly one of"),
        ([{"args": 1, "expected": 1}], "'args' must be a list"),
        ([{"kwargs": [], "expected": 1}], "'kwargs' must be a map"),
        ([{"expect": 1, "raises": "E"}], "unknown key 'expect'"),
        ([{"raises": 1}], "name of an exception"),
    ],
)
def test_cases_of_a_function(tmp_path: Path, cases: object, words: str) -> None:
    check = "{cases: {file: sealed/c.json, function: 'calc.py:f'}}"
    (fault,) = faults(write(tmp_path, check, {"sealed/c.json": json.dumps(cases)}))
    assert words in fault.message
    assert fault.file == "sealed/c.json"


@pytest.mark.parametrize(
    ("cases", "words"),
    [
        ([{"args": ["a"]}], "expects nothing: give 'stdout', 'lines' or 'exit_code', as in [{\"args\""),
        ([{"args": [1], "stdout": ""}], "'args' must be a list of texts"),
        ([{"stdout": "a", "lines": ["a"]}], "both"),
        ([{"lines": "a"}], "'lines' must be a list of texts"),
        ([{"stdin": 1, "stdout": ""}], "'stdin' must be text"),
        ([{"files": {"a": 1}, "stdout": ""}], "'files' must be"),
        ([{"exit_code": True}], "whole number"),
        ([{"expected": 1, "exit_code": 0}], "unknown key 'expected'"),
    ],
)
def test_cases_of_a_program(tmp_path: Path, cases: object, words: str) -> None:
    check = "{cases: {file: sealed/c.json, program: [python3, a.py]}}"
    (fault,) = faults(write(tmp_path, check, {"sealed/c.json": json.dumps(cases)}))
    assert words in fault.message


def test_cases_in_yaml_are_read_like_the_rubric_and_name_their_line(tmp_path: Path) -> None:
    check = "{cases: {file: sealed/c.yaml, function: 'calc.py:f'}}"
    write(tmp_path, check, {"sealed/c.yaml": "- {args: [no], expected: yes}\n- {args: [1]}\n"})
    (fault,) = faults(tmp_path)
    assert (fault.file, fault.line) == ("sealed/c.yaml", 2)
    (tmp_path / "sealed/c.yaml").write_text("- {args: [1], expected: 2024-01-01}\n")
    assert [(fault.line, fault.code) for fault in faults(tmp_path)] == [(1, "RG003")]


def test_a_key_that_stands_twice_in_json_cases_has_a_place(tmp_path: Path) -> None:
    check = "{cases: {file: sealed/c.json, function: 'calc.py:f'}}"
    text = '[\n  {"args": [{"a": 1}, {"a": "\\"a\\": {"}], "expected": 1},\n  {"expected": 1, "expected": 2}\n]'
    (fault,) = faults(write(tmp_path, check, {"sealed/c.json": text}))
    assert (fault.line, fault.column) == (3, 19)
    assert fault.message == "key 'expected' stands twice in one object"


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("key,b\n1,2\n", "no column 'k'"),
        ("k,k\n1,2\n", "two columns"),
        ("k,v\n", "no rows"),
        ("", "no column"),
        ("k,v\n1,2,3\n", "3 cells in row 2"),
        ('k,v\n"1,2\n', "is no CSV"),
        (b"k,v\n\xff,1\n", "is no CSV"),
    ],
)
def test_a_table_must_hold_its_columns(tmp_path: Path, table: str | bytes, words: str) -> None:
    check = "{table: {path: out.csv, expected: sealed/t.csv, key: [k], columns: [v]}}"
    assert words in refused(write(tmp_path, check, {"sealed/t.csv": table}))


def test_a_table_of_its_key_alone_measures_nothing(tmp_path: Path) -> None:
    check = "{table: {path: out.csv, expected: sealed/t.csv, key: [k]}}"
    assert "no column beside its key" in refused(write(tmp_path, check, {"sealed/t.csv": "k\n1\n"}))


def test_a_table_saved_by_a_spreadsheet(tmp_path: Path) -> None:
    check = "{table: {path: out.csv, expected: sealed/t.csv, key: [k], columns: [v]}}"
    assert load_rubric(write(tmp_path, check, {"sealed/t.csv": b"\xef\xbb\xbfk,v\r\n1,2\r\n\r\n"})).sealed


def test_trajectories_of_examples_are_there_and_not_sealed(tmp_path: Path) -> None:
    text = "id: r\ncriteria:\n  - {id: a, points: 1, description: d, judge: {}, examples: [{trajectory: ex/one, expect: met}]}\n"
    (tmp_path / "rubric.yaml").write_text(text)
    assert "'ex/one' is not there" in refused(tmp_path, line=3)
    (tmp_path / "ex/one").mkdir(parents=True)
    assert load_rubric(tmp_path).sealed == {}
