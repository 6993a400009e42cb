"""The author's own functions, in the checker's sandbox."""

from __future__ import annotations

from typing import Any

import pytest

from rubricgrade.checks import Outcome
from rubricgrade.trajectory import Call
from tests.checks.conftest import Ask, Episode, message

API = """
import json, os, sys
from pathlib import Path
from rubricgrade import Case, CheckResult
from money import parse

def looks(case: Case):
    assert case.task == "Do it."
    assert case.final_message == "Done."
    assert case.vars == {"limit": 3, "names": ["a"]}
    assert case.args == {"sheet": "Q3"}
    assert [step.role for step in case.steps] == ["user", "assistant", "tool", "assistant"]
    call, = case.calls("send_mail")
    assert call.arguments == {"to": "cfo@acme.test"}
    assert (call.result, call.failed) == ("sent", None)
    assert (call.address, call.result_address) == ("[1].call_1", "[2].result")
    assert case.calls("nothing") == []
    assert case.exists("a.json") and not case.exists("b.json")
    assert case.glob("*.json") == ["a.json"]
    assert case.read_json("a.json") == {"total": "48,2"}
    assert case.read_text("state.txt", world=True) == "kept"
    assert (case.sealed / "answer.txt").read_text() == "48.2"
    assert (case.workspace / "a.json").is_file() and (case.world / "state.txt").is_file()
    assert parse("48,2") == 48.2
    print(json.dumps({"result": {"value": 0}}))
    os.write(1, b'{"result": {"value": 0}}\\n')
    print(sys.stdin.read())
    return CheckResult(value=0.5, measured=48.2, fields={"n": 3}, evidence=["seen", ("cell", "a.json:$.total")], message="half")

def writes(case):
    for place in (case.workspace, case.world, case.sealed):
        try:
            (place / "new").write_text("x")
        except OSError:
            continue
        return False
    return True

def true(case): return True
def third(case): return 1 / 3
def numpy_like(case): return CheckResult(value=True)
def only_fields(case): return CheckResult(fields={"good": 0.25, "large": 7})
"""
SEALED = {
    "checks/api.py": API,
    "checks/money.py": "def parse(text):\n    return float(text.replace(',', '.'))\n",
    "answer.txt": "48.2",
}
EPISODE = Episode(
    files={"a.json": '{"total": "48,2"}'},
    world={"state.txt": "kept"},
    steps=(
        message("assistant", "", Call(name="send_mail", arguments={"to": "cfo@acme.test"})),
        message("tool", "sent", answers=(1, 1)),
        message("assistant", "Done."),
    ),
)


def python(ask: Ask, name: str, **check: Any) -> Outcome:
    body = {"python": f"checks/api.py:{name}", **check}
    return ask.one(body, sealed=SEALED, episode=EPISODE, vars={"limit": 3, "names": ["a"]})


def test_an_author_sees_the_whole_episode_and_prints_what_he_likes(ask: Ask) -> None:
    outcome = python(ask, "looks", **{"with": {"sheet": "Q3"}})
    assert (outcome.value, outcome.fault, outcome.message) == (0.5, None, "half")
    assert (outcome.measured, outcome.fields) == (48.2, {"n": 3})
    assert [(item.quote, item.where) for item in outcome.evidence] == [("seen", None), ("cell", "a.json:$.total")]
    assert outcome.isolation == "none"


def test_nothing_that_is_graded_can_be_written_to(ask: Ask) -> None:
    assert python(ask, "writes").value == 1.0


def test_what_a_function_may_return(ask: Ask) -> None:
    assert python(ask, "true").value == 1.0
    assert python(ask, "third").value == 1 / 3
    assert python(ask, "third").measured == 1 / 3
    assert python(ask, "numpy_like").value == 1.0


def checked(ask: Ask, body: str, *, head: str = "", files: dict[str, str] | None = None, **check: Any) -> Outcome:
    source = f"from rubricgrade import CheckResult\n{head}\ndef check(case):\n    {body}\n"
    return ask.one({"python": "c.py:check", **check}, files or {}, sealed={"c.py": source})


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("pass", "returned null"),
        ("return 'yes'", 'returned "yes"'),
        ("return [True]", "returned [true]"),
        ("return float('nan')", "gave nan"),
        ("return 48.2", "48.2, which is not from 0 to 1"),
        ("return -0.5", "not from 0 to 1"),
        ("return 10 ** 400", "too large"),
        ("return CheckResult()", "neither value nor measured"),
        ("return CheckResult(value=2)", "not from 0 to 1"),
        ("return CheckResult(value=1, measured=float('inf'))", "gave inf"),
        ("return CheckResult(value='1')", "where a number belongs"),
        ("return CheckResult(value=True, fields={'a': None})", "where a number belongs"),
        ("return undefined", "NameError: name 'undefined' is not defined (c.py:4)"),
        ("raise SystemExit(0)", "SystemExit: 0"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("import os; os._exit(0)", "exit code 0 and no result"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "exit code 137"),
        ("open('/nowhere')", "FileNotFoundError"),
        ("case.solution.call('a.py:f', object())", "can only be given JSON values"),
        ("case.solution.run(['/usr/bin/nothing'])", "can't run '/usr/bin/nothing'"),
        ("case.solution.run(['ls'], cwd='../..')", "no path inside the work folder"),
        ("case.read_text('../x')", "no relative path"),
        ("case.world", "the trajectory has none"),
    ],
)
def test_a_fault_of_the_authors_code_is_an_open_verdict(ask: Ask, body: str, why: str) -> None:
    outcome = checked(ask, body)
    assert (outcome.value, outcome.fault, outcome.cause) == (None, "grader", "check_error")
    assert why in outcome.message


