"""Which tests an id means, told from the source: inherited ones, rows, fixtures. Nothing of the suite is carried out."""

from __future__ import annotations

import contextlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from rubricgrade.checks.inside.finding import AuthorFault
from rubricgrade.checks.inside.planning import place_of, planned, run_of, twin_of
from rubricgrade.checks.inside.suite import _Suite
from rubricgrade.checks.inside.twins import FAMILY

MODULE = """
import pytest
from elsewhere import Far, CASES

@pytest.fixture(params=[1, 2])
def several(request):
    return request.param

@pytest.fixture
def indirect(several):
    return several

@pytest.mark.parametrize("x", [1, 2, 3])
@pytest.mark.parametrize("y", ["a", "b"])
def test_stacked(x, y):
    assert f(x, y) == 5

@pytest.mark.parametrize("x,want", [(1, 2), (2, 4)])
def test_with_a_fixture(x, want, tmp_path):
    assert f(x) == want

@pytest.mark.parametrize("kind", [int, "text", 2 * 3, lambda: 0])
def test_kinds(kind):
    assert f(kind) == 7

def test_several(indirect):
    assert f(indirect) == 8

class Base:
    def test_inherited(self):
        assert f(1) == 2

    def test_other(self):
        assert f(1) == 99

class TestNear(Base):
    pass

class TestFar(Far):
    def test_own(self):
        assert f(1) == 3

@pytest.mark.slow
class TestMarked:
    @pytest.mark.parametrize("n", [4])
    def test_row(self, n):
        assert f(n) == 16

if CASES:
    def test_under_a_condition():
        assert f(1) == 1

test_made = Far.make()
"""
FILES = {"test_m.py": MODULE.encode()}


def names(*ids: str, files: dict[str, bytes] = FILES) -> list[str]:
    return [test.name.partition("::")[2] for test in planned(ids, files)]


def test_every_row_of_stacked_tables_is_its_own() -> None:
    assert names("test_m.py::test_stacked") == [f"test_stacked[{y}-{x}]" for y in "ab" for x in (1, 2, 3)]
    (one,) = planned(["test_m.py::test_stacked[b-3]"], FILES)
    text = run_of(one, FILES).module
    assert "'x', [3]" in text
    assert "'y', ['b']" in text


def test_rows_beside_a_fixture_are_all_planned() -> None:
    assert names("test_m.py::test_with_a_fixture") == ["test_with_a_fixture[1-2]", "test_with_a_fixture[2-4]"]


@pytest.mark.parametrize("row", ["int", "text", "6", "<lambda>"])
def test_ids_that_only_code_knows_are_looked_for_where_it_runs(row: str) -> None:
    (test,) = planned([f"test_m.py::test_kinds[{row}]"], FILES)
    assert run_of(test, FILES).select == ("test_kinds" if row in {"text", "6"} else f"test_kinds[{row}]")


def test_without_brackets_what_a_fixture_multiplies_is_the_authors_fault() -> None:
    with pytest.raises(AuthorFault, match="the fixture several gives it parameters"):
        planned(["test_m.py::test_several"], FILES)
    assert names("test_m.py::test_several[1]") == ["test_several[1]"]


def test_a_fixture_of_a_conftest_above_counts_and_one_of_another_folder_does_not() -> None:
    test, fixture = (
        b"def test_it(thing):\n    pass\n",
        b"import pytest\n@pytest.fixture(params=[1])\ndef thing(): pass\n",
    )
    with pytest.raises(AuthorFault, match="fixture thing"):
        planned(["a/b/test_m.py::test_it"], {"a/b/test_m.py": test, "a/conftest.py": fixture})
    assert planned(["a/b/test_m.py::test_it"], {"a/b/test_m.py": test, "c/conftest.py": fixture})
    hook = b"def pytest_generate_tests(metafunc): pass\n"
    with pytest.raises(AuthorFault, match="pytest_generate_tests gives it"):
        planned(["a/test_m.py::test_it"], {"a/test_m.py": test, "conftest.py": hook})


def test_an_inherited_test_is_run_where_its_class_inherits_it() -> None:
    (test,) = planned(["test_m.py::TestNear::test_inherited"], FILES)
    run, twin = run_of(test, FILES), twin_of(test, FILES, 1)
    assert "class TestNear(Base):\n    pass" in run.module
    assert "test_other" not in run.module
    assert twin is not None
    assert twin.module != run.module


