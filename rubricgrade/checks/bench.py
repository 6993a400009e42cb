"""Where the checks of one grade are carried out: each once, its result shared, its sandboxes opened on first need."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

from rubricgrade.checks.checker import Checker
from rubricgrade.checks.dialogue import Attempt, News, Trouble, converse
from rubricgrade.checks.messages import Listed, Read, Reading, clean
from rubricgrade.checks.outcome import ItemsFault, Outcome
from rubricgrade.checks.places import Places
from rubricgrade.checks.request import compares, request_for
from rubricgrade.checks.settling import Given, Settled, settle
from rubricgrade.checks.verdict import Uses, outcome_of, picked
from rubricgrade.errors import (
    CheckError,
    RubricError,
    SandboxError,
    SandboxLost,
    SandboxUnavailable,
    TemplateError,
    TrajectoryError,
)
from rubricgrade.evidence import Document
from rubricgrade.result import Cause, Isolation
from rubricgrade.rubric import Check, Rubric
from rubricgrade.sandbox import Provider, Template, failing
from rubricgrade.trajectory import Trajectory

AT_ONCE = max(2, min(4, os.cpu_count() or 1))
"""Checks that run at the same time: more would only take each other's time, and every check has a limit of time."""
ITEMS_SECONDS = 120.0
DOCUMENTS_SECONDS = 300.0
"""For all documents of one view, however many readers they need; a file that has begun then has `LAST_SECONDS`."""
LAST_SECONDS = 30.0
DOCUMENTS_CHARACTERS = 16_000_000
"""Of the text of all documents of one view."""
MOST_DEATHS = 20
"""Documents that may kill two readers each before the rest is given up."""