def test_a_file_or_function_that_is_missing_is_the_graders_fault(ask: Ask) -> None:
    missing = ask.one({"python": "none.py:check"})
    assert (missing.fault, missing.message) == ("grader", "the sealed file none.py is missing")
    nameless = ask.one({"python": "c.py:check"}, sealed={"c.py": "x = 1"})
    assert (nameless.fault, nameless.message) == ("grader", "c.py has no function 'check'")
    broken = ask.one({"python": "c.py:check"}, sealed={"c.py": "def check(case:"})
    assert broken.fault == "grader"
    assert "SyntaxError" in broken.message


def test_a_slow_check_is_the_graders_fault(ask: Ask) -> None:
    outcome = checked(ask, "import time; time.sleep(60)", timeout=0.5)
    assert (outcome.fault, outcome.cause) == ("grader", "check_error")
    assert "more than 0.5 s" in outcome.message


@pytest.mark.parametrize(
    "body",
    [
        "return case.read_json('r.json')['total'] == 1",
        "return (case.workspace / 'r.json').read_text() == '1'",
        "return case.read_xlsx('r.json') == []",
        "return json.loads((case.workspace / 'other.json').read_text())['none'] == 1",
        "return 1 / json.loads(case.read_text('other.json'))['total'] < 1",
        "return CheckResult(measured=float(case.read_text('nan.txt')))",
        "return CheckResult(value=case.read_json('other.json')['ratio'])",
        "return case.read_json('other.json')['verdict']",
        "return case.solution.call('a.py:f').value",
        "return int(case.read_json('huge.json')) == 1",
        "return case.read_text(case.read_json('other.json')['path']) == ''",
        "return case.exists(case.read_json('other.json')['path'])",
        "return case.solution.run(['true'], cwd=case.read_json('other.json')['path']).code == 1",
        "return case.solution.run(['echo', case.read_json('other.json')['nul']]).code == 1",
        "return case.solution.run(['echo', case.read_text('long.txt')]).code == 1",
        "return case.solution.call('a.py:f', case.read_json('huge.json')).raised is None",
        "return CheckResult(True, message=case.read_json('other.json')['total'])",
    ],
)
def test_what_only_the_agents_files_can_cause_is_its_fault(ask: Ask, body: str) -> None:
    files = {
        "other.json": '{"total": 0, "ratio": 1.5, "verdict": null, "path": "../x", "nul": "a\\u0000b"}',
        "nan.txt": "nan",
        "huge.json": "1e999",
        "long.txt": "x" * 300_000,
        "a.py": "def f(): return 'yes'\n",
    }
    outcome = checked(ask, body, head="import json", files=files)
    assert (outcome.value, outcome.fault, outcome.cause) == (None, "agent", None), outcome.message
    assert outcome.evidence


def test_a_hostile_trajectory_is_the_agents_fault(ask: Ask) -> None:
    source = "def check(case):\n    return all(call.arguments['n'] > 0 for call in case.calls())\n"
    steps = (message("assistant", "", Call(name="x", arguments={"n": "many"})),)
    outcome = ask.one({"python": "c.py:check"}, sealed={"c.py": source}, episode=Episode(steps=steps))
    assert (outcome.fault, outcome.cause) == ("agent", None)
    assert "TypeError" in outcome.message


def test_a_link_to_a_sealed_file_leads_nowhere(ask: Ask) -> None:
    source = "def check(case):\n    return (case.workspace / 'answer.txt').read_text() == (case.sealed / 'key').read_text()\n"
    for target in ("/sealed/key", "../sealed/key", "up/key"):
        episode = Episode(prepare=lambda folder, to=target: _links(folder, to))
        outcome = ask.one({"python": "c.py:check"}, sealed={"c.py": source, "key": "42"}, episode=episode)
        assert (outcome.value, outcome.fault) == (None, "agent")


def _links(folder: Any, target: str) -> None:
    (folder / "up").symlink_to("../sealed")
    (folder / "answer.txt").symlink_to(target)


def test_evidence_is_bounded_and_clean(ask: Ask) -> None:
    outcome = checked(
        ask, "return CheckResult(True, evidence=['x' * 10_000, '\\ud800'] + ['y'] * 1000, message='m' * 10_000)"
    )
    assert outcome.value == 1.0
    assert len(outcome.evidence) == 50
    assert 490 < len(outcome.evidence[0].quote) <= 500
    assert outcome.evidence[1].quote == "?"
    assert 490 < len(outcome.message) <= 500


def test_secrets_of_the_host_are_not_there(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-4711")
    body = "import os; return CheckResult(True, message=repr(sorted(os.environ.items())))"
    assert "4711" not in checked(ask, body).message
