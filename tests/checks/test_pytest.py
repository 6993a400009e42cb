"""Sealed pytest suites: what is planned is run, alone, beside a twin, with the allowed part of the agent's work."""

from __future__ import annotations

import asyncio
from pathlib import Path
from textwrap import dedent
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import ValidationError

from rubricgrade.checks import Outcome
from rubricgrade.checks.inside import suite
from rubricgrade.checks.inside.planning import planned
from rubricgrade.checks.suites import NEVER_TAKEN, Taken, in_secret_order, take
from rubricgrade.errors import CheckError
from rubricgrade.rubric import Check
from rubricgrade.sandbox import Layer, Provider, base_template
from tests.checks.conftest import Ask, Files, write

DOUBLE = "def double(x):\n    return 2 * x\n"
SUITE = """
import pytest
from m import double

ROWS = [(1, 2), (5, 10)]

@pytest.mark.parametrize("x,want", [(2, 4), pytest.param(3, 6, id="three"), ([8] * 2, [8, 8, 8, 8])])
def test_rows(x, want):
    assert double(x) == want

@pytest.mark.parametrize("x,want", ROWS)
def test_constant_rows(x, want):
    assert double(x) == want, f"not {want}"

@pytest.mark.parametrize("n", range(2))
def test_computed_rows(n):
    assert double(n) - n == n

class TestDouble:
    def test_text(self):
        assert double("ab") == "abab"

    def test_refuses(self):
        with pytest.raises(TypeError):
            double(None)

def test_skipped():
    pytest.skip("not now")

@pytest.mark.xfail
def test_expected_to_fail():
    assert double(1) == 3
"""
UNTWINNED = "from m import double\ndef test_it():\n    assert not double(1) - 2\n"
"""A test that has no twin, for what is not about them: they take most of the time."""
PLAIN = ["test_m.py::test_rows", "test_m.py::test_constant_rows", "test_m.py::TestDouble::test_text"]


def run(
    ask: Ask,
    files: Files,
    fails: list[str] | None = None,
    passes: list[str] | None = None,
    *,
    sealed: Files | None = None,
    timeout: float = 60,
    template: Any = None,
    **spec: Any,
) -> Outcome:
    suite = sealed or {"sealed/test_m.py": SUITE}
    planned = {"fail_to_pass": fails or [], "pass_to_pass": passes or []}
    check = {"pytest": {"files": list(suite), **planned, **spec}, "timeout": timeout}
    return ask.one(check, files, sealed=suite, template=template)


def quotes(outcome: Outcome) -> str:
    return "\n".join(item.quote for item in outcome.evidence)


def test_every_row_of_a_planned_test_is_run_beside_a_twin(ask: Ask) -> None:
    outcome = run(ask, {"m.py": DOUBLE}, PLAIN[:1], PLAIN[1:])
    assert (outcome.value, outcome.passed, outcome.total) == (1.0, 6, 6), quotes(outcome)
    assert outcome.isolation == "in-process+twins"
    assert dict(outcome.fields) == {"fail_to_pass": 1.0, "pass_to_pass": 1.0}


def test_one_failure_takes_the_value_and_the_share_is_measured(ask: Ask) -> None:
    wrong = "def double(x):\n    return x if x == 3 else 2 * x\n"
    outcome = run(ask, {"m.py": wrong}, ["test_m.py::test_rows[three]"], ["test_m.py::test_rows[2-4]"])
    assert (outcome.value, outcome.measured, outcome.passed, outcome.fault) == (0.0, 0.5, 1, None), quotes(outcome)
    assert dict(outcome.fields) == {"fail_to_pass": 0.0, "pass_to_pass": 1.0}
    assert "test_m.py::test_rows[three]: " in quotes(outcome)
    assert "assert 3 == 6" in quotes(outcome)


@pytest.mark.parametrize(("isolate", "told"), [("file", "those of a file share"), ("suite", "all share a process")])
def test_tests_that_share_a_process_are_told_apart(ask: Ask, isolate: str, told: str) -> None:
    other = "import pytest\nfrom m import double\ndef test_text():\n    assert double('a') == 'aa'\n"
    suite = {"sealed/test_m.py": SUITE, "sealed/test_other.py": other}
    wrong = "def double(x):\n    return x if x == 3 else 2 * x\n"
    planned = [*PLAIN, "test_m.py::TestDouble::test_refuses", "test_other.py::test_text"]
    outcome = run(ask, {"m.py": wrong}, planned[:3], planned[3:], sealed=suite, isolate=isolate)
    assert (outcome.value, outcome.passed, outcome.total, outcome.fault) == (0.0, 7, 8, None), quotes(outcome)
    assert outcome.fields == {"fail_to_pass": 5 / 6, "pass_to_pass": 1.0}
    assert outcome.message.startswith("7 of 8 planned tests pass; ")
    assert told in outcome.message
    assert "test_m.py::test_rows[three]: " in quotes(outcome)
    assert outcome.isolation == "in-process"  # of one of them there is no twin


