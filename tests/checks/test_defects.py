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
import datetime, json, os.path, re
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
    "a sealed file by its name alone": "with open('checks/helper.py') as file:\n    return file.read() == ''",
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
    "a file that is named by data": "return open(data['name']).read() == ''",
    "a file that is nowhere": "return open('checks/sales.csv').read() == ''",
    "a folder that is another by data": "import os\nif data['n'] == 4:\n    os.chdir('/checks')\nreturn open('checks/helper.py')",
    "a local that a loop over nothing leaves unset": "for row in data['rows']:\n    total = row\nreturn total == 3",
    "a local that one branch sets": "if data['n'] == 4:\n    total = 1\nreturn total == 1",
    "a local that is set only where it is not read": "for n in [1]:\n    t = t + 1 if data['n'] == 3 else 0\nreturn t",
    "a global that a function sets": "if data['n'] == 4:\n    helper.fill(1)\nreturn helper.LAST == 1",
    "a name of a module that another file sets": "import other\nif data['n'] == 4:\n    other.late()\nreturn helper.late",
    "a name that the author takes from data": "globals().update(data)\nreturn absent == 1",
    "a name in code of the agent's": "return eval(case.read_text('code.txt'))",
    "a module that the agent has named": "return __import__(data['module'])",
    "a module that a pickle names": "import pickle\nreturn pickle.loads(b'cnothing_such\\nf\\n.')",
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


