"""What a judge's own prompt may hold: text, names, `if`, `for` over a list, a few filters. A sentence, not a program.

Jinja only reads it. Whatever is not listed here is a fault, and `rendering` fills in what is left.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any

from jinja2 import Environment, TemplateSyntaxError, nodes

from rubricgrade.rubric.rules import nearest

NAMES = frozenset({"criterion", "guidance", "reference", "item", "vars"})
"""What a prompt may name."""

LOOP = frozenset({"index", "index0", "first", "last", "length"})
"""What a prompt may ask of `loop`."""

FILTERS: Mapping[str, int] = {
    "capitalize": 0,
    "count": 0,
    "default": 2,
    "indent": 1,
    "join": 1,
    "length": 0,
    "lower": 0,
    "tojson": 0,
    "trim": 0,
    "upper": 0,
}
"""The filters, and how many arguments each may have."""

MOST_CHARACTERS = 20_000
"""Of a prompt as it is written."""

MOST_LOOPS = 2
"""Loops inside each other, the outer one counted."""

MOST_DEPTH = 40
"""Expressions and statements inside each other."""

MOST_FLAWS = 20
"""That are named of one prompt."""

MOST_INDENT = 16
MOST_FILLING = 100
"""Characters of a text that is given to a filter."""

ALLOWED = (
    "a prompt holds text, names, comparisons, 'and', 'or', 'not', 'if', 'for x in vars.NAME', and the filters "
    + ", ".join(sorted(FILTERS))
)

_LANGUAGE = Environment(autoescape=True, keep_trailing_newline=True)
_UNSAYABLE = re.compile("[\0\ud800-\udfff]")
_WORDS: Mapping[type[nodes.Node], str] = {
    nodes.Call: "a call",
    nodes.BinExpr: "arithmetic",
    nodes.UnaryExpr: "arithmetic",
    nodes.Concat: "joining texts with '~'",
    nodes.Slice: "a slice",
    nodes.Test: "a test with 'is'",
    nodes.Dict: "a map",
    nodes.Assign: "'set'",
    nodes.AssignBlock: "'set'",
    nodes.Macro: "'macro'",
    nodes.CallBlock: "'call'",
    nodes.FilterBlock: "'filter'",
    nodes.With: "'with'",
    nodes.Block: "'block'",
    nodes.Extends: "'extends'",
    nodes.Include: "'include'",
    nodes.Import: "'import'",
    nodes.FromImport: "'from'",
    nodes.Scope: "'autoescape'",
}


@dataclass(frozen=True, slots=True)
class Flaw:
    """One thing that a prompt may not hold.

    Attributes:
        line: Of the prompt, 1-based.
        message: What it is, and what is allowed.
    """

    line: int
    message: str

    def __str__(self) -> str:
        return f"line {self.line} of the prompt: {self.message}"


def read(prompt: str, variables: Mapping[str, Any]) -> tuple[nodes.Template, tuple[Flaw, ...]]:
    """A prompt as a tree, and what is wrong with it. Nothing is filled in.

    Args:
        prompt: As the author wrote it.
        variables: The rubric's own. A `for` needs one that is a list, or has no value yet.

    Returns:
        The tree, which may be rendered if there are no flaws, and is empty if it could not be read.
    """
    nothing = nodes.Template([], lineno=1)
    if len(prompt) > MOST_CHARACTERS:
        message = f"{len(prompt):,} characters, more than {MOST_CHARACTERS:,}; long material belongs in 'reference'"
        return nothing, (Flaw(1, message),)
    tree = _tree(prompt)
    if isinstance(tree, Flaw):
        return nothing, (tree,)
    flaws = islice(_Reading(variables).body(tree.body, _Around()), MOST_FLAWS)
    return tree, tuple(dict.fromkeys(flaws))


@lru_cache(maxsize=16)
def _tree(prompt: str) -> nodes.Template | Flaw:
    """The prompt as Jinja reads it; a rubric's own default is read once for all of its criteria."""
    try:
        return _LANGUAGE.parse(prompt)
    except TemplateSyntaxError as error:
        return Flaw(error.lineno, error.message or "can't be read")
    except RecursionError:
        return Flaw(1, f"nested more than {MOST_DEPTH} deep")
    except ValueError:
        return Flaw(1, "a number of more digits than can be read")