@pytest.mark.parametrize("isolate", ["file", "suite"])
def test_whoever_passes_every_test_of_a_process_is_found_out(ask: Ask, isolate: str) -> None:
    equal = "class Equal:\n    def __eq__(self, other): return True\ndef double(x):\n    return Equal()\n"
    outcome = run(ask, {"m.py": equal}, PLAIN, isolate=isolate)
    assert (outcome.value, outcome.fault) == (None, "agent")
    assert "tampered" in outcome.message


def test_tests_that_share_a_process_share_the_time_of_the_check(ask: Ask) -> None:
    sealed = {"test_m.py": "\n".join([UNTWINNED, *(f"def test_{n}():\n    pass" for n in range(40))])}
    planned = ["test_m.py::test_it", *(f"test_m.py::test_{n}" for n in range(40))]
    outcome = run(ask, {"m.py": "while True: pass\n"}, planned, sealed=sealed, isolate="file", timeout=2)
    assert (outcome.value, outcome.passed, outcome.fault) == (0.0, 0, None), quotes(outcome)
    assert "timed out after 2" in quotes(outcome)


def test_honest_code_passes_tests_that_share_a_process(ask: Ask) -> None:
    outcome = run(ask, {"m.py": DOUBLE}, PLAIN, isolate="suite")
    assert (outcome.value, outcome.passed, outcome.isolation) == (1.0, 6, "in-process+twins"), quotes(outcome)


def test_a_test_that_ends_its_process_fails_all_that_share_it(ask: Ask) -> None:
    code = "import os\ndef double(x):\n    return os._exit(3) if x == 5 else 2 * x\n"
    sealed = {"test_m.py": UNTWINNED + "def test_five():\n    assert not double(5) - 10\n"}
    planned = ["test_m.py::test_it", "test_m.py::test_five"]
    together, apart = (
        run(ask, {"m.py": code}, planned, sealed=sealed, isolate=isolate) for isolate in ("file", "test")
    )
    assert (together.value, together.passed, together.total) == (0.0, 0, 2), quotes(together)
    assert (apart.value, apart.passed, apart.total) == (0.0, 1, 2), quotes(apart)


def test_what_has_no_twin_is_run_and_labelled(ask: Ask) -> None:
    untwinned = ["test_m.py::TestDouble::test_refuses", "test_m.py::test_computed_rows[1]"]
    outcome = run(ask, {"m.py": DOUBLE}, ["test_m.py::test_rows[2-4]", *untwinned])
    assert (outcome.value, outcome.isolation) == (1.0, "in-process"), quotes(outcome)
    assert "without a twin, so code that tampers could pass them: test_m.py::TestDouble::test_refuses" in quotes(
        outcome
    )


def test_skipped_and_expected_to_fail_are_not_passed(ask: Ask) -> None:
    outcome = run(ask, {"m.py": DOUBLE}, ["test_m.py::test_skipped", "test_m.py::test_expected_to_fail"])
    assert (outcome.value, outcome.passed, outcome.total) == (0.0, 0, 2), quotes(outcome)


@pytest.mark.parametrize(
    ("planned", "told"),
    [
        ("test_m.py::test_gone", "there is no test test_gone"),
        ("test_m.py::TestGone::test_text", "there is no class TestGone"),
        ("test_other.py::test_text", "none of the suite's files is called test_other.py"),
        ("test_m.py::test_rows[9-9]", "no parameters have this id; there are [2-4], [three], [x2-want2]"),
        ("test_m.py::test_computed_rows", "its parameters can't be read from the source"),
    ],
)
def test_a_plan_that_names_what_is_not_there_is_the_graders_fault(ask: Ask, planned: str, told: str) -> None:
    outcome = run(ask, {"m.py": DOUBLE}, [planned])
    assert (outcome.value, outcome.fault, outcome.cause) == (None, "grader", "check_error")
    assert told in outcome.message


def test_a_module_that_the_agent_never_wrote_fails_its_tests(ask: Ask) -> None:
    outcome = run(ask, {"readme.txt": ""}, ["test_m.py::test_it"], sealed={"test_m.py": UNTWINNED})
    assert (outcome.value, outcome.passed, outcome.total, outcome.fault) == (0.0, 0, 1, None)
    assert "No module named 'm'" in quotes(outcome)


