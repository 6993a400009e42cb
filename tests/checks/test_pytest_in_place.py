"""Sealed suites that are laid over the agent's work: packages, conftest.py files and data as in their repository."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from rubricgrade.checks import Outcome
from rubricgrade.rubric import Check
from rubricgrade.sandbox import Layer, Provider, base_template
from tests.checks.conftest import Ask, Episode, Files, write

START = {
    "kit/__init__.py": "",
    "kit/core.py": "def double(x):\n    return x + x + 1\n",
    "kit/tests/__init__.py": "",
    "kit/tests/conftest.py": "import pytest\nfrom kit.core import double\n@pytest.fixture\ndef doubled():\n    return double\n",
    "kit/tests/test_old.py": "raise SystemExit('not to be looked at')\n",
    "kit/tests/sub/__init__.py": "",
    "kit/tests/sub/eight.txt": "8",
    "checking/reference.txt": "14",
    "conftest.py": "def pytest_addoption(parser):\n    parser.addoption('--slow')\n"
    "def pytest_ignore_collect(collection_path):\n    return False\n",
}
SEALED = {
    "sealed/r/kit/tests/test_a.py": "import pytest\nfrom ..core import double\n"
    "@pytest.mark.parametrize('x,want', [(1, 2), (2, 4)])\n"
    "def test_a(x, want, doubled, request):\n"
    "    assert doubled(x) == want\n    assert request.config.getoption('--slow') is None\n",
    "sealed/r/kit/tests/sub/test_b.py": "from pathlib import Path\nfrom ...core import double\n"
    "def test_b():\n    assert double(4) == 8\n    assert Path(__file__).with_name('eight.txt').read_text() == '8'\n",
    "sealed/r/kit/tests/test_d.py": "from kit.core import double\ndef test_d(doubled):\n    assert not doubled(3) - 6\n",
    "sealed/r/checking/it_test.py": "from kit.core import double\n"
    "def test_c():\n    assert str(double(7)) == open('checking/reference.txt').read()\n",
}
FAILS = ["kit/tests/test_a.py::test_a[1-2]", "kit/tests/test_a.py::test_a[2-4]"]
UNTWINNED = ["kit/tests/test_d.py::test_d"]
"""Without twins, which take most of the time, for what is not about them."""
KEEPS = ["kit/tests/sub/test_b.py::test_b", "checking/it_test.py::test_c"]
FIXED = {"kit/core.py": "def double(x):\n    return 2 * x\n"}
Try = Callable[..., Outcome]


@pytest.fixture
def attempt(ask: Ask, provider: Provider, tmp_path: Path) -> Try:
    def run(
        work: Files, *, prepare: Callable[[Path], None] | None = None, sealed: Files = SEALED, **spec: Any
    ) -> Outcome:
        start = write(tmp_path / "start", START)
        planned = {"fail_to_pass": FAILS, "pass_to_pass": KEEPS, "root": "sealed/r"} | spec
        suite = planned.setdefault("files", [path for path in sealed if path != planned.get("config")])
        assert suite

        async def staged() -> Outcome:
            async with provider.stage(start) as folder:
                template = base_template(layers=(Layer(folder, "/work", "overlay"),))
                episode = Episode(files=work, prepare=prepare)
                check = {"pytest": planned, "timeout": 60}
                return await asyncio.to_thread(
                    lambda: ask.one(check, sealed=sealed, template=template, episode=episode)
                )

        return asyncio.run(staged())

    return run


def quotes(outcome: Outcome) -> str:
    return "\n".join(item.quote for item in outcome.evidence)


@pytest.mark.parametrize("isolate", ["test", "suite"])
def test_a_suite_runs_in_its_places(attempt: Try, isolate: str) -> None:
    outcome = attempt(FIXED, isolate=isolate)
    assert (outcome.value, outcome.passed, outcome.total) == (1.0, 4, 4), quotes(outcome)


def test_a_suite_fails_what_is_not_done(attempt: Try) -> None:
    undone = attempt({"readme.txt": ""}, isolate="file")
    assert (undone.value, undone.passed, undone.fault) == (0.0, 0, None), quotes(undone)


CHEATS: list[dict[str, str]] = [
    {"kit/tests/conftest.py": "import pytest\n@pytest.fixture\ndef doubled():\n    return lambda x: 2 * x\n"},
    {"kit/tests/test_d.py": "def test_d(): pass\n"},
    {"pytest.ini": "[pytest]\naddopts = --collect-only\n", "kit/tests/pytest.ini": "[pytest]\naddopts = --co\n"},
    {"kit/tests/__init__.py": "import os\nos._exit(0)\n", "sitecustomize.py": "import os\nos._exit(0)\n"},
    {"pytest.py": "def main(*a, **k): return 0\n", "_pytest/__init__.py": "raise SystemExit(0)\n"},
]


@pytest.mark.parametrize("cheat", CHEATS, ids=lambda cheat: next(iter(cheat)))
def test_what_the_agent_puts_there_earns_nothing(attempt: Try, cheat: Files) -> None:
    assert attempt(cheat, fail_to_pass=UNTWINNED, pass_to_pass=[]).value == 0.0


def test_what_the_agent_puts_there_spoils_no_good_work(attempt: Try) -> None:
    every = {path: text for cheat in CHEATS for path, text in cheat.items()}
    outcome = attempt({**FIXED, **every}, fail_to_pass=UNTWINNED, pass_to_pass=[])
    assert outcome.value == 1.0, quotes(outcome)


def test_a_sealed_module_is_not_written_through_a_link(attempt: Try) -> None:
    def link(workspace: Path) -> None:
        (workspace / "checking").mkdir()
        (workspace / "checking" / "checks.py").symlink_to("../kit/core.py")

    sealed = {
        "sealed/r/checking/checks.py": "from kit.core import double\ndef test_c():\n    assert not double(2) - 4\n"
    }
    outcome = attempt(FIXED, prepare=link, sealed=sealed, fail_to_pass=["checking/checks.py::test_c"], pass_to_pass=[])
    assert outcome.value == 1.0, quotes(outcome)


def test_what_is_kept_is_not_taken_of_the_agent(attempt: Try) -> None:
    changed = {**FIXED, "checking/reference.txt": "15"}
    assert attempt(changed, fail_to_pass=KEEPS[1:], pass_to_pass=[]).value == 0.0
    assert attempt(changed, fail_to_pass=KEEPS[1:], pass_to_pass=[], keep=["checking"]).value == 1.0

    def linked(workspace: Path) -> None:
        (workspace / "checking").symlink_to("kit")

    assert attempt(FIXED, prepare=linked, fail_to_pass=KEEPS[1:], pass_to_pass=[], keep=["checking"]).value == 1.0


@pytest.mark.parametrize("keep", ["kit/data", "kit/*ata", "**/data"])
def test_what_is_kept_is_not_had_from_elsewhere_by_a_link_above_it(attempt: Try, keep: str) -> None:
    """The solution's folder under another name, with its own data in it, and a link in its place."""
    test = "from kit.core import double\nfrom kit import data\ndef test_c():\n    assert not double(2) - data.FOUR\n"
    plan: dict[str, Any] = {"sealed": {"sealed/r/it_test.py": test}, "pass_to_pass": [], "keep": [keep]}

    def linked(workspace: Path) -> None:
        shutil.move(workspace / "kit", workspace / "real")
        (workspace / "kit").symlink_to("real")

    work = {"kit/__init__.py": "", "kit/core.py": START["kit/core.py"], "kit/data/__init__.py": "FOUR = 5\n"}
    cheat = attempt(work, prepare=linked, fail_to_pass=["it_test.py::test_c"], **plan)
    assert cheat.value == 0.0, quotes(cheat)