@dataclass(frozen=True, slots=True)
class _Around:
    """Where a part of a prompt stands: the names of the loops around it, and how deep it is."""

    items: tuple[str, ...] = ()
    depth: int = 0

    def inside(self, *items: str) -> _Around:
        return _Around((*self.items, *items), self.depth + 1)


@dataclass(frozen=True, slots=True)
class _Reading:
    """Walks a tree and says what it may not hold."""

    variables: Mapping[str, Any]

    def body(self, parts: Iterable[nodes.Node], around: _Around) -> Iterator[Flaw]:
        for part in parts:
            yield from self._statement(part, around)

    def _statement(self, node: nodes.Node, around: _Around) -> Iterator[Flaw]:
        if around.depth > MOST_DEPTH:
            yield Flaw(node.lineno, f"nested more than {MOST_DEPTH} deep")
            return
        match node:
            case nodes.TemplateData():
                pass
            case nodes.Output():
                yield from self._values(
                    (part for part in node.nodes if not isinstance(part, nodes.TemplateData)), around
                )
            case nodes.If():
                # Each 'elif' is an If of its own, beside this one.
                yield from self._value(node.test, around)
                yield from self.body([*node.body, *node.else_], around.inside())
                yield from self.body(node.elif_, around)
            case nodes.For():
                yield from self._loop(node, around)
            case _:
                yield _refused(node)

    def _loop(self, node: nodes.For, around: _Around) -> Iterator[Flaw]:
        name = node.target.name if isinstance(node.target, nodes.Name) else None
        if name is None or name in NAMES or name == "loop":
            yield Flaw(node.lineno, "'for' needs one name of its own, as in 'for x in vars.NAME'")
            return
        if node.recursive or node.test is not None:
            yield Flaw(node.lineno, "'for' takes neither 'recursive' nor 'if'; write an 'if' inside")
        if len(around.items) >= MOST_LOOPS:
            yield Flaw(node.lineno, f"more than {MOST_LOOPS} loops inside each other")
        named = _variable(node.iter)
        if named is None:
            yield Flaw(node.lineno, "'for' goes over a variable that is a list, as in 'for x in vars.NAME'")
        elif named in self.variables and not isinstance(self.variables[named], tuple | list | None):
            yield Flaw(node.lineno, f"'for' goes over a list, and the variable {named!r} is none")
        else:
            yield from self._value(node.iter, around)
        yield from self.body(node.body, around.inside(name))
        yield from self.body(node.else_, around.inside())

    def _value(self, node: nodes.Node, around: _Around) -> Iterator[Flaw]:
        if around.depth > MOST_DEPTH:
            yield Flaw(node.lineno, f"nested more than {MOST_DEPTH} deep")
            return
        within = around.inside()
        match node:
            case nodes.Const():
                yield from _constant(node)
            case nodes.Name():
                yield from _name(node, around)
            case nodes.Getattr() | nodes.Getitem():
                yield from self._lookup(node, within)
            case nodes.Filter():
                yield from self._filter(node, within)
            case nodes.Neg(node=nodes.Const(value=int() | float())):
                yield from self._value(node.node, within)
            case nodes.Compare():
                yield from self._values((node.expr, *(operand.expr for operand in node.ops)), within)
            case nodes.And() | nodes.Or():
                yield from self._values((node.left, node.right), within)
            case nodes.Not():
                yield from self._value(node.node, within)
            case nodes.CondExpr(expr2=nodes.Expr() as otherwise):
                yield from self._values((node.test, node.expr1, otherwise), within)
            case nodes.CondExpr():
                yield Flaw(node.lineno, "'... if ...' needs an 'else'")
            case nodes.List() | nodes.Tuple():
                yield from self._values(node.items, within)
            case _:
                yield _refused(node)

    def _lookup(self, node: nodes.Getattr | nodes.Getitem, around: _Around) -> Iterator[Flaw]:
        named = _variable(node)
        if named is not None:
            if named not in self.variables:
                yield Flaw(node.lineno, f"unknown variable {named!r}{nearest(named, self.variables)}")
            return
        match node:
            case nodes.Getattr(node=nodes.Name(name="loop"), attr=attr) if around.items and attr in LOOP:
                pass
            case nodes.Getitem(arg=nodes.Const(value=int()) | nodes.Neg(node=nodes.Const(value=int()))) if not _is_vars(
                node.node
            ):
                yield from self._value(node.node, around)
            case nodes.Getattr():
                yield Flaw(node.lineno, f"may not look at {node.attr!r}; only vars.NAME and, in a loop, {_of_loop()}")
            case _:
                yield Flaw(node.lineno, "in brackets stands a number or, behind 'vars', a name in quotes")

    def _filter(self, node: nodes.Filter, around: _Around) -> Iterator[Flaw]:
        if node.name not in FILTERS or node.node is None:
            yield Flaw(node.lineno, f"filter {node.name!r} is not allowed{nearest(node.name, FILTERS)}; {ALLOWED}")
            return
        if node.kwargs or node.dyn_args or node.dyn_kwargs or len(node.args) > FILTERS[node.name]:
            most = FILTERS[node.name]
            yield Flaw(node.lineno, f"filter {node.name!r} takes {most or 'no'} arguments, without names")
        elif not all(_suits(node.name, argument) for argument in node.args):
            small = (
                f"a whole number up to {MOST_INDENT}" if node.name == "indent" else f"up to {MOST_FILLING} characters"
            )
            yield Flaw(node.lineno, f"filter {node.name!r} takes {small}, written out")
        else:
            yield from self._values(node.args, around)
        yield from self._value(node.node, around)

    def _values(self, parts: Iterable[nodes.Node], around: _Around) -> Iterator[Flaw]:
        for part in parts:
            yield from self._value(part, around)