def test_a_suite_that_can_not_run_without_the_agent_either_is_the_graders_fault(ask: Ask) -> None:
    sealed = {"test_m.py": f"import not_installed_here\n{UNTWINNED}"}
    outcome = run(ask, {"m.py": DOUBLE}, passes=["test_m.py::test_it"], sealed=sealed)
    assert (outcome.value, outcome.fault) == (None, "grader")
    assert outcome.message.startswith("0 tests ran, nor do they without the agent's work")


def test_hanging_everywhere_does_not_buy_an_open_verdict(ask: Ask) -> None:
    hangs, sealed = {"m.py": "while True: pass\n"}, {"test_m.py": UNTWINNED}
    outcome = run(ask, hangs, ["test_m.py::test_it"], sealed=sealed, timeout=2)
    assert (outcome.value, outcome.passed, outcome.total, outcome.fault) == (0.0, 0, 1, None), quotes(outcome)


def test_a_hang_is_the_agents_and_costs_only_its_own_test(ask: Ask) -> None:
    code = "import time\ndef double(x):\n    while x == 5: time.sleep(1)\n    return 2 * x\n"
    sealed = {"test_m.py": UNTWINNED + "def test_five():\n    assert not double(5) - 10\n"}
    outcome = run(ask, {"m.py": code}, ["test_m.py::test_it", "test_m.py::test_five"], sealed=sealed, timeout=4)
    assert (outcome.value, outcome.passed, outcome.total, outcome.fault) == (0.0, 1, 2, None), quotes(outcome)
    assert "timed out" in quotes(outcome)


def test_configuration_and_tests_of_the_agents_are_not_taken(ask: Ask) -> None:
    seen = "import os\ndef double(x):\n    return sorted(name for name in os.listdir('/work') if name != 'm.py')\n"
    files = {"m.py": seen, "conftest.py": "", "tests/conftest.py": "", "tox.ini": "", "x.pth": "", "kept.txt": ""}
    sealed = {"test_m.py": "from m import double\ndef test_it():\n    assert not set(double(1)) ^ {'kept.txt'}\n"}
    assert run(ask, files, ["test_m.py::test_it"], sealed=sealed).value == 1.0
    allowed = {"test_m.py": sealed["test_m.py"].replace("{'kept.txt'}", "set()")}
    assert run(ask, files, ["test_m.py::test_it"], sealed=allowed, allow=["m.py"]).value == 1.0


def test_the_template_s_own_files_stay_where_the_agent_took_them_away(
    ask: Ask, provider: Provider, tmp_path: Path
) -> None:
    start = write(tmp_path / "start", {"src/m.py": DOUBLE, "tests/data.txt": "4"})
    sealed = {
        "test_m.py": "from m import double\ndef test_it():\n    assert double(2) == int(open('tests/data.txt').read())\n"
    }

    async def staged() -> Outcome:
        async with provider.stage(start) as work:
            template = base_template(layers=(Layer(work, "/work", "overlay"),))
            files = {"src/m.py": DOUBLE, "tests/data.txt": "5"}
            planned = ["test_m.py::test_it"]
            return await asyncio.to_thread(
                lambda: run(ask, files, planned, sealed=sealed, template=template, pythonpath=["src"])
            )

    outcome = asyncio.run(staged())
    assert outcome.value == 1.0, quotes(outcome)


def test_a_sealed_conftest_and_helpers_lie_beside_the_test(ask: Ask) -> None:
    sealed = {
        "suite/conftest.py": "import pytest\n@pytest.fixture\ndef three():\n    return 3\n",
        "suite/helping.py": "SIX = 6\n",
        "suite/test_m.py": "from helping import SIX\nfrom m import double\n"
        "def test_it(three):\n    assert double(three) == SIX\n",
    }
    outcome = run(ask, {"m.py": DOUBLE}, ["suite/test_m.py::test_it"], sealed=sealed)
    assert outcome.value == 1.0, quotes(outcome)


def test_a_twin_that_passes_without_the_agent_too_accuses_nobody(ask: Ask) -> None:
    lenient = (
        "from m import double\nclass Any:\n    def __eq__(self, other): return True\n"
        "def test_it():\n    made = Any()\n    assert made == 3\n"
    )
    sealed = {"test_m.py": lenient.replace("from m import double\n", "")}
    outcome = run(ask, {"m.py": DOUBLE}, passes=["test_m.py::test_it"], sealed=sealed)
    assert (outcome.value, outcome.isolation, outcome.fault) == (1.0, "in-process", None), quotes(outcome)


