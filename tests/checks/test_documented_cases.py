"""The files of sealed cases that the documentation shows, against a solution that they describe."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.checks.conftest import Ask

DOCUMENTED = {
    "calc.py": """
import sys
from pathlib import Path

def evaluate(text, digits=None):
    try:
        value = eval(text)
    except SyntaxError:
        raise ValueError(text) from None
    return value if digits is None else round(value, digits)

if __name__ == "__main__":
    if sys.argv[1] != "--sum":
        sys.exit(2)
    given = Path(sys.argv[2]).read_text() if sys.argv[2:] else sys.stdin.read()
    print(sum(map(int, given.split())))
"""
}


@pytest.mark.parametrize(
    ("name", "asked"),
    [("function-cases", {"function": "calc.py:evaluate"}), ("program-cases", {"program": ["python3", "calc.py"]})],
)
def test_the_documented_cases_say_what_they_seem_to(ask: Ask, name: str, asked: dict[str, Any]) -> None:
    text = (Path(__file__).parents[2] / "docs/rubric.md").read_text()
    [documented] = re.findall(rf"^```json {name}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    check = {"cases": {"file": "cases.json", **asked}}
    right = ask.one(check, DOCUMENTED, sealed={"cases.json": documented})
    assert (right.value, right.total) == (1.0, 3), [item.quote for item in right.evidence]
    assert ask.one(check, {"calc.py": "def evaluate(*_, **__): pass"}, sealed={"cases.json": documented}).value == 0.0