def _name(node: nodes.Name, around: _Around) -> Iterator[Flaw]:
    if node.name in around.items or (node.name in NAMES and node.name != "vars"):
        return
    if node.name == "vars":
        yield Flaw(node.lineno, "'vars' is no text; name one of them, as in vars.NAME")
    elif node.name == "loop" and around.items:
        yield Flaw(node.lineno, f"'loop' is no text; write one of {_of_loop()}")
    else:
        known = sorted({*NAMES, *around.items})
        close = nearest(node.name, known) or f"; known here: {', '.join(known)}"
        yield Flaw(node.lineno, f"unknown name {node.name!r}{close}")


def _constant(node: nodes.Const) -> Iterator[Flaw]:
    value: Any = node.value
    if isinstance(value, float) and not math.isfinite(value):
        yield Flaw(node.lineno, "a number that is too large")
    elif isinstance(value, str) and _UNSAYABLE.search(value):
        yield Flaw(node.lineno, "a character that no text can hold")


def _suits(name: str, argument: nodes.Expr) -> bool:
    """Whether an argument is a constant that can't make much of little."""
    if not isinstance(argument, nodes.Const):
        return False
    value: Any = argument.value
    if name == "indent":
        return type(value) is int and 0 <= value <= MOST_INDENT
    return (
        len(str(value)) <= MOST_FILLING if name == "default" else isinstance(value, str) and len(value) <= MOST_FILLING
    )


def _variable(node: nodes.Node) -> str | None:
    """The variable that ``vars.NAME`` or ``vars["NAME"]`` names."""
    match node:
        case nodes.Getattr() if _is_vars(node.node):
            return node.attr
        case nodes.Getitem(arg=nodes.Const(value=str(name))) if _is_vars(node.node):
            return name
        case _:
            return None


def _is_vars(node: nodes.Node) -> bool:
    return isinstance(node, nodes.Name) and node.name == "vars"


def _of_loop() -> str:
    return ", ".join(f"loop.{name}" for name in sorted(LOOP))


def _refused(node: nodes.Node) -> Flaw:
    what = next((word for kind, word in _WORDS.items() if isinstance(node, kind)), f"'{type(node).__name__.lower()}'")
    # Jinja gives no line to what stands for 'autoescape'.
    return Flaw(node.lineno or 1, f"{what} is not allowed; {ALLOWED}")