APART: dict[str, dict[str, str]] = {
    "setattr on the case": {
        "c.py": "def check(case):\n    for name, value in case.read_json('a.json').items():\n        setattr(case, name, value)\n    return case.total == 42\n"
    },
    "a special method that sets": {
        "c.py": "def check(case):\n    for item in case.read_json('a.json').items():\n        object.__setattr__(case, *item)\n    return case.total == 42\n"
    },
    "variables that are updated": {
        "c.py": "def check(case):\n    case.vars.update(case.read_json('a.json'))\n    return case.vars['total'] == 42\n"
    },
    "variables that another file updates": {
        "c.py": "import helper\ndef check(case):\n    helper.merge(case)\n    return case.vars['total'] == 42\n",
        "helper.py": "def merge(case):\n    known = case.vars\n    known |= case.read_json('a.json')\n",
    },
    "variables that a pattern takes out": {
        "c.py": "from rubricgrade import Case\ndef check(case):\n    match case:\n        case Case(vars=known):\n            known.update(case.read_json('a.json'))\n    return case.vars['total'] == 42\n"
    },
    "a class that another file sets": {
        "c.py": "from helper import Report, parse\ndef check(case):\n    parse(case.read_json('a.json'))\n    return Report.total == 42\n",
        "helper.py": "class Report:\n    pass\ndef parse(data):\n    if 'total' in data:\n        Report.total = data['total']\n",
    },
    "a class whose body looks at data": {
        "c.py": "def check(case):\n    data = case.read_json('a.json')\n    class Report:\n        if 'total' in data:\n            total = 42\n    return Report.total == 42\n"
    },
    "a class that a decorator changes": {
        "c.py": "def check(case):\n    data = case.read_json('a.json')\n    def filled(kind):\n        return type('Filled', (), data)\n    @filled\n    class Report:\n        pass\n    return Report.total == 42\n"
    },
    "a class with a base of data": {
        "c.py": "def check(case):\n    Base = type('Base', (), case.read_json('a.json'))\n    class Report(Base):\n        pass\n    return Report.total == 42\n"
    },
    "a class with a class of its own": {
        "c.py": "def check(case):\n    data = case.read_json('a.json')\n    class Meta(type):\n        def __new__(cls, name, bases, members):\n            return super().__new__(cls, name, bases, {**members, **data})\n    class Report(metaclass=Meta):\n        pass\n    return Report.total == 42\n"
    },
    "a case that another file sets": {
        "c.py": "import helper\ndef check(case):\n    helper.prepare(case)\n    return case.total == 42\n",
        "helper.py": "def prepare(case):\n    data = case.read_json('a.json')\n    if 'total' in data:\n        case.total = data['total']\n",
    },
    "a case or something else": {
        "c.py": "class Other:\n    total = 42\ndef check(case):\n    found = Other if case.read_json('a.json') else case\n    return found.total == 42\n"
    },
    "a case or something else in a helper": {
        "c.py": "class Other:\n    total = 42\ndef of(found):\n    return found.total\ndef check(case):\n    return of(Other if case.read_json('a.json') else case) == 42\n"
    },
    "a global that another file sets": {
        "c.py": "import helper\ndef check(case):\n    data = case.read_json('a.json')\n    if 'total' in data:\n        helper.TOTAL = data['total']\n    return helper.doubled() == 84\n",
        "helper.py": "def doubled():\n    return 2 * TOTAL\n",
    },
    "a global that a class asks for": {
        "c.py": "def check(case):\n    global total\n    if case.read_json('a.json'):\n        total = 42\n    class Report:\n        total = total\n    return Report.total == 42\n"
    },
    "a constant that another file updates": {
        "c.py": "import registry\ndef check(case):\n    registry.FOUND.update(case.read_json('a.json'))\n    return registry.total() == 42\n",
        "registry.py": "FOUND = {}\ndef total():\n    return FOUND['total']\n",
    },
    "a constant that another file imports": {
        "c.py": "from registry import FOUND as found, total\ndef check(case):\n    found.update(case.read_json('a.json'))\n    return total() == 42\n",
        "registry.py": "FOUND = {}\ndef total():\n    return FOUND['total']\n",
    },
    "a module that a package gets by an import": {
        "c.py": "import parts\ndef check(case):\n    if case.read_json('a.json'):\n        from parts import late\n    return parts.total() == 42\n",
        "parts/__init__.py": "def total():\n    return late.TOTAL\n",
        "parts/late.py": "TOTAL = 42\n",
    },
    "a class that a helper has by data": {
        "c.py": "import json\ndef check(case):\n    case.read_json('a.json')\n    from helper import Kind\n    return Kind.amount == 42\n",
        "helper.py": "from pathlib import Path\nfrom rubricgrade import CheckResult\nclass Other:\n    amount = 42\nKind = CheckResult if Path('/workspace/a.json').read_text() == '{}' else Other\n",
    },
    "a builtin that another file hides": {
        "c.py": "import helper\ndef check(case):\n    if case.read_json('a.json'):\n        helper.len = lambda *_: 2\n    return helper.both([]) == 2\n",
        "helper.py": "def both(rows):\n    return len(rows, rows)\n",
    },
    "a function that a helper has by data": {
        "c.py": "from pathlib import Path\ndef check(case):\n    case.read_json('a.json')\n    from helper import total\n    return total(1, 2) == 42\n",
        "helper.py": "from pathlib import Path\nif Path('/workspace/a.json').read_text() == '{}':\n    def total(one): return 42\nelse:\n    def total(one, two): return 42\n",
    },
    "a function with a decorator": {
        "c.py": "def check(case):\n    data = case.read_json('a.json')\n    def open_if(function):\n        return (lambda *_: 42) if data else function\n    @open_if\n    def total(one): return one\n    return total(1, 2) == 42\n"
    },
    "a name that a star brings": {
        "c.py": "from helper import *\ndef check(case):\n    case.read_json('a.json')\n    return total == 42\n",
        "helper.py": "from pathlib import Path\nif Path('/workspace/a.json').read_text() != '{}':\n    total = 42\n",
    },
    "a name of a helper that gives what it is asked for": {
        "c.py": "import helper\ndef check(case):\n    helper.STATE.append(case.read_json('a.json'))\n    from helper import total\n    return total == 42\n",
        "helper.py": "STATE = []\ndef __getattr__(name):\n    if STATE and name in STATE[0]:\n        return STATE[0][name]\n    raise AttributeError(name)\n",
    },
    "a name that a helper imports if it can": {
        "c.py": "import helper\ndef check(case):\n    case.read_json('a.json')\n    return helper.parse('1', base=10) == 1\n",
        "helper.py": "try:\n    from quick import parse\nexcept ImportError:\n    from slow import parse\n",
        "quick.py": "from pathlib import Path\nif Path('/workspace/a.json').read_text() == '{}':\n    raise ImportError\ndef parse(text, *, base):\n    return int(text, base)\n",
        "slow.py": "def parse(text):\n    return int(text)\n",
    },
    "a module of the agent's on a path that is taken away": {
        "c.py": "import contextlib, sys\n@contextlib.contextmanager\ndef importing(folder):\n    sys.path.insert(0, folder)\n    try:\n        yield\n    finally:\n        sys.path.remove(folder)\ndef check(case):\n    case.read_json('a.json')\n    with importing(str(case.workspace)):\n        import sol\n    return sol.total == 42\n"
    },
    "steps of the agent's": {
        "c.py": "def check(case):\n    case.read_json('a.json')\n    return case.steps and case.steps[99].text == 'x'\n"
    },
    "a module that sets what it is told": {
        "c.py": "from unittest import mock\ndef check(case):\n    with mock.patch.multiple(case, create=True, other=1, **case.read_json('a.json')):\n        return case.total == 42\n"
    },
}
"""Sealed files in which other data would have kept the exception away, each a rubric of its own."""


@pytest.mark.parametrize("name", APART)
def test_what_any_sealed_file_may_change_is_the_agents(ask: Ask, name: str) -> None:
    found = ask.one({"python": "c.py:check"}, {"a.json": "{}"}, sealed=APART[name], vars={"limit": 3})
    assert (found.value, found.fault) == (None, "agent"), found.message
    assert found.raised is not None, found.message


def test_a_file_that_is_never_imported_has_no_part_in_it(ask: Ask) -> None:
    source = "import helper\ndef check(case):\n    case.read_json('a.json')\n    return totl == 42\n"
    sealed = {"c.py": source, "helper.py": "", "test_it.py": "import sys\nsetattr(sys, 'totl', 1)\n"}
    assert ask.one({"python": "c.py:check"}, {"a.json": "{}"}, sealed=sealed).fault == "grader"
    sealed["helper.py"] = "def late():\n    import test_it\n"
    assert ask.one({"python": "c.py:check"}, {"a.json": "{}"}, sealed=sealed).fault == "agent"


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
