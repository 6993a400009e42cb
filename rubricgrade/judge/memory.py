"""What was decided before: recorded verdicts, the cache, and a list of the questions that neither could answer."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property, lru_cache
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
from rubricgrade.store.recorded import RecordedQuote, Verdict, read_recorded
from rubricgrade.store.verdicts import Kept, VerdictCache
from rubricgrade.trajectory import Trajectory
from rubricgrade.version import source_hash

_JUDGED = TypeAdapter(Judged)
_LATER = {"trimmed": 0, "retrieved": 1, "whole": 2, "mapped": 2}  # a view is asked on when earlier ones settled nothing


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
        self._missing: dict[str, Verdict] = {}
        self._votes: list[Verdict] = []
        self._conclusions: dict[str, str] = {}
        self._troubled = False
        self._bases: dict[str, str | None] = {}
        self._prompts: dict[str, Mapping[str, str]] = {}
        self._recorded = [(path, read_recorded(path).answered) for path in options.verdicts]

    @property
    def recorded(self) -> bool:
        """Whether there are recorded verdicts at all."""
        return any(answered for _, answered in self._recorded)

    @property
    def unanswered(self) -> tuple[Verdict, ...]:
        """A skeleton for every question that was missed."""
        return tuple(self._missing.values())

    def recall(self, question: Question, record: Record) -> list[Cast]:
        """Every recorded verdict on a question; several are votes. Their quotes are looked up in the whole record."""
        votes: list[tuple[Verdict, str]] = []
        for path, answered in self._recorded:
            for verdict, line in ((each.verdict, each.line) for each in answered.get(question.identity, ())):
                # A line that stands twice is one vote.
                if not any(one.of_vote == verdict.of_vote and one.says_the_same_as(verdict) for one, _ in votes):
                    votes.append((verdict, f"{path}:{line}: "))
        if not votes:
            return []
        last: dict[str, int] = {}
        for verdict, _ in votes:
            last[verdict.recorded_by] = max(last.get(verdict.recorded_by, 0), _LATER.get(verdict.view, 0))
        # Who was shown more had settled nothing before: those votes did not count when they were cast.
        votes = [
            (verdict, place)
            for verdict, place in votes
            if not verdict.view or _LATER[verdict.view] == last[verdict.recorded_by]
        ]
        casts = [self._cast(verdict, question, record.sources, place=place) for verdict, place in votes]
        return casts + _missing([verdict for verdict, _ in votes if not verdict.by_hand])

    def vote_key(self, asking: Asking, ballot: Ballot) -> str:
        """What a vote is kept under; empty without a cache."""
        if self._cache is None:
            return ""
        # Who else is asked in the same call is left out: a criterion that changes leaves the others' verdicts alone.
        model = f"{ballot.model} {self._base(ballot.model)}"
        return digest.of_bytes(f"{self._settings} {asking.prompt} {ballot.index} {asking.batch} {model}".encode())

    def cached(self, key: str, asking: Asking) -> tuple[Cast | None, tuple[str, ...]]:
        """The vote as it was cast before, by its `vote_key`, if it still counts; and what went wrong with the cache."""
        if self._cache is None:
            return None, ()
        try:
            verdict = self._cache.get(key)
        except StoreError as error:
            self._troubled = True
            return None, (str(error),)
        if verdict is None:
            return None, ()
        cast = self._cast(verdict, asking.question, asking.view.sources)
        return (None if cast.answer is None else cast), ()

    def conclusion_key(self, case: Case, room: int) -> str:
        """What a verdict is kept under, by this very code, in the same circumstances; empty without a cache.

        Args:
            case: What is to be decided.
            room: Characters that a prompt may have.
        """
        if self._cache is None:
            return ""
        bases = [self._base(model) for model in (*case.models, self._options.escalate or "")]
        return digest.of_bytes(f"{self._code_and_options} {room} {bases} {case.identity}".encode())

    def concluded(self, key: str, question: Question) -> Judged | None:
        """What was decided before, by its `conclusion_key`; None if nothing was."""
        try:
            line = None if self._cache is None else self._cache.conclusion(key)
            judged = None if line is None else _JUDGED.validate_json(line)
        except (StoreError, ValidationError):
            # The votes are asked for next, and say what is wrong with the cache.
            return None
        # Also for a line that was damaged or changed: it must be a verdict that this question can have.
        names, values = question.names, question.values
        possible: set[tuple[str, float | None]] = {(names[choice], value) for choice, value in values.items()}
        if judged is None or judged.cause or (judged.verdict, judged.value) not in possible:
            return None
        return remembered(judged)

    def conclude(self, key: str, judged: Judged) -> None:
        """Keep a verdict that nothing is open about, by its `conclusion_key`; `flush` writes it with the votes."""
        if self._cache is not None and judged.value is not None and not self._troubled:
            self._conclusions[key] = _JUDGED.dump_json(judged).decode()

    def keep(self, key: str, asking: Asking, ballot: Ballot, cast: Cast, of: int) -> None:
        """Keep a vote, by its `vote_key`; it is written with others, by `flush`. `of` is how many are cast at once."""
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
            key=key,
            prompt=cast.prompt,
            served=cast.model,
            vote=ballot.index,
            reply=cast.reply,
            view=asking.view.strategy,
            of=of,
            cut=asking.view.cut or bool(asking.view.record.lacks),
        )
        self._votes.append(kept)

    def sent(self, prompt: str, view: View, text: str) -> None:
        """Keep what a model is being asked, for people to read later; written by `flush`."""
        if self._cache is not None:
            parts = {SYSTEM_HASH: wording.SYSTEM, view.text_hash: view.text, _asked_hash(text): text}
            self._prompts[prompt] = parts

    def flush(self) -> asyncio.Future[Exception | None] | None:
        """Have written what was kept since the last time, together with what other grades keep.

        Returns:
            What went wrong, once that is known; None if nothing is to be written.
        """
        if self._cache is None or not (self._votes or self._prompts or self._conclusions):
            return None
        kept = Kept(self._votes, self._prompts, self._conclusions)
        self._votes, self._prompts, self._conclusions = [], {}, {}
        return self._cache.keep_soon(kept)

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
                options.sent,
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

    def _cast(self, verdict: Verdict, question: Question, sources: Sources, *, place: str = "") -> Cast:
        """A vote from before: recorded, in that place of a file, or cached."""
        quotes = tuple(Quote(each.quote, each.where) for each in verdict.evidence)
        evidence = look_up(quotes, sources)
        # Labels and grades say met where a judge says yes.
        named = (choice for choice, name in question.names.items() if name == verdict.answer)
        answer = verdict.answer if verdict.answer in question.choices else next(named, verdict.answer)
        cast = Cast(
            answer=answer,
            reasoning=verdict.reasoning,
            quotes=quotes,
            evidence=evidence,
            model=verdict.served or verdict.recorded_by,
            reply=verdict.reply,
            cached=not place,
            recorded_by=verdict.recorded_by if place else None,
            by_hand=bool(place) and verdict.by_hand,
            cut=(verdict.cut or None) if not verdict.view else verdict.cut,
            imported=verdict.imported,
            prompt=verdict.prompt,
        )
        if answer not in (*question.choices, "cannot_tell"):
            listed = ", ".join((*question.listed, "cannot_tell"))
            message = f'{place}the recorded answer "{answer}" is no answer to this question: write one of {listed}'
            return replace(cast, answer=None, cause="judge_unparseable", message=message)
        gap = gap_of(answer, evidence, question, sources, strict=self._options.strict_evidence)
        return cast if gap is None else uncarried(cast, gap, self._options, f'"{answer}" is recorded, but')


@lru_cache(maxsize=256)
def _asked_hash(text: str) -> str:
    """Hash of what is asked, often the same about many records."""
    return digest.of_bytes(text.encode())


def _missing(votes: Sequence[Verdict]) -> list[Cast]:
    """A failed vote for each of a panel's that is not among those recorded: the others are no majority without it."""
    of = max((verdict.of for verdict in votes), default=0)
    message = f"of {of} votes that were cast together only {len(votes)} are recorded; failed ones are not kept"
    # More than there are votes would change nothing, and the number is the file's.
    return [Cast(None, cause="judge_failed", message=message, cut=False)] * min(of - len(votes), len(votes) + 1)
