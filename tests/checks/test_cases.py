"""Sealed cases against the agent's function or program."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rubricgrade.checks import Outcome
from tests.checks.conftest import Ask, Episode

CALC = {
    "1 + 2 * 3": 7, "(1 + 2) * 3": 9, "2 ** 3 ** 2": 512, "-2 ** 2": -4, "2 ** -1": 0.5, "7 // -2": -4, "-7 % 3": 2,
    "10 / 4": 2.5, "2 * -3": -6, "--3": 3, ".5 + 1": 1.5, "1e3 / 8": 125.0, "1_000 // 7": 142,
}  # fmt: skip
FORBID = ["eval", "exec", "compile", "ast"]
EVALUATOR = """
import re
from collections import namedtuple

Token = namedtuple("Token", "kind text")
PATTERN = re.compile(r"\\s*(?:(?P<number>NUMBER)|(?P<sign>\\*\\*|//|[-+*/%()]))")


def tokens(text):
    found, position = [], 0
    while position < len(text.rstrip()):
        match = PATTERN.match(text, position)
        if not match:
            raise ValueError(text[position:])
        found.append(Token(match.lastgroup, match.group(match.lastgroup)))
        position = match.end()
    return found


def evaluate(text):
    left = tokens(text)

    def taken(*signs):
        return left.pop(0).text if left and left[0].text in signs else None

    def total():
        value = product()
        while sign := taken("+", "-"):
            value = value + product() if sign == "+" else value - product()
        return value

    def product():
        value = signed()
        while sign := taken("*", "//", "/", "%"):
            other = signed()
            value = {"*": lambda: value * other, "/": lambda: value / other, "//": lambda: value // other,
                     "%": lambda: value % other}[sign]()
        return value

    def signed():
        if sign := taken("-", "+"):
            return -signed() if sign == "-" else signed()
        value = single()
        return value ** signed() if taken("**") else value

    def single():
        if taken("("):
            value = total()
            taken(")")
            return value
        number = left.pop(0)
        if number.kind != "number":
            raise ValueError(number)
        return float(number.text) if set(number.text) & set(".eE") else int(number.text)

    value = total()
    if left:
        raise ValueError(left)
    return value
"""
PLAIN_NUMBER = r"\\d+\\.?\\d*(?:[eE][-+]?\\d+)?|\\.\\d+".replace("\\\\", "\\")
ANY_NUMBER = PLAIN_NUMBER.replace(r"\d+\.", r"\d[\d_]*\.", 1)


def sealed(items: list[dict[str, Any]]) -> dict[str, str]:
    return {"cases.json": json.dumps(items)}


def function(ask: Ask, code: str, items: list[dict[str, Any]], name: str = "m.py:f", **spec: Any) -> Outcome:
    within = {"within": spec.pop("within")} if "within" in spec else {}
    check = {"cases": {"file": "cases.json", "function": name, **spec}, "timeout": spec.pop("timeout", 60), **within}
    check["cases"].pop("timeout", None)
    return ask.one(check, {name.partition(":")[0]: code}, sealed=sealed(items))


def calc(ask: Ask, code: str, *, first: int = len(CALC)) -> Outcome:
    items = [{"args": [text], "expected": value} for text, value in list(CALC.items())[:first]]
    return function(ask, code, items, "calc.py:evaluate", forbid=FORBID)


def test_calc_that_rejects_underscores_earns_twelve_of_thirteen(ask: Ask) -> None:
    outcome = calc(ask, EVALUATOR.replace("NUMBER", PLAIN_NUMBER))
    assert (outcome.passed, outcome.total) == (12, 13), [item.quote for item in outcome.evidence]
    assert outcome.value == 12 / 13
    assert outcome.isolation == "out-of-process"
    assert outcome.evidence[1].quote == 'case 13: evaluate("1_000 // 7"): raised ValueError: _000 // 7, expected 142'


def test_calc_that_takes_them_earns_all(ask: Ask) -> None:
    assert calc(ask, EVALUATOR.replace("NUMBER", ANY_NUMBER)).value == 1.0


CHEATS = {
    "nothing": "def evaluate(text): raise NotImplementedError",
    "eval": "def evaluate(text): return eval(text)",
    "eval by another name": "run = eval\ndef evaluate(text): return run(text)",
    "eval looked up": "import builtins\ndef evaluate(text): return getattr(builtins, 'ev' + 'al')(text)",
    "exec": "def evaluate(text):\n    scope = {}\n    exec('value = ' + text, scope)\n    return scope['value']",
    "compile": "def evaluate(text): return eval(compile(text, 'x', 'eval'))",
    "ast": "from ast import parse\ndef evaluate(text): return parse(text)",
    "ast by importlib": "import importlib\ndef evaluate(text): return eval(importlib.import_module('ast').parse(text))",
    "ast by inspect": "import inspect\ndef evaluate(text): return inspect.ast.literal_eval(text)",
    "subprocess": """
