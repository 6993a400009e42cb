"""One conversation with the process that carries out a check: it asks for the solution, and says how the check went."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from rubricgrade.checks.checker import Checker
from rubricgrade.checks.messages import Call, Failed, Last, Read, Reading, Run, Test, evidence_of, understand
from rubricgrade.checks.solution import Solution
from rubricgrade.errors import InputError
from rubricgrade.result import Cause, Evidence, Raised
from rubricgrade.sandbox import Done

MiB = 1 << 20
LONGEST_LINE = 64 * MiB
TAIL = 300

News = Callable[[Reading | Read], None]


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a conversation gave no result.

    Attributes:
        origin: Whose fault it is; ``unclear`` when one run can't tell.
        kind: What kind of fault; two of the same kind are the same fault.
        message: What happened.
        evidence: What was seen.
        cause: Why the check is open, if it turns out to be the grader's.
        place: The line of the author's code that raised, as ``checks/totals.py:14``; empty if none did.
        by_host: Whether the host has measured that it has failed the sandbox, see `SandboxLost`.
    """

    origin: Literal["agent", "grader", "unclear"]
    kind: str
    message: str
    evidence: tuple[Evidence, ...] = ()
    cause: Cause = "check_error"
    place: str = ""
    by_host: bool = False

    @property
    def raised(self) -> Raised | None:
        """The exception, if it is the author's code that raised one."""
        return Raised(error=self.kind, place=self.place) if self.place else None


@dataclass(frozen=True, slots=True)
class Attempt:
    """How one conversation went.

    Attributes:
        said: The last message; None when there is trouble instead.
        trouble: Why there is no last message.
        doubts: Ways in which the solution did not come to its own end that may be the grader's fault too.
        ran_agents_code: Whether any code of the agent was run for it.
    """

    said: Last | None
    trouble: Trouble | None
    doubts: frozenset[str]
    ran_agents_code: bool


async def converse(
    checker: Checker, solution: Solution, request: Mapping[str, Any], *, seconds: float, hear: News | None = None
) -> Attempt:
    """Have a request carried out in a checker's sandbox.

    Args:
        checker: Where it is carried out.
        solution: Answers for the agent's code.
        request: What to do.
        seconds: How long the check itself may take, without its waiting for the solution.
        hear: Called with the news of documents.

    Raises:
        SandboxLost: One of the sandboxes died.
        InputError: The solution's template, or what the agent left, can't be had.
    """
    ending = await _talk(checker, solution, request, seconds, hear)
    said, trouble = (None, ending) if isinstance(ending, Trouble) else (ending, None)
    return Attempt(said, trouble, frozenset(solution.doubts), solution.used)


async def _talk(
    checker: Checker, solution: Solution, request: Mapping[str, Any], seconds: float, hear: News | None
) -> Last | Trouble:
    process = await checker.take()
    done = False
    left = seconds
    line = _line(request)
    try:
        while True:
            began = time.monotonic()
            async with asyncio.timeout(left):
                try:
                    await process.send(line)
                    heard = await process.receive(LONGEST_LINE)
                except BrokenPipeError:
                    heard = b""
                if not heard:
                    return _death(await process.finish())
            left -= time.monotonic() - began
            line = b""
            match understand(heard):
                case Run() | Call() | Test() as asked:
                    line = _line(await solution.answer(asked))
                case Reading() | Read() as news:
                    if hear is not None:
                        hear(news)
                case Failed() as failed:
                    done = True
                    seen = evidence_of(failed.evidence)
                    return Trouble(failed.origin, failed.kind, failed.message, seen, place=failed.place)
                case last:
                    done = True
                    return last
    except TimeoutError:
        return Trouble("unclear", "timeout", f"the check itself took more than {seconds:g} s")
    except InputError:
        raise  # the solution's template or files can't be had, which is nothing that the check's process has said
    except ValueError as error:
        return Trouble("unclear", "garbage", f"the check's process said what can't be understood: {error}")
    finally:
        if done:
            checker.give_back(process)
        else:
            await process.kill()


def _line(message: Mapping[str, Any]) -> bytes:
    return json.dumps(message).encode() + b"\n"


def _death(done: Done) -> Trouble:
    if done.error:
        return Trouble("grader", "start", f"the check could not be started: {done.error}")
    if done.oom:
        return Trouble("unclear", "memory", "the check ran out of memory")
    tail = done.stderr.decode("utf-8", "replace").strip()[-TAIL:]
    said = f"the check's process ended with exit code {done.code} and no result. {tail}"
    return Trouble("unclear", "died", said.strip())
