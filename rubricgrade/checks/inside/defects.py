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
import sys
from collections.abc import Mapping, Sequence
from importlib.machinery import PathFinder
from itertools import islice
from pathlib import Path, PosixPath
from types import BuiltinFunctionType, FrameType, FunctionType, MethodType, ModuleType, TracebackType
from typing import Any, TypeVar

from rubricgrade.checks.inside.binding import Source
from rubricgrade.checks.inside.case import Call, Called, Case, CheckResult, Ran, Seen, Step
from rubricgrade.checks.inside.kinds import Kinds
from rubricgrade.checks.inside.program import Program
from rubricgrade.checks.inside.solution import Solution
from rubricgrade.checks.inside.wire import SEALED, WORKSPACE, WORLD

API = frozenset({Call, Called, Case, CheckResult, PosixPath, Ran, Seen, Solution, Step})
"""Classes of what a check is given: what their attributes hold can be the agent's, which ones there are can't."""
GIVEN = frozenset({"args", "vars"})
"""What a case holds of the rubric's."""
MAIL = "rubricgrade.checks.inside.mailbox"
DEEPEST = 8
"""Files through which an import is followed."""
_ELSEWHERE = frozenset({"chdir", "fchdir", "mkdir", "makedirs", "extractall", "copytree", "subprocess"})
"""Names of what could make another place of the folder that a check runs in."""
UNKNOWN = object()
"""Stands for a value that data may have decided."""

Node = TypeVar("Node", bound=ast.AST)
Position = tuple[int, int, int, int]


def is_defect(error: BaseException, path: Sequence[str]) -> bool:
    """Whether an exception is the author's doing whatever the agent has left.

    It is raised by a line of a sealed file itself, and one of these holds:

    * `NameError`: nothing can have bound the name (`Source.never_bound`), from another file neither.
    * `ImportError`: the module, or the name in it, does not exist. `SyntaxError`: it is a sealed file, and no Python.
    * `AttributeError`: of a module, a class or an object of our API, which never has it.
    * `TypeError`: a call that does not fit what the called function takes, or of a module.
    * `KeyError`, `IndexError`: a key that is written out, of a constant or of what the rubric gives (`vars`, `args`).
    * `FileNotFoundError`: a sealed file that is opened by its name in the rubric (`_is_misplaced`).

    Nothing holds where code of the agent's may run in this process, or where any sealed file that may run in it does
    what can't be looked through (`Program.plain`). In doubt it is not the author's.

    Args:
        error: As it was caught.
        path: Where modules were looked for before any code of the author's ran.
    """
    last = _last(error.__traceback__)
    if last is None or not _is_sealed(last.tb_frame.f_code.co_filename) or has_agents_code(path):
        return False
    position = _position(last)
    if position is None:
        return False
    try:
        return _is_proven(error, last.tb_frame, position)
    except (ImportError, MemoryError, OSError, RecursionError, ValueError):
        return False  # what can't be looked up proves nothing


def _is_proven(error: BaseException, frame: FrameType, position: Position) -> bool:
    program = Program.below(SEALED, {_file(module) for module in [*sys.modules.values()]})
    if frame.f_code.co_filename not in program.files or not program.plain:
        return False
    place = _Place(frame, position, program)
    match error:
        case ImportError() | SyntaxError():
            return _is_bad_import(error, place)
        case NameError():
            name = place.ending(ast.Name)
            return name is not None and not program.brings(name.id) and place.source.never_bound(name)
        case AttributeError():
            return _is_no_attribute(error, place)
        case TypeError():
            return _is_wrong_call(place)
        case KeyError() | IndexError():
            return _is_no_item(place)
        case FileNotFoundError():
            return _is_misplaced(place)
        case _:
            return False


