"""Casting votes on a question: from the cache or by a call, alone or with others, and by a stronger judge in doubt."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

from rubricgrade import digest
from rubricgrade.chat.contract import Chat, Request
from rubricgrade.errors import JudgeError, StoreError
from rubricgrade.judge import wording
from rubricgrade.judge.asking import ROOM, Cast, cast_vote
from rubricgrade.judge.batching import Batch, cast_batch
from rubricgrade.judge.case import Asking, prompt_hash
from rubricgrade.judge.gathering import Gathering, Group
from rubricgrade.judge.memory import Memory
from rubricgrade.judge.options import JudgeOptions
from rubricgrade.judge.options import Votes as Wanted
from rubricgrade.judge.panel import Ballot, ballots, doubts
from rubricgrade.judge.question import Question
from rubricgrade.judge.verdict import Votes
from rubricgrade.judge.view import View

NO_JUDGE = "no judge is configured: name a model, or give recorded verdicts"
NOT_RECORDED = (
    "offline, and no verdict on this question is recorded: write the unanswered questions out, fill in answer, "
    "reasoning, evidence and recorded_by (hand: NAME), and give the file as recorded verdicts"
)
_MORE = 400  # tokens that a reply may take for every further question in it


class Polling:
    """Of one grade.

    Args:
        chat: Asks models; None if nobody may be asked.
        memory: Knows what was decided before.
        options: Of the caller.
    """

    def __init__(self, chat: Chat | None, memory: Memory, options: JudgeOptions) -> None:
        self._chat = chat
        self._memory = memory
        self._options = options
        self.gathering: Gathering[Asking] = Gathering()
        self._writes: list[asyncio.Future[Exception | None]] = []

    async def votes(self, asking: Asking, models: tuple[str, ...], wanted: Wanted, room: int) -> Votes:
        """All votes on a question.

        Args:
            asking: The question.
            models: The panel.
            wanted: Votes of each.
            room: Characters that a prompt may have.

        Raises:
            JudgeError: The question does not fit beside the record.
        """
        length = prompt_length(len(asking.view.text), asking.question)
        if length > room:
            raise JudgeError(f"judge input too long: {length:,} characters, room for {room:,}")
        first, more = ballots(models, wanted)
        if len(first) == 1:
            casts = [await self._one(asking, first[0], room, 1)]
        else:
            casts = list(await asyncio.gather(*(self._one(asking, ballot, room, len(first)) for ballot in first)))
        if more is not None and len({cast.answer for cast in casts}) > 1:
            casts.append(await self._one(asking, more, room, 1))
        panel = len(casts)
        reason = doubts(casts, asking.view.record.suspicions) if self._options.escalate else None
        if reason is not None and self._options.escalate is not None:
            casts.append(await self._one(replace(asking, batch=1), Ballot(self._options.escalate, 0), room, 1))
        return Votes(tuple(casts), panel, reason)

    async def written(self) -> tuple[str, ...]:
        """Wait until all that was decided so far is kept.

        Returns:
            What went wrong: a full disk is no reason to lose a verdict.
        """
        self._write()
        writes, self._writes = self._writes, []
        faults = [fault for each in writes if (fault := await each) is not None]
        if defect := next((fault for fault in faults if not isinstance(fault, StoreError)), None):
            raise defect
        return tuple(dict.fromkeys(map(str, faults)))

    def request(
        self, model: str, record: View | str, text: str, schema: Mapping[str, Any], more_tokens: int = 0
    ) -> Request:
        """A request about a record, which other requests share.

        Args:
            model: Who is asked.
            record: The first message.
            text: The question.
            schema: Of the reply.
            more_tokens: How much longer than usual the reply may be.
        """
        options = self._options
        return Request(
            model=model,
            messages=(
                {"role": "system", "content": wording.SYSTEM},
                {"role": "user", "content": record if isinstance(record, str) else record.content, "cache": True},
                {"role": "user", "content": text},
            ),
            schema=schema,
            max_tokens=options.max_tokens or ROOM + more_tokens,
            temperature=options.temperature,
            timeout=options.timeout,
            cache_key=f"rubricgrade-{(_hash(record) if isinstance(record, str) else record.hash)[-24:]}",
        )

    async def _one(self, asking: Asking, ballot: Ballot, room: int, of: int) -> Cast:
        key = self._memory.vote_key(asking, ballot)
        cached, notes = self._memory.cached(key, asking)
        if cached is not None:
            return cached
        if self._chat is None or not ballot.model:
            self._memory.miss(asking.criterion, asking.item, asking.question)
            return Cast(None, cause="no_judge", message=NOT_RECORDED if self._options.offline else NO_JUDGE)
        if asking.batch > 1:
            group = (asking.view.hash, ballot.model, ballot.index, asking.batch, room)
            ask = partial(self._together, self._chat)
            cast = await self.gathering.vote(group, asking, asking.question.identity, ask)
        else:
            cast = await self._alone(self._chat, asking, ballot)
        self._memory.keep(key, asking, ballot, cast, of)
        # It is paid for, so it waits for no slower one: the grade may be cancelled, or the process killed.
        self._write()
        return replace(cast, notes=(*cast.notes, *notes)) if notes else cast

    def _write(self) -> None:
        if written := self._memory.flush():
            self._writes.append(written)

    async def _alone(self, chat: Chat, asking: Asking, ballot: Ballot) -> Cast:
        view, question = asking.view, asking.question
        self._memory.sent(asking.prompt, view, question.text)
        request = self.request(ballot.model, view, question.text, question.schema)
        return await cast_vote(chat.ask, request, question, view, self._options)

    async def _together(self, chat: Chat, group: Group, askings: Sequence[Asking]) -> Sequence[Cast]:
        _, model, index, _, room = group
        view = askings[0].view
        if len(askings) == 1:
            return [await self._alone(chat, askings[0], Ballot(model, index))]
        batch = Batch(tuple(asking.question for asking in askings))
        if len(wording.SYSTEM) + len(view.text) + len(batch.text) > room:
            half = len(askings) // 2
            return [
                *await self._together(chat, group, askings[:half]),
                *await self._together(chat, group, askings[half:]),
            ]
        prompt = prompt_hash(view, batch.text)
        self._memory.sent(prompt, view, batch.text)
        request = self.request(model, view, batch.text, batch.schema, _MORE * (len(askings) - 1))
        casts = await cast_batch(chat.ask, request, batch, view, self._options)
        return [replace(cast, prompt=prompt) for cast in casts]


@lru_cache(maxsize=16)
def _hash(text: str) -> str:
    return digest.of_bytes(text.encode())


def prompt_length(view: int, question: Question) -> int:
    """Characters of a prompt that asks a question about a view of so many."""
    return len(wording.SYSTEM) + view + len(question.text)
