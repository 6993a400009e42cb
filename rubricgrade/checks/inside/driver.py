"""Calls one function of the agent's code and writes one JSON reply. Runs in the solution's sandbox; trusted by nobody.

Sent there as source text, so it needs nothing but the standard library. Whatever the agent's code does to this process,
it can change nothing but the value that comes out, and no expected value is in reach.
"""

import builtins
import importlib
import importlib.util
import json
import os
import resource
import signal
import sys
import time
from collections.abc import Sequence
from os.path import realpath as real
from types import FrameType, ModuleType
from typing import Any, NoReturn

HERE = os.getcwd()  # noqa: PTH109 - pathlib would cost every call its import
frame_above = sys._getframe  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - the guard looks at who calls
KILLED = 128 + signal.SIGKILL
"""Exit code that says that somebody has killed the process, maybe not its own code."""
STAMPING = 5
"""Linux's CLOCK_REALTIME_COARSE, by which files are stamped: some milliseconds behind the time that others are told."""
MACHINERY = "<frozen importlib"
MAKING = frozenset({"eval", "exec", "compile", "ast"})
"""Names that stand for making code from text: forbidding one of them forbids all."""
ESCAPES = frozenset({
    "code.__new__", "cpython.PyInterpreterState_New", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn",
    "os.system", "pty.spawn", "subprocess.Popen",
})  # fmt: skip
"""Events of ways to run code that the audit hook would not see."""


def main(token: str) -> NoReturn:
    """Answer the request on standard input; the reply is a line that begins with the token."""
    request: dict[str, Any] = json.loads(sys.stdin.buffer.read())
    write, leave, encode = os.write, os._exit, json.dumps
    # Only a parent that lives to see the end makes an answer count: code that kills all others has killed that too.
    if child := os.fork():
        status = os.waitpid(child, 0)[1]
        leave(KILLED if status == signal.SIGKILL else int(status != 0))
    private = os.dup(1)
    os.dup2(2, 1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    try:
        value = call(request)
    except BaseException as error:  # noqa: BLE001 - whatever the agent's code raises is its answer
        reply = {"raised": type(error).__name__, "message": told(error), "kinds": kinds(error)}
        text = encode(reply)
    else:
        try:
            text = encode({"value": value}, allow_nan=False)
        except BaseException as error:  # noqa: BLE001 - as above: a value can raise anything while it is read
            message = f"returned a {type(value).__name__}, which is no JSON value: {told(error)}"
            text = encode({"raised": "NotJson", "message": message, "kinds": []})
    sys.stderr.flush()
    data = f"\n{token} {text}\n".encode()
    while data:
        data = data[write(private, data) :]
    leave(0)


def told(error: BaseException) -> str:
    """An exception's text, which is the agent's own code again."""
    try:
        return str(error)[:1000]
    except BaseException:  # noqa: BLE001 - a hostile `__str__`
        return ""


def kinds(error: BaseException) -> list[str]:
    """Names of an exception's class and its bases."""
    return [kind.__name__ for kind in type(error).__mro__[:-1]]


def call(request: dict[str, Any]) -> Any:
    """Import the module and call the function."""
    sys.path.insert(0, HERE)
    forbid: list[str] = request["forbid"]
    guard = Guard(forbid) if forbid else None
    module = load(request["file"])
    function = getattr(module, request["function"])
    if guard is not None:
        guard.begin()
    return function(*request["args"], **request["kwargs"])


def load(file: str) -> ModuleType:
    """The module of a file: by its dotted name in a package, else by the file itself, whatever else has its name."""
    name = file.removesuffix(".py").replace("/", ".")
    if "." in name:
        return importlib.import_module(name)
    spec = importlib.util.spec_from_file_location(name, f"{HERE}/{file}")
    if spec is None or spec.loader is None:
        raise ImportError(f"can't import {file}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


class Guard:
    """Refuses what is forbidden, by whatever name it is called: an audit hook sees each use, and can't be removed.

    While the module is imported, only the agent's own uses are refused, so that a library may make its named tuples.
    While the function runs, no new code comes to be but by importing a file that was there before. Where code may not
    be made, processes and threads may not either. This stops short cuts, not somebody who takes this process apart.
    """

    def __init__(self, forbid: Sequence[str]) -> None:
        self._names = frozenset(forbid)
        self._calling = False
        self._started = time.clock_gettime_ns(STAMPING)
        prefixes = {sys.prefix, sys.base_prefix, real(sys.prefix), real(sys.base_prefix)}
        self._installed = tuple(f"{prefix}/" for prefix in prefixes)
        for name in [loaded for loaded in sys.modules if loaded.partition(".")[0] in self._names]:
            del sys.modules[name]
        sys.meta_path.insert(0, self)
        if self._names & MAKING:
            resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
            sys.addaudithook(self._audit)

    def begin(self) -> None:
        """The module is there; from now on its function runs."""
        for name in self._names - MAKING:
            if hasattr(builtins, name):
                setattr(builtins, name, refusing(name))
        self._calling = True

    def find_spec(self, name: str, *_: object) -> None:
        """Part of the import system: refuse a forbidden module to the agent's code, but not to a library."""
        if name.partition(".")[0] in self._names and not self._is_library(self._importer(frame_above(1))):
            raise RuntimeError(f"{name} is not allowed here")

    def _audit(self, event: str, details: tuple[Any, ...]) -> None:
        made = event in {"compile", "exec"} and not self._may_make(frame_above(1), event, details)
        if made or event in ESCAPES:
            raise RuntimeError(f"{event} is not allowed here")

    def _may_make(self, frame: FrameType | None, event: str, details: tuple[Any, ...]) -> bool:
        first = frame
        while frame is not None and self._is_library(frame):
            frame = frame.f_back
        if frame is not None and frame.f_code.co_filename.startswith(MACHINERY):
            return event == "exec" or not self._calling or frame is not first or self._was_there(*details)
        return not self._calling and frame is not first

    def _was_there(self, source: Any, file: Any) -> bool:
        """Whether a source text is that of a file which is older than this process."""
        try:
            with open(file, "rb") as opened:  # noqa: PTH123 - as above
                return os.fstat(opened.fileno()).st_ctime_ns < self._started and opened.read() == source
        except (OSError, TypeError):
            return False

    def _importer(self, frame: FrameType | None) -> FrameType | None:
        """The frame that asks for an import."""
        while frame is not None and frame.f_code.co_filename.startswith((MACHINERY, importlib.__file__)):
            frame = frame.f_back
        return frame

    def _is_library(self, frame: FrameType | None) -> bool:
        return frame is not None and frame.f_code.co_filename.startswith(self._installed)


def refusing(name: str) -> Any:
    """A function that takes the place of a forbidden builtin."""

    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise RuntimeError(f"{name} is not allowed here")

    return refuse


if __name__ == "__main__":
    main(sys.argv[1])
