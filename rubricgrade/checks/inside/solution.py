"""The agent's code under test, as the checker sees it: run elsewhere by the host, and answering in JSON values only."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rubricgrade.checks.inside.finding import AgentFault, AuthorFault, Unusable
from rubricgrade.checks.inside.tested import Setting, Tested, TestRun, tested
from rubricgrade.checks.inside.wire import Wire, no_constant

LONGEST_WORD = (128 << 10) - 1
"""Bytes of one argument that Linux takes."""
LONGEST_COMMAND = 240 << 10
"""Bytes of all of them: less than a sandbox takes."""


@dataclass(frozen=True, slots=True)
class Ran:
    """How a program of the solution ended.

    Attributes:
        code: Exit code; 128 + n for signal n; -1 when it never started.
        stdout: Text; bytes that are no UTF-8 are replaced.
        stderr: The same.
        timed_out: It was killed at its time limit.
        fault: Why it did not come to its own end (``timed out after 5 s``, ``ran out of memory``, ``not found: x``);
            empty when it did.
        cut: Which of ``stdout`` and ``stderr`` are not whole: more was printed than is kept, and the middle is missing.
    """

    code: int
    stdout: str
    stderr: str
    timed_out: bool = False
    fault: str = ""
    cut: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Called:
    """What a function of the solution returned or raised.

    Attributes:
        returned: The returned JSON value (a tuple is a list); None when it raised.
        raised: Name of the exception's class; ``NoReply`` when it gave no readable answer at all, ``NotJson`` when it
            returned something that is no JSON value; None when it returned.
        message: The exception's text, or why there is no answer.
        kinds: Names of the exception's class and of all its bases.
        output: What it printed, cut.
    """

    returned: Any = None
    raised: str | None = None
    message: str = ""
    kinds: tuple[str, ...] = ()
    output: str = ""

    @property
    def value(self) -> Any:
        """What it returned.

        Raises:
            AgentFault: It raised, or gave no answer. A check that would go on with a value that is none would fail
                itself, and look broken; ask `raised` first where an exception can be right.
        """
        if self.raised is not None:
            raise AgentFault(f"the solution raised {self.raised}: {self.message}")
        return self.returned

    @property
    def faulted(self) -> bool:
        """Whether there was no answer: neither a value nor an exception of the function's own."""
        return self.raised in {"NoReply", "NotJson"}


