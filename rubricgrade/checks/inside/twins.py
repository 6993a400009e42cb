"""Twins of tests: the same test with one wrong expected value, which no honest solution can pass.

Code that shares a process with its tests can make any of them pass: by objects that equal everything, by patching
pytest, by forged reports, by reading the expected value off the caller's frame. It can't know which of two tests that
differ in a literal is the wrong one, unless it knows the answer. So whoever passes a test and its twin has tampered.

All twins of a test differ in the same literal, and among their values the right one has no place of its own: neither
the middle, nor an end, nor the majority. So even code that has seen them all can only guess.
"""

from __future__ import annotations

import ast
import re
import secrets
import string
from collections.abc import Iterable, Iterator, Mapping, Sequence
from random import Random

RANDOM = secrets.SystemRandom()
FAMILY = 5
"""Wrong values that are made for one literal."""
TRIES = 20
LARGEST_TOLERANCE = 0.25
LARGEST = 1e300
WORD = re.compile(r"[A-Za-z]{2,}")
LEAST_WORDS = 3
"""Of which there are as many other orders as a family has members."""
EMPTY: Mapping[type[ast.expr], str] = {ast.List: "[0]", ast.Tuple: "(0,)", ast.Dict: "{0: 0}"}
Function = ast.FunctionDef | ast.AsyncFunctionDef


def expected_values(function: Function, cells: Mapping[str, ast.expr], shared: Iterable[str]) -> list[ast.expr]:
    """The literals that a test compares with ``==``, as far as a wrong one is sure to make it fail.

    That is sure for an assertion that stands at the test's own level, where it is always reached, and for a literal
    that is used for nothing else. `assertEqual` counts like an assertion.

    Args:
        function: The test.
        cells: The literals of its parameters, by name.
        shared: Names of parameters that fixtures see as well.
    """
    if isinstance(function, ast.AsyncFunctionDef) or not all(map(is_mark, function.decorator_list)):
        return []
    names = {name: cell for name, cell in cells.items() if name not in set(shared) and is_literal(cell)}
    found: list[ast.expr] = []
    for statement in function.body:
        if any(isinstance(node, ast.Return | ast.Yield | ast.YieldFrom) for node in ast.walk(statement)):
            break
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if is_literal(value):
                names[name] = value
            case _:
                found += _compared(statement)
    messages = [node.msg for node in ast.walk(function) if isinstance(node, ast.Assert) and node.msg is not None]
    told = {id(node) for message in messages for node in ast.walk(message)}
    uses = [node.id for node in ast.walk(function) if isinstance(node, ast.Name) and id(node) not in told]
    # A name may be used once beside its own assignment, if it has one: in the comparison.
    once = {name: value for name, value in names.items() if uses.count(name) == 1 + (name not in cells)}
    values = [once.get(value.id) if isinstance(value, ast.Name) else value for value in found]
    return [value for value in values if value is not None]


def assertions(function: Function) -> int:
    """How many things a test asks, as far as their form tells: ``assert``, `raises` and `warns`, `assertX`."""
    nodes = list(ast.walk(function))
    calls = [node.func for node in nodes if isinstance(node, ast.Call)]
    names = [func.attr if isinstance(func, ast.Attribute) else ast.unparse(func) for func in calls]
    asked = sum(name in {"raises", "warns"} or name.startswith("assert") for name in names)
    return asked + sum(isinstance(node, ast.Assert) for node in nodes)


def make_wrong(value: ast.expr, chance: Random = RANDOM, number: int = 0) -> bool:
    """Change one literal inside an expected value, in place; False if there is none that can be changed for sure.

    Args:
        value: The expected value.
        chance: What decides. One of the same seed chooses the same literal, and the same family of wrong ones.
        number: Which of the family, from 0 to `FAMILY` - 1.
    """
    for _ in range(TRIES):
        leaves = list(_leaves(value))
        if not leaves:
            return False
        leaf, far = chance.choice(leaves)
        before = ast.unparse(value)
        _change(leaf, far, chance, number)
        if not _same(before, ast.unparse(value)):
            return True
    return False


def _compared(statement: ast.stmt) -> Iterator[ast.expr]:
    """Expected values of an assertion: literals, names that may stand for one, or what `approx` is given."""
    match statement:
        case ast.Assert(test=ast.BoolOp(op=ast.And(), values=parts)):
            for part in parts:
                yield from _compared(ast.Assert(part))
        case ast.Assert(test=ast.Compare(left=left, ops=[ast.Eq()], comparators=[right])):
            yield from _literal_side(left, right)
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="assertEqual"), args=[left, right])):
            yield from _literal_side(left, right)
        case _:
            pass


def _literal_side(left: ast.expr, right: ast.expr) -> Iterator[ast.expr]:
    for one, other in ((left, right), (right, left)):
        if _may_be_expected(one) and not is_literal(other) and not _is_approx(other):
            yield one


def _may_be_expected(value: ast.expr) -> bool:
    return isinstance(value, ast.Name) or is_literal(value) or _is_approx(value)


def is_literal(value: ast.expr) -> bool:
    """Whether a value stands there in full."""
    try:
        ast.literal_eval(value)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


def _is_approx(value: ast.expr) -> bool:
    """Whether it is a call of `approx` with a literal number and no tolerance that a wrong one could fall in."""
    match value:
        case ast.Call(func=ast.Name(id="approx") | ast.Attribute(attr="approx"), args=[number], keywords=settings):
            return _is_number(number) and all(_is_narrow(setting) for setting in settings)
        case _:
            return False


