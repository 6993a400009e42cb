"""What was decided before: recorded verdicts, the cache, and a list of the questions that neither could answer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime

from rubricgrade import digest
from rubricgrade.chat.contract import Request
from rubricgrade.errors import StoreError
from rubricgrade.judge.asking import Cast, carried, look_up
from rubricgrade.judge.options import JudgeOptions
from rubricgrade.judge.question import Question
from rubricgrade.judge.reply import Quote
from rubricgrade.judge.view import View
from rubricgrade.judge.wording import PROMPT_VERSION
from rubricgrade.result import Cause
from rubricgrade.rubric import Criterion, Rubric
from rubricgrade.store.prompts import Prompts
from rubricgrade.store.verdicts import RecordedQuote, Verdict, VerdictCache, read_verdicts
from rubricgrade.trajectory import Trajectory


@dataclass(frozen=True, slots=True)
class Asking:
    """What all votes on one question have in common; `prompt` is the hash of the first request's messages."""

    criterion: Criterion
    item: str | None
    view: View
    question: Question
    request: Request
    prompt: str


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
        for path in options.verdicts:
            for verdict in read_verdicts(path):
                if not verdict.open:
                    self._recorded.setdefault(verdict.question, []).append(verdict)

    @property
    def recorded(self) -> bool:
        """Whether there are recorded verdicts at all."""
        return bool(self._recorded)

    @property
    def unanswered(self) -> tuple[Verdict, ...]:
        """A skeleton for every question that was missed."""
        return tuple(self._missing.values())

    def recall(self, asking: Asking) -> list[Cast]:
        """Every recorded verdict on the question; several are votes."""
        return [self._cast(verdict, asking) for verdict in self._recorded.get(asking.question.identity, ())]

    def cached(self, asking: Asking, vote: int) -> tuple[Cast | None, tuple[str, ...]]:
        """The vote as it was cast before, if it still counts; and what went wrong with the cache."""
        if self._cache is None:
            return None, ()
        try:
            verdict = self._cache.get(self._key(asking, vote))
        except StoreError as error:
            return None, (str(error),)
        if verdict is None:
            return None, ()
        cast = self._cast(verdict, asking)
        return (None if cast.answer is None else replace(cast, cached=True, recorded_by=None)), ()

    def keep(self, asking: Asking, vote: int, cast: Cast) -> tuple[str, ...]:
        """Keep a vote in the cache. Returns what went wrong with it: a full disk is no reason to lose a verdict."""
        if self._cache is None:
            return ()
        update = {
            "answer": cast.answer,
            "reasoning": cast.reasoning,
            "evidence": tuple(RecordedQuote(quote=quote.text, where=quote.where) for quote in cast.quotes),
            "recorded_by": asking.request.model,
            "recorded_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "key": self._key(asking, vote),
            "vote": vote,
            "reply": cast.reply,
        }
        try:
            self._cache.put(self._skeleton(asking).model_copy(update=update))
        except StoreError as error:
            return (str(error),)
        return ()

    def sent(self, asking: Asking) -> tuple[str, ...]:
        """Keep what a model is being asked, for people to read later. Returns what went wrong, as `keep` does."""
        if self._cache is None:
            return ()
        try:
            texts = [str(message["content"]) for message in asking.request.messages]
            Prompts(self._cache.path).keep(asking.prompt, texts)
        except StoreError as error:
            return (str(error),)
        return ()

    def miss(self, asking: Asking) -> None:
        """Note that nobody could answer."""
        self._missing.setdefault(asking.question.identity, self._skeleton(asking))

    def _key(self, asking: Asking, vote: int) -> str:
        options = self._options
        settings = [options.api_base, options.temperature, options.max_tokens, options.style, dict(options.extra)]
        return digest.of_value([PROMPT_VERSION, asking.request.model, asking.prompt, settings, vote])

    def _skeleton(self, asking: Asking) -> Verdict:
        return Verdict(
            question=asking.question.identity,
            rubric=self._rubric.id,
            criterion=asking.criterion.id,
            asked=asking.question.wording,
            item=asking.item,
            trajectory=self._trajectory.id,
        )

    def _cast(self, verdict: Verdict, asking: Asking) -> Cast:
        quotes = tuple(Quote(each.quote, each.where) for each in verdict.evidence)
        evidence = look_up(quotes, asking.view)
        question = asking.question
        answer, cause, message = verdict.answer, None, ""
        unreadable: Cause = "judge_unparseable"
        if answer not in (*question.choices, "cannot_tell"):
            message = f'the recorded answer "{answer}" is none of {", ".join(question.choices)}, cannot_tell'
            answer, cause = None, unreadable
        elif not carried(answer, evidence, question, strict=self._options.strict_evidence):
            message = f'no quote of the recorded "{answer}" stands in the record'
            answer, cause = None, unreadable
        return Cast(
            answer=answer,
            reasoning=verdict.reasoning,
            quotes=quotes,
            evidence=evidence,
            cause=cause,
            message=message,
            model=verdict.recorded_by,
            reply=verdict.reply,
            recorded_by=verdict.recorded_by,
        )
