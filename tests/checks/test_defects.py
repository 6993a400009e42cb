"""A line that fails whatever the agent has left is the author's fault; one that fails by its data counts as the agent's.

Every check here reads a file before, so that on the start state it never comes to the line in question.
"""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

import pytest

from rubricgrade import Grade, agrade
from rubricgrade.checks import Outcome
from rubricgrade.result import Raised
from rubricgrade.rubric import Rubric
from rubricgrade.sandbox import Provider
from rubricgrade.trajectory import Call
from tests.checks.conftest import Ask, Episode, located, message

HEAD = """
import datetime, json, os.path, pickle, re
from rubricgrade import Case, CheckResult
import helper
LIMITS = {"hr": 3, "it": 4}
ROWS: list = [1, 2]
seen = 0
def parse(text, *, base=10):
    return int(text, base)
def check(case: Case):
    data = case.read_json("out.json")
"""
HELPER = "def total(rows):\n    return sum(rows)\nNUMBERS = {}\ndef fill(n):\n    global LAST\n    LAST = n\n"
FILES = {
    "out.json": '{"rows": [], "name": "sales", "text": "12", "module": "csvv", "none": null, "n": 3}',
    "solution.py": "import nothing_like_it\n",
    "code.txt": "undefined_there",
}
STEPS = (
    message("assistant", "", Call(name="send_mail", arguments={"to": "cfo@acme.test"})),
    message("tool", "sent", answers=(1, 1)),
    message("assistant", "Done."),
)
MAIL = "From: a@x.test\nTo: b@x.test\nSubject: s\n\nhello\n"
EPISODE = Episode(FILES, world={"outbox/1.eml": MAIL}, steps=STEPS)

THE_AUTHORS = {
    "a name that is bound nowhere": "return totl > 3",
    "a name of another function": "return text == '12'",
    "a name in a handler": "try:\n    int(data['name'])\nexcept ValueError as error:\n    log.warning(error)",
    "a name that only a comprehension has": "rows = [row for row in [1]]\nreturn row == 1",
    "a name in a lambda": "return sorted([1, 2], key=lambda n: -m)",
    "a counter that nothing begins": "for _ in [1]:\n    found += 1\nreturn found",
    "a constant that is counted up without global": "seen += 1\nreturn True",
    "a builtin that the function hides": "sum = sum(data['rows'])\nreturn sum == 0",
    "a module that the function hides": "json = json.loads('1')\nreturn True",
    "a module that is not there": "import pandaz\nreturn True",
    "a submodule that is not there": "import os.paths\nreturn True",
    "a name that a module does not have": "from json import load_s\nreturn True",
    "a name that a sealed file does not have": "from helper import totals\nreturn True",
    "a name that the API does not have": "from rubricgrade import CheckResutl\nreturn True",
    "a sealed file that is no Python": "import broken\nreturn True",
    "a sealed file that imports what is not there": "import importing\nreturn True",
    "a function that a module does not have": "return json.load_s('1')",
    "a function that a module in a module does not have": "return os.path.joined('a')",
    "a function that a sealed file does not have": "return helper.totals([])",
    "a method that a case does not have": "return case.raed_text('out.json')",
    "a method over several lines": "return (\n    case\n    .read_json('out.json')\n    and case.solution\n    .rnu(['true'])\n)",
    "a field that a call does not have": "return all(call.argumets for call in case.calls())",
    "a field that a step does not have": "for step in case.steps:\n    if step.content:\n        return True",
    "a field that a mail does not have": "return case.mail()[0].text == 'hello'",
    "a method that a path does not have": "return (case.workspace / 'out.json').raed_text()",
    "an attribute that a class does not have": "return CheckResult.good()",
    "a function with too many arguments": "return parse('1', '2')",
    "a function with a wrong name": "return parse('1', bas=8)",
    "a function of a sealed file with too few": "return helper.total()",
    "a builtin with too many": "return len(data['rows'], 1)",
    "a function of a module with a wrong name": "return re.compile('1', flag=re.ASCII)",
    "a method of the API with a wrong name": "return case.read_xlsx('out.json', sheets='a')",
    "a result with a wrong name": "return CheckResult(True, evidences=[])",
    "a module that is called": "return datetime(2024, 1, 1)",
    "a variable that the rubric does not have": "return case.vars['limt'] == 3",
    "an argument that the check does not have": "return case.args['sheet'] == 'a'",
    "a key that a constant does not have": "return LIMITS['sales'] == 3",
    "an item that a constant does not have": "return ROWS[2] == 3",
}
"""Lines by what is wrong with them."""