def suite_of(rows: int) -> dict[str, str]:
    table = ", ".join(f"({number}, {number * 2})" for number in range(10, 10 + rows))
    tests = f"import pytest\nfrom m import double\n@pytest.mark.parametrize('x, want', [{table}])\n"
    return {"test_m.py": f"{tests}def test_rows(x, want):\n    assert double(x) == want\n"}


def test_who_knows_one_answer_of_a_group_does_not_know_the_others_by_it(ask: Ask) -> None:
    """Everything is equal where the right value of the one known row stands in the process, and nothing elsewhere."""
    looks = "import gc, sys\nclass All:\n    def __eq__(self, other): return KNOWN\n"
    looks += "texts = [open(f).read() for f in __import__('glob').glob('/tmp/**/test_m*.py', recursive=True)]\n"
    code = f"{looks}KNOWN = any('(12, 24)' in text for text in texts)\ndef double(x): return All()\n"
    outcome = run(ask, {"m.py": code}, ["test_m.py::test_rows"], sealed=suite_of(30), isolate="file")
    assert (outcome.value, outcome.fault) == (None, "agent"), quotes(outcome)
    assert "tampered" in quotes(outcome)


@pytest.mark.parametrize(
    ("fails", "keeps", "isolate", "wrong"),
    [
        (1, 0, "test", [1] * 5),
        (6, 1, "test", [1] * (6 * 2 + 5)),
        (13, 0, "test", [1] * 13),
        (13, 2, "suite", [15] * 5 + [1, 1]),
    ],
)
def test_how_often_tests_are_run_with_wrong_values(
    tmp_path: Path, fails: int, keeps: int, isolate: str, wrong: list[int]
) -> None:
    """One test of a few may be all that has to be guessed, and in a group no known answer may tell the others."""
    files = {name: text.encode() for name, text in suite_of(fails + keeps).items()}
    ids = [f"test_m.py::test_rows[{number}-{number * 2}]" for number in range(10, 10 + fails + keeps)]
    spec = {"isolate": isolate, "fail_to_pass": ids[:fails], "pass_to_pass": ids[fails:]}
    lists = {key: planned(spec[key], files) for key in ("fail_to_pass", "pass_to_pass")}
    case: Any = SimpleNamespace(sealed=tmp_path)
    twins = suite._Suite(case, spec, files, lists)._twins()  # pyright: ignore[reportPrivateUsage] - chance hides it
    assert sorted((len(twin.wrong) for twin in twins), reverse=True) == wrong
    assert all(len(twin.tests) == (fails + keeps if isolate == "suite" else 1) for twin in twins)


def test_tests_of_which_only_a_part_can_be_made_wrong_are_named(ask: Ask) -> None:
    tests = "import pytest\nfrom m import double\n"
    tests += "def test_all():\n    assert double(2) == 4\n    assert double(3) == 6\n"
    tests += "def test_part():\n    assert double(2) == 4\n    with pytest.raises(TypeError):\n        double(None)\n"
    outcome = run(ask, {"m.py": DOUBLE}, ["test_m.py::test_all", "test_m.py::test_part"], sealed={"test_m.py": tests})
    assert outcome.value == 1.0, quotes(outcome)
    assert "only some of their assertions have a wrong value in a twin: test_m.py::test_part" in quotes(outcome)


def test_a_fixture_that_nobody_has_is_the_graders_fault(ask: Ask) -> None:
    sealed = {"test_m.py": f"{UNTWINNED}def test_frozen(freezer):\n    assert freezer\n"}
    outcome = run(ask, {"m.py": DOUBLE}, ["test_m.py::test_it", "test_m.py::test_frozen"], sealed=sealed)
    assert (outcome.value, outcome.fault) == (None, "grader"), quotes(outcome)
    assert (
        "test_m.py::test_frozen: no sealed file and no plugin that is listed has the fixture 'freezer'"
        in outcome.message
    )


