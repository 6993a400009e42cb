"""Twelve small tasks in five families of near twins: renamed, reworded, with other numbers. Written from one table.

    python examples/delivery/make_tasks.py DIR
    rubricgrade run DIR/* --agent replay -n 2 -o RUN
    rubricgrade deliver DIR/* --runs RUN --heldout 0.25 --out DELIVERY

Each family names what changes from one of its tasks to the next; the cases are computed with the reference solution.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TOML = """schema_version = "1.4"

[task]
name = "examples/{task}"

[metadata]
category = "{category}"
difficulty = "{difficulty}"
family = "{family}"

[metadata.rubricgrade]
max_steps = 10

[agent]
timeout_sec = 300
"""
RUBRIC = """id: {task}
title: {task}
criteria:
  - id: cases
    description: The function gives the right value for hidden inputs
    points: {points}
    check:
      cases: {{function: "solution.py:{name}", file: sealed/cases.json}}
      timeout: 30
"""


@dataclass(frozen=True)
class Family:
    """Tasks that are nearly one: texts with names in braces, and what the names stand for in each of them."""

    category: str
    difficulty: str
    asks: tuple[str, ...]
    solution: str
    wrong: str
    inputs: tuple[tuple[Any, ...], ...]
    variants: tuple[dict[str, Any], ...]


FAMILIES = {
    "clamp": Family(
        "arithmetic",
        "easy",
        (
            (
                "Write solution.py with a function `{name}({arg})` that keeps numbers between {low} and {high}; a lower"
                " one becomes {low}, a larger one becomes {high}, and any other stays as it is."
            ),
            (
                "Write solution.py with a function `{name}({arg})` that keeps numbers between {low} and {high}: smaller"
                " ones become {low}, larger ones become {high}, and others stay as they are."
            ),
        ),
        "def {name}({arg}):\n    if {arg} < {low}:\n        return {low}\n    return min({arg}, {high})\n",
        "def {name}({arg}):\n    return max({arg}, {low})\n",
        ((-5,), (0,), (7,), (30,), (1000,)),
        (
            {"name": "clamp", "arg": "value", "low": 0, "high": 10},
            {"name": "limited", "arg": "number", "low": 5, "high": 50},
            {"name": "kept_within", "arg": "x", "low": -3, "high": 12},
        ),
    ),
    "chunks": Family(
        "lists",
        "easy",
        (
            (
                "solution.py needs a function `{name}({arg})`. It cuts a list into pieces of {size} items; the last"
                " piece has what is left. An empty list has no pieces."
            ),
            (
                "solution.py needs a function `{name}({arg})`. It cuts the list into parts of {size} items each;"
                " the last part has what is left. An empty list has no parts."
            ),
        ),
        "def {name}({arg}):\n    return [{arg}[at : at + {size}] for at in range(0, len({arg}), {size})]\n",
        "def {name}({arg}):\n    return [{arg}[at : at + {size}] for at in range(0, len({arg}) - {size}, {size})]\n",
        (([],), ([1],), ([1, 2, 3, 4, 5, 6, 7],), (list("abcdefghij"),)),
        (
            {"name": "chunks", "arg": "items", "size": 2},
            {"name": "pieces", "arg": "rows", "size": 3},
            {"name": "batches", "arg": "values", "size": 4},
        ),
    ),
    "initials": Family(
        "text",
        "easy",
        (
            (
                "People's names arrive as one string. Write `{name}({arg})` in solution.py: the capital first letter of"
                " every word, each followed by '{mark}'. Words are parted by any white space."
            ),
            (
                "Names of people arrive as one string. Write `{name}({arg})` in solution.py: the first letter of every"
                " word as a capital, followed by '{mark}'. White space of any kind parts the words."
            ),
        ),
        'def {name}({arg}):\n    return "".join(word[0].upper() + "{mark}" for word in {arg}.split())\n',
        'def {name}({arg}):\n    return "".join(word[0] + "{mark}" for word in {arg}.split(" "))\n',
        (("ada lovelace",), ("  grace   brewster\thopper ",), ("",), ("Alan",)),
        ({"name": "initials", "arg": "full_name", "mark": "."}, {"name": "monogram", "arg": "person", "mark": "-"}),
    ),
    "moving": Family(
        "statistics",
        "medium",
        (
            (
                "Sensors report one number a second. `{name}({arg})` in solution.py returns the mean of {size} numbers"
                " in a row, rounded to {places} places; with fewer than {size} numbers there is none."
            ),
            (
                "A sensor reports one number a second. `{name}({arg})` in solution.py returns the mean of every {size}"
                " numbers in a row, rounded to {places} places; of fewer than {size} numbers there is none."
            ),
        ),
        "def {name}({arg}):\n    last = len({arg}) - {size} + 1\n"
        "    return [round(sum({arg}[at : at + {size}]) / {size}, {places}) for at in range(last)]\n",
        "def {name}({arg}):\n    return [round(sum({arg}) / len({arg}), {places})]\n",
        (([],), ([1, 2],), ([1, 2, 4, 8, 16],), ([3.5, -1, 0.25, 9, 9, 9],)),
        (
            {"name": "moving_mean", "arg": "series", "size": 3, "places": 2},
            {"name": "smoothed", "arg": "readings", "size": 2, "places": 1},
        ),
    ),
    "ledger": Family(
        "money",
        "medium",
        (
            (
                "A ledger is a list of [account, cents] entries. `{name}({arg})` in solution.py returns those whose"
                " entries add up to more than {bar} cents, in the order of their first entry."
            ),
            (
                "The ledger is a list of entries [account, cents]. `{name}({arg})` in solution.py returns every account"
                " whose entries add up to more than {bar} cents, ordered by first entry."
            ),
        ),
        "def {name}({arg}):\n    totals = {{}}\n    for account, cents in {arg}:\n"
        "        totals[account] = totals.get(account, 0) + cents\n"
        "    return [account for account, cents in totals.items() if cents > {bar}]\n",
        "def {name}({arg}):\n    return [account for account, cents in {arg} if cents > {bar}]\n",
        (([],), ([["a", 60], ["b", 20], ["a", 60]],), ([["x", 500], ["y", 499], ["x", -100], ["y", 2]],)),
        (
            {"name": "over_budget", "arg": "entries", "bar": 100},
            {"name": "big_accounts", "arg": "ledger", "bar": 400},
        ),
    ),
}


def make(folder: Path) -> dict[str, str]:
    """Write all tasks below a folder; returns the family of each by its id."""
    families: dict[str, str] = {}
    for name, family in FAMILIES.items():
        for number in range(len(family.variants)):
            task = f"{name}-{number + 1}"
            _write(folder / task, name, number)
            families[task] = name
    return families


def _write(folder: Path, name: str, number: int) -> None:
    family, task = FAMILIES[name], folder.name
    names = family.variants[number]
    solution, wrong = family.solution.format(**names), family.wrong.format(**names)
    scope: dict[str, Any] = {}
    exec(solution, scope)
    cases = [{"args": list(args), "expected": scope[names["name"]](*args)} for args in family.inputs]
    files = {
        "task.toml": TOML.format(task=task, category=family.category, difficulty=family.difficulty, family=name),
        "instruction.md": family.asks[number % len(family.asks)].format(**names) + "\n",
        "environment/Dockerfile": "FROM python:3.13-slim\nWORKDIR /work\n",
        "solution/solve.sh": f"#!/bin/bash\nset -e\ncat > /work/solution.py <<'END'\n{solution}END\n",
        "tests/rubric.yaml": RUBRIC.format(task=task, points=len(cases), name=names["name"]),
        "tests/sealed/cases.json": json.dumps(cases) + "\n",
    }
    # The first attempt is right; the second one is wrong, but in every third task, which is solved already.
    for sample, text in enumerate((solution, solution if number == 2 else wrong)):
        step = {"calls": [{"edit_file": {"path": "solution.py", "old": "", "new": text}}]}
        files[f"plays/{sample}.yaml"] = json.dumps({"steps": [step, {"say": "solution.py is written."}]}) + "\n"
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(f"usage: python {sys.argv[0]} DIR")
    print("\n".join(make(Path(sys.argv[1]))))
