"""Fills in a judge's own prompt, within bounds of work and length: a short walk over a read tree."""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

from jinja2 import nodes

from rubricgrade.rubric.prompt import read

MOST_RENDERED = 200_000
"""Characters of a rendered prompt."""

MOST_WORK = 1_000_000
"""Characters that may be handled in rendering; looking at one value counts as `LOOK` of them."""

LOOK = 20

_LINES = re.compile(r"\n(?!\n|\Z)")
_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "lteq": operator.le,
    "gt": operator.gt,
    "gteq": operator.ge,
    "in": lambda one, other: one in other,
    "notin": lambda one, other: one not in other,
}


class PromptError(ValueError):
    """A prompt holds what it may not, or asks for more than its bounds."""


def rendered(prompt: str, names: Mapping[str, str], variables: Mapping[str, Any]) -> str:
    """A prompt with its names filled in.

    Args:
        prompt: As the author wrote it.
        names: The text of ``criterion``, ``guidance``, ``reference`` and ``item``; never looked at for names.
        variables: The rubric's own, for ``vars``.

    Raises:
        PromptError: It holds what `prompt.read` does not allow, compares what can't be compared, or goes past
            `MOST_RENDERED` or `MOST_WORK`.
    """
    tree, flaws = read(prompt, variables)
    if flaws:
        raise PromptError("; ".join(map(str, flaws)))
    rendering = _Rendering()
    rendering.body(tree.body, {**names, "vars": variables})
    return "".join(rendering.text)


class _Rendering:
    """What was written so far, and what it has cost."""

    def __init__(self) -> None:
        self.text: list[str] = []
        self._length = 0
        self._work = 0

    def body(self, parts: Iterable[nodes.Node], names: Mapping[str, Any]) -> None:
        for part in parts:
            match part:
                case nodes.Output():
                    for piece in part.nodes:
                        self._write(piece.data if isinstance(piece, nodes.TemplateData) else self._value(piece, names))
                case nodes.If():
                    branches = (part, *part.elif_)
                    self.body(next((one.body for one in branches if self._value(one.test, names)), part.else_), names)
                case nodes.For():
                    self._loop(part, names)
                case _:
                    raise AssertionError(f"{part!r} was read as a statement")

    def _loop(self, node: nodes.For, names: Mapping[str, Any]) -> None:
        found = self._value(node.iter, names)
        if not isinstance(found, tuple | list):
            raise PromptError(f"line {node.lineno} of the prompt: 'for' goes over a list, and this is none")
        items = cast("Sequence[Any]", found)
        name, count = getattr(node.target, "name", ""), len(items)
        for index, item in enumerate(items):
            self._spend(LOOK)
            place = {"index": index + 1, "index0": index, "first": index == 0, "last": index == count - 1}
            self.body(node.body, {**names, name: item, "loop": {**place, "length": count}})
        if not items:
            self.body(node.else_, names)

    def _write(self, value: Any) -> None:
        self._handle(value)
        text = str(value)
        self._length += len(text)
        if self._length > MOST_RENDERED:
            raise PromptError(f"the rendered prompt has more than {MOST_RENDERED:,} characters")
        self.text.append(text)

    def _spend(self, work: int) -> None:
        self._work += work
        if self._work > MOST_WORK:
            raise PromptError(f"rendering the prompt takes more than {MOST_WORK:,} characters of work")

    def _value(self, node: nodes.Node, names: Mapping[str, Any]) -> Any:
        self._spend(LOOK)
        match node:
            case nodes.Const():
                return node.value
            case nodes.Name():
                return names[node.name]
            case nodes.Getattr(node=nodes.Name(name=name)):
                return names[name][node.attr]
            case nodes.Getitem():
                return self._item(node, names)
            case nodes.Neg():
                return -self._value(node.node, names)
            case nodes.Not():
                return not self._value(node.node, names)
            case nodes.And():
                return self._value(node.left, names) and self._value(node.right, names)
            case nodes.Or():
                return self._value(node.left, names) or self._value(node.right, names)
            case nodes.CondExpr(expr2=nodes.Expr() as otherwise):
                return self._value(node.expr1 if self._value(node.test, names) else otherwise, names)
            case nodes.List() | nodes.Tuple():
                items = [self._value(item, names) for item in node.items]
                return items if isinstance(node, nodes.List) else tuple(items)
            case nodes.Compare():
                return self._compared(node, names)
            case nodes.Filter(node=nodes.Expr() as inner):
                arguments = [self._value(argument, names) for argument in node.args]
                return self._filtered(node, self._value(inner, names), arguments)
            case _:
                raise AssertionError(f"{node!r} was read as a value")

    def _item(self, node: nodes.Getitem, names: Mapping[str, Any]) -> Any:
        key: Any = self._value(node.arg, names)
        if isinstance(key, str):
            return names["vars"][key]
        try:
            return self._value(node.node, names)[key]
        except (IndexError, TypeError):
            raise PromptError(f"line {node.lineno} of the prompt: there is no item [{key}]") from None

    def _compared(self, node: nodes.Compare, names: Mapping[str, Any]) -> bool:
        left = self._value(node.expr, names)
        for operand in node.ops:
            right = self._value(operand.expr, names)
            self._handle(left)
            self._handle(right)
            try:
                if not _COMPARE[operand.op](left, right):
                    return False
            except TypeError as error:
                raise PromptError(f"line {node.lineno} of the prompt: {error}") from None
            left = right
        return True

    def _filtered(self, node: nodes.Filter, value: Any, arguments: list[Any]) -> Any:
        self._handle(value)
        try:
            found = _filtered(node.name, value, arguments)
        except TypeError as error:
            raise PromptError(f"line {node.lineno} of the prompt: filter {node.name!r}: {error}") from None
        self._handle(found)
        return found

    def _handle(self, value: Any) -> None:
        """Pay for what a value holds, before anything is done with it."""
        if isinstance(value, str):
            self._spend(len(value))
        elif isinstance(value, tuple | list):
            items = cast("Sequence[Any]", value)
            self._spend(LOOK * len(items))
            for item in items:
                self._handle(item)


def _filtered(name: str, value: Any, arguments: list[Any]) -> Any:
    match name:
        case "default":
            # Every name has a value, so that only an empty one can be missing, as with Jinja's second argument.
            return (arguments or [""])[0] if len(arguments) > 1 and arguments[1] and not value else value
        case "length" | "count":
            return len(value)
        case "join":
            return str(arguments[0] if arguments else "").join(map(str, value))
        case "tojson":
            return json.dumps(value, ensure_ascii=False)
        case "indent":
            return _LINES.sub("\n" + " " * (arguments[0] if arguments else 4), str(value))
        case "trim":
            return str(value).strip()
        case "upper":
            return str(value).upper()
        case "lower":
            return str(value).lower()
        case _:
            return str(value).capitalize()
