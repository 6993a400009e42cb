"""The host's side of the agent's code: runs it in its own sandbox for a check, and hands back what it said."""

from __future__ import annotations

import base64
import functools
import json
import secrets
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from rubricgrade.checks.inside import driver, pytest_driver
from rubricgrade.checks.messages import Call, Run, Test, TestRun
from rubricgrade.checks.suites import LIBRARY, Taken, in_secret_order
from rubricgrade.errors import CheckError
from rubricgrade.sandbox import Done, Sandbox, Template

KiB, MiB = 1 << 10, 1 << 20
OUTPUT = 1 * MiB
REPLY = 4 * MiB
TEST_REPLY = 64 * KiB
STDERR = 2000
FREE = 1.0
"""Seconds of each run that count against nobody's time: starting a process on a busy host is not the agent's doing."""

Answer = dict[str, Any]


class _InTheWay(Exception):
    """The agent's files, or their absence, keep its code from being run."""


class _Unusable(Exception):
    """The check has asked for a path that is none."""


class Solution:
    """The agent's code as one check uses it: a fork of its own, opened when first asked, and a limit of time.

    Attributes:
        doubts: Ways in which a run did not come to its own end that could also be the grader's fault.
        used: Whether any code was run.
    """

    def __init__(
        self,
        opener: Callable[[], Awaitable[Sandbox]],
        for_test: Callable[[Taken, bool], Awaitable[Sandbox]],
        template: Template,
        *,
        seconds: float,
    ) -> None:
        """Nothing is opened before it is asked.

        Args:
            opener: Opens a pristine fork, or raises `CheckError`, `SandboxError` or `TemplateError`.
            for_test: The same for one test of a sealed suite, told what is taken of the agent's files, and whether
                none of them is.
            template: What it is a fork of.
            seconds: How long all runs of this check may take together.
        """
        self._open = opener
        self._for_test = for_test
        self._workdir = PurePosixPath(template.workdir)
        self._path = [PurePosixPath(part) for part in template.env.get("PATH", "").split(":") if part]
        self._memory = template.limits.memory
        self._seconds = seconds
        self._left = seconds
        self._fork: Sandbox | None = None
        self._untouched = True
        self.doubts: set[str] = set()
        self.used = False

    async def answer(self, asked: Run | Call | Test) -> Answer:
        """Carry out what a check asks.

        Returns:
            The answer, or ``{"grader": why}`` when the check asks for what can't be done, ``{"agent": why}`` when the
            agent's files are in the way, or ``{"unclear": why}`` when it asks with a value that may be the agent's.
        """
        try:
            match asked:
                case Call():
                    return await self._call(asked)
                case Run():
                    return await self._run(asked)
                case Test():
                    return await self._tests(asked)
        except CheckError as error:
            return {"grader": str(error)}
        except _InTheWay as error:
            return {"agent": str(error)}
        except _Unusable as error:
            return {"unclear": str(error)}

    async def close(self) -> None:
        """End the fork."""
        if self._fork is not None:
            await self._fork.close()
            self._fork = None

    async def _run(self, asked: Run) -> Answer:
        fork = await self._ready(fresh=asked.fresh)
        for name, data in asked.files.items():
            try:
                await fork.write(str(self._inside(name)), data)
            except (OSError, ValueError) as error:  # what is no fault of the place is `SandboxLost`
                raise _InTheWay(f"{name} can't be written into the work folder: {error}") from None
        done = await self._exec(asked.argv, asked, stdin=asked.stdin, env=asked.env, limit=OUTPUT)
        return {
            "code": done.code,
            "stdout": _text(done.stdout, done.stdout_total),
            "stderr": _text(done.stderr, done.stderr_total),
            "timed_out": done.timed_out,
            "fault": self._fault(done, asked.argv[0]),
            "cut": [
                name
                for name, kept, total in (
                    ("stdout", done.stdout, done.stdout_total),
                    ("stderr", done.stderr, done.stderr_total),
                )
                if total > len(kept)
            ],
        }

    async def _call(self, asked: Call) -> Answer:
        await self._ready(fresh=asked.fresh)
        token = secrets.token_hex(16)
        question = asked.model_dump(include={"file", "function", "args", "kwargs", "forbid"})
        # The bare name is looked up in a pristine PATH; the driver's text comes with the call, so nothing of it can
        # have been changed. What the agent's code does to the process can only change the value that it returns.
        argv = ["python3", "-I", "-B", "-c", _source(driver.__file__), token]
        done = await self._exec(argv, asked, stdin=json.dumps(question).encode(), env={}, limit=REPLY)
        return {
            "code": done.code,
            "reply": _reply(done, token),
            "stderr": _text(done.stderr[-STDERR:], 0),
            "fault": self._fault(done, argv[0]),
        }

    async def _tests(self, asked: Test) -> Answer:
        """Run each group of tests in a fork of its own, of which none can know what the others are.

        Each has its own limit of time, so that one that hangs costs the others nothing.
        """
        self.used = True
        return {"groups": await in_secret_order([functools.partial(self._group, asked, one) for one in asked.groups])}

    async def _group(self, asked: Test, group: list[TestRun]) -> Answer:
        token = secrets.token_hex(16)
        files = asked.files | {one.file: one.module.encode() for one in group}
        question = {
            "library": LIBRARY,
            "files": {path: base64.b64encode(data).decode() for path, data in files.items()},
            "tests": {one.file: one.select for one in group},
            "path": [str(self._inside(path)) for path in asked.pythonpath],
            "root": str(self._workdir) if asked.in_place else "",
            "config": asked.config,
            "plugins": asked.plugins,
        }
        fork = await self._for_test(Taken(tuple(asked.allow), tuple(asked.keep)), asked.pristine)
        try:
            argv = ["python3", "-I", "-B", "-c", _source(pytest_driver.__file__), token]
            done = await fork.exec(
                argv,
                stdin=json.dumps(question).encode(),
                timeout=min(asked.timeout * len(group), asked.most),
                limit=TEST_REPLY * len(group),
            )
        finally:
            await fork.close()
        if not asked.pristine:
            fault = self._fault(done, argv[0])
        else:  # it says nothing about the agent's work, and takes none of its time
            fault = "timed out" if done.timed_out else done.error
            if done.code == driver.KILLED:
                self.doubts.add("killed")
        return {
            "code": done.code,
            "reply": _reply(done, token),
            "stderr": _text(done.stderr[-STDERR:], 0),
            "fault": fault,
        }

    async def _ready(self, *, fresh: bool) -> Sandbox:
        if fresh:
            await self.close()
        if self._fork is None:
            self._fork = await self._open()
            self._untouched = True
        self.used = True
        return self._fork

    async def _exec(
        self, argv: list[str], asked: Run | Call, *, stdin: bytes, env: Mapping[str, str], limit: int
    ) -> Done:
        fork = await self._ready(fresh=False)
        cwd = self._workdir if asked.cwd is None else self._inside(asked.cwd)
        seconds = self._left if asked.timeout is None else min(asked.timeout, self._left)
        if seconds <= 0:
            return Done(-1, timed_out=True)
        done = await fork.exec(argv, cwd=str(cwd), env=env, stdin=stdin, timeout=seconds, limit=limit)
        if done.error and not self._untouched:
            # The agent's code may have closed the work folder to itself, or removed the program: not in a fresh fork.
            fork = await self._ready(fresh=True)
            done = await fork.exec(argv, cwd=str(cwd), env=env, stdin=stdin, timeout=seconds, limit=limit)
        self._untouched = False
        if done.error and asked.cwd is not None and (await fork.exec(["true"], cwd=str(cwd))).error:
            raise _InTheWay(f"the folder {asked.cwd} is not there")
        self._left -= done.seconds if done.timed_out else max(0.0, done.seconds - FREE)
        return done

    def _inside(self, path: str) -> PurePosixPath:
        """A path below the work folder. Raises `_Unusable` for any other: a check may have read it off a file."""
        place = PurePosixPath(path)
        if place.is_absolute() or ".." in place.parts:
            raise _Unusable(f"{path!r} is no path inside the work folder")
        return self._workdir / place

    def _fault(self, done: Done, program: str) -> str:
        """Why a run did not come to its own end; notes what is in doubt. Raises `CheckError` for a missing program."""
        if done.timed_out:
            self.doubts.add("timeout")
            return f"timed out after {min(done.seconds, self._seconds):.3g} s" if done.seconds else self._used_up()
        if done.oom:
            self.doubts.add("memory")  # also where it goes on without what was killed, and says something else for it
        if done.oom and done.code != 0:
            return f"ran out of memory, of which it may have {self._memory // MiB:,} MiB"
        if done.flooded:
            self.doubts.add("flood")
            return f"wrote more than {done.stdout_total + done.stderr_total:,} bytes and was stopped"
        if done.full:
            self.doubts.add("disk")
            return "filled its disk and was stopped"
        if done.code == driver.KILLED:
            self.doubts.add("killed")
        if done.error and not self._is_agents(program):
            raise CheckError(f"the sandbox can't run {program!r}: {done.error}")
        return done.error

    def _used_up(self) -> str:
        return f"not run: the {self._seconds:g} s that the solution may take are used up"

    def _is_agents(self, program: str) -> bool:
        """Whether the agent has to make the program: a path in the work folder, or a name on a PATH into it."""
        if "/" in program:
            return (self._workdir / program).is_relative_to(self._workdir)
        return any(part.is_relative_to(self._workdir) for part in self._path)


@functools.cache
def _source(file: str) -> str:
    return Path(file).read_text("utf-8")


def _reply(done: Done, token: str) -> str | None:
    """The one line that the driver wrote; None when there is none, or several, or it was cut, or the driver failed."""
    lines = [line for line in done.stdout.split(b"\n") if line.startswith(token.encode() + b" ")]
    if done.code != 0 or len(lines) != 1 or done.stdout_total > len(done.stdout):
        return None
    return lines[0].removeprefix(token.encode() + b" ").decode("utf-8", "replace")


def _text(data: bytes, total: int) -> str:
    """Output as text; when bytes of its middle were dropped, that stands there."""
    if total <= len(data):
        return data.decode("utf-8", "replace")
    half = (len(data) + 1) // 2
    head, tail = data[:half].decode("utf-8", "replace"), data[half:].decode("utf-8", "replace")
    return f"{head}\n[cut: {total - len(data):,} of {total:,} bytes]\n{tail}"
