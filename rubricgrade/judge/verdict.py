"""From votes to a verdict: what was decided, or why it is open, with the record of how."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rubricgrade.judge.asking import Cast
from rubricgrade.judge.question import CANNOT_TELL, Question
from rubricgrade.judge.view import View
from rubricgrade.judge.voting import majority, split
from rubricgrade.judge.wording import PROMPT_VERSION
from rubricgrade.result import Cause, Evidence, JudgeRecord, Shown, Usage, Vote

_DIRECT_NOTE = "the judge was asked for the answer only: no reasoning, no evidence"


@dataclass(frozen=True, slots=True)
class Judged:
    """The verdict on a criterion, or on one item of it.

    Attributes:
        verdict: ``met``, ``not_met``, a choice of the scale; ``cannot_tell``, ``not_run`` or ``error`` while open.
        value: 0 to 1; None while open. An author's `if_cannot_tell: worst` is for verdicts whose cause is
            ``cannot_tell``: there the judge could not tell. Any other cause is a fault of ours.
        cause: Why it is open.
        message: The same for people.
        reasoning: Of the vote that decided.
        evidence: Of the same vote.
        record: How the verdict came about.
    """

    verdict: str
    value: float | None
    cause: Cause | None
    message: str
    reasoning: str
    evidence: tuple[Evidence, ...]
    record: JudgeRecord


def opened(cause: Cause, message: str, model: str | None) -> Judged:
    """A verdict that is open before anything was asked."""
    record = JudgeRecord(model=model or "", prompt_version=PROMPT_VERSION)
    return Judged("not_run" if cause == "no_judge" else "error", None, cause, message, "", (), record)


def concluded(
    question: Question, view: View, casts: Sequence[Cast], panel: int, *, model: str | None, prompt: str
) -> Judged:
    """The verdict of a panel.

    Args:
        question: What was asked.
        view: What was shown.
        casts: All votes, failed ones too.
        panel: How many were asked; the majority is of these.
        model: Who was asked.
        prompt: Hash of the prompt.
    """
    winner = majority((cast.answer for cast in casts if cast.answer is not None), panel)
    verdict, cause, message = _outcome(question, view, casts, winner)
    value = question.values[winner] if winner is not None and cause is None else None
    said = next((cast for cast in casts if cast.answer == winner), casts[0])
    record = _record(question, view, casts, model=model, prompt=prompt)
    return Judged(verdict, value, cause, message, said.reasoning, said.evidence, record)


def _outcome(
    question: Question, view: View, casts: Sequence[Cast], winner: str | None
) -> tuple[str, Cause | None, str]:
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
    if view.incomplete and question.blind(winner):
        message = f'the judge answered "{winner}", but what could prove it wrong was not shown'
        return "cannot_tell", "judge_failed", message
    return question.names[winner], None, ""


def _record(question: Question, view: View, casts: Sequence[Cast], *, model: str | None, prompt: str) -> JudgeRecord:
    recorded = [cast.recorded_by for cast in casts if cast.recorded_by]
    by = ", ".join(dict.fromkeys(recorded)) or None
    notes = [note for cast in casts for note in cast.notes] + list(view.suspicions)
    if question.style == "direct" and by is None:
        notes.append(_DIRECT_NOTE)
    votes = [
        Vote(
            answer=cast.answer or "error",
            model=cast.model,
            reply=cast.reply,
            cached=cast.cached,
            recorded_by=cast.recorded_by,
        )
        for cast in casts
    ]
    return JudgeRecord(
        model=by or model or "",
        prompt=prompt,
        prompt_version=PROMPT_VERSION,
        votes=tuple(votes),
        shown=Shown(
            parts={**view.parts, **question.parts},
            left_out=view.left_out,
            characters=len(view.text) + len(question.text),
        ),
        usage=sum((cast.usage for cast in casts), Usage()),
        recorded_by=by,
        note="; ".join(dict.fromkeys(notes)),
    )


def _split(casts: Sequence[Cast]) -> str:
    return split(cast.answer or "failed" for cast in casts)