class Solution:
    """The agent's code, in a pristine copy of its template with the agent's files and no sealed ones.

    Args:
        wire: The line to the host.
    """

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def run(
        self,
        argv: Sequence[str],
        *,
        stdin: str | bytes = "",
        files: Mapping[str, str | bytes] | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        timeout: float | None = None,
        fresh: bool = False,
    ) -> Ran:
        """Run a program to its end.

        Args:
            argv: Program and arguments; no shell.
            stdin: All of its standard input.
            files: Files to write first, by their path in the work folder.
            env: Environment variables besides the sandbox's own.
            cwd: A folder below the work folder.
            timeout: Seconds; at most what is left of the check's own timeout, which is the default.
            fresh: Take a new copy of the template for it, so that nothing of earlier runs is there.
        """
        _commandable([*argv, *(env or {}), *(env or {}).values()])
        answer = self._ask(
            {
                "op": "run",
                "argv": list(argv),
                "stdin": _packed(stdin),
                "files": {path: _packed(data) for path, data in (files or {}).items()},
                "env": dict(env or {}),
                "cwd": cwd,
                "timeout": timeout,
                "fresh": fresh,
            }
        )
        return Ran(
            answer["code"],
            answer["stdout"],
            answer["stderr"],
            timed_out=answer["timed_out"],
            fault=answer["fault"],
            cut=tuple(answer["cut"]),
        )

    def call(self, function: str, /, *args: Any, **kwargs: Any) -> Called:
        """Call a function of the solution, such as ``calc.py:evaluate``, with JSON values, in a fresh process."""
        return self.ask(function, args, kwargs)

    def ask(
        self,
        function: str,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        *,
        forbid: Sequence[str] = (),
        cwd: str | None = None,
        timeout: float | None = None,
        fresh: bool = False,
    ) -> Called:
        """`call` with settings.

        Args:
            function: ``file.py:name``, relative to `cwd`.
            args: Positional arguments.
            kwargs: Named arguments.
            forbid: Names of builtins and modules that the solution may not use.
            cwd: A folder below the work folder; it is also where its imports are looked up.
            timeout: Seconds.
            fresh: Take a new copy of the template for it, so that nothing of earlier calls and runs is there.
        """
        file, _, name = function.rpartition(":")
        message = {
            "op": "call",
            "file": file,
            "function": name,
            "args": list(args),
            "kwargs": dict(kwargs or {}),
            "forbid": list(forbid),
            "cwd": cwd,
            "timeout": timeout,
            "fresh": fresh,
        }
        return _called(self._ask(message))

    def tests(
        self,
        groups: Sequence[Sequence[TestRun]],
        *,
        setting: Setting,
        timeout: float,
        most: float,
        pristine: bool = False,
    ) -> list[list[Tested]]:
        """Run tests with the sealed pytest beside the agent's code, each group in a fork of its own, in a secret order.

        Args:
            groups: The tests, by those that share a process; in it no two have the same file.
            setting: What they are run in.
            timeout: Seconds for each test; those of a group have as much together.
            most: Seconds for a group.
            pristine: With nothing of the agent's there.
        """
        answer = self._ask(
            {
                "op": "test",
                "groups": [[asdict(run) for run in group] for group in groups],
                "files": {path: _packed(data) for path, data in setting.files.items()},
                "allow": list(setting.allow),
                "keep": list(setting.keep),
                "pythonpath": list(setting.pythonpath),
                "in_place": setting.in_place,
                "config": setting.config,
                "plugins": list(setting.plugins),
                "timeout": timeout,
                "most": most,
                "pristine": pristine,
            }
        )
        return [tested(one, group) for one, group in zip(answer["groups"], groups, strict=True)]

    def _ask(self, message: Mapping[str, Any]) -> dict[str, Any]:
        try:
            answer = self._wire.ask(message)
        except (TypeError, ValueError) as error:
            raise Unusable(f"the solution can only be given JSON values: {error}") from None
        if "grader" in answer:
            raise AuthorFault(answer["grader"])
        if "unclear" in answer:
            raise Unusable(answer["unclear"])
        if "agent" in answer:
            raise AgentFault(answer["agent"])
        return answer


def _called(answer: Mapping[str, Any]) -> Called:
    """The reply of the solution's side, which is hostile: it can be a wrong answer, and nothing else."""
    output: str = answer["stderr"]
    if answer["fault"]:
        return Called(raised="NoReply", message=answer["fault"], output=output)
    text = answer["reply"]
    if text is None:
        how = f"its process ended with exit code {answer['code']} and gave no single reply"
        return Called(raised="NoReply", message=how, output=output)
    try:
        reply: Any = json.loads(text, parse_constant=no_constant)
    except (ValueError, RecursionError) as error:
        return Called(raised="NoReply", message=f"its reply is no strict JSON: {error}", output=output)
    match reply:
        case {"value": value, **more} if not more:
            return Called(value, output=output)
        case {"raised": str(raised), "message": str(message), "kinds": [*kinds]} if len(kinds) <= 100:  # noqa: PLR2004
            return Called(None, raised, message, tuple(kind for kind in kinds if isinstance(kind, str)), output)
        case _:
            return Called(raised="NoReply", message="its reply has the wrong shape", output=output)


def _commandable(words: Sequence[str]) -> None:
    """Make sure that words can be given to a program at all. Raises `Unusable`."""
    sizes = [len(word.encode("utf-8", "surrogatepass")) for word in words]
    if any("\0" in word for word in words):
        raise Unusable("a program can't be given a NUL character")
    if max(sizes, default=0) > LONGEST_WORD or sum(sizes) > LONGEST_COMMAND:
        raise Unusable(f"a program can't be given {sum(sizes):,} bytes of arguments and environment")


def _packed(data: str | bytes) -> str:
    raw = data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data
    return base64.b64encode(raw).decode()
