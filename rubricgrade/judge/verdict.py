"""From votes to a verdict: what was decided, or why it is open, with the record of how."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rubricgrade.judge.asking import Cast
from rubricgrade.judge.panel import decided, split
from rubricgrade.judge.question import CANNOT_TELL, Question
from rubricgrade.judge.view import View
from rubricgrade.judge.wording import PROMPT_VERSION
from rubricgrade.plural import count
from rubricgrade.result import NO_USAGE, Cause, Evidence, JudgeRecord, Shown, Usage, Vote

_DIRECT_NOTE = "the judge was asked for the answer only: no reasoning, no evidence"
_LOCAL_NOTE = (
    "a model that ran in this process decided; ones of a few billion parameters show that everything works, and are no "
    "measure of quality (a 0.5B model: right on 68 of 128 plain facts of recorded episodes, where always giving the "
    "more frequent answer is right on 80)"
)


@dataclass(frozen=True, slots=True)
class Votes:
    """All votes on a question.

    Attributes:
        casts: In the order asked, failed ones too.
        panel: How many of them, from the first, decide by their majority or median.
        escalated: Why the last one decides alone instead; None if it does not.
    """

    casts: tuple[Cast, ...]
    panel: int
    escalated: str | None = None

    @property
    def deciding(self) -> tuple[Cast, ...]:
        """The votes that count."""
        return self.casts[-1:] if self.escalated else self.casts


@dataclass(frozen=True, slots=True)
class Spent:
    """What was done on the way to the votes: calls, and notes on them."""

    usage: Usage = NO_USAGE
    notes: tuple[str, ...] = ()


NOTHING_SPENT = Spent()


@dataclass(frozen=True, slots=True)
class Judged:
    """The verdict on a criterion, or on one item of it.

    Attributes:
        verdict: ``met``, ``not_met``, a choice of the scale; ``cannot_tell``, ``not_run`` or ``error`` while open.
        value: 0 to 1; None while open. An author's `if_cannot_tell: worst` is for verdicts whose cause is
            ``cannot_tell``: the judge could not tell, or the agent kept from it what it would have had to see. Any
            other cause is a fault of ours.
        cause: Why it is open.
        message: The same for people.
        reasoning: Of the vote that decided.
        evidence: Of the same vote.
        record: How the verdict came about.
        blind: It is open because what could prove the answer wrong did not fit.
        too_long: A model refused the prompt for its length.
    """

    verdict: str
    value: float | None
    cause: Cause | None
    message: str
    reasoning: str
    evidence: tuple[Evidence, ...]
    record: JudgeRecord
    blind: bool = False
    too_long: bool = False


def opened(cause: Cause, message: str, model: str | None, spent: Spent | None = None) -> Judged:
    """A verdict that is open before a vote was cast."""
    spent = spent or NOTHING_SPENT
    record = JudgeRecord(
        model=model or "", prompt_version=PROMPT_VERSION, usage=spent.usage, note="; ".join(dict.fromkeys(spent.notes))
    )
    return Judged("not_run" if cause == "no_judge" else "error", None, cause, message, "", (), record)


def concluded(
    question: Question, view: View, votes: Votes, *, model: str | None, prompt: str, spent: Spent | None = None
) -> Judged:
    """The verdict of a panel.

    Args:
        question: What was asked.
        view: What was shown.
        votes: What was answered.
        model: Who was asked.
        prompt: Hash of the prompt.
        spent: What was done before.
    """
    deciding = votes.deciding
    panel = 1 if votes.escalated else votes.panel
    winner = decided((cast.answer for cast in deciding), question.choices, panel)
    said = next((cast for cast in deciding if cast.answer == winner), deciding[0])
    record = _record(question, view, votes, spent or NOTHING_SPENT, model=model, prompt=prompt)
    quoted = any(each.verified != "not_found" for each in said.evidence)
    blind = view.incomplete and winner is not None and question.blind(winner, quoted=quoted)
    if blind and not all(cast.by_hand for cast in votes.casts):
        message = f'the judge answered "{winner}", but what could prove it wrong was not shown'
        if view.withheld:
            message += f", by the agent's own doing: {'; '.join(view.withheld)}"
        if said.recorded_by and not said.by_hand:
            message += "; recorded verdicts of people, who read the whole, are by 'hand: NAME'"
        why: Cause = "cannot_tell" if view.withheld else "judge_failed"
        cut = view.cut and not view.record.lacks
        return Judged("cannot_tell", None, why, message, said.reasoning, said.evidence, record, blind=cut)
    verdict, cause, message = _outcome(question, deciding, winner)
    value = question.values[winner] if winner is not None and cause is None else None
    return Judged(verdict, value, cause, message, said.reasoning, said.evidence, record)


def remembered(judged: Judged) -> Judged:
    """A verdict of an earlier run: nobody was asked now."""
    record = judged.record
    votes = tuple(vote.model_copy(update={"cached": True}) for vote in record.votes)
    return replace(judged, record=record.model_copy(update={"votes": votes, "usage": NO_USAGE}))


def preceded(judged: Judged, spent: Spent) -> Judged:
    """A verdict whose record also holds what was done before it."""
    if not (spent.notes or spent.usage.calls):
        return judged
    record = judged.record
    notes = [*spent.notes, *([record.note] if record.note else [])]
    update = {"usage": spent.usage + record.usage, "note": "; ".join(dict.fromkeys(notes))}
    return replace(judged, record=record.model_copy(update=update))


def _outcome(question: Question, casts: Sequence[Cast], winner: str | None) -> tuple[str, Cause | None, str]:
    if winner is None:
        failed = [cast for cast in casts if cast.answer is None]
        if not failed:
            return "cannot_tell", "cannot_tell", f"the votes differ: {_split(casts)}"
        first = failed[0]
        verdict = "not_run" if first.cause == "no_judge" else "cannot_tell" if first.evidence else "error"
        others = f" ({_split(casts)})" if len(casts) > 1 else ""
        return verdict, first.cause, f"{first.message}{others}"
    if winner == CANNOT_TELL:
        return "cannot_tell", "cannot_tell", "the judge could not tell"
    return question.names[winner], None, ""


def _record(
    question: Question, view: View, votes: Votes, spent: Spent, *, model: str | None, prompt: str
) -> JudgeRecord:
    casts = votes.casts
    by = _named([cast.recorded_by for cast in casts])
    signed = [_signature(cast) for cast in casts]
    notes = [*spent.notes, *(note for cast in casts for note in cast.notes), *view.record.suspicions]
    if votes.escalated:
        notes.insert(0, f"{casts[-1].model or 'a stronger judge'} decided instead: {votes.escalated}")
    if imported := [cast.imported for cast in casts if cast.imported]:
        share = f"{len(imported)} of {count(len(casts), 'vote')}"
        notes.append(f"{share} imported from {_named(imported)}: the file's word was taken")
    if by is None and model is not None and model.startswith("local:"):
        notes.append(_LOCAL_NOTE)
    if question.style == "direct" and by is None:
        notes.append(_DIRECT_NOTE)
    return JudgeRecord(
        model=by or model or "",
        prompt=next((cast.prompt for cast in casts if cast.prompt), prompt),
        prompt_version=PROMPT_VERSION,
        question=question.identity,
        votes=tuple(
            Vote(
                answer=cast.answer or "error",
                model=cast.model,
                reply=cast.reply,
                cached=cast.cached,
                recorded_by=signature,
            )
            for cast, signature in zip(casts, signed, strict=True)
        ),
        shown=Shown(
            parts={**view.parts, **question.parts},
            left_out=view.left_out,
            characters=len(view.text) + len(question.text),
        ),
        usage=sum((cast.usage for cast in casts), spent.usage),
        recorded_by=_named(signed),
        note="; ".join(dict.fromkeys(notes)),
    )


def _signature(cast: Cast) -> str | None:
    """Who vouches for a vote that was not cast with this cache; None if it was."""
    return f"{cast.recorded_by or cast.model}, imported from {cast.imported}" if cast.imported else cast.recorded_by


def _named(names: Sequence[str | None]) -> str | None:
    """Those who are named, each once, with commas between them."""
    return ", ".join(dict.fromkeys(filter(None, names))) or None


def _split(casts: Sequence[Cast]) -> str:
    return split(cast.answer or "failed" for cast in casts)
