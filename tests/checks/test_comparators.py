"""Cases that are compared by the author's own function, and cases that can leave nothing for each other."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rubricgrade.checks import Outcome
from tests.checks.conftest import Ask

COMPARE = """
def any_order_of_keys(found, expected):
    return isinstance(found, dict) and found.get("id") == expected["id"]


def same_length(found, expected):
    return len(found) == len(expected)


def nothing(found, expected):
    pass


def passed_on(found, expected):
    return found


def alone(found):
    return True
"""
BY = {"python": "compare.py:same_length"}


def asked(
    ask: Ask, files: dict[str, str], items: list[dict[str, Any]], spec: dict[str, Any], by: str = COMPARE
) -> Outcome:
    check = {"cases": {"file": "cases.json", **spec}}
    return ask.one(check, files, sealed={"cases.json": json.dumps(items), "compare.py": by})


def test_a_functions_values_are_compared_by_the_authors_function(ask: Ask) -> None:
    code = "def f(n): return {'id': n, 'more': 'x' * n} if n < 3 else None"
    items = [{"args": [n], "expected": {"id": n}} for n in (1, 2, 3)]
    spec = {"function": "m.py:f", "compare": {"python": "compare.py:any_order_of_keys"}}
    outcome = asked(ask, {"m.py": code}, items, spec)
    assert (outcome.passed, outcome.total, outcome.isolation) == (2, 3, "out-of-process")
    assert asked(ask, {"m.py": code}, items, {"function": "m.py:f"}).passed == 0


def test_what_a_program_prints_is_compared_by_the_authors_function(ask: Ask) -> None:
    items = [{"stdout": "abc\n"}, {"lines": ["a", "b"]}, {"exit_code": 0}]
    spec = {"program": ["python3", "p.py"], "compare": BY}
    outcome = asked(ask, {"p.py": "print('xyz')"}, items, spec)
    assert [item.quote.partition(":")[0] for item in outcome.evidence[1:]] == ["case 2"]


def test_a_comparison_that_raises_for_what_the_agent_returned_is_the_agents(ask: Ask) -> None:
    items = [{"expected": [1, 2]}, {"expected": [1]}]
    outcome = asked(ask, {"m.py": "def f(): return 7"}, items, {"function": "m.py:f", "compare": BY})
    assert outcome.fault == "agent"


@pytest.mark.parametrize("name", ["alone", "absent"])
def test_a_comparison_that_nobody_could_call_is_the_authors(ask: Ask, name: str) -> None:
    spec = {"function": "m.py:f", "compare": {"python": f"compare.py:{name}"}}
    outcome = asked(ask, {"m.py": "def f(): return 7"}, [{"expected": 7}], spec)
    assert (outcome.value, outcome.fault, outcome.cause) == (None, "grader", "check_error")


def test_a_verdict_that_is_none_is_no_yes(ask: Ask) -> None:
    for name, fault in (("nothing", "grader"), ("passed_on", "agent")):
        spec = {"function": "m.py:f", "compare": {"python": f"compare.py:{name}"}}
        outcome = asked(ask, {"m.py": "def f(): return None"}, [{"expected": 7}], spec)
        assert (outcome.value, outcome.fault) == (None, fault)
        assert f"compare.py:{name} returned null; True or False is wanted" in outcome.message


LEAVES = """
import pathlib

def f(n):
    seen = len(list(pathlib.Path().glob("seen-*")))
    pathlib.Path(f"seen-{n}").touch()
    return seen

if __name__ == "__main__":
    print(f(1))
"""


@pytest.mark.parametrize(("isolate", "passed"), [("case", 2), ("check", 1)])
@pytest.mark.parametrize("what", [{"function": "m.py:f"}, {"program": ["python3", "m.py"]}], ids=["call", "program"])
def test_what_a_case_leaves_for_the_next(ask: Ask, what: dict[str, Any], isolate: str, passed: int) -> None:
    calls = [{"args": [n], "expected": 0} for n in (1, 2)]
    items = calls if "function" in what else [{"lines": ["0"]}] * 2
    outcome = asked(ask, {"m.py": LEAVES}, items, {**what, "isolate": isolate})
    assert outcome.passed == passed, [item.quote for item in outcome.evidence]
