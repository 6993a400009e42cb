"""Attacks that find answers instead of a solution: in visible tests, in the instruction, in git, on the disk."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from rubricgrade.redteam.attack import Attack, Plan, Target, written
from rubricgrade.redteam.examples import examples

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
HISTORY = """lost=$(git fsck --lost-found 2> /dev/null | sed -n 's/.*commit //p')
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
    found: dict[str, dict[str, str]] = {}
    for text in target.telling.values():
        for each in examples(text):
            found.setdefault(each.function, {})[each.arguments] = each.value
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
    if not target.repository:
        return "there is no git repository"
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