class _Place:
    """The instruction of a sealed file that raised.

    Attributes:
        frame: Where it ran.
        file: The file's path.
        source: Its file.
        program: All sealed files that may run with it.
        kinds: What its expressions are.
    """

    def __init__(self, frame: FrameType, position: Position, program: Program) -> None:
        self.frame = frame
        self.file = frame.f_code.co_filename
        self.source = program.files[self.file]
        self.program = program
        self.kinds = Kinds(self.source, program)
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
            case ast.Attribute(value=inner, attr=name):
                return _attribute(self.value(inner), name, self.program)
            case _:
                return UNKNOWN

    def _named(self, node: ast.Name, name: str) -> Any:
        scope, binders = self.source.binders(name, node)
        known: Mapping[str, Any] = self.frame.f_globals if scope is self.source.tree else self.frame.f_locals
        found = known.get(name, UNKNOWN)
        if type(found) in _api():
            return found if self.kinds.of(node) == type(found).__name__ else UNKNOWN
        if isinstance(scope, ast.ClassDef) or len(binders) > 1 or self.program.sets(name):
            return UNKNOWN
        if binders:
            return _bound(self.source, binders[0], found, self.program)
        return self.frame.f_builtins.get(name, UNKNOWN) if found is UNKNOWN else UNKNOWN


def _is_bad_import(error: ImportError | SyntaxError, place: _Place) -> bool:
    statement = place.importing()
    if statement is None:
        return False
    if isinstance(error, SyntaxError):
        return _is_sealed(error.filename or "")
    if isinstance(statement, ast.ImportFrom) and statement.level:
        return False
    if isinstance(error, ModuleNotFoundError):
        asked = (
            [each.name for each in statement.names] if isinstance(statement, ast.Import) else [statement.module or ""]
        )
        return any(f"{name}.".startswith(f"{error.name}.") for name in asked) and _is_nowhere(error.name or "")
    # A library that can't be loaded raises the same, and that may be for want of memory or of handles.
    module = sys.modules.get(error.name or "")
    if module is None or not isinstance(statement, ast.ImportFrom) or statement.module != error.name:
        return False
    return any(_never_has(module, each.name, place.program) for each in statement.names)


def _is_nowhere(module: str) -> bool:
    """Whether a module is not there, and nothing that a check writes can put it there."""
    if module in sys.modules or any(_is_writable(place) for place in sys.path):
        return False
    holder, _, name = module.rpartition(".")
    if not holder:
        return name not in sys.builtin_module_names and PathFinder.find_spec(name) is None
    package = sys.modules.get(holder)
    places = getattr(package, "__path__", None)
    return package is not None and (places is None or PathFinder.find_spec(module, places) is None)


def _is_writable(place: str) -> bool:
    path = Path(place).absolute()
    there = next(each for each in (path, *path.parents) if each.exists())
    return os.access(there, os.W_OK)


def _is_no_attribute(error: AttributeError, place: _Place) -> bool:
    node = place.ending(ast.Attribute)
    if node is None or node.attr != error.name or place.program.sets(node.attr):
        return False
    holder = error.obj
    if type(holder) in _api():
        return place.kinds.of(node.value) == type(holder).__name__ and _lacks(holder, node.attr)
    if place.value(node.value) is not holder:
        return False
    if isinstance(holder, type):
        return _lacks(holder, node.attr) and not (_is_own(holder) and place.program.binds(node.attr))
    return _never_has(holder, node.attr, place.program)


def _lacks(holder: object, name: str) -> bool:
    return inspect.getattr_static(holder, name, UNKNOWN) is UNKNOWN


def _never_has(module: object, name: str, program: Program) -> bool:
    """Whether a module lacks a name for good: none that would be there after another import, or that is set later."""
    if not isinstance(module, ModuleType) or hasattr(module, name) or program.sets(name):
        return False
    file = _file(module)
    if _is_sealed(file) and (file not in program.files or name in program.files[file].names):
        return False
    return not hasattr(module, "__path__") or importlib.util.find_spec(f"{module.__name__}.{name}") is None


def _is_wrong_call(place: _Place) -> bool:
    node = place.ending(ast.Call)
    if node is None:
        return False
    function = place.value(node.func)
    if function is UNKNOWN or (isinstance(function, type) and _is_own(function)):
        return False  # data may decide what a class of the author's defines
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
    holder = _fixed_holder(node.value, place)
    if not isinstance(holder, dict | list | tuple) or place.program.sets(key):
        return False
    try:
        holder[key]
    except LookupError:
        return True
    return False