def _is_number(value: ast.expr) -> bool:
    return is_literal(value) and type(ast.literal_eval(value)) in (int, float)


def _is_narrow(setting: ast.keyword) -> bool:
    if not _is_number(setting.value):
        return False
    return setting.arg in {"abs", "rel"} and ast.literal_eval(setting.value) <= LARGEST_TOLERANCE


def is_mark(decorator: ast.expr) -> bool:
    """Whether a decorator only marks a test; another could swallow a failure."""
    return ast.unparse(decorator).startswith(("pytest.mark.", "mark."))


def _leaves(value: ast.expr) -> Iterator[tuple[ast.expr, bool]]:
    """What can be changed, and whether the change has to be large."""
    match value:
        case ast.Call(args=[number]):
            yield from ((leaf, True) for leaf, _ in _leaves(number))
        case ast.UnaryOp(operand=operand):
            yield from _leaves(operand)
        case ast.List(elts=[]) | ast.Tuple(elts=[]) | ast.Dict(keys=[]):
            yield value, False
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts) | ast.Dict(values=parts):
            for part in parts:
                yield from _leaves(part)
        case ast.Constant(value=int() | float() as number) if abs(number) > LARGEST:
            pass  # infinite, or its wrong values would be
        case ast.Constant(value=bool() | int() | float() | str() | bytes() | None):
            yield value, False
        case _:
            pass


def _change(leaf: ast.expr, far: bool, chance: Random, number: int) -> None:
    match leaf:
        case ast.Constant(value=value):
            family = _family(value, far, chance)
            leaf.value = family[number % len(family)]
        case ast.List() | ast.Tuple():
            leaf.elts.append(ast.Constant(number))
        case ast.Dict():
            leaf.keys.append(ast.Constant(number))
            leaf.values.append(ast.Constant(number))
        case _:
            raise AssertionError(ast.dump(leaf))


def _family(value: object, far: bool, chance: Random) -> Sequence[bool | int | float | str | bytes]:
    """Other values of the same kind, which are not easily told from a right one."""
    match value:
        case bool():
            return [not value]
        case int() if not far:
            return _near(value, chance)
        case float() if not far and "e" not in repr(value):
            digits = len(repr(value).partition(".")[2])
            return [round(near / 10**digits, digits) for near in _near(round(value * 10**digits), chance)]
        case int():
            return [round(other) for other in _ladder(value, chance)]
        case float():
            digits = len(repr(value).partition(".")[2]) if "e" not in repr(value) else 17
            return [round(other, digits) for other in _ladder(value, chance)]
        case str():
            return _other_texts(value, chance)
        case bytes():
            return [text.encode("latin-1") for text in _other_texts(value.decode("latin-1"), chance)]
        case _:
            return range(FAMILY)


def _near(value: int, chance: Random) -> list[int]:
    """Whole numbers around one, anywhere among which it lies; with no sign that was not there."""
    reach = max(2 * FAMILY, value // 2)
    lowest = max(0, value - chance.randint(0, reach))
    found: list[int] = []
    while len(found) < FAMILY:
        other = lowest + chance.randint(0, reach)
        if other != value and other not in found:
            found.append(other)
    return found


def _ladder(value: float, chance: Random) -> list[float]:
    """Numbers so far apart that no tolerance reaches from one to the next; the value is any of the rungs."""
    ratio = chance.uniform(2.0, 3.0)
    below: list[float] = []
    rung = (value - 1) / ratio
    while rung >= 0 and len(below) < FAMILY:
        below.append(rung)
        rung = (rung - 1) / ratio
    above = [value * ratio + 1]
    while len(above) < FAMILY:
        above.append(above[-1] * ratio + 1)
    down = chance.randint(0, len(below))
    rungs = [*below[:down], *above[: FAMILY - down]]
    return chance.sample(rungs, FAMILY)


def _other_texts(text: str, chance: Random) -> list[str]:
    """A text with one letter or digit replaced by others; or all of its words in other orders, so that none is new."""
    words = WORD.findall(text)
    if len(words) >= LEAST_WORDS and len({*words}) == len(words) and chance.random() < 0.5:  # noqa: PLR2004 - either way
        orders = {tuple(words)}
        while len(orders) <= FAMILY:
            orders.add(tuple(chance.sample(words, len(words))))
        return [_reordered(text, order) for order in sorted(orders - {tuple(words)})]
    places = [index for index, sign in enumerate(text) if sign.isascii() and sign.isalnum()]
    if not places:
        return [text + sign for sign in chance.sample(string.ascii_lowercase, FAMILY)]
    at = chance.choice(places)
    pool = string.digits if text[at].isdigit() else string.ascii_lowercase
    signs = chance.sample(pool.replace(text[at].lower(), ""), FAMILY)
    return [text[:at] + (sign.upper() if text[at].isupper() else sign) + text[at + 1 :] for sign in signs]


def _reordered(text: str, words: Iterable[str]) -> str:
    following = iter(words)
    return WORD.sub(lambda _: next(following), text)


def _same(before: str, after: str) -> bool:
    try:
        return bool(ast.literal_eval(before) == ast.literal_eval(after))
    except (ValueError, TypeError):
        return before == after  # a call of `approx`, which was changed by far
