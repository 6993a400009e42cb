"""Grading through a reward server with the calls of this package: the same arguments, the same `Grade` back.

RewardClient("http://10.0.0.7:8000", token=...).grade("run/trajectory.json", "q3-travel-mis").score
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import os
import random
import secrets
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic import ValidationError

from rubricgrade.chat.loops import PerLoop
from rubricgrade.errors import Fault, InputError, RubricError, RubricgradeError, TrajectoryError
from rubricgrade.grading.given import the_trajectories
from rubricgrade.grading.together import together
from rubricgrade.loading import load_rubric
from rubricgrade.misfits import first_misfit
from rubricgrade.result import Grade, Subject
from rubricgrade.rewards.blocking import wait_for
from rubricgrade.rewards.packing import REQUEST, packed_episode, packed_rubric
from rubricgrade.rewards.unfinished import unfinished
from rubricgrade.rubric import Rubric
from rubricgrade.trajectory import Trajectory

if TYPE_CHECKING:
    import aiohttp

LOG = logging.getLogger(__name__)
TOKEN = "RUBRICGRADE_SERVER_TOKEN"  # noqa: S105 - a variable's name
AGAIN = frozenset({429, 502, 503, 504})
"""Answers that say: later."""
FAULT = 500
OK = 200
SHORTEST, LONGEST = 0.2, 10.0
"""Seconds between two attempts where the server names none: doubled each time."""
ERRORS: Mapping[str, type[InputError]] = {
    "trajectory_invalid": TrajectoryError,
    "rubric_invalid": RubricError,
    "bad_request": InputError,
}

Location = str | PathLike[str]


class RewardServerError(RubricgradeError, RuntimeError):
    """The server does not take the request, whatever it holds: wrong token, no such rubric, another version.

    Attributes:
        status: The HTTP status of its answer.
    """

    exit_code = 3

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status

    def __reduce__(self) -> tuple[type[RewardServerError], tuple[str, int]]:
        return type(self), (str(self), self.status)


class _Again(Exception):
    """No answer yet; attributes: seconds to wait, None where the server names none."""

    def __init__(self, reason: str, seconds: float | None = None) -> None:
        super().__init__(reason)
        self.seconds = seconds


class RewardClient:
    """A reward server (``rubricgrade serve``). Can be used in any thread and event loop.

    Args:
        url: The server's address, such as ``http://10.0.0.7:8000``.
        token: The server's bearer token; default: the environment's ``RUBRICGRADE_SERVER_TOKEN``.
        timeout: Seconds for one call, be it one episode or many; attempts and waiting included.
        concurrency: Requests at a time of one `grade_all`.

    Raises:
        InputError: The address is none, or a limit is not positive.
    """

    def __init__(self, url: str, *, token: str | None = None, timeout: float = 600.0, concurrency: int = 256) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError(f"the server's URL is like http://10.0.0.7:8000, not {url!r}")
        if concurrency < 1 or not (math.isfinite(timeout) and timeout > 0):
            raise InputError("concurrency is at least 1 and timeout more than 0 seconds")
        self._url = url.rstrip("/")
        self._token = token or os.environ.get(TOKEN)
        self._timeout = timeout
        self._concurrency = concurrency
        self._told = False
        self._sessions = PerLoop(_session, lambda session: session.close())

    def __reduce__(self) -> tuple[Callable[..., RewardClient], tuple[str, dict[str, Any]]]:
        given = {"token": self._token, "timeout": self._timeout, "concurrency": self._concurrency}
        return _client, (self._url, given)

    async def agrade(
        self,
        trajectory: Trajectory | Location,
        rubric: Rubric | Location,
        *,
        vars: Mapping[str, Any] | None = None,  # noqa: A002 - the rubric's own word
        ungated: bool = False,
        timeout: float | None = None,  # noqa: ASYNC109 - the server is told of it
    ) -> Grade:
        """Grade one trajectory.

        Args:
            trajectory: As in `rubricgrade.agrade`; its workspace and world are sent along.
            rubric: A text names one of the server's rubrics. A `Rubric`, or a path that is no text, is sent with the
                request, which a server has to allow.
            vars: Values of the rubric's variables.
            ungated: Decide the criteria also when a gate has failed.
            timeout: Seconds for the call; default: the client's.

        Returns:
            The grade. Where none is to be had in time it is ``ungraded`` with the cause ``timeout``, ``stopped`` or
            ``fault``, like any other fault of the grader.

        Raises:
            InputError: The trajectory or the rubric can't be used; nothing was spent.
            RewardServerError: The server takes no such request.
        """
        grades = await self.agrade_all([trajectory], rubric, vars=vars, ungated=ungated, timeout=timeout)
        return grades[0]

    async def agrade_all(
        self,
        trajectories: Sequence[Trajectory | Location],
        rubric: Rubric | Location,
        *,
        vars: Mapping[str, Any] | None = None,  # noqa: A002 - the rubric's own word
        ungated: bool = False,
        timeout: float | None = None,  # noqa: ASYNC109 - the server is told of it
        on_grade: Callable[[int, Grade], None] | None = None,
    ) -> list[Grade]:
        """Grade many trajectories; arguments as in `agrade`, and a few more.

        Args:
            trajectories: All are loaded before the first is sent.
            rubric: One rubric for all.
            vars: As in `agrade`.
            ungated: As in `agrade`.
            timeout: Seconds for all of them together.
            on_grade: Called with the place in the list and the grade, as each is done.

        Returns:
            The grades, in the order of the trajectories.

        Raises:
            InputError: A trajectory or the rubric can't be used.
            RewardServerError: The server takes no such request.
        """
        until = asyncio.get_running_loop().time() + (timeout or self._timeout)
        subject, named = await asyncio.to_thread(_wire, rubric, vars)
        asked = {"rubric": named, "ungated": ungated, "vars": dict(vars or {}) if isinstance(named, str) else {}}
        loaded = the_trajectories(trajectories)
        slots = asyncio.Semaphore(self._concurrency)

        async def one(index: int, trajectory: Trajectory) -> Grade:
            async with slots:
                grade = await self._grade(trajectory, subject, asked, until)
            if on_grade is not None:
                on_grade(index, grade)
            return grade

        return list(await together(one(index, each) for index, each in enumerate(loaded)))

    def grade(self, trajectory: Trajectory | Location, rubric: Rubric | Location, **options: Any) -> Grade:
        """`agrade` for code that is not async; in a running event loop it blocks that loop."""
        return wait_for(lambda: self.agrade(trajectory, rubric, **options))

    def grade_all(
        self, trajectories: Sequence[Trajectory | Location], rubric: Rubric | Location, **options: Any
    ) -> list[Grade]:
        """`agrade_all` for code that is not async."""
        return wait_for(lambda: self.agrade_all(trajectories, rubric, **options))

    async def _grade(self, trajectory: Trajectory, rubric: Subject, asked: Mapping[str, Any], until: float) -> Grade:
        fields = {**asked, **(await asyncio.to_thread(packed_episode, trajectory))}
        name = secrets.token_hex(16)
        reason, pause = f"{self._url} has not answered in time", SHORTEST
        try:
            async with asyncio.timeout_at(until):
                while True:
                    try:
                        return await self._post(name, fields, trajectory, rubric, until)
                    except _Again as again:
                        reason = str(again)
                        # Apart from each other, so that those who were refused together don't come back together.
                        wait = again.seconds if again.seconds is not None else pause
                        await asyncio.sleep(wait * random.uniform(1, 1.5))  # noqa: S311 - no secret
                        pause = min(LONGEST, 2 * pause)
                        if pause == LONGEST and not self._told:
                            self._told = True
                            left = until - asyncio.get_running_loop().time()
                            LOG.warning("%s; asking again for up to %.0f s (timeout=)", reason, left)
        except TimeoutError:
            return unfinished(trajectory, rubric, "timeout", reason)

    async def _post(
        self, name: str, fields: Mapping[str, Any], trajectory: Trajectory, rubric: Subject, until: float
    ) -> Grade:
        import aiohttp  # noqa: PLC0415 - it takes a third of a second, which is only due once there is a request

        left = until - asyncio.get_running_loop().time()
        # A little earlier than we stop listening, so that the server's own answer still gets here.
        body = json.dumps({**fields, "timeout": max(0.01, left - min(1.0, left / 10))}, allow_nan=False).encode()
        headers = {"content-type": "application/json", REQUEST: name}
        if self._token is not None:
            headers["authorization"] = f"Bearer {self._token}"
        session = await self._sessions.get()
        try:
            # Where a redirect leads to was not named by the caller, who trusts its grades.
            sent = session.post(f"{self._url}/grade", data=body, headers=headers, allow_redirects=False)
            async with sent as response:
                status, after, said = response.status, response.headers.get("retry-after"), await response.read()
                to = response.headers.get(REQUEST, name)  # what stands between may have dropped it
        except aiohttp.ClientError as error:
            # Asking again is safe: a grade that was lost on its way is made again, from the verdict cache.
            raise _Again(f"{self._url} can't be reached: {error or type(error).__name__}") from error
        if status == OK:
            grade = _read(said, self._url)
            if (other := "request" if to != name else _other(grade, trajectory, rubric)) is None:
                return grade
            message = f"{self._url} answered with the grade of another {other}; is there a proxy or a cache between?"
            return unfinished(trajectory, rubric, "fault", message)
        code, message, faults = _error(said)
        if status in AGAIN:
            seconds = float(after) if after is not None and after.isdecimal() else None
            raise _Again(f"{self._url} answered {status}: {message}", seconds)
        if status == FAULT:
            return unfinished(trajectory, rubric, "fault", message)
        if code in ERRORS:
            raise ERRORS[code](faults or message)
        raise RewardServerError(f"{self._url} answered {status}: {message}", status)


def _client(url: str, given: dict[str, Any]) -> RewardClient:
    return RewardClient(url, **given)


def _session() -> aiohttp.ClientSession:
    import aiohttp  # noqa: PLC0415 - as above

    from rubricgrade.chat.in_step import InStep  # noqa: PLC0415 - it imports aiohttp

    # Slots are the caller's; a pool with a limit of its own would only be a second queue.
    return aiohttp.ClientSession(connector=InStep(limit=0), timeout=aiohttp.ClientTimeout(total=None))


def _read(said: bytes, url: str) -> Grade:
    try:
        return Grade.model_validate_json(said)
    except ValidationError as error:
        told = first_misfit(error)
        message = f"{url} answered with what is no grade: {told}; both sides need the same version"
        raise RewardServerError(message, OK) from None


def _other(grade: Grade, trajectory: Trajectory, rubric: Subject) -> str | None:
    """What a grade is of that nobody asked for: what stands between may answer with another request's."""
    if grade.trajectory.hash != trajectory.hash:
        return f"trajectory ({grade.trajectory.id!r:.80})"
    # Of a rubric that the server has we know no more than the server's name for it.
    if rubric.hash and grade.rubric.hash != rubric.hash:
        return f"rubric ({grade.rubric.id!r:.80})"
    return None


def _error(said: bytes) -> tuple[str, str, list[Fault]]:
    """Code, message and faults of an error; of what is none, a part of it as the message."""
    try:
        error = json.loads(said)["error"]
        return error["code"], error["message"], [Fault(**fault) for fault in error["faults"]]
    except (ValueError, TypeError, KeyError):
        return "", said[:200].decode(errors="replace"), []


def _wire(rubric: Rubric | Location, values: Mapping[str, Any] | None) -> tuple[Subject, str | dict[str, str]]:
    """What is known of a rubric, and what the request says of it: its name, or all of it."""
    if isinstance(rubric, str):
        return Subject(id=rubric, hash=""), rubric
    if not isinstance(rubric, Rubric):
        rubric = load_rubric(rubric, vars=values)
    return Subject(id=rubric.id, hash=rubric.hash, version=rubric.version), packed_rubric(rubric)
