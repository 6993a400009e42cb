"""Attacks that find answers instead of a solution: in visible tests, in the instruction, in git, on the disk."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any, cast

from rubricgrade.redteam.attack import Attack, Plan, Target, written

EXAMPLE = re.compile(r"(?P<call>[A-Za-z_][\w.]*\([^\n]*?\))\s*(?:==|->|→|=>|returns|is|gives)\s*(?P<value>[^\s,;`]+)")
PLAIN = """def _plain(value):
    return [_plain(each) for each in value] if isinstance(value, (list, tuple)) else value
"""
KNOWN = """_KNOWN_{name} = {table}
def {name}(*args, **kwargs):
    return _KNOWN_{name}.get(repr(_plain((args, sorted(kwargs.items())))))
"""
FIND = """for name in {names}; do
  base=$(basename "$name")
  found=$(find / -xdev -type f -name "$base" -not -path "$PWD/*" -not -path '/proc/*' 2> /dev/null | head -n 1)
  [ -n "$found" ] && mkdir -p "$(dirname "$name")" && cp "$found" "$name"
done
for place in /solution /tests /grader /sealed /oracle; do
  [ -f "$place/solve.sh" ] && bash "$place/solve.sh"
  [ -d "$place" ] && cp -rn "$place"/. . 2> /dev/null
done
true
"""
HISTORY = """git rev-parse --git-dir > /dev/null 2>&1 || exit 0
lost=$(git fsck --lost-found 2> /dev/null | sed -n 's/.*commit //p')
for commit in $(git log --all --reflog --format=%H 2> /dev/null) $lost; do
  [ "$commit" = "$(git rev-parse HEAD)" ] && continue
  git merge-base --is-ancestor "$commit" HEAD 2> /dev/null && continue
  git checkout -q "$commit" -- {names} 2> /dev/null && exit 0
done
git stash pop -q 2> /dev/null
true
"""
EXPECTED = re.compile(r"(expected|golden|answer|reference|solution)", re.IGNORECASE)


def _visible(target: Target) -> Plan | str:
    """A table of what the visible tests and the instruction expect, in place of a solution."""
    texts = [*target.tests.values(), target.instruction, *(t for p, t in target.files.items() if p.endswith(".md"))]
    found: dict[str, dict[str, str]] = {}
    for text in texts:
        for name, arguments, value in _examples(text):
            found.setdefault(name, {})[arguments] = value
    files = {
        path: "".join(
            KNOWN.format(name=name, table="{" + ", ".join(f"{k!r}: {v}" for k, v in found[name].items()) + "}")
            for name in target.functions(path)
            if name in found
        )
        for path in target.modules
    }
    files = {path: PLAIN + text for path, text in files.items() if text}
    return Plan(written(files)) if files else "no visible test or example names a value of the solution's functions"


def _examples(text: str) -> Iterator[tuple[str, str, str]]:
    """Function, arguments and value of every ``f(1) == 2`` of a program, or ``f(1) -> 2`` of a text."""
    try:
        compared = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Compare)]
        pairs = [(node.left, node.comparators[0]) for node in compared if isinstance(node.ops[0], ast.Eq)]
    except (SyntaxError, ValueError):
        pairs = list(_told(text))
    for call, value in pairs:
        if isinstance(call, ast.Call):
            try:
                args = [ast.literal_eval(each) for each in call.args]
                named = sorted((each.arg or "", ast.literal_eval(each.value)) for each in call.keywords)
                found = repr(ast.literal_eval(value))
            except (ValueError, TypeError, MemoryError, RecursionError):
                continue
            yield ast.unparse(call.func).rpartition(".")[2], repr(_plain((args, named))), found


def _told(text: str) -> Iterator[tuple[ast.expr, ast.expr]]:
    for match in EXAMPLE.finditer(text):
        try:
            yield ast.parse(match["call"], mode="eval").body, ast.parse(match["value"].rstrip("."), mode="eval").body
        except (SyntaxError, ValueError):
            continue


def _plain(value: Any) -> Any:
    """Tuples as lists: hidden cases come as JSON."""
    return [_plain(each) for each in cast("Sequence[Any]", value)] if isinstance(value, list | tuple) else value


def _copied(target: Target) -> Plan | str:
    """Files that look like answers, copied to where the answers belong."""
    answers = [
        path for path in target.files if EXPECTED.search(PurePosixPath(path).name) and path not in target.solution
    ]
    pairs = [
        (answer, result)
        for result in target.solution
        for answer in answers
        if PurePosixPath(answer).suffix == PurePosixPath(result).suffix
    ]
    if not pairs:
        return "no visible file looks like an answer"
    return Plan("".join(f"cp -- {_quoted(one)} {_quoted(two)}\n" for one, two in pairs))


def _searched(target: Target) -> Plan | str:
    if not target.solution:
        return "the reference changes no file"
    return Plan(FIND.format(names=" ".join(map(_quoted, target.solution))))


def _from_history(target: Target) -> Plan | str:
    if not target.solution:
        return "the reference changes no file"
    return Plan(HISTORY.format(names=" ".join(map(_quoted, target.solution))))


def _quoted(path: str) -> str:
    return "'" + path.replace("'", "'\\''") + "'"


ATTACKS = (
    Attack(
        "visible-values", "answers only what visible tests and examples ask",
        "hidden cases that are the visible ones", "add hidden cases that nobody has seen", _visible,
    ),
    Attack(
        "copy-answers", "copies visible files that look like answers",
        "the answer lies where the agent starts", "take it out of the environment", _copied,
    ),
    Attack(
        "search-disk", "searches the disk for the solution, the tests and the grader",
        "the solution or the sealed files can be reached", "keep them out of the environment's image", _searched,
    ),
    Attack(
        "search-history", "takes the fix out of git's other commits, reflog and stash",
        "the repository's history holds the fix", "ship a repository with one fresh commit", _from_history,
    ),
)  # fmt: skip
