"""What an import reads without running it: a vendor's script, which tests a folder has, pytest's settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from rubricgrade.episode.dialects import import_vendor
from rubricgrade.episode.dialects.collecting import collect
from rubricgrade.episode.dialects.commands import read_command
from rubricgrade.episode.dialects.making import Unsealable
from rubricgrade.episode.dialects.settings import Settings, read_settings
from rubricgrade.episode.task import Task
from tests.episode.making import write
from tests.episode.test_dialects import VENDOR


@pytest.mark.parametrize(
    ("script", "paths"),
    [
        ("pytest", ()),
        ("python3 -m pytest -q tests\n", ("tests",)),
        ("#!/bin/sh\n\n# runs them\nset -euo pipefail\ncd .\nexec python -B -m pytest -rA --tb short 'tests/a b.py' tests/unit/\n", ("tests/a b.py", "tests/unit")),
        ("python3.12 -m pytest -p no:cacheprovider -pno:randomly \\\n  --maxfail=1 --color no /repo/tests  # all", ("tests",)),
        ("CI=1 PYTHONPATH=src:. pytest -vv -x tests/test_a.py", ("tests/test_a.py",)),
    ],
)  # fmt: skip
def test_a_script_that_runs_pytest_and_nothing_else(script: str, paths: tuple[str, ...]) -> None:
    assert read_command(script, "/repo").paths == paths


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("", "runs no programs"),
        ("pytest tests\npytest tests", "runs 2 programs"),
        ("pytest tests || true", "does more than run pytest"),
        ("pytest tests; exit 0", "does more"),
        ("pytest $TESTS", "does more"),
        ("pytest tests/test_*.py", "does more"),
        ("pytest tests > log", "does more"),
        ("pip install x\npytest tests", "runs 2 programs"),
        ("./check.sh tests", "runs ./check.sh tests"),
        ("python3 grade.py", "runs python3 grade.py"),
        ("python3 -m unittest discover tests", "runs python3 -m unittest"),
        ("pytest -k fast tests", "with -k"),
        ("pytest -m 'not slow' tests", "with -m"),
        ("pytest -c other.ini tests", "with -c"),
        ("pytest --deselect=tests/a.py tests", "with --deselect"),
        ("pytest -p mine tests", "with -p"),
        ("pytest tests/a.py::test_b", "single tests"),
        ("pytest ../tests", "not in the work folder"),
        ("pytest /etc", "not in the work folder"),
        ("PYTEST_ADDOPTS=--co pytest tests", "sets PYTEST_ADDOPTS"),
        ("cd other\npytest tests", "goes to other, and the work folder is /repo"),
        ("pytest 'tests", "can't be read"),
        ("exec", "runs , and not"),
    ],
)
def test_a_script_that_does_anything_else(script: str, told: str) -> None:
    with pytest.raises(Unsealable) as raised:
        read_command(script, "/repo")
    assert told in str(raised.value)


def collected(text: str, **others: str) -> tuple[list[str], list[str]]:
    files = {"tests/test_m.py": text, **{path.replace("__", "/") + ".py": data for path, data in others.items()}}
    ids, left_out = collect({path: data.encode() for path, data in files.items()}, ["tests"])
    assert all(test.startswith("tests/test_m.py::") for test in (*ids, *left_out))
    return [test.removeprefix("tests/test_m.py::") for test in ids], [each.partition("::")[2] for each in left_out]


def test_what_pytest_would_collect() -> None:
    text = """
import unittest, pytest
from doubles import *
from fastapi.testclient import TestClient
test_client = TestClient(None)
test_data = [1]
TEST_CASES = load()
def helper(): pass
def test_a(): pass
async def test_b(): pass
@pytest.fixture
def test_fixture(): pass
@pytest.mark.parametrize("x", [1, 2])
def test_rows(x): pass
class TestOne:
    def test_c(self): pass
    def not_one(self): pass
    class TestInner:
        def test_d(self): pass
class TestTwo(TestOne):
    def test_c(self): pass
    def test_e(self): pass
class Cases(unittest.TestCase):
    def test_f(self): pass
class TestHasInit:
    def __init__(self): pass
    def test_g(self): pass
class Helper:
    def test_h(self): pass