import sys, subprocess
def evaluate(text):
    return float(subprocess.check_output([sys.executable, '-c', f'print({text})']))
""",
    "popen": "import os\ndef evaluate(text): return float(os.popen(f\"python3 -c 'print({text})'\").read())",
    "a module made on the way": """
import sys
sys.path.insert(0, '.')
def evaluate(text):
    open('made.py', 'w').write('value = ' + text)
    import made
    return made.value
""",
    "runpy": """
import runpy
def evaluate(text):
    open('made.py', 'w').write('value = ' + text)
    return runpy.run_path('made.py')['value']
""",
    "a loader of its own": """
import importlib.machinery, types
def evaluate(text):
    class Loader(importlib.machinery.SourceFileLoader):
        def get_data(self, path): return b'value = ' + text.encode()
    module = types.ModuleType('made')
    Loader('made', '/usr/lib/made.py').exec_module(module)
    return module.value
""",
    "a thread from before": """
import threading, queue
asked, told = queue.Queue(), queue.Queue()
def serve():
    while True: told.put(eval(asked.get()))
threading.Thread(target=serve, daemon=True).start()
def evaluate(text):
    asked.put(text)
    return told.get(timeout=2)
""",
    "a process from before": """
import os
asked, ask = os.pipe()
tell, told = os.pipe()
if os.fork() == 0:
    while True: os.write(told, repr(eval(os.read(asked, 1000))).encode())
def evaluate(text):
    os.write(ask, text.encode())
    return float(os.read(tell, 1000))
""",
}


@pytest.mark.parametrize("code", CHEATS.values(), ids=CHEATS.keys())
def test_calc_by_what_is_forbidden_earns_nothing(ask: Ask, code: str) -> None:
    outcome = calc(ask, code, first=2)
    assert (outcome.value, outcome.fault) == (0.0, None), [item.quote for item in outcome.evidence]


DURATIONS = {"1h30m": 5400, "45s": 45, "2d": 172800, "1d2h3m4s": 93784}
BAD_DURATIONS = ["", "1x", "30m1h", "1h 30m", "h", "1h1h", "1H", "1.5h", "1h30", "-5m"]
DURATION = """
import re

UNITS = {"d": 86400, "h": 3600, "m": 60, "s": 1}


def parse_duration(text):
    match = re.fullmatch(r"(?:([0-9]+)d)?(?:([0-9]+)h)?(?:([0-9]+)m)?(?:([0-9]+)s)?", text)
    if not match or not text:
        raise ValueError(text)
    return sum(int(number or 0) * unit for number, unit in zip(match.groups(), UNITS.values()))
"""
BUGGY_DURATION = """
import re

UNITS = {"d": 86400, "h": 3600, "m": 60, "s": 1}


def parse_duration(text):
    return sum(int(amount) * UNITS[unit] for amount, unit in re.findall(r"(\\d+)([dhms])", text))
"""


@pytest.mark.parametrize(("code", "passed"), [(DURATION, 14), (BUGGY_DURATION, 4)])
def test_duration(ask: Ask, code: str, passed: int) -> None:
    items: list[dict[str, Any]] = [{"args": [text], "expected": seconds} for text, seconds in DURATIONS.items()]
    items += [{"args": [text], "raises": "ValueError"} for text in BAD_DURATIONS]
    outcome = function(ask, code, items, "duration.py:parse_duration")
    assert (outcome.passed, outcome.total) == (passed, 14)


SALES = 'region,quantity,unit_price\nWest,3,$19.99\nWest,1,"$1,200.00"\nNorth,,$15.00\n'
HIDDEN = 'region,quantity,unit_price\nSouth,2,"$1,000.50"\nsouth ,1,$0.99\nEast,,$5.00\nEast,3,$3.33\n'
REPORT = """
import csv
from collections import Counter

totals = Counter()
for row in csv.DictReader(open("sales.csv")):
    if row["quantity"]:
        price = float(row["unit_price"].strip("$").replace(",", ""))
        totals[row["region"].strip().lower()] += int(row["quantity"]) * price
for region, total in totals.most_common():
    print(f"{region},{total:.2f}")