class Bench:
    """The checks of one grade.

    Args:
        trajectory: What is graded; its workspace and world are treated as hostile.
        rubric: Whose checks they are.
        provider: Makes the sandboxes.
        template: What the agent's code runs in; default: the base template. An error stands for one that can't be had:
            the checks that run the agent's code then fail with it.
    """

    def __init__(
        self,
        trajectory: Trajectory,
        rubric: Rubric,
        provider: Provider,
        template: Template | TemplateError | None = None,
    ) -> None:
        self._trajectory = trajectory
        self._rubric = rubric
        self._places = Places(trajectory, rubric, provider, template)
        self._uses = Uses(rubric)
        self._checker: Checker | None = None
        self._opening = asyncio.Lock()
        self._room = asyncio.Semaphore(AT_ONCE)
        self._running: dict[int, asyncio.Task[Outcome]] = {}
        # The keys above are identities: what they stand for must stay alive.
        self._checks: list[Check] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        async with AsyncExitStack() as held:  # all of it is closed, also when we are cancelled here
            held.push_async_callback(self._places.close)
            held.push_async_callback(self._close_checker)
            for task in self._running.values():
                task.cancel()
            await asyncio.gather(*self._running.values(), return_exceptions=True)

    async def _close_checker(self) -> None:
        if self._checker is not None:
            await self._checker.close()

    @property
    def isolation(self) -> Isolation:
        """What confined the checks; nothing as long as none was run."""
        return self._places.isolation

    async def run(self, check: Check, *, pick: str | None = None) -> Outcome:
        """Carry out a check, or hand back what came of it when it was run before.

        Args:
            check: One of the rubric's; the same object is run once.
            pick: The field of its result that counts.
        """
        key = id(check)
        if key not in self._running:
            self._checks.append(check)
            self._running[key] = asyncio.create_task(self._run(check))
        # One caller that gives up does not take the result from the others.
        outcome = await asyncio.shield(self._running[key])
        return picked(outcome, self._uses.of(check, pick), pick)

    async def items(self, function: str) -> tuple[str, ...]:
        """The items that an author's function lists for a ``for_each``.

        Raises:
            ItemsFault: It could not.
        """
        request = request_for(self._rubric, {"do": "items", "function": function})
        settled = await self._settled(request, ITEMS_SECONDS)
        if isinstance(settled, Outcome):
            raise ItemsFault("grader", settled.message, settled.cause)
        if (trouble := settled.trouble) is not None:
            by_agent = trouble.origin == "agent"
            cause = None if by_agent else trouble.cause
            raise ItemsFault("agent" if by_agent else "grader", trouble.message, cause, trouble.raised)
        said = settled.attempt.said
        return tuple(said.items) if isinstance(said, Listed) else ()

    async def documents(
        self, globs: Sequence[str], *, world: Sequence[str] = (), pictures: bool = False
    ) -> tuple[Document, ...]:
        """The text of files for a judge, extracted in the checker's sandbox.

        A file that can't be read is a document without text and with a note that says why; so is one that kills its
        reader twice, after which the rest is read by a new one. What can't be read within the limits is `withheld`.

        Args:
            globs: Files of the workspace.
            world: Files of the world.
            pictures: Whether pages of PDF files are to be drawn, besides.

        Raises:
            SandboxError: There is no sandbox to read them in.
            CheckError: They can't be read by no fault of the agent's.
        """
        found: list[Document] = []
        globs = globs if self._trajectory.workspace is not None else ()
        world = world if self._trajectory.world is not None else ()
        if not globs and not world:
            return ()
        end = time.monotonic() + DOCUMENTS_SECONDS
        fresh, suspect = False, -1
        for _ in range(2 * MOST_DEATHS):
            skip = len(found)  # files by their number: a name may hold what no message can
            files = {"globs": list(globs), "world_globs": list(world), "skip": skip}
            seconds = max(0.0, end - time.monotonic())
            left = DOCUMENTS_CHARACTERS - sum(len(document.text) for document in found)
            body = {"do": "documents", **files, "seconds": seconds, "characters": left, "pictures": pictures}
            reading: list[Reading] = []

            def hear(news: Reading | Read, reading: list[Reading] = reading) -> None:
                if isinstance(news, Reading):
                    reading.append(news)
                else:
                    found.append(Document(**news.model_dump(exclude={"op", "pictures"}), pictures=news.pictures))

            with _on_this_host():
                attempt = await self._attempt(
                    request_for(self._rubric, body), seconds + LAST_SECONDS, fresh=fresh, hear=hear
                )
            trouble, fresh = attempt.trouble, True
            if trouble is None:
                return tuple(found)
            if trouble.origin != "grader" and len(found) > suspect:
                suspect = len(found)  # the next one, which may have had no part in it: once is no proof
                continue
            if trouble.by_host:
                raise SandboxLost(f"documents can't be read: {trouble.message}", by_host=True)
            if trouble.origin == "grader" or len(reading) == len(found) - skip:
                raise CheckError(f"documents can't be read: {trouble.message}")
            last = reading[-1]
            note = f"could not be read: {trouble.message}"
            found.append(Document(last.path, "", note, world=last.world, complete=False, withheld=True))
        return tuple(found)

    async def _run(self, check: Check) -> Outcome:
        if check.not_ is not None:
            inner = await self.run(check.not_)
            return _turned(inner)
        began = time.monotonic()
        try:
            request = request_for(self._rubric, {"do": "check"}, check, any_number=not self._uses.of(check, None).plain)
        except (RubricError, CheckError) as error:
            return Outcome(check.kind, message=clean(error), fault="grader", cause="check_error")
        settled = await self._settled(request, check.timeout)
        if isinstance(settled, Outcome):
            return replace(settled, kind=check.kind, seconds=time.monotonic() - began)
        outcome = outcome_of(check.kind, settled, self._uses.worst_high(check), compares=compares(request))
        return replace(outcome, seconds=time.monotonic() - began)

    async def _settled(self, request: Mapping[str, Any], seconds: float) -> Settled | Outcome:
        """Carry out a request until its trouble has an owner; an `Outcome` when there is no sandbox for it."""

        async def attempt(fresh: bool, given: Given) -> Attempt:
            return await self._attempt(request, seconds, fresh=fresh, given=given)

        try:
            with _on_this_host():
                return await settle(attempt, starts_empty=self._places.starts_empty)
        except (SandboxError, TemplateError, TrajectoryError) as error:
            cause: Cause = "sandbox_unavailable" if isinstance(error, SandboxUnavailable) else "sandbox_lost"
            if isinstance(error, TemplateError):
                cause = "template_missing"
            if isinstance(error, TrajectoryError):
                cause = "trajectory_invalid"
            return Outcome("", message=clean(error), fault="grader", cause=cause)

    async def _attempt(
        self,
        request: Mapping[str, Any],
        seconds: float,
        *,
        fresh: bool,
        given: Given = "all",
        hear: News | None = None,
    ) -> Attempt:
        has = {"workspace": self._trajectory.workspace is not None, "world": self._trajectory.world is not None}
        async with self._room:
            checker: Checker | None = None
            solution = self._places.solution_of(given, seconds=seconds)
            try:
                checker = await (self._opened(given) if fresh else self._shared())
                return await converse(checker, solution, {**request, **has}, seconds=seconds, hear=hear)
            except SandboxLost as error:
                told = str(error) if error.by_host else f"a sandbox died: {error}"
                trouble = Trouble("unclear", "lost", told, cause="sandbox_lost", by_host=error.by_host)
                if checker is self._checker:
                    self._checker = None
                return Attempt(None, trouble, frozenset(), ran_agents_code=solution.used)
            finally:
                await solution.close()
                if checker is not None and checker is not self._checker:
                    await checker.close()

    async def _shared(self) -> Checker:
        """The checker's sandbox that all first attempts share."""
        async with self._opening:
            if self._checker is None:
                self._checker = await self._opened("all")
            return self._checker

    async def _opened(self, given: Given) -> Checker:
        return Checker(await self._places.checker(given))


@contextmanager
def _on_this_host() -> Generator[None]:
    """Raise what the host fails in as that: what the agent's files can cause has a name of its own by then."""
    try:
        with failing.unavailable():
            yield
    except OSError as error:
        raise SandboxUnavailable(f"this host fails: {error}") from error


def _turned(inner: Outcome) -> Outcome:
    """``not``: one minus the value; a fault stays whose it is."""
    if inner.value is None:
        return inner
    return replace(inner, value=1 - inner.value, message=f"not: {inner.message}")
