"""Twins of tests: the same test with one wrong expected value, which no honest solution can pass.

Code that shares a process with its tests can make any of them pass: by objects that equal everything, by patching
pytest, by forged reports, by reading the expected value off the caller's frame. It can't know which of two tests that
differ in a literal is the wrong one, unless it knows the answer. So whoever passes a test and its twin has tampered.
"""

from __future__ import annotations

import ast
import secrets
from collections.abc import Iterable, Iterator, Mapping

RANDOM = secrets.SystemRandom()
TRIES = 20
LARGEST_TOLERANCE = 0.25
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
    if isinstance(function, ast.AsyncFunctionDef) or not all(map(_is_mark, function.decorator_list)):
        return []
    names = {name: cell for name, cell in cells.items() if name not in set(shared) and _is_literal(cell)}
    found: list[ast.expr] = []
    for statement in function.body:
        if any(isinstance(node, ast.Return | ast.Yield | ast.YieldFrom) for node in ast.walk(statement)):
            break
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if _is_literal(value):
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


def make_wrong(value: ast.expr) -> bool:
    """Change one literal inside an expected value, in place; False if there is none that can be changed for sure."""
    for _ in range(TRIES):
        leaves = list(_leaves(value))
        if not leaves:
            return False
        leaf, far = RANDOM.choice(leaves)
        before = ast.unparse(value)
        _change(leaf, far)
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
        if _may_be_expected(one) and not _is_literal(other) and not _is_approx(other):
            yield one


def _may_be_expected(value: ast.expr) -> bool:
    return isinstance(value, ast.Name) or _is_literal(value) or _is_approx(value)


def _is_literal(value: ast.expr) -> bool:
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
    return _is_literal(value) and type(ast.literal_eval(value)) in (int, float)


def _is_narrow(setting: ast.keyword) -> bool:
    if not _is_number(setting.value):
        return False
    return setting.arg in {"abs", "rel"} and ast.literal_eval(setting.value) <= LARGEST_TOLERANCE


def _is_mark(decorator: ast.expr) -> bool:
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
        case ast.Constant(value=bool() | int() | float() | str() | bytes() | None):
            yield value, False
        case _:
            pass


def _change(leaf: ast.expr, far: bool) -> None:
    match leaf:
        case ast.Constant(value=value):
            leaf.value = _other(value, far)
        case ast.List() | ast.Tuple():
            leaf.elts.append(ast.Constant(0))
        case ast.Dict():
            leaf.keys.append(ast.Constant(0))
            leaf.values.append(ast.Constant(0))
        case _:
            raise AssertionError(ast.dump(leaf))


def _other(value: object, far: bool) -> bool | int | float | str | bytes:
    """Another value of the same kind, which is not easily told from a right one."""
    match value:
        case bool():
            return not value
        case int() if not far:
            # As many digits as before, and no sign that was not there.
            reach = max(9, value // 2)
            return RANDOM.choice([max(0, value - reach), value]) + RANDOM.randint(1, reach)
        case int() | float():
            digits = len(repr(value).partition(".")[2]) if "e" not in repr(value) else 17
            moved = value + (1 + abs(value)) * RANDOM.uniform(0.6, 1.4)
            return round(moved, digits) if isinstance(value, float) else round(moved) + 1
        case str():
            return _other_text(value)
        case bytes():
            return _other_text(value.decode("latin-1")).encode("latin-1")
        case _:
            return 0


def _other_text(text: str) -> str:
    """A text with one letter or digit replaced by another one."""
    places = [index for index, sign in enumerate(text) if sign.isascii() and sign.isalnum()]
    if not places:
        return text + "x"
    at = RANDOM.choice(places)
    pool = "0123456789" if text[at].isdigit() else "abcdefghijklmnopqrstuvwxyz"
    sign = RANDOM.choice(pool.replace(text[at].lower(), ""))
    return text[:at] + (sign.upper() if text[at].isupper() else sign) + text[at + 1 :]


def _same(before: str, after: str) -> bool:
    try:
        return bool(ast.literal_eval(before) == ast.literal_eval(after))
    except (ValueError, TypeError):
        return before == after  # a call of `approx`, which was changed by far