"""


@pytest.mark.parametrize(("code", "value"), [(REPORT, 1.0), ("print('west,1259.97')", 0.5), ("import nothing", 0.0)])
def test_a_program_with_files_of_its_own(ask: Ask, code: str, value: float) -> None:
    items = [{"lines": ["west,1259.97"]}, {"files": {"sales.csv": HIDDEN}, "lines": ["south,2001.99", "east,9.99"]}]
    check = {"cases": {"file": "cases.json", "program": ["python3", "report.py"]}}
    outcome = ask.one(check, {"report.py": code, "sales.csv": SALES}, sealed=sealed(items))
    assert outcome.value == value, [item.quote for item in outcome.evidence]


ECHO = "import sys\nprint(sys.argv[1:], sys.stdin.read().strip(), end='')\nsys.exit(len(sys.argv) - 1)\n"


def test_a_program_by_arguments_input_and_exit_code(ask: Ask) -> None:
    items = [
        {"args": ["a b"], "stdin": "in", "stdout": "['a b'] in\n", "exit_code": 1},
        {"args": ["a"], "exit_code": 1},
        {"args": ["a"], "stdout": "['a'] "},
        {"stdout": "[]"},
    ]
    check = {"cases": {"file": "cases.json", "program": ["python3", "echo.py"]}}
    outcome = ask.one(check, {"echo.py": ECHO}, sealed=sealed(items))
    assert (outcome.passed, outcome.total) == (2, 4)
    assert [item.quote.partition(":")[0] for item in outcome.evidence[1:]] == ["case 3", "case 4"]


def test_cases_with_files_start_from_a_fresh_copy(ask: Ask) -> None:
    program = "import os\nprint(sorted(os.listdir()))\nopen('left', 'w').close()\n"
    items = [{"files": {f"{name}.txt": "x"}, "lines": [str(sorted(["p.py", f"{name}.txt"]))]} for name in "ab"]
    outcome = ask.one(
        {"cases": {"file": "cases.json", "program": ["python3", "p.py"]}}, {"p.py": program}, sealed=sealed(items)
    )
    assert outcome.value == 1.0, [item.quote for item in outcome.evidence]


COMPARED: list[tuple[dict[str, Any], Any, Any, bool]] = [
    ({}, [1, 2], [1, 2.0], True),
    ({}, [2, 1], [1, 2], False),
    ({}, True, 1, False),
    ({}, 0, False, False),
    ({}, 3.0, 3, True),
    ({}, 3, 3.0, True),
    ({}, "3", 3, False),
    ({}, "48.2", 48.2, False),
    ({}, None, None, True),
    ({"compare": "unordered"}, [2, 1, 1], [1, 2, 1], True),
    ({"compare": "unordered"}, [2, 2, 1], [1, 2, 1], False),
    ({"compare": "unordered"}, [1], [1, 1], False),
    ({"compare": "unordered"}, "b\na", "a\nb", True),
    ({"compare": "text"}, " a  b\n", "a b", True),
    ({"compare": "text"}, "ab", "a b", False),
    ({"compare": "text"}, None, "null", False),
    ({"within": 0.01}, [48.205], [48.2], True),
    ({"within": "0.01%"}, [48.21], [48.2], False),
]


@pytest.fixture(scope="module")
def compared(ask: Ask) -> list[Outcome]:
    """All comparisons, in one sandbox."""
    code = "".join(f"def f{n}(): return {returned!r}\n" for n, (_, returned, _, _) in enumerate(COMPARED))
    items = {f"{n}.json": json.dumps([{"expected": expected}]) for n, (_, _, expected, _) in enumerate(COMPARED)}
    checks = [
        {
            "cases": {"file": f"{n}.json", "function": f"m.py:f{n}"}
            | {k: v for k, v in spec.items() if k == "compare"},
            **{k: v for k, v in spec.items() if k == "within"},
        }
        for n, (spec, _, _, _) in enumerate(COMPARED)
    ]
    return ask.all(checks, {"m.py": code}, sealed=items)


@pytest.mark.parametrize("number", range(len(COMPARED)), ids=lambda number: str(COMPARED[number][:3]))
def test_ways_to_compare(compared: list[Outcome], number: int) -> None:
    outcome = compared[number]
    assert outcome.value == float(COMPARED[number][3]), [item.quote for item in outcome.evidence]


def test_calls_with_names_in_packages_and_below_a_folder(ask: Ask) -> None:
    files = {
        "src/bill/__init__.py": "",
        "src/bill/tax.py": "from . import rate\ndef total(net, *, rate_of=rate.RATE): return net + rate_of\n",
        "src/bill/rate.py": "RATE = 2\n",
        "src/json.py": "raise SystemExit('not the one that is meant')\n",
    }
    check = {"cases": {"file": "cases.json", "function": "bill/tax.py:total", "cwd": "src"}}
    items = [{"args": [1], "expected": 3}, {"args": [1], "kwargs": {"rate_of": 5}, "expected": 6}]
    outcome = ask.one(check, files, sealed=sealed(items))
    assert outcome.value == 1.0, [item.quote for item in outcome.evidence]


def test_a_module_called_like_one_of_the_standard_library(ask: Ask) -> None:
    assert function(ask, "def f(): return 'mine'", [{"expected": "mine"}], "random.py:f").value == 1.0


def test_yaml_cases_are_read_by_the_rubrics_own_rules(ask: Ask) -> None:
    check = {"cases": {"file": "c.yaml", "function": "m.py:f"}}
    outcome = ask.one(check, {"m.py": "def f(x): return x"}, sealed={"c.yaml": "- {args: [no], expected: no}\n"})
    assert outcome.value == 1.0
    broken = ask.one(check, {"m.py": "def f(x): return x"}, sealed={"c.yaml": "- {args: [007], expected: 7}\n"})
    assert (broken.fault, broken.cause) == ("grader", "check_error")


def test_a_hanging_case_fails_and_the_others_count(ask: Ask) -> None:
    code = "import time\ndef f(n):\n    if n == 2: time.sleep(100)\n    return n"
    check = {"cases": {"file": "cases.json", "function": "m.py:f"}, "timeout": 1.5}
    outcome = ask.one(check, {"m.py": code}, sealed=sealed([{"args": [n], "expected": n} for n in (1, 2, 3)]))
    assert (outcome.passed, outcome.total, outcome.fault) == (1, 3, None)
    assert "timed out after" in outcome.evidence[1].quote
    assert "are used up" in outcome.evidence[2].quote


def test_a_solution_that_breaks_down_on_a_penalty_earns_nothing_by_it(ask: Ask) -> None:
    check = {"cases": {"file": "cases.json", "function": "m.py:f"}}
    files, items = {"m.py": "import os\ndef f(): os._exit(0)"}, sealed([{"expected": "rude"}])
    assert ask.one(check, files, sealed=items).value == 0.0
    turned = ask.one({"not": check}, files, sealed=items)
    assert (turned.value, turned.fault) == (None, "agent")
    assert "1 cases ended by a fault of the solution" in turned.message


@pytest.mark.parametrize("items", ["[]", "[{}]", "[3]", "{", '[{"args": [1], "expected": 1, "raises": "X"}]'])
def test_bad_cases_are_the_graders_fault(ask: Ask, items: str) -> None:
    check = {"cases": {"file": "cases.json", "function": "m.py:f"}}
    outcome = ask.one(check, {"m.py": "def f(x): return x"}, sealed={"cases.json": items})
    assert (outcome.value, outcome.fault, outcome.cause) == (None, "grader", "check_error")


def test_a_missing_function_module_or_folder_fails_every_case(ask: Ask) -> None:
    items = sealed([{"expected": None}])
    for function_name, files in (("m.py:g", {"m.py": "x = 1"}), ("n.py:f", {}), ("m.py:f", {"m.py": "def f(:"})):
        outcome = ask.one({"cases": {"file": "cases.json", "function": function_name}}, files, sealed=items)
        assert (outcome.value, outcome.fault) == (0.0, None), outcome.message
    gone = ask.one({"cases": {"file": "cases.json", "function": "m.py:f", "cwd": "src"}}, {"m.py": ""}, sealed=items)
    assert (gone.fault, gone.message) == ("agent", "the folder src is not there")


def test_no_sealed_byte_is_in_the_solutions_view(ask: Ask) -> None:
    secret = "TOPSECRET-4711"
    search = """
import glob, os, sys
def f():
    paths = [*glob.glob('/proc/[0-9]*/environ'), *glob.glob('/proc/[0-9]*/cmdline')]
    for folder, names, files in os.walk('/'):
        kept = ('/proc', '/dev', '/usr', '/opt', sys.base_prefix)
        names[:] = [name for name in names if os.path.join(folder, name) not in kept]
        paths += [os.path.join(folder, name) for name in files]
    for path in paths:
        try:
            with open(path, 'rb') as file:
                if b'TOPSECRET-' + b'4711' in file.read(1 << 20): return path
        except OSError: pass
    return 'nowhere'
"""
    items = {"cases.json": json.dumps([{"expected": "nowhere"}, {"expected": secret}]), "key.txt": secret}
    rubric = {"vars": {"key": secret}}
    outcome = ask.one(
        {"cases": {"file": "cases.json", "function": "m.py:f"}},
        sealed=items,
        episode=Episode({"m.py": search}),
        **rubric,
    )
    assert outcome.passed == 1, [item.quote for item in outcome.evidence]
