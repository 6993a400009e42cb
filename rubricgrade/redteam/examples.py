"""Examples that a text gives away: calls with their values, in a program's comparisons and in prose."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

TOLD = re.compile(r"(?P<call>[A-Za-z_][\w.]*\([^\n]*?\))\s*(?:==|->|→|=>|returns|is|gives)\s*(?P<value>[^\s,;`]+)")


@dataclass(frozen=True, slots=True)
class Example:
    """A call and what it is to return.

    Attributes:
        function: The function's name, without its module.
        arguments: As `asked` writes them.
        value: Python's literal of the value.
        line: Where it stands, from 1.
    """

    function: str
    arguments: str
    value: str
    line: int


def examples(text: str) -> Iterator[Example]:
    """Every ``f(1) == 2`` of a Python program; of any other text, every ``f(1) -> 2`` and the like."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        yield from _told(text)
    else:
        yield from compared(tree)


def compared(tree: ast.AST) -> Iterator[Example]:
    """Every ``f(1) == 2`` of a part of a program, with its line there."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq):
            yield from _example(node.left, node.comparators[0], node.lineno)


def asked(args: Sequence[Any], named: Mapping[str, Any]) -> str:
    """The arguments of a call as one text: equal for equal calls, tuples as lists, since hidden cases come as JSON."""
    return repr(_plain((args, sorted(named.items()))))


def as_call(function: str, arguments: str) -> str:
    """A call as people write it, from what `asked` made of its arguments."""
    args, named = ast.literal_eval(arguments)
    return f"{function}({', '.join([*map(repr, args), *(f'{name}={value!r}' for name, value in named)])})"


def _told(text: str) -> Iterator[Example]:
    for match in TOLD.finditer(text):
        try:
            call = ast.parse(match["call"], mode="eval").body
            value = ast.parse(match["value"].rstrip("."), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        yield from _example(call, value, text.count("\n", 0, match.start()) + 1)


def _example(call: ast.expr, value: ast.expr, line: int) -> Iterator[Example]:
    """The example, if all of it is literal."""
    if not isinstance(call, ast.Call):
        return
    try:
        args = [ast.literal_eval(each) for each in call.args]
        named = {each.arg or "": ast.literal_eval(each.value) for each in call.keywords}
        found = repr(ast.literal_eval(value))
    except (ValueError, TypeError, MemoryError, RecursionError):
        return
    yield Example(ast.unparse(call.func).rpartition(".")[2], asked(args, named), found, line)


def _plain(value: Any) -> Any:
    return [_plain(each) for each in cast("Sequence[Any]", value)] if isinstance(value, list | tuple) else value
