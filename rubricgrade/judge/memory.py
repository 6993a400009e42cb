"""What was decided before: recorded verdicts, the cache, and a list of the questions that neither could answer."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from pydantic import TypeAdapter, ValidationError

from rubricgrade import digest
from rubricgrade.chat.routing import base_of
from rubricgrade.errors import StoreError
from rubricgrade.evidence import Sources
from rubricgrade.judge import wording
from rubricgrade.judge.asking import Cast, uncarried
from rubricgrade.judge.case import SYSTEM_HASH, Asking, Case
from rubricgrade.judge.options import JudgeOptions
from rubricgrade.judge.panel import Ballot
from rubricgrade.judge.question import Question
from rubricgrade.judge.quoting import gap_of, look_up
from rubricgrade.judge.record import Record
from rubricgrade.judge.reply import Quote
from rubricgrade.judge.verdict import Judged, remembered
from rubricgrade.judge.view import View
from rubricgrade.judge.wording import PROMPT_VERSION
from rubricgrade.rubric import Criterion, Rubric
from rubricgrade.store.verdicts import Kept, RecordedQuote, Verdict, VerdictCache, read_verdicts
from rubricgrade.trajectory import Trajectory
from rubricgrade.version import source_hash

_JUDGED = TypeAdapter(Judged)
_KEPT_BACK = 5.0  # seconds that verdicts may wait to be written together


class Memory:
    """Of one grade.

    Raises:
        InputError: A file of recorded verdicts can't be used.
    """

    def __init__(
        self, trajectory: Trajectory, rubric: Rubric, options: JudgeOptions, cache: VerdictCache | None
    ) -> None:
        self._trajectory = trajectory
        self._rubric = rubric
        self._options = options
        self._cache = cache
        self._recorded: dict[str, list[Verdict]] = {}
        self._missing: dict[str, Verdict] = {}
        self._votes: list[Verdict] = []
        self._conclusions: dict[str, str] = {}
        self._troubled = False
        self._bases: dict[str, str | None] = {}
        self._prompts: dict[str, Mapping[str, str]] = {}
        self._written = time.monotonic()
        for path in options.verdicts:
            for verdict in read_verdicts(path):
                votes = self._recorded.setdefault(verdict.question, []) if not verdict.open else []
                # A line that stands twice is one vote.
                if not any(one.of_vote == verdict.of_vote and one.says_the_same_as(verdict) for one in votes):
                    votes.append(verdict)

    @property
    def recorded(self) -> bool:
        """Whether there are recorded verdicts at all."""
        return bool(self._recorded)

    @property
    def unanswered(self) -> tuple[Verdict, ...]:
        """A skeleton for every question that was missed."""
        return tuple(self._missing.values())

    def recall(self, question: Question, record: Record) -> list[Cast]:
        """Every recorded verdict on a question; several are votes. Their quotes are looked up in the whole record."""
        return [self._cast(verdict, question, record.sources) for verdict in self._recorded.get(question.identity, ())]

    def cached(self, asking: Asking, ballot: Ballot) -> tuple[Cast | None, tuple[str, ...]]:
        """The vote as it was cast before, if it still counts; and what went wrong with the cache."""
        if self._cache is None:
            return None, ()
        try:
            verdict = self._cache.get(self._key(asking, ballot))
        except StoreError as error:
            self._troubled = True
            return None, (str(error),)
        if verdict is None:
            return None, ()
        cast = self._cast(verdict, asking.question, asking.view.sources, cached=True)
        return (None if cast.answer is None else cast), ()

    def concluded(self, case: Case, room: int) -> Judged | None:
        """What was decided before, by this very code, in the same circumstances; None if nothing was.

        Args:
            case: What is to be decided.
            room: Characters that a prompt may have.
        """
        try:
            line = None if self._cache is None else self._cache.conclusion(self._conclusion_key(case, room))
            judged = None if line is None else _JUDGED.validate_json(line)
        except (StoreError, ValidationError):
            # The votes are asked for next, and say what is wrong with the cache.
            return None
        # Also for a line that was damaged or changed: it must be a verdict that this question can have.
        names, values = case.question.names, case.question.values
        possible: set[tuple[str, float | None]] = {(names[choice], value) for choice, value in values.items()}
        if judged is None or judged.cause or (judged.verdict, judged.value) not in possible:
            return None
        return remembered(judged)

    def conclude(self, case: Case, room: int, judged: Judged) -> None:
        """Keep a verdict that nothing is open about; it is written with the votes, by `flush`."""
        if self._cache is not None and judged.value is not None and not self._troubled:
            self._conclusions[self._conclusion_key(case, room)] = _JUDGED.dump_json(judged).decode()

    def keep(self, asking: Asking, ballot: Ballot, cast: Cast) -> None:
        """Keep a vote; it is written with others, by `flush`."""
        if self._cache is None or cast.answer is None:
            return
        kept = self._skeleton(
            asking.criterion,
            asking.item,
            asking.question,
            answer=cast.answer,
            reasoning=cast.reasoning,
            evidence=tuple(RecordedQuote(quote=quote.text, where=quote.where) for quote in cast.quotes),
            recorded_by=ballot.model,
            recorded_at=datetime.now(UTC).isoformat(timespec="seconds"),
            key=self._key(asking, ballot),
            prompt=cast.prompt,
            served=cast.model,
            vote=ballot.index,
            reply=cast.reply,
        )
        self._votes.append(kept)

    def sent(self, prompt: str, view: View, text: str) -> None:
        """Keep what a model is being asked, for people to read later; written by `flush`."""
        if self._cache is not None:
            parts = {SYSTEM_HASH: wording.SYSTEM, view.text_hash: view.text, digest.of_bytes(text.encode()): text}
            self._prompts[prompt] = parts

    async def flush(self, *, all_done: bool) -> tuple[str, ...]:
        """Write what was kept: when nothing is under way any more, and every now and then.

        Args:
            all_done: Nothing is under way.

        Returns:
            What went wrong: a full disk is no reason to lose a verdict.
        """
        waiting = self._votes or self._prompts or self._conclusions
        if self._cache is None or not waiting or not (all_done or time.monotonic() - self._written > _KEPT_BACK):
            return ()
        kept = Kept(self._votes, self._prompts, self._conclusions)
        self._votes, self._prompts, self._conclusions = [], {}, {}
        self._written = time.monotonic()
        try:
            await self._cache.keep_soon(kept)
        except StoreError as error:
            return (str(error),)
        return ()

    def reply(self, key: str) -> tuple[str | None, tuple[str, ...]]:
        """A reply that was kept on the way to a verdict, and what went wrong with the cache."""
        try:
            return (None if self._cache is None else self._cache.reply(self._aside_key(key))), ()
        except StoreError as error:
            return None, (str(error),)

    def keep_reply(self, key: str, text: str) -> tuple[str, ...]:
        """Keep such a reply. Returns what went wrong."""
        try:
            if self._cache is not None:
                self._cache.keep_reply(self._aside_key(key), text)
        except StoreError as error:
            return (str(error),)
        return ()

    def miss(self, criterion: Criterion, item: str | None, question: Question) -> None:
        """Note that nobody could answer."""
        self._missing.setdefault(question.identity, self._skeleton(criterion, item, question))

    def _key(self, asking: Asking, ballot: Ballot) -> str:
        # Who else is asked in the same call is left out: a criterion that changes leaves the others' verdicts alone.
        model = f"{ballot.model} {self._base(ballot.model)}"
        return digest.of_bytes(f"{self._settings} {asking.prompt} {ballot.index} {asking.batch} {model}".encode())

    def _conclusion_key(self, case: Case, room: int) -> str:
        bases = [self._base(model) for model in (*case.models, self._options.escalate or "")]
        return digest.of_bytes(f"{self._code_and_options} {room} {bases} {case.identity}".encode())

    @cached_property
    def _code_and_options(self) -> str:
        # How a record is shown and a quote is looked up is code, and a fault in it must not outlive its mending.
        return digest.of_value([source_hash(), self._options.identity()])

    def _aside_key(self, key: str) -> str:
        return digest.of_bytes(f"{self._settings} aside {key}".encode())

    @cached_property
    def _settings(self) -> str:
        """Hash of whatever can change an answer besides the prompt and the model."""
        options = self._options
        return digest.of_value(
            [
                PROMPT_VERSION,
                options.temperature,
                options.max_tokens,
                options.style,
                dict(options.extra),
                # An answer that counted without a quote must not stand in the way of one that has it.
                options.unverified,
            ]
        )

    def _base(self, model: str) -> str | None:
        """Where a model is asked, also if the environment says so: another server is another judge."""
        if model not in self._bases:
            self._bases[model] = base_of(model, self._options.api_base)
        return self._bases[model]

    def _skeleton(self, criterion: Criterion, item: str | None, question: Question, **filled: Any) -> Verdict:
        return Verdict(
            question=question.identity,
            rubric=self._rubric.id,
            criterion=criterion.id,
            asked=question.wording,
            item=item,
            trajectory=self._trajectory.id,
            **filled,
        )

    def _cast(self, verdict: Verdict, question: Question, sources: Sources, *, cached: bool = False) -> Cast:
        quotes = tuple(Quote(each.quote, each.where) for each in verdict.evidence)
        evidence = look_up(quotes, sources)
        answer = verdict.answer
        cast = Cast(
            answer=answer,
            reasoning=verdict.reasoning,
            quotes=quotes,
            evidence=evidence,
            model=verdict.served or verdict.recorded_by,
            reply=verdict.reply,
            cached=cached,
            recorded_by=None if cached else verdict.recorded_by,
            prompt=verdict.prompt,
        )
        if answer not in (*question.choices, "cannot_tell"):
            message = f'the recorded answer "{answer}" is none of {", ".join(question.choices)}, cannot_tell'
            return replace(cast, answer=None, cause="judge_unparseable", message=message)
        gap = gap_of(answer, evidence, question, strict=self._options.strict_evidence)
        return cast if gap is None else uncarried(cast, gap, self._options, f'"{answer}" is recorded, but')