class TestOff:
    __test__ = False
    def test_i(self): pass
@pytest.mark.skip("later")
def test_skipped(): pass
@pytest.mark.xfail
class TestExpected:
    def test_j(self): pass
@pytest.mark.skipif(False, reason="never")
def test_k(): pass
if __name__ == "__main__":
    unittest.main()
"""
    ids, left_out = collected(text)
    assert ids == [
        "test_a", "test_b", "test_rows", "TestOne::test_c", "TestOne::TestInner::test_d", "TestTwo::test_c",
        "TestTwo::test_e", "Cases::test_f", "test_k",
    ]  # fmt: skip
    assert left_out == ["test_skipped", "TestExpected::test_j"]


@pytest.mark.parametrize(
    ("text", "others", "told"),
    [
        ("def test_a(): pass", {"tests__conftest": "def pytest_collection_modifyitems(items): items.clear()"}, "pytest_collection_modifyitems"),
        ("def test_a(): pass", {"conftest": "pytest_plugins = ['mine']"}, "pytest_plugins"),
        ("def test_a(): pass", {"tests__conftest": "collect_ignore = ['test_m.py']"}, "collect_ignore"),
        ("def pytest_generate_tests(metafunc): pass", {}, "pytest_generate_tests"),
        ("from base import Base\nclass TestA(Base): pass", {}, "inherits from a class that is not in this file"),
        ("if True:\n    def test_a(): pass", {}, "makes test_a by code"),
        ("for name in 'ab':\n    test_a = make(name)", {}, "makes test_a by code"),
        ("test_a = make()", {}, "makes test_a by code"),
        ("TestA = Machine.TestCase", {}, "makes TestA by code"),
        ("from helping import *", {"tests__helping": "def test_b(): pass"}, "makes * by code"),
        ("from .helping import test_b", {"tests__helping": "def test_b(): pass"}, "makes test_b by code"),
        ("class TestA:\n    test_a = other", {}, "makes test_a by code"),
        ("__test__ = bool(1)\ndef test_a(): pass", {}, "decides by code"),
        ("def test_a(:", {}, "is no Python"),
        ("(" * 500, {}, "is no Python"),
    ],
)  # fmt: skip
def test_where_only_code_could_tell_which_tests_there_are(text: str, others: dict[str, str], told: str) -> None:
    with pytest.raises(Unsealable) as raised:
        collected(text, **others)
    assert told in str(raised.value)


def test_folders_and_files_that_pytest_does_not_look_into() -> None:
    data = b"def test_a(): pass\n"
    paths: tuple[str, ...] = (
        "tests/test_m.py",
        "tests/build/test_m.py",
        "tests/m.py",
        "tests/x/m_test.py",
        "tests/.x/test_m.py",
    )
    files: dict[str, bytes] = dict.fromkeys(paths, data)
    assert collect(files, ["tests"])[0] == ["tests/test_m.py::test_a", "tests/x/m_test.py::test_a"]
    assert collect(files, ["tests/m.py"])[0] == ["tests/m.py::test_a"]
    with pytest.raises(Unsealable, match="doctest"):
        collect({**files, "tests/test_doc.txt": b">>> 1\n1\n"}, ["tests"])


SETTINGS: list[tuple[dict[str, str], Settings]] = [
    ({}, Settings()),
    ({"pytest.ini": "", "setup.cfg": "[tool:pytest]\npython_functions = x\n"}, Settings("pytest.ini")),
    ({"setup.cfg": "[metadata]\nname = a\n", "tox.ini": "[tox]\n"}, Settings()),
    (
        {"tox.ini": "[pytest]\npython_classes = Test* Check*\naddopts = -q --import-mode=importlib -k fast\n"},
        Settings(
            "tox.ini",
            "[pytest]\npython_classes =\n    Test* Check*\naddopts =\n    --import-mode=importlib\n",
            choosing=("python_classes", "-k"),
            left_out=("addopts",),
        ),
    ),
    (
        {
            "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["src", "/etc", "../x"]\n'
            'asyncio_mode = "auto"\nxfail_strict = true\nlog_cli = true\n'
        },
        Settings(
            "pyproject.toml",
            "[pytest]\nxfail_strict =\n    True\nasyncio_mode =\n    auto\n",
            pythonpath=("src",),
            plugins=("pytest_asyncio.plugin",),
            left_out=("log_cli",),
        ),
    ),
    (
        {"tests/pytest.ini": "[pytest]\npythonpath = lib\n", "pytest.ini": "[pytest]\npythonpath = src\n"},
        Settings("tests/pytest.ini", pythonpath=("tests/lib",)),
    ),
    ({"pyproject.toml": "[tool.pytest"}, Settings("pyproject.toml")),
    (
        {"setup.cfg": "[tool:pytest]\nfilterwarnings =\n    error\n    ignore::UserWarning\n    ignore::mine.Warned\n"},
        Settings(
            "setup.cfg",
            "[pytest]\nfilterwarnings =\n    error\n    ignore::UserWarning\n",
            left_out=("filterwarnings",),
        ),
    ),
]


@pytest.mark.parametrize(("files", "settings"), SETTINGS)
def test_settings_that_a_suite_needs(files: dict[str, str], settings: Settings) -> None:
    tests = ["tests/unit/test_a.py", "tests/test_b.py"]
    assert read_settings(tests, lambda path: files[path].encode() if path in files else None) == settings


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"grade.sh": "make test\n"}, "grade.sh runs make test"),
        ({"grade.sh": "pytest test_double.py\n", "test_double.py": ""}, "also runs test_double.py"),
        ({"grade.sh": "pytest\n", "visible/test_double.py": ""}, "visible/test_double.py is none of the hidden ones"),
        ({"grade.sh": "pytest tests/gone\n"}, "tests/gone, which is not there"),
        ({"tests/test_fail_to_pass.py": "VALUE = 1\n"}, "finds no test"),
        ({"tests/pytest.ini": "[pytest]\npython_files = check_*.py\n"}, "decides which tests there are: python_files"),
        ({"tests/conftest.py": "import pytest\n@pytest.fixture(params=[1, 2], autouse=True)\ndef each(): pass\n"}, "the fixture each gives it parameters"),
        ({"tests/test_more.py": "from test_fail_to_pass import test_it\n"}, "makes test_it by code"),
        ({"tests/test_more.py": "import test_fail_to_pass\ndef test_more():\n    test_fail_to_pass.test_it()\n"}, "which is hidden while"),
        ({"tests/big.bin": "x" * (9 << 20)}, "9 MiB lie beside"),
    ],
)  # fmt: skip
def test_a_vendors_folder_that_is_graded_by_its_script_says_why(
    tmp_path: Path, changed: dict[str, str], told: str
) -> None:
    made = import_vendor(write(tmp_path / "vendor", {**VENDOR, **changed}), tmp_path / "task")
    assert Task.load(made.folder).by_script
    assert not (made.folder / "tests" / "sealed").exists()
    (note,) = [note for note in made.notes if "redteam" in note]
    assert told in note
    assert "so grade.sh runs beside the agent's code" in note


def test_plugins_that_tests_seem_to_ask_for_are_loaded(tmp_path: Path) -> None:
    text = """import pytest
@pytest.mark.parametrize("fs, x", [(1, 2)])
def test_it(mocker, fs, x, benchmark): pass
@pytest.mark.asyncio
async def test_later(): pass
"""
    files = {
        **VENDOR,
        "tests/test_plugins.py": text,
        "tests/conftest.py": "import pytest\n@pytest.fixture\ndef benchmark(): pass\n",
    }
    made = import_vendor(write(tmp_path / "vendor", files), tmp_path / "task")
    (check,) = Task.load(made.folder).rubric.checks.values()
    assert check.pytest is not None
    assert check.pytest.plugins == ("pytest_asyncio.plugin", "pytest_mock")
    assert any("must be installed here: pytest_asyncio.plugin, pytest_mock" in note for note in made.notes)


def test_a_link_among_hidden_tests_is_not_sealed(tmp_path: Path) -> None:
    vendor = write(tmp_path / "vendor", VENDOR)
    (vendor / "tests" / "again.py").symlink_to("test_fail_to_pass.py")
    made = import_vendor(vendor, tmp_path / "task")
    assert any("tests/again.py is a symbolic link" in note for note in made.notes)
