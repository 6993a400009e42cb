"""One conversation with the process that carries out a check: it asks for the solution, and says how the check went."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from rubricgrade.checks.solution import Solution
from rubricgrade.errors import SandboxLost
from rubricgrade.result import Cause, Evidence
from rubricgrade.sandbox import Done, Sandbox

MiB = 1 << 20
RUNNER = ("python3", "-I", "-B", "-m", "rubricgrade.checks.inside.runner")
LONGEST_LINE = 64 * MiB
KEPT = 64 << 10
TAIL = 300
MOST_EVIDENCE, QUOTE = 50, 500
NEWS = frozenset({"reading", "document"})
DAY = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a conversation gave no result.

    Attributes:
        origin: Whose fault it is; ``unclear`` when one run can't tell.
        kind: What kind of fault; two of the same kind are the same fault.
        message: What happened.
        evidence: What was seen.
        cause: Why the check is open, if it turns out to be the grader's.
    """

    origin: Literal["agent", "grader", "unclear"]
    kind: str
    message: str
    evidence: tuple[Evidence, ...] = ()
    cause: Cause = "check_error"


@dataclass(frozen=True, slots=True)
class Attempt:
    """How one conversation went: what was said last, or the trouble; and what is in doubt about the solution's runs."""

    said: Mapping[str, Any]
    trouble: Trouble | None
    doubts: frozenset[str]
    ran_agents_code: bool


async def converse(
    checker: Sandbox,
    solution: Solution,
    request: Mapping[str, Any],
    *,
    seconds: float,
    hear: Callable[[Mapping[str, Any]], None] | None = None,
) -> Attempt:
    """Have a request carried out in a checker's sandbox.

    Args:
        checker: Where it is carried out.
        solution: Answers for the agent's code.
        request: What to do.
        seconds: How long the check itself may take, without its waiting for the solution.
        hear: Called with every message that is neither a question nor the last one.
    """
    said: Mapping[str, Any] = {}
    trouble: Trouble | None = None
    try:
        said, trouble = await _talk(checker, solution, request, seconds, hear)
    except SandboxLost as error:
        trouble = Trouble("unclear", "lost", f"a sandbox died: {error}", cause="sandbox_lost")
    return Attempt(said, trouble, frozenset(solution.doubts), solution.used)


async def _talk(
    checker: Sandbox,
    solution: Solution,
    request: Mapping[str, Any],
    seconds: float,
    hear: Callable[[Mapping[str, Any]], None] | None,
) -> tuple[Mapping[str, Any], Trouble | None]:
    process = await checker.start(RUNNER, cwd="/tmp", timeout=DAY, limit=KEPT)  # noqa: S108 - a path inside
    try:
        left = seconds
        line = _line(request)
        while True:
            began = time.monotonic()
            try:
                async with asyncio.timeout(left):
                    await process.send(line)
                    message = _read(await process.receive(LONGEST_LINE))
            except TimeoutError:
                return {}, Trouble("unclear", "timeout", f"the check itself took more than {seconds:g} s")
            except BrokenPipeError:
                message = None
            except ValueError:
                return {}, Trouble("unclear", "flood", "the check sent more than the host takes")
            left -= time.monotonic() - began
            if message is None:
                return {}, _death(await process.finish())
            if hear is not None and not message.keys().isdisjoint(NEWS):
                hear(message)
                line = b""
            elif "op" in message:
                line = _line(await solution.answer(message))
            else:
                return (message, None) if "fault" not in message else ({}, _trouble(message["fault"]))
    finally:
        await process.kill()


def _line(message: Mapping[str, Any]) -> bytes:
    return json.dumps(message).encode() + b"\n"


def _read(line: bytes) -> dict[str, Any] | None:
    """A message; None when there is none any more, or it is none."""
    try:
        message: object = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", message) if isinstance(message, dict) else None


def _death(done: Done) -> Trouble:
    tail = done.stderr.decode("utf-8", "replace").strip()[-TAIL:]
    if done.error:
        return Trouble("grader", "start", f"the check could not be started: {done.error}")
    if done.oom:
        return Trouble("unclear", "memory", "the check ran out of memory")
    return Trouble(
        "unclear", "died", f"the check's process ended with exit code {done.code} and no result. {tail}".strip()
    )


def _trouble(fault: Mapping[str, Any]) -> Trouble:
    origin = fault["origin"] if fault["origin"] in {"agent", "grader"} else "unclear"
    return Trouble(origin, str(fault["kind"]), clean(fault["message"]), evidence_of(fault["evidence"]))


def evidence_of(items: list[Mapping[str, Any]]) -> tuple[Evidence, ...]:
    """Evidence as a grade keeps it: bounded, and free of what no file can hold."""
    return tuple(
        Evidence(quote=clean(item["quote"]), where=None if item["where"] is None else clean(item["where"]))
        for item in items[:MOST_EVIDENCE]
    )


def clean(text: object, limit: int = QUOTE) -> str:
    """A text that may have come from the agent: at most `limit` characters, lone surrogates as escapes."""
    return str(text)[:limit].encode("utf-8", "backslashreplace").decode()