def _is_misplaced(place: _Place) -> bool:
    """Whether it is ``open("sealed/a.csv")``, where the file is at ``case.sealed / "sealed/a.csv"``.

    Checks run in a folder that has nothing in it, and no program that could leave it or fill it counts.
    """
    node = place.ending(ast.Call)
    if node is None or place.value(node.func) is not open or any(map(place.program.refers, _ELSEWHERE)):
        return False
    match node.args:
        case [ast.Constant(value=str(path)), *_]:
            return not path.startswith("/") and Path(SEALED, path).is_file()
        case _:
            return False


def _fixed_holder(node: ast.expr, place: _Place) -> Any:
    """A constant, or what the rubric gave to the case, which nobody who can get at it changes; else `UNKNOWN`."""
    match node:
        case ast.Name(id=name) if not place.program.shares(name):
            return place.source.constant(node)
        case ast.Attribute(attr=name) if name in GIVEN and place.program.only_looked_into(name):
            return place.value(node)
        case _:
            return UNKNOWN


def _bound(source: Source, binder: ast.AST, found: Any, program: Program, depth: int = 0) -> Any:
    """What a name was found to stand for, if the only thing that binds it can bind nothing else; else `UNKNOWN`."""
    match binder:
        case ast.FunctionDef(decorator_list=[]) | ast.AsyncFunctionDef(decorator_list=[]):
            return found if isinstance(found, FunctionType) else UNKNOWN
        case ast.ClassDef(decorator_list=[], bases=[], keywords=[]):
            return found if isinstance(found, type) else UNKNOWN
        case ast.alias(name=name):
            pass
        case _:
            return UNKNOWN
    match source.parent(binder):
        case ast.Import():
            return found if isinstance(found, ModuleType) else UNKNOWN
        case ast.ImportFrom(module="rubricgrade"):
            return found if isinstance(found, type) and found in _api() else UNKNOWN
        case ast.ImportFrom(module=str(module), level=0):
            meant = _attribute(sys.modules.get(module, UNKNOWN), name, program, depth + 1)
            return found if meant is found else UNKNOWN
        case _:
            return UNKNOWN


def _attribute(holder: object, name: str, program: Program, depth: int = 0) -> Any:
    """What a module defines, or an API object's method or what the rubric gave it; else `UNKNOWN`."""
    if program.sets(name) or depth > DEEPEST:
        return UNKNOWN
    if isinstance(holder, ModuleType):
        found = vars(holder).get(name, UNKNOWN)
        if not _is_sealed(_file(holder)):
            return found if isinstance(found, FunctionType | BuiltinFunctionType | ModuleType | type) else UNKNOWN
        source = program.files.get(_file(holder))
        _, binders = source.binders(name, source.tree) if source is not None else (None, [])
        return _bound(source, binders[0], found, program, depth) if source and len(binders) == 1 else UNKNOWN
    if type(holder) not in _api():
        return UNKNOWN
    found = inspect.getattr_static(type(holder), name, UNKNOWN)
    if isinstance(found, FunctionType):
        return MethodType(found, holder)
    # What else it holds may be the agent's.
    return vars(holder).get(name, UNKNOWN) if isinstance(holder, Case) and name in GIVEN else UNKNOWN


def _is_own(kind: type) -> bool:
    """Whether a class is the author's."""
    module = sys.modules.get(kind.__module__)
    return module is None or _is_sealed(_file(module))


def _api() -> frozenset[type]:
    """The classes of our API, with that of mails if any mail was read."""
    mailbox = sys.modules.get(MAIL)
    return API if mailbox is None else API | {mailbox.Mail}


def _file(module: ModuleType) -> str:
    return getattr(module, "__file__", None) or "/"


def _is_sealed(file: str) -> bool:
    return file.startswith(f"{SEALED}/")


def has_agents_code(path: Sequence[str]) -> bool:
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