def test_who_says_that_a_fixture_is_missing_buys_nothing(ask: Ask) -> None:
    lies = "def double(x):\n    raise ValueError(\"fixture '%s' not found\" % x)\n"
    tests = """
        import pytest
        from unittest import mock
        from m import double
        @pytest.mark.parametrize('x', [1])
        def test_row(x): double('x')
        @mock.patch('os.getcwd')
        def test_mock(getcwd): double('getcwd')
        @pytest.mark.parametrize('z', list('a'))
        def test_made(z): double('z')
        def test_there(tmp_path): double('tmp_path')
        def helper(y): pass
        def test_other(): double('y')
        class TestIt:
            def test_in(self): double('self')
        @pytest.mark.parametrize('z', ['a'])
        class TestRows:
            def test_row(self, z): double('z')
    """
    planned = [f"test_m.py::test_{name}" for name in ("row", "mock", "made[a]", "there", "other")]
    planned += ["test_m.py::TestIt::test_in", "test_m.py::TestRows::test_row[a]"]
    outcome = run(ask, {"m.py": lies}, planned, sealed={"test_m.py": dedent(tests)})
    assert (outcome.value, outcome.passed, outcome.fault) == (0.0, 0, None), quotes(outcome)


def test_what_fixtures_of_a_conftest_ask_for_is_no_expected_value(ask: Ask) -> None:
    conftest = "import pytest\n@pytest.fixture\ndef server(status):\n    return lambda: status\n"
    tests = "import pytest\nfrom m import ask\n@pytest.mark.parametrize('status', [404, 500])\n"
    tests += "def test_status(server, status):\n    assert ask(server) == status\n"
    sealed = {"s/conftest.py": conftest, "s/test_m.py": tests}
    outcome = run(ask, {"m.py": "def ask(server):\n    return server()\n"}, ["s/test_m.py::test_status"], sealed=sealed)
    assert (outcome.value, outcome.isolation) == (1.0, "in-process"), quotes(outcome)


def test_classes_that_are_no_tests_keep_what_they_say(ask: Ask) -> None:
    tests = "from m import told\ndef test_it():\n    class Model:\n        'A model.'\n    assert told(Model) == 'A model.'\n"
    tests += "class Shared:\n    'Shared.'\nclass TestIt:\n    'it'\n    def test_in(self):\n        assert not TestIt.__doc__\n"
    tests += "        assert told(Shared) == 'Shared.'\n"
    planned = ["test_m.py::test_it", "test_m.py::TestIt::test_in"]
    outcome = run(ask, {"m.py": "def told(of): return of.__doc__\n"}, planned, sealed={"test_m.py": tests})
    assert outcome.value == 1.0, quotes(outcome)


# --- Of what it is made ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({}, "plans no test"),
        ({"fail_to_pass": ["test_m.py"]}, "names no test"),
        ({"fail_to_pass": ["test_m.py::t"], "pass_to_pass": ["test_m.py::t"]}, "is planned twice"),
        ({"fail_to_pass": ["test_m.py::t"], "files": []}, "files"),
    ],
)
def test_a_plan_without_sense_is_refused(spec: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        Check.model_validate({"pytest": {"files": ["test_m.py"], **spec}})


@pytest.mark.parametrize(
    "name",
    ["conftest.py", "Conftest.PY", "pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg", "setup.py", "pyproject.toml",
     "a.pth", "sitecustomize.py", "usercustomize", "x-1.dist-info", "x.egg-info", "tests", "test", "tests.py", "Test.cpython-311-x86_64-linux-gnu.so", "test_m.py",
     "m_test.py", ".git", "__pycache__", "m.pyc", "test_m", "m_test", "conftest", "conftest.so", "testdata",
     "test_m.cpython-311-x86_64-linux-gnu.so", "m_test.pyd", "test_data"],
)  # fmt: skip
def test_names_that_are_never_taken(name: str) -> None:
    assert NEVER_TAKEN.fullmatch(name)


@pytest.mark.parametrize(
    "name",
    ["m.py", "contest.py", "testing.py", "latest", "tests.md", "pytest.md", "setup", "git", "attest.py", "test_1.csv"],
)
def test_names_that_are_the_agents_work(name: str) -> None:
    assert not NEVER_TAKEN.fullmatch(name)


def test_a_folder_stands_for_all_in_it(tmp_path: Path) -> None:
    write(tmp_path, {"src/a/b.py": "", "src/tests/c.py": "", "docs/d.md": "", "e.py": ""})
    take(tmp_path, Taken(allow=("src", "*.py")))
    left = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file())
    assert left == ["e.py", "src/a/b.py"]


def test_a_path_out_of_the_work_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckError, match="allow"):
        take(tmp_path, Taken(allow=("../x",)))


def test_results_come_in_the_order_that_was_given_and_are_made_in_another() -> None:
    made: list[int] = []

    def job(number: int) -> Any:
        async def do() -> int:
            made.append(number)
            return number

        return do

    jobs = [job(number) for number in range(50)]
    assert asyncio.run(in_secret_order(jobs)) == list(range(50))
    assert made != sorted(made)
