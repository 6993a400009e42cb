"""Which exceptions of the author's code are its own defect: those that no data of the agent's could have kept away.

An agent decides which lines of a check run, and what the values there are. It does not decide what names, modules,
functions and attributes there are. So an exception is the author's if the source itself shows that its line fails for
every episode that comes to it. The text of the exception proves nothing, and its class little: both can come from data
(`exec`, `pickle`, a module that was chosen by a name). What is claimed is looked up again.
"""

from __future__ import annotations

import ast
import importlib.util
import inspect
import os
import re
import sys
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path, PosixPath
from types import BuiltinFunctionType, FrameType, FunctionType, MethodType, ModuleType, TracebackType
from typing import Any, TypeVar

from rubricgrade.checks.inside.binding import FIXED, Source
from rubricgrade.checks.inside.case import Call, Called, Case, CheckResult, Ran, Seen, Step
from rubricgrade.checks.inside.solution import Solution
from rubricgrade.checks.inside.wire import SEALED, WORKSPACE, WORLD

API = frozenset({Call, Called, Case, CheckResult, PosixPath, Ran, Seen, Solution, Step})
"""Classes of what a check is given: what their attributes hold can be the agent's, which ones there are can't."""
MAIL = "rubricgrade.checks.inside.mailbox"
UNKNOWN = object()
"""Stands for a value that data may have decided."""

Node = TypeVar("Node", bound=ast.AST)
Position = tuple[int, int, int, int]


def is_defect(error: BaseException, path: Sequence[str]) -> bool:
    """Whether an exception is the author's doing whatever the agent has left.

    It is raised by a line of a sealed file itself, and one of these holds:

    * `NameError`: nothing can have bound the name (`Source.never_bound`).
    * `ImportError`: the module, or the name in it, does not exist. `SyntaxError`: it is a sealed file, and no Python.
    * `AttributeError`: of a module, a class or an object of our API, which never has it.
    * `TypeError`: a call that does not fit what the called function takes, or of a module.
    * `KeyError`, `IndexError`: a key that is written out, of a constant or of what the rubric gives (`vars`, `args`).

    Nothing holds where code of the agent's may run in this process.

    Args:
        error: As it was caught.
        path: Where modules were looked for before any code of the author's ran.
    """
    last = _last(error.__traceback__)
    if last is None or not _is_sealed(last.tb_frame.f_code.co_filename) or _has_agents_code(path):
        return False
    position = _position(last)
    if position is None:
        return False
    place = _Place(last.tb_frame, position)
    match error:
        case ImportError() | SyntaxError():
            return _is_bad_import(error, place)
        case NameError():
            name = place.ending(ast.Name)
            return name is not None and place.source.never_bound(name)
        case AttributeError():
            return _is_no_attribute(error, place)
        case TypeError():
            return _is_wrong_call(place)
        case KeyError() | IndexError():
            return _is_no_item(place)
        case _:
            return False


class _Place:
    """The instruction of a sealed file that raised.

    Attributes:
        frame: Where it ran.
        file: The file's path.
        source: Its file.
    """

    def __init__(self, frame: FrameType, position: Position) -> None:
        self.frame = frame
        self.file = frame.f_code.co_filename
        self.source = Source(Path(self.file).read_bytes())
        self._position = position

    def ending(self, kind: type[Node]) -> Node | None:
        """The expression of a kind that ends where the instruction does: no two of one kind do."""
        _, line, _, column = self._position
        found = (node for node in ast.walk(self.source.tree) if isinstance(node, kind))
        return next((node for node in found if _end(node) == (line, column)), None)

    def importing(self) -> ast.Import | ast.ImportFrom | None:
        """The statement that imports, if the instruction belongs to one."""
        first, last, left, right = self._position
        for node in ast.walk(self.source.tree):
            if isinstance(node, ast.Import | ast.ImportFrom) and node.end_lineno is not None:
                begins, ends = (node.lineno, node.col_offset), _end(node)
                if begins <= (first, left) and (last, right) <= ends:
                    return node
        return None

    def value(self, node: ast.expr) -> Any:
        """What an expression stands for, if no data has a part in that; else `UNKNOWN`. No code is run for it."""
        match node:
            case ast.Name(id=name):
                return self._named(node, name)
            case ast.Attribute(value=inner, attr=name) if not self.source.assigns(name):
                return _attribute(self.value(inner), name)
            case _:
                return UNKNOWN

    def _named(self, node: ast.Name, name: str) -> Any:
        scope, binders = self.source.binders(name, node)
        known: Mapping[str, Any] = self.frame.f_globals if scope is self.source.tree else self.frame.f_locals
        found = known.get(name, UNKNOWN)
        if type(found) in _api():
            return found
        if self.source.dynamic or [binder for binder in binders if not isinstance(binder, FIXED)] or len(binders) > 1:
            return UNKNOWN
        if binders:
            return found
        return self.frame.f_builtins.get(name, UNKNOWN)


