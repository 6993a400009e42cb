"""The built-in tools, called with whatever a model may make up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubricgrade.episode.stage import read_call
from rubricgrade.episode.tools import BUILT_IN, Told, Toolbox, cut
from rubricgrade.sandbox import Sandbox
from tests.episode.making import in_fork


def call(task: Path, *calls: tuple[str, dict[str, Any]]) -> list[Told]:
    async def work(sandbox: Sandbox) -> list[Told]:
        box = Toolbox(sandbox, tuple(BUILT_IN))
        return [await box.call(name, arguments) for name, arguments in calls]

    return in_fork(task, work)


def test_a_shell_and_files_in_one_place(task: Path) -> None:
    told = call(
        task,
        ("edit_file", {"path": "a.txt", "old": "", "new": "one two"}),
        ("edit_file", {"path": "a.txt", "old": "two", "new": "three"}),
        ("read_file", {"path": "a.txt"}),
        ("bash", {"command": "cat a.txt; echo wrong >&2; exit 3"}),
    )
    assert [one.text for one in told] == ["wrote a.txt", "edited a.txt", "one three", "exit 3\none threewrong"]
    assert [one.failed for one in told] == [False, False, False, True]


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("python", {}, "there is no tool 'python'"),
        ("bash", {}, "bash needs command"),
        ("bash", {"command": 3}, "command must be a string"),
        ("bash", {"command": "true", "timeout": True}, "timeout must be a number"),
        ("bash", {"command": "true", "shell": "zsh"}, "takes no 'shell'"),
        ("read_file", {"path": "none.txt"}, "error"),
        ("read_file", {"path": "a\0b"}, "error"),
        ("edit_file", {"path": "question.txt", "old": "eight", "new": ""}, "occurs 0 times"),
        ("edit_file", {"path": "question.txt", "old": "s", "new": ""}, "occurs 3 times"),
        ("edit_file", {"path": "/usr/bin/x", "old": "", "new": "x"}, "error"),
    ],
)
def test_a_wrong_call_is_answered(task: Path, name: str, arguments: dict[str, Any], words: str) -> None:
    (told,) = call(task, (name, arguments))
    assert told.failed
    assert words in told.text


def test_a_command_that_hangs_is_stopped_and_the_rest_goes_on(task: Path) -> None:
    told = call(task, ("bash", {"command": "sleep 60", "timeout": 0.2}), ("bash", {"command": "echo still here"}))
    assert told[0] == Told("stopped after 0.2 s", failed=True)
    assert told[1].text == "exit 0\nstill here"


def test_too_much_output_says_what_is_missing(task: Path) -> None:
    (told,) = call(task, ("bash", {"command": "head -c 3000000 /dev/zero | tr '\\0' x"}))
    assert "bytes of output were dropped in the middle" in told.text


@given(st.text(), st.integers(min_value=100, max_value=300))
def test_a_cut_text_keeps_both_ends_and_says_how_much_is_gone(text: str, limit: int) -> None:
    text *= 5
    shown = cut(text, limit)
    if len(text) <= limit:
        assert shown == text
    else:
        half = limit // 2
        assert shown.startswith(text[:half])
        assert shown.endswith(text[-half:])
        assert f"{len(text) - 2 * half} characters are not shown" in shown


@pytest.mark.parametrize("raw", ['{"n": 2, "n": 1}', '{"n": NaN}', "[1]", "{broken", "[" * 100_000])
def test_arguments_that_are_no_plain_object_are_kept_as_they_came(raw: str) -> None:
    kept = read_call("c", "pay", raw)
    assert (kept.arguments, kept.raw) == (None, raw)
    assert read_call("c", "pay", '{"n": 1}').arguments == {"n": 1}