THE_AGENTS = {
    "a local that a loop over nothing leaves unset": "for row in data['rows']:\n    total = row\nreturn total == 3",
    "a local that one branch sets": "if data['n'] == 4:\n    total = 1\nreturn total == 1",
    "a local that is set only where it is not read": "for n in [1]:\n    t = t + 1 if data['n'] == 3 else 0\nreturn t",
    "a global that a function sets": "if data['n'] == 4:\n    helper.fill(1)\nreturn helper.LAST == 1",
    "a name of a module that another file sets": "import other\nif data['n'] == 4:\n    other.late()\nreturn helper.late",
    "a name that the author takes from data": "globals().update(data)\nreturn absent == 1",
    "a name in code of the agent's": "return eval(case.read_text('code.txt'))",
    "a module that the agent has named": "return __import__(data['module'])",
    "a module that a pickle names": "return pickle.loads(b'cnothing_such\\nf\\n.')",
    "a module of the agent's": "import sys\nsys.path.append(str(case.workspace))\nimport solution",
    "no module of the agent's": "import sys\nsys.path.append(str(case.workspace))\nimport solutions",
    "an attribute of data": "return data['none'].strip() == ''",
    "an attribute of no match": "return re.match('x', data['name']).group() == 'x'",
    "an attribute of a module that data chooses": "found = {'sales': json, 'it': re}[data['name']]\nreturn found.compile('x')",
    "an attribute that the author sets": "if data['n'] == 4:\n    case.total = 1\nreturn case.total == 1",
    "a submodule that somebody may import": "import xml\nreturn xml.sax",
    "a call with data for arguments": "return parse(*data['rows'])",
    "a call of data": "return data['none']('x')",
    "a call that data does not fit": "return parse(data['none'])",
    "a call of a function that data chooses": "f = [parse, helper.fill][data['n'] == 3]\nreturn f(1, 2)",
    "a key of data": "return data['total'] == 3",
    "a key that data names": "return LIMITS[data['name']] == 3",
    "a key of what a module keeps": "if data['n'] == 4:\n    helper.NUMBERS['x'] = 1\nreturn helper.NUMBERS['y'] == 1",
    "an item of data": "return data['rows'][0] == 3",
    "a division by data": "return 1 / len(data['rows'])",
    "a number of data": "return int(data['name']) == 3",
    "a statement of the author's": "assert data['n'] == 4",
    "an exception that the author raises": "raise NameError('x')",
    "recursion that data bounds": "def down(n): return down(n + data['n'])\nreturn down(0)",
}
"""Lines by what the agent's data does to them."""


def outcomes(ask: Ask, lines: dict[str, str]) -> dict[str, Outcome]:
    sealed = {f"checks/c{n}.py": HEAD + indent(dedent(body), "    ") for n, body in enumerate(lines.values())}
    sealed |= {
        "checks/helper.py": HELPER,
        "checks/broken.py": "def f(:\n",
        "checks/importing.py": "import pandaz\n",
        "checks/other.py": "import helper\ndef late():\n    helper.late = 1\n",
    }
    checks = [{"python": f"checks/c{n}.py:check"} for n in range(len(lines))]
    found = ask.all(checks, sealed=sealed, episode=EPISODE, vars={"limit": 3})
    return dict(zip(lines, found, strict=True))


@pytest.fixture(scope="module")
def authors(ask: Ask) -> dict[str, Outcome]:
    return outcomes(ask, THE_AUTHORS)


@pytest.fixture(scope="module")
def agents(ask: Ask) -> dict[str, Outcome]:
    return outcomes(ask, THE_AGENTS)


@pytest.mark.parametrize("name", THE_AUTHORS)
def test_what_no_data_can_keep_away_is_the_authors_fault(authors: dict[str, Outcome], name: str) -> None:
    found = authors[name]
    assert (found.value, found.fault, found.cause) == (None, "grader", "check_error"), found.message
    assert "this line fails whatever the agent has left; mend the check" in found.message