def test_what_another_file_may_hand_down_is_run_as_it_is_and_has_no_twin() -> None:
    (test,) = planned(["test_m.py::TestFar::test_handed_down[1]"], FILES)
    assert run_of(test, FILES).select == "TestFar::test_handed_down[1]"
    assert "class TestFar(Far):\n    pass" in run_of(test, FILES).module
    assert twin_of(test, FILES, 1) is None


@pytest.mark.parametrize("name", ["test_under_a_condition", "test_made"])
def test_what_only_code_makes_is_run_as_it_is(name: str) -> None:
    (test,) = planned([f"test_m.py::{name}"], FILES)
    assert name in run_of(test, FILES).module
    assert twin_of(test, FILES, 1) is None


@pytest.mark.parametrize("name", ["test_gone", "TestNear::test_gone", "TestGone::test_it", "test_other"])
def test_what_nothing_could_make_is_the_authors_fault(name: str) -> None:
    with pytest.raises(AuthorFault, match="there is no"):
        planned([f"test_m.py::{name}"], FILES)


def test_a_plain_mark_on_a_class_hides_no_row() -> None:
    assert names("test_m.py::TestMarked::test_row") == ["TestMarked::test_row[4]"]


def test_the_file_of_exactly_this_path_is_meant() -> None:
    files = {"test_m.py": b"def test_it(): pass\n", "a/test_m.py": b"def test_it(): pass\n"}
    assert [test.file for test in planned(["test_m.py::test_it", "a/test_m.py::test_it"], files)] == list(files)
    assert place_of("sealed/r/a/test_m.py", "sealed/r") == "a/test_m.py"
    assert place_of("sealed/test_m.py", None) == "sealed/test_m.py"


@pytest.mark.parametrize(
    "decorator",
    [
        '"x", [1], ids=[open({0!r}, "w")]',
        '"x", [pytest.param(1, id=open({0!r}, "w"))]',
        '"x", [open({0!r}, "w")]',
        '"x", [f"{{open({0!r}, chr(119))}}"]',
        '"x=open({0!r}, chr(119))", [1]',
        '"x", [1], ids=lambda value: open({0!r}, "w")',
    ],
)
def test_planning_runs_no_code_of_the_suite(tmp_path: Path, decorator: str) -> None:
    written = tmp_path / "written"
    mark = decorator.format(str(written))
    files = {"test_m.py": f"import pytest\n@pytest.mark.parametrize({mark})\ndef test_it(x): pass\n".encode()}
    with contextlib.suppress(AuthorFault):
        planned(["test_m.py::test_it"], files)
    planned(["test_m.py::test_it[whatever]"], files)
    assert not written.exists()


def test_arithmetic_without_end_is_not_begun() -> None:
    files = {
        "test_m.py": b"import pytest\n@pytest.mark.parametrize('x', [9**9**9**9, 'a' * 10**12])\ndef test_it(x): pass\n"
    }
    assert names("test_m.py::test_it[1]", files=files) == ["test_it[1]"]


def test_combinations_without_end_are_not_made() -> None:
    rows = ", ".join(map(str, range(1000)))
    marks = "".join(f"@pytest.mark.parametrize('{name}', [{rows}])\n" for name in "abc")
    files = {"test_m.py": f"import pytest\n{marks}def test_it(a, b, c): pass\n".encode()}
    assert names("test_m.py::test_it[1-2-3]", files=files) == ["test_it[1-2-3]"]
    with pytest.raises(AuthorFault, match="can't be read from the source"):
        planned(["test_m.py::test_it"], files)


def test_the_tests_that_are_to_pass_have_twins_of_their_own_however_many_others_there_are(tmp_path: Path) -> None:
    files = {"test_m.py": "\n".join(f"def test_{n}():\n    assert f({n}) == {n}" for n in range(20)).encode()}
    lists = {
        "fail_to_pass": planned(["test_m.py::test_0"], files),
        "pass_to_pass": planned([f"test_m.py::test_{n}" for n in range(1, 20)], files),
    }
    suite = _Suite(cast("Any", SimpleNamespace(sealed=tmp_path, timeout=60)), {}, files, lists)
    counted = [sum(test in twin.wrong for twin in suite._twins()) for test in suite.tests]
    assert counted == [FAMILY] + [1] * 19
