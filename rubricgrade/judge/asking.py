"""One vote: ask, read, and ask again at most once each for more room, a readable reply, and a quote that exists."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any

from rubricgrade.chat.contract import AskFailed, Reply, Request
from rubricgrade.errors import JudgeError
from rubricgrade.evidence import locate, one_line, proves, visible
from rubricgrade.judge import wording
from rubricgrade.judge.question import Question
from rubricgrade.judge.reply import Quote, Reading, Unreadable, read_reply
from rubricgrade.judge.view import View
from rubricgrade.result import Cause, Evidence, Usage

ROOM = 4096
"""Tokens that a reply may take unless the caller says otherwise."""

MORE_ROOM = 4
"""How much more a cut reply gets the second time."""

_REPEATED = 4000  # characters of a bad reply that are shown to the judge again
_KEPT = 20_000  # characters of a reply that are kept with the verdict

Ask = Callable[[Request], Awaitable[Reply]]


@dataclass(frozen=True, slots=True)
class Cast:
    """One vote, or why there is none.

    Attributes:
        answer: A choice or ``cannot_tell``; None if the vote failed.
        reasoning: Made visible.
        quotes: As the judge gave them.
        evidence: The quotes, looked up.
        cause: Why there is no answer.
        message: The same for people.
        model: Who answered.
        reply: The last reply as it came, made visible.
        usage: Of every call.
        notes: What a reader must know about the calls.
        cached: It was not asked now.
        recorded_by: Who recorded it, if it was.
    """

    answer: str | None
    reasoning: str = ""
    quotes: tuple[Quote, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    cause: Cause | None = None
    message: str = ""
    model: str = ""
    reply: str = ""
    usage: Usage = field(default_factory=Usage)
    notes: tuple[str, ...] = ()
    cached: bool = False
    recorded_by: str | None = None


async def cast_vote(ask: Ask, request: Request, question: Question, view: View, *, strict: bool) -> Cast:
    """Ask a judge until there is an answer that counts, or nothing more to try.

    Args:
        ask: Makes one call.
        request: The first one.
        question: What is asked.
        view: Where quotes are looked up.
        strict: Whether quotes must stand word for word.

    Returns:
        The vote. A judge that can't be had is a failed vote, not an error.
    """
    tried: set[str] = set()
    usage = Usage()
    notes: tuple[str, ...] = ()

    def failed(cause: Cause, message: str, reply: Reply, reading: Reading | None = None) -> Cast:
        cast = Cast(None, cause=cause, message=message, usage=usage, notes=notes, **_said(reply))
        return cast if reading is None else replace(cast, reasoning=reading.reasoning, evidence=evidence)

    while True:
        evidence: tuple[Evidence, ...] = ()
        try:
            reply = await ask(request)
        except JudgeError as error:
            spent = error.usage if isinstance(error, AskFailed) else Usage()
            return Cast(None, cause=cause_of(error), message=_failure(error), usage=usage + spent, notes=notes)
        usage += reply.usage
        notes = (*notes, *(note for note in reply.notes if note not in notes))
        if reply.finish in _NO_ANSWER:
            return failed("judge_failed", _NO_ANSWER[reply.finish], reply)
        if reply.finish == "length":
            if "room" in tried:
                return failed("judge_unparseable", _cut(reply, request.max_tokens), reply)
            tried.add("room")
            request = replace(request, max_tokens=(request.max_tokens or ROOM) * MORE_ROOM)
            continue
        try:
            reading = _read(reply, question, view)
        except Unreadable as fault:
            if "json" in tried:
                return failed("judge_unparseable", f"the judge's reply could not be read: {fault}", reply)
            tried.add("json")
            said = wording.NOT_JSON.format(fault=fault) if reply.text.strip() else wording.NOTHING_SAID
            request = _again(request, reply, said)
            continue
        evidence = look_up(reading.quotes, view)
        if carried(reading.answer, evidence, question, strict=strict):
            found = Cast(reading.answer, reading.reasoning, reading.quotes, evidence, usage=usage, notes=notes)
            return replace(found, **_said(reply))
        if "quotes" in tried:
            message = f'the judge answered "{reading.answer}", and no quote of it stands in the record'
            return failed("judge_unparseable", message, reply, reading)
        tried.add("quotes")
        request = _again(request, reply, _wanting(reading, evidence, question))


def look_up(quotes: tuple[Quote, ...], view: View) -> tuple[Evidence, ...]:
    """Each quote with its place in the record, if it has one."""
    return tuple(locate(quote.text, view.sources, quote.where) for quote in quotes)


def carried(answer: str, evidence: tuple[Evidence, ...], question: Question, *, strict: bool) -> bool:
    """Whether an answer has the quote that it needs, if it needs one."""
    return not question.needs_quote(answer) or any(proves(each, strict=strict) for each in evidence)


def cause_of(error: JudgeError) -> Cause:
    """The cause that a failed ask gives its verdict."""
    match error.cause:
        case "budget" | "no_judge" | "judge_unparseable":
            return error.cause
        case _:
            return "judge_failed"


_NO_ANSWER = {
    "refused": "the judge refused to answer; another model may do it",
    "filtered": "the provider's content filter blocked the judge's reply; another model may do it",
}


def _read(reply: Reply, question: Question, view: View) -> Reading:
    if reply.finish == "empty":
        raise Unreadable("it is empty")
    return read_reply(reply.text, question.choices, style=question.style, planted=view.sources.holds)


def _said(reply: Reply) -> dict[str, Any]:
    return {"model": reply.model, "reply": visible(reply.text[:_KEPT])}


def _failure(error: JudgeError) -> str:
    if isinstance(error, AskFailed) and error.kind == "too_long":
        return f"judge input too long: {error}; with a smaller max_characters, long tool results are cut"
    return str(error)


def _cut(reply: Reply, limit: int | None) -> str:
    if not reply.text.strip():
        return f"the judge used its whole room of {limit} tokens, twice, without an answer (hidden reasoning counts)"
    return f"the judge's reply was cut at {limit} tokens, also when it got more room"


def _again(request: Request, reply: Reply, said: str) -> Request:
    before = visible(reply.text[:_REPEATED]) or "(empty)"
    turn = ({"role": "assistant", "content": before}, {"role": "user", "content": said})
    return replace(request, messages=(*request.messages, *turn))


def _wanting(reading: Reading, evidence: tuple[Evidence, ...], question: Question) -> str:
    lost = [json.dumps(one_line(each.quote, 200), ensure_ascii=False) for each in evidence if each.where is None]
    which = f"Not found in the record: {', '.join(lost)}." if lost else "Yours are missing or too short."
    otherwise = f'"{question.lowest}" or "cannot_tell"'
    return wording.NOT_FOUND.format(answer=reading.answer, which=which, otherwise=otherwise)
