"""What must not be there can't be hidden from a check: whatever it does not get to see whole earns the worst value."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue

from rubricgrade import tree
from rubricgrade.checks import Outcome
from rubricgrade.trajectory import Call
from tests.checks.conftest import Ask, Episode, message

ABSENT: dict[str, Any] = {"not": {"exists": {"path": "**/*.bak", "min_bytes": 0}}}
BANNED: dict[str, Any] = {"not": {"exists": {"path": "zz.log", "min_bytes": 0}}}
MANY = 1200


def below(folder: Path, name: str, count: int) -> int:
    """Make folders in folders, deeper than a path can name, and return a handle on the last."""
    handle = os.open(folder, os.O_RDONLY)
    for _ in range(count):
        os.mkdir(name, dir_fd=handle)
        inner = os.open(name, os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = inner
    return handle


def deep(name: str, count: int) -> Callable[[Path], None]:
    def prepare(folder: Path) -> None:
        handle = below(folder, name, count)
        os.close(os.open("x.bak", os.O_CREAT | os.O_WRONLY, dir_fd=handle))
        os.symlink("/etc/shadow", "link", dir_fd=handle)
        os.close(handle)

    return prepare


def links(folder: Path) -> None:
    for number in range(MANY):
        (folder / f"a{number}").symlink_to("/etc/passwd")
    (folder / "zz.log").symlink_to("/etc/passwd")


def pipes(folder: Path) -> None:
    for number in range(MANY):
        os.mkfifo(folder / f"a{number}")
    os.mkfifo(folder / "zz.log")


def verdict(outcome: Outcome) -> tuple[object, ...]:
    return outcome.value, outcome.fault, outcome.cause


THE_AGENTS = (None, "agent", None)


def test_a_file_in_deep_folders_is_found(ask: Ask) -> None:
    assert ask.one(ABSENT, episode=Episode(prepare=deep("d", 90))).value == 0.0


@pytest.mark.parametrize(
    ("check", "prepare"),
    [(ABSENT, deep("d", 120)), (ABSENT, deep("x" * 250, 25)), (BANNED, links), (BANNED, pipes)],
    ids=["deeper than is looked", "longer than a path may be", "a link among many", "a pipe among many"],
)
@pytest.mark.parametrize("packed", [False, True])
def test_what_is_not_taken_is_not_absent(
    ask: Ask, tmp_path: Path, check: dict[str, Any], prepare: Callable[[Path], None], packed: bool
) -> None:
    def as_archive(folder: Path) -> None:
        prepare(folder)
        tree.pack(folder, tmp_path / "workspace.tar.zst")
        tree.remove(folder)
        (tmp_path / "workspace.tar.zst").rename(folder)

    assert verdict(ask.one(check, episode=Episode(prepare=as_archive if packed else prepare))) == THE_AGENTS


def test_elsewhere_it_is_no_matter(ask: Ask) -> None:
    there = {"exists": "sub/*.md"}
    episode = Episode({"sub/a.md": "x", "solution.py": "def f(): return 1\n"}, prepare=deep("x" * 250, 25))
    absent: dict[str, Any] = {"not": {"exists": {"path": "sub/*.bak", "min_bytes": 0}}}
    called = {"cases": {"file": "c.json", "function": "solution.py:f"}}
    outcomes = ask.all([there, absent, called], sealed={"c.json": '[{"expected": 1}]'}, episode=episode)
    assert [outcome.value for outcome in outcomes] == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("spec", [{"contains": "FAIL"}, {"matches": "FAIL"}, {"equals": "FAIL"}], ids=str)
def test_the_middle_of_a_long_output_is_no_place_to_hide(ask: Ask, spec: dict[str, Any]) -> None:
    files = {"run.py": "print('x' * 2_000_000)\nprint('FAIL')\nprint('y' * 2_000_000)\n"}
    assert verdict(ask.one({"not": {"command": {"run": ["python3", "run.py"], **spec}}}, files)) == THE_AGENTS


def test_a_pattern_of_the_whole_output_needs_the_whole(ask: Ask) -> None:
    files = {"run.py": "print('x' * 2_000_000)\nprint('FAIL')\nprint('y' * 2_000_000)\n"}
    assert (
        verdict(ask.one({"command": {"run": ["python3", "run.py"], "matches": r"(?s)\A(?!.*FAIL)"}}, files))
        == THE_AGENTS
    )


def test_an_exit_code_counts_whatever_was_printed(ask: Ask) -> None:
    files = {"run.py": "print('x' * 4_000_000)\n"}
    assert ask.one({"command": {"run": ["python3", "run.py"]}}, files).value == 1.0


def test_an_author_is_told_that_output_is_not_whole(ask: Ask) -> None:
    source = "def check(case):\n    return case.solution.run(['python3', 'run.py']).cut == ('stderr',)\n"
    files = {"run.py": "import sys\nprint('x' * 4_000_000, file=sys.stderr)\n"}
    assert ask.one({"python": "c.py:check"}, files, sealed={"c.py": source}).value == 1.0


def test_the_middle_of_long_arguments_is_no_place_to_hide(ask: Ask) -> None:
    words: list[JsonValue] = ["x" * 60_000, "rm -rf /", "y" * 60_000]
    steps = (message("assistant", "", Call(name="bash", arguments={"argv": words})),)
    check = {"trajectory": {"tool": "bash", "argument_matches": {"argv": "rm -rf"}, "never": True}}
    assert ask.one(check, episode=Episode(steps=steps)).value == 0.0


def database(*statements: str) -> Callable[[Path], None]:
    def prepare(folder: Path) -> None:
        with closing(sqlite3.connect(folder / "a.db")) as made:
            for statement in statements:
                made.execute(statement)
            made.commit()

    return prepare


@pytest.mark.parametrize("called", ["nosuch", '"IN"'])
def test_a_view_that_calls_what_is_not_there_is_the_agents(ask: Ask, called: str) -> None:
    check = {"sqlite": {"path": "a.db", "query": "SELECT n FROM t WHERE n IN (1, 2)", "equals": 1}}
    assert (
        verdict(ask.one(check, episode=Episode(prepare=database(f"CREATE VIEW t AS SELECT {called}(1) AS n"))))
        == THE_AGENTS
    )


def test_a_query_that_calls_what_is_not_there_is_the_graders(ask: Ask) -> None:
    check = {"sqlite": {"path": "a.db", "query": "SELECT nosuch(n) FROM t", "equals": 1}}
    outcome = ask.one(check, episode=Episode(prepare=database("CREATE TABLE t (n)", "INSERT INTO t VALUES (1)")))
    assert (outcome.fault, outcome.cause) == ("grader", "check_error")