@pytest.mark.parametrize("name", THE_AGENTS)
def test_what_data_can_cause_is_the_agents_fault_and_says_that_the_check_raised(
    agents: dict[str, Outcome], name: str
) -> None:
    found = agents[name]
    assert (found.value, found.fault, found.cause) == (None, "agent", None), found.message
    assert "it is the check that raised, so this may be a defect of the check" in found.message


def test_the_line_that_raised_is_kept(authors: dict[str, Outcome], agents: dict[str, Outcome]) -> None:
    for found, error in ((authors["a name that is bound nowhere"], "NameError"), (agents["a key of data"], "KeyError")):
        assert found.raised is not None
        assert found.raised.error == error
        assert re.fullmatch(r"checks/c\d+\.py:12", found.raised.place)


@pytest.mark.parametrize("line", ["raise NameError('x' * 5000)", "return {}[case.read_text('long.txt')]"])
def test_no_length_of_a_message_hides_where_it_was_raised(ask: Ask, line: str) -> None:
    source = f"def check(case):\n    case.read_text('long.txt')\n    {line}\n"
    found = ask.one({"python": "c.py:check"}, {"long.txt": "x" * 5000}, sealed={"c.py": source})
    assert "(c.py:3); it is the check that raised" in found.message


def test_the_same_exception_at_another_line_than_on_the_start_state_is_the_agents(ask: Ask) -> None:
    source = "def check(case):\n    if not case.exists('a.json'):\n        return {}['x']\n    return case.read_json('a.json')['x']\n"
    check = {"python": "c.py:check"}
    assert ask.one(check, {}, sealed={"c.py": source}).fault == "grader"
    assert ask.one(check, {"a.json": "{}"}, sealed={"c.py": source}).fault == "agent"


RUBRIC: dict[str, Any] = {
    "id": "r",
    "gates": [{"id": "gate", "description": "d", "check": {"python": "c.py:check"}}],
    "criteria": [
        {"id": "earns", "description": "d", "points": 2, "check": {"python": "c.py:check"}},
        {"id": "costs", "description": "d", "points": -1, "check": {"python": "c.py:check"}},
        {"id": "turned", "description": "d", "points": 1, "check": {"not": {"python": "c.py:check"}}},
        {"id": "stops", "description": "d", "veto": True, "check": {"python": "c.py:check"}},
        {
            "id": "listed",
            "description": "{{ item }}",
            "points": 1,
            "judge": {},
            "for_each": {"python": "c.py:check", "if_none": "met"},
        },
    ],
}


def graded(provider: Provider, folder: Path, line: str, data: str) -> Grade:
    source = f"def check(case):\n    data = case.read_json('a.json')\n    return {line}\n"
    trajectory = located(Episode({"a.json": data}), folder)
    rubric = Rubric.build(RUBRIC, {"c.py": source.encode()})
    return asyncio.run(agrade(trajectory, rubric, provider=provider, ungated=True))


def test_a_defect_opens_gates_and_criteria_alike(provider: Provider, tmp_path: Path) -> None:
    grade = graded(provider, tmp_path, "[row for row in data if rwo]", "[1]")
    assert (grade.status, grade.cause, grade.bounds) == ("ungraded", "check_error", (0.0, 1.0))
    for item in (*grade.gates, *grade.leaves()):
        assert (item.value, item.fault, item.cause) == (None, "grader", "check_error"), item
        assert item.check is not None
        assert item.check.raised == Raised(error="NameError", place="c.py:3")


def test_what_data_causes_costs_gates_and_criteria_alike(provider: Provider, tmp_path: Path) -> None:
    grade = graded(provider, tmp_path, "[1 / row for row in data]", "[0]")
    assert (grade.status, grade.score) == ("gated", 0.0)
    values = {item.id: item.value for item in (*grade.gates, *grade.leaves())}
    assert values == {"gate": 0, "earns": 0, "costs": 1, "turned": 0, "stops": 1, "listed": 0}
    for item in (*grade.gates, *grade.leaves()):
        assert item.fault == "agent"
        assert item.check is not None
        assert item.check.raised == Raised(error="ZeroDivisionError", place="c.py:3")
