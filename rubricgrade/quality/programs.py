"""Runs of a whole program that a sealed check asks for, and whether a text shows one with what it prints."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rubricgrade.rubric.check import Cases

NEAR = 500
"""Characters between an input and its output in a text, so that both belong together."""
LEAST = 4
"""Characters of input and output, spaces aside: less than that stands near each other by chance."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a program.

    Attributes:
        program: How it is started.
        args: What follows.
        stdin: What it reads.
        files: What lies beside it, by path.
        prints: What it is to print, without the last line end; never empty.
    """

    program: tuple[str, ...]
    args: tuple[str, ...]
    stdin: str
    files: Mapping[str, str]
    prints: str

    def __str__(self) -> str:
        """As people write it."""
        given = f" < {self.stdin!r}" if self.stdin else ""
        beside = f", beside {', '.join(self.files)}" if self.files else ""
        return f"{shlex.join([*self.program, *self.args])}{given}{beside}"

    @property
    def inputs(self) -> list[list[str]]:
        """What the run depends on: each piece in all the ways in which a text may spell it."""
        pieces = [_spelled(text.strip()) for text in (self.stdin, *self.files.values()) if text.strip()]
        return [*pieces, *([_listed(self.args)] if self.args else [])]


def run_of(spec: Cases, case: Mapping[str, Any]) -> Run | None:
    """The run of a sealed case; None if it gets nothing, or prints nothing that could be told beforehand."""
    prints = case.get("stdout", "\n".join(case.get("lines", []))).strip()
    made = Run(spec.program or (), tuple(case.get("args", [])), case.get("stdin", ""), case.get("files", {}), prints)
    return made if spec.program is not None and prints and made.inputs else None


def shown_at(run: Run, told: Mapping[str, str], files: Mapping[str, str]) -> str | None:
    """Where a run stands with what it prints, as ``path:line``; None if nowhere.

    Args:
        run: What is looked for.
        told: Texts that give examples, by path: input and output must stand near each other.
        files: All visible files: one may be the input, and another the output.
    """
    inputs = run.inputs
    size = sum(len(re.sub(r"\s", "", spelled[0])) for spelled in [*inputs, [run.prints]])
    if size < LEAST:
        return None
    for path, text in told.items():
        for start, end in _found(inputs, text):
            around = f"{text[max(start - NEAR, 0) : start]}\0{text[end : end + NEAR]}"
            if any(True for _ in _places(_output(run.prints), around)):
                return f"{path}:{text.count(chr(10), 0, start) + 1}"
    return _as_files(run, files)


def _as_files(run: Run, files: Mapping[str, str]) -> str | None:
    """A visible file that is the run's only input, if another is what it prints."""
    given = [text.strip() for text in (run.stdin, *run.files.values()) if text.strip()]
    if len(given) != 1:
        return None
    whole = {path: text.strip() for path, text in files.items()}
    outputs = [path for path, text in whole.items() if text == run.prints]
    return next(
        (f"{path}:1 with {out}" for path, text in whole.items() if text == given[0] for out in outputs if out != path),
        None,
    )


def _found(inputs: Sequence[Sequence[str]], text: str) -> Iterator[tuple[int, int]]:
    """Spans of a text that hold all pieces near each other."""
    first, *others = sorted(inputs, key=lambda spelled: -len(spelled[0]))
    for start, end in _places(first, text):
        low, high = start, end
        for each in others:
            near = max(low - NEAR, 0)
            place = next(_places(each, text[near : high + NEAR + len(each[0])]), None)
            if place is None:
                break
            low, high = min(low, near + place[0]), max(high, near + place[1])
        else:
            yield low, high


def _places(spelled: Sequence[str], text: str) -> Iterator[tuple[int, int]]:
    """Where something stands in a text, and not as a part of a longer word or number."""
    for one in dict.fromkeys(spelled):
        for match in re.finditer(rf"(?<![\w.]){re.escape(one)}(?!\w|\.\d)", text):
            yield match.span()


def _spelled(text: str) -> list[str]:
    """As it is, and within the quotes of a program or a data file."""
    return [text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1], repr(text)[1:-1]]


def _listed(args: Sequence[str]) -> list[str]:
    """Arguments on a command line, and as a list in a program or a data file."""
    return [shlex.join(args), " ".join(args), ", ".join(map(json.dumps, args)), ", ".join(map(repr, args))]


def _output(prints: str) -> list[str]:
    lines = prints.splitlines()
    return [*_spelled(prints), ", ".join(map(json.dumps, lines)), ", ".join(map(repr, lines))]
