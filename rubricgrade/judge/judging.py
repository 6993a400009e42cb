"""Judging one trajectory with one rubric: criteria in, verdicts out; recorded, cached or asked, in this order."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

from rubricgrade import digest, errors
from rubricgrade.chat.contract import Chat, Reply, Request
from rubricgrade.evidence import Document
from rubricgrade.judge import wording
from rubricgrade.judge.asking import ROOM, Cast, cast_vote, cause_of
from rubricgrade.judge.memory import Asking, Memory
from rubricgrade.judge.options import JudgeOptions, Votes
from rubricgrade.judge.question import Question, make_question
from rubricgrade.judge.verdict import Judged, concluded, opened
from rubricgrade.judge.view import Sight, View, make_view, sight_of
from rubricgrade.result import Cause
from rubricgrade.rubric import Criterion, Judge, Rubric
from rubricgrade.store.verdicts import Verdict, VerdictCache
from rubricgrade.trajectory import Trajectory

_VIEW_SHARE = 0.75  # of a prompt's characters; the rest is for the question

_NO_JUDGE = "no judge is configured: name a model, or give recorded verdicts"
_NOT_RECORDED = (
    "offline, and no verdict on this question is recorded: write the unanswered questions out, fill in answer, "
    "reasoning, evidence and recorded_by, and give the file as recorded verdicts"
)


class Documents(Protocol):
    """Gives the text of files by globs over the workspace and over the world."""

    async def __call__(self, globs: Sequence[str], *, world: Sequence[str] = ()) -> tuple[Document, ...]:
        """Extract them. Raises an error of ours when that fails for a reason of ours."""
        ...


@dataclass(slots=True)
class _Shared:
    """A view and what its criteria share: who comes first warms the provider's cache, alone."""

    rendering: asyncio.Lock = field(default_factory=asyncio.Lock)
    view: View | None = None
    fault: errors.RubricgradeError | None = None
    begun: bool = False
    replied: asyncio.Event = field(default_factory=asyncio.Event)


class Judging:
    """Decides the judged criteria of one grade.

    Args:
        trajectory: What is judged.
        rubric: Whose criteria.
        options: Of the caller.
        chat: Asks models; None if no judge is configured, or none may be asked.
        verdicts: The cache; None for none.
        documents: Gives the text of files; None if there can be none.

    Raises:
        InputError: A file of recorded verdicts can't be used.
    """

    def __init__(
        self,
        trajectory: Trajectory,
        rubric: Rubric,
        options: JudgeOptions,
        *,
        chat: Chat | None = None,
        verdicts: VerdictCache | None = None,
        documents: Documents | None = None,
    ) -> None:
        self._trajectory = trajectory
        self._rubric = rubric
        self._options = options
        self._chat = None if options.offline else chat
        self._memory = Memory(trajectory, rubric, options, verdicts)
        self._documents = documents
        self._shared: defaultdict[Sight, _Shared] = defaultdict(_Shared)

    @property
    def unanswered(self) -> tuple[Verdict, ...]:
        """A skeleton for every question that had no verdict because no model could be asked."""
        return self._memory.unanswered

    async def decide(self, criterion: Criterion, item: str | None = None) -> Judged:
        """Decide a criterion, or one item of it.

        Args:
            criterion: A judged one.
            item: Of a `for_each`.

        Returns:
            The verdict. What goes wrong on our side leaves it open, with a cause.
        """
        settings = (criterion.judge or Judge()).over(self._rubric.judge)
        model = self._options.model or settings.model
        if self._chat is None and not self._options.offline and not self._memory.recorded:
            return opened("no_judge", _NO_JUDGE, model)
        try:
            shared = await self._seen(sight_of(settings, self._trajectory))
            view = shared.view
            if view is None:
                raise shared.fault or errors.JudgeError("the record could not be rendered")
            question = make_question(self._rubric, criterion, settings, view, item=item, style=self._options.style)
            request = self._request(view, question, model or "")
        except errors.RubricgradeError as error:
            return opened(_cause(error), str(error), model)
        prompt = digest.of_value([wording.SYSTEM, view.hash, question.text])
        asking = Asking(criterion, item, view, question, request, prompt)
        if casts := self._memory.recall(asking):
            panel = len(casts)
        else:
            casts, panel = await self._vote(self._options.votes or settings.votes or 1, asking, shared)
        return concluded(question, view, casts, panel, model=model, prompt=prompt)

    async def _seen(self, sight: Sight) -> _Shared:
        shared = self._shared[sight]
        async with shared.rendering:
            if shared.view is None and shared.fault is None:
                try:
                    shared.view = await self._view(sight)
                except errors.RubricgradeError as error:
                    shared.fault = error
        return shared

    async def _view(self, sight: Sight) -> View:
        found: tuple[Document, ...] = ()
        if self._documents is not None and (sight.artifacts or sight.world):
            found = await self._documents(sight.artifacts, world=sight.world)
        return make_view(self._trajectory, sight, found, int(self._options.max_characters * _VIEW_SHARE))

    def _request(self, view: View, question: Question, model: str) -> Request:
        options = self._options
        length = len(wording.SYSTEM) + len(view.text) + len(question.text)
        if length > options.max_characters:
            raise errors.JudgeError(f"judge input too long: {length:,} characters, room for {options.max_characters:,}")
        return Request(
            model=model,
            messages=(
                {"role": "system", "content": wording.SYSTEM},
                {"role": "user", "content": view.text, "cache": True},
                {"role": "user", "content": question.text},
            ),
            schema=question.schema,
            max_tokens=options.max_tokens or ROOM,
            temperature=options.temperature,
            timeout=options.timeout,
            cache_key=f"rubricgrade-{view.hash[-24:]}",
        )

    async def _vote(self, votes: Votes, asking: Asking, shared: _Shared) -> tuple[list[Cast], int]:
        panel = 2 if votes == "adaptive" else votes
        casts = list(await asyncio.gather(*(self._one(asking, index, shared) for index in range(panel))))
        if votes == "adaptive" and len({cast.answer for cast in casts}) > 1:
            casts.append(await self._one(asking, panel, shared))
            panel += 1
        return casts, panel

    async def _one(self, asking: Asking, index: int, shared: _Shared) -> Cast:
        cached, notes = self._memory.cached(asking, index)
        if cached is not None:
            return cached
        if self._chat is None or not asking.request.model:
            self._memory.miss(asking)
            return Cast(None, cause="no_judge", message=_NOT_RECORDED if self._options.offline else _NO_JUDGE)
        notes += self._memory.sent(asking)
        ask = partial(self._warmly, shared, self._chat)
        strict = self._options.strict_evidence
        cast = await cast_vote(ask, asking.request, asking.question, asking.view, strict=strict)
        if cast.answer is not None:
            notes += self._memory.keep(asking, index, cast)
        return replace(cast, notes=(*cast.notes, *notes))

    async def _warmly(self, shared: _Shared, chat: Chat, request: Request) -> Reply:
        if shared.begun:
            await shared.replied.wait()
            return await chat.ask(request)
        shared.begun = True
        try:
            return await chat.ask(request)
        finally:
            shared.replied.set()


def _cause(error: errors.RubricgradeError) -> Cause:
    match error:
        case errors.SandboxUnavailable():
            return "sandbox_unavailable"
        case errors.SandboxError():
            return "sandbox_lost"
        case errors.TemplateError():
            return "template_missing"
        case errors.TrajectoryError():
            return "trajectory_invalid"
        case errors.CheckError():
            return "check_error"
        case errors.JudgeError():
            return cause_of(error)
        case _:
            return "judge_failed"