@pytest.mark.parametrize("name", ["test_x", "it_test"])
def test_no_package_of_the_agents_stands_for_a_sealed_module(attempt: Try, name: str) -> None:
    test = "from kit.core import double\ndef test_c():\n    assert not double(2) - 4\n"
    plan: dict[str, Any] = {"sealed": {f"sealed/r/kit/{name}.py": test}, "pass_to_pass": []}
    own = f"__file__ = __file__.replace('{name}/__init__.py', '{name}.py')\ndef test_c(): pass\n"
    cheat = attempt({f"kit/{name}/__init__.py": own}, fail_to_pass=[f"kit/{name}.py::test_c"], **plan)
    assert cheat.value == 0.0, quotes(cheat)


def test_a_sealed_module_is_not_written_through_a_link_above_it(attempt: Try) -> None:
    def linked(workspace: Path) -> None:
        (workspace / "deep").symlink_to("kit")

    test = "import os\nfrom kit.core import double\ndef test_c():\n    assert not double(2) - 4\n"
    test += "    assert not os.path.exists('kit/it_test.py')\n"
    plan: dict[str, Any] = {"sealed": {"sealed/r/deep/it_test.py": test}, "pass_to_pass": []}
    outcome = attempt(FIXED, prepare=linked, fail_to_pass=["deep/it_test.py::test_c"], **plan)
    assert outcome.value == 1.0, quotes(outcome)


def test_sealed_settings_and_plugins_are_used(attempt: Try) -> None:
    module = "from kit.core import double\ndef check_it(request):\n    assert not double(1) - 2\n"
    module += "    assert request.config.pluginmanager.hasplugin('pytest_timeout')\n"
    sealed = {"sealed/r/test_x.py": module, "sealed/pytest.ini": "[pytest]\npython_functions = check_*\n"}
    plan: dict[str, Any] = {"sealed": sealed, "fail_to_pass": ["test_x.py::check_it"], "pass_to_pass": []}
    outcome = attempt(FIXED, **plan, config="sealed/pytest.ini", plugins=["pytest_timeout"])
    assert outcome.value == 1.0, quotes(outcome)
    without = attempt(FIXED, **plan, plugins=["pytest_timeout"], files=["sealed/r/test_x.py"])
    assert without.value == 0.0
    absent = attempt(FIXED, **plan, config="sealed/pytest.ini", plugins=["pytest_is_not_here"])
    assert (absent.value, absent.fault) == (None, "grader")
    assert "pytest_is_not_here" in absent.message


def test_other_modules_of_tests_are_only_there_when_the_agent_has_seen_them(attempt: Try) -> None:
    module = "import os\nfrom kit.core import double\ndef test_it():\n    assert not double(1) - 2\n    assert {}\n"
    sealed = {
        "sealed/r/kit/tests/test_hidden.py": module.format("1"),
        "sealed/r/kit/tests/test_shown.py": module.format("not os.path.exists('kit/tests/test_hidden.py')"),
        "sealed/r/kit/tests/test_last.py": module.format("os.path.exists('kit/tests/test_shown.py')"),
    }
    ids = [f"{path.removeprefix('sealed/r/')}::test_it" for path in sealed]
    outcome = attempt(FIXED, sealed=sealed, fail_to_pass=ids, pass_to_pass=[], shown=[[*sealed][1]])
    assert outcome.value == 1.0, quotes(outcome)


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({"root": "sealed/other"}, "does not lie in the root"),
        ({"shown": ["sealed/r/b.py"]}, "is none of the files"),
        ({"plugins": ["no module"]}, "plugins"),
    ],
)
def test_a_suite_without_sense_is_refused(spec: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        Check.model_validate({"pytest": {"files": ["sealed/r/a.py"], "fail_to_pass": ["a.py::test_a"], **spec}})