def _is_bad_import(error: ImportError | SyntaxError, place: _Place) -> bool:
    statement = place.importing()
    if statement is None:
        return False
    if isinstance(error, SyntaxError):
        return _is_sealed(error.filename or "")
    if isinstance(error, ModuleNotFoundError):
        return True
    # A library that can't be loaded raises the same, and that may be for want of memory or of handles.
    module = sys.modules.get(error.name or "")
    return module is not None and any(_never_has(module, each.name, place) for each in statement.names)


def _is_no_attribute(error: AttributeError, place: _Place) -> bool:
    node = place.ending(ast.Attribute)
    if node is None or node.attr != error.name or place.source.assigns(node.attr):
        return False
    if type(error.obj) in _api():
        return True
    holder = place.value(node.value)
    return holder is error.obj and (isinstance(holder, type) or _never_has(holder, node.attr, place))


def _never_has(module: object, name: str, place: _Place) -> bool:
    """Whether a module lacks a name for good: none that would be there after another import, or that is set later."""
    if not isinstance(module, ModuleType) or hasattr(module, name):
        return False
    if _is_sealed(_file(module)):
        # What has asked for it has been looked through before.
        others = {file for each in [*sys.modules.values()] if _is_sealed(file := _file(each))} - {place.file}
        word = re.compile(rf"\b{re.escape(name)}\b")
        return not any(word.search(Path(file).read_text("utf-8", "replace")) for file in others)
    return not hasattr(module, "__path__") or importlib.util.find_spec(f"{module.__name__}.{name}") is None


def _is_wrong_call(place: _Place) -> bool:
    node = place.ending(ast.Call)
    if node is None:
        return False
    function = place.value(node.func)
    if function is UNKNOWN:
        return False
    if not callable(function):
        return True
    named = {word.arg: None for word in node.keywords if word.arg is not None}
    if len(named) < len(node.keywords) or any(isinstance(each, ast.Starred) for each in node.args):
        return False
    try:
        takes = inspect.signature(function, follow_wrapped=False)
    except (TypeError, ValueError):
        return False  # nobody knows what it takes
    try:
        takes.bind(*[None] * len(node.args), **named)
    except TypeError:
        return True
    return False


def _is_no_item(place: _Place) -> bool:
    node = place.ending(ast.Subscript)
    if node is None:
        return False
    try:
        key: Any = ast.literal_eval(node.slice)
    except ValueError:
        return False
    holder: Any = place.source.constant(node.value) if isinstance(node.value, ast.Name) else place.value(node.value)
    if holder is UNKNOWN or not isinstance(holder, dict | list | tuple) or place.source.assigns(key):
        return False
    try:
        holder[key]
    except LookupError:
        return True
    return False


def _attribute(holder: object, name: str) -> Any:
    """What a module defines, or an API object's method or what the rubric gave it; else `UNKNOWN`."""
    if isinstance(holder, ModuleType):
        found = vars(holder).get(name)
        return found if isinstance(found, FunctionType | BuiltinFunctionType | ModuleType | type) else UNKNOWN
    if type(holder) not in _api():
        return UNKNOWN
    found = inspect.getattr_static(type(holder), name, UNKNOWN)
    if isinstance(found, FunctionType):
        return MethodType(found, holder)
    # What its slots hold may be the agent's; what a `Case` holds beside its properties is the rubric's.
    return vars(holder).get(name, UNKNOWN) if isinstance(holder, Case) else UNKNOWN


def _api() -> frozenset[type]:
    """The classes of our API, with that of mails if any mail was read."""
    mailbox = sys.modules.get(MAIL)
    return API if mailbox is None else API | {mailbox.Mail}


def _file(module: ModuleType) -> str:
    return getattr(module, "__file__", None) or "/"


def _is_sealed(file: str) -> bool:
    return file.startswith(f"{SEALED}/")


def _has_agents_code(path: Sequence[str]) -> bool:
    """Whether the author's code has let code of the agent's in, or has looked for modules where it might lie."""
    if any(place not in path and not _is_sealed(f"{os.path.realpath(place)}/") for place in sys.path):
        return True
    files = [os.path.realpath(_file(module)) for module in [*sys.modules.values()]]
    return any(file.startswith((f"{WORKSPACE}/", f"{WORLD}/")) for file in files)


def _last(at: TracebackType | None) -> TracebackType | None:
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    return at


def _position(at: TracebackType) -> Position | None:
    """First and last line and column of what raised; None where Python was told to keep no columns."""
    first, last, left, right = next(islice(at.tb_frame.f_code.co_positions(), at.tb_lasti // 2, None))
    if first is None or last is None or left is None or right is None:
        return None
    return first, last, left, right


def _end(node: ast.AST) -> tuple[int | None, int | None]:
    return getattr(node, "end_lineno", None), getattr(node, "end_col_offset", None)
