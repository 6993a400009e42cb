"""One vote: ask, read, and ask again: once for a quote that exists, twice each for more room and a readable reply.

The first time that a reply can't be read the judge is told why; the second time it is asked as if it had said nothing.
A reply that is cut gets more room, and the same room once more: not every cut is for want of it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from rubricgrade.chat.contract import AskFailed, Reply, Request
from rubricgrade.errors import JudgeError
from rubricgrade.evidence import dense, one_line, visible
from rubricgrade.judge import wording
from rubricgrade.judge.options import JudgeOptions
from rubricgrade.judge.question import Question
from rubricgrade.judge.quoting import Gap, gap_of, look_up
from rubricgrade.judge.reply import Planted, Quote, Reading, Unreadable, read_reply
from rubricgrade.judge.view import View
from rubricgrade.result import NO_USAGE, Cause, Evidence, Usage

ROOM = 4096
"""Tokens that a reply may take unless the caller says otherwise."""

MORE_ROOM = 4
"""How much more a cut reply gets the second time."""

_REPEATED = 4000  # characters of a bad reply that are shown to the judge again
KEPT = 20_000
"""Characters of a reply that are kept with the verdict."""

NO_ANSWER = {
    "refused": "the judge refused to answer; another model may do it",
    "filtered": "the provider's content filter blocked the judge's reply; another model may do it",
}
"""Ways to end a reply that give no answer, in words."""

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
        by_hand: A person did.
        cut: What a recorded vote's model was shown was cut; None if that is not known.
        imported: The file that `cache import` took it from; empty for any other.
        prompt: Hash of the prompt where it is not that of the question alone.
        unverified: An answer was given whose quotes do not carry it.
        too_long: The prompt did not fit the model.
    """

    answer: str | None
    reasoning: str = ""
    quotes: tuple[Quote, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    cause: Cause | None = None
    message: str = ""
    model: str = ""
    reply: str = ""
    usage: Usage = NO_USAGE
    notes: tuple[str, ...] = ()
    cached: bool = False
    recorded_by: str | None = None
    by_hand: bool = False
    cut: bool | None = None
    imported: str = ""
    prompt: str = ""
    unverified: bool = False
    too_long: bool = False


async def cast_vote(ask: Ask, request: Request, question: Question, view: View, options: JudgeOptions) -> Cast:
    """Ask a judge until there is an answer that counts, or nothing more to try.

    Args:
        ask: Makes one call.
        request: The first one.
        question: What is asked.
        view: Where quotes are looked up.
        options: What counts as a quote, and what an answer does that its quotes do not carry.

    Returns:
        The vote. A judge that can't be had is a failed vote, not an error.
    """
    first = request
    tried: set[str] = set()
    usage = NO_USAGE
    notes: tuple[str, ...] = ()

    def failed(cause: Cause, message: str, reply: Reply) -> Cast:
        return Cast(None, cause=cause, message=message, usage=usage, notes=notes, **said(reply, reply.text))

    while True:
        try:
            reply = await ask(request)
        except JudgeError as error:
            return replace(no_reply(error, usage), notes=notes)
        usage += reply.usage
        notes = (*notes, *(note for note in reply.notes if note not in notes))
        if reply.finish in NO_ANSWER:
            return failed("judge_failed", NO_ANSWER[reply.finish], reply)
        if reply.finish == "length":
            if "same room" in tried:
                return failed("judge_unparseable", cut_words(reply, request.max_tokens), reply)
            if "room" in tried:
                tried.add("same room")
            else:
                tried.add("room")
                request = with_more_room(request)
            continue
        try:
            reading = _read(reply, question, view)
        except Unreadable as fault:
            if "anew" in tried:
                return failed("judge_unparseable", f"the judge's reply could not be read: {fault}", reply)
            if "json" in tried:
                tried.add("anew")
                request = replace(request, messages=first.messages)
            else:
                tried.add("json")
                request = again(request, reply, not_read(reply, fault))
            continue
        facts = {"usage": usage, "notes": notes, **said(reply, reply.text)}
        counted = weigh(reading, question, view, options, last="quotes" in tried, **facts)
        if isinstance(counted, Cast):
            return counted
        tried.add("quotes")
        words = wording.NOT_FOUND if counted.needed else wording.LOST
        otherwise = f'"{question.lowest}" or "cannot_tell"'
        request = again(request, reply, words.format(answer=reading.answer, which=counted.hint, otherwise=otherwise))


def weigh(
    reading: Reading, question: Question, view: View, options: JudgeOptions, *, last: bool, **facts: Any
) -> Cast | Gap:
    """What an answer counts as, by its quotes.

    Args:
        reading: The answer.
        question: What was asked.
        view: Where quotes are looked up.
        options: What counts as a quote, and what an answer does that its quotes do not carry.
        last: It was asked again already.
        facts: Of the calls, by the vote's names for them.

    Returns:
        A vote; or, if it must be asked again, what its quotes lack.
    """
    evidence = look_up(reading.quotes, view.sources)
    cast = Cast(reading.answer, reading.reasoning, reading.quotes, evidence, **facts)
    gap = gap_of(reading.answer, evidence, question, view.sources, strict=options.strict_evidence)
    if gap is None:
        return cast
    return uncarried(cast, gap, options, f'the judge answered "{reading.answer}", but') if last else gap


def uncarried(cast: Cast, gap: Gap, options: JudgeOptions, said: str) -> Cast:
    """The vote that becomes of one whose quotes do not carry it: open, or flagged if the caller asked for that.

    Args:
        cast: With its answer.
        gap: What the quotes lack.
        options: Of the caller.
        said: How the message begins.
    """
    if options.unverified == "flag":
        note = f"{gap.words}; the answer counts all the same, as was asked for"
        return replace(cast, unverified=True, notes=(*cast.notes, note))
    message = f"{said} {gap.words}"
    return replace(cast, answer=None, cause="judge_unparseable", message=message, unverified=True)


def cause_of(error: JudgeError) -> Cause:
    """The cause that a failed ask gives its verdict."""
    match error.cause:
        case "budget" | "no_judge" | "judge_unparseable":
            return error.cause
        case _:
            return "judge_failed"


def no_reply(error: JudgeError, usage: Usage) -> Cast:
    """The failed vote of an ask that got no reply; `usage` is what it took before."""
    if not isinstance(error, AskFailed):
        return Cast(None, cause=cause_of(error), message=str(error), usage=usage)
    too_long = error.kind == "too_long"
    message = f"judge input too long: {error}" if too_long else str(error)
    return Cast(None, cause=cause_of(error), message=message, usage=usage + error.usage, too_long=too_long)


def with_more_room(request: Request) -> Request:
    """The same with room for a longer reply."""
    return replace(request, max_tokens=(request.max_tokens or ROOM) * MORE_ROOM)


def again(request: Request, reply: Reply, words: str) -> Request:
    """The next turn of the same conversation."""
    before = visible(reply.text[:_REPEATED]) or "(empty)"
    turn = ({"role": "assistant", "content": before}, {"role": "user", "content": words})
    return replace(request, messages=(*request.messages, *turn))


def not_read(reply: Reply, fault: Unreadable) -> str:
    """What a judge is told whose reply could not be read."""
    return wording.NOT_JSON.format(fault=fault) if reply.text.strip() else wording.NOTHING_SAID


def said(reply: Reply, text: str) -> dict[str, Any]:
    """Who said what, as a vote keeps it. The name is a server's, too."""
    return {"model": one_line(reply.model, 200), "reply": visible(text[:KEPT])}


def planted_in(record: View | str, asked: str) -> Planted:
    """Says whether a prompt holds a text: items of a `for_each` and examples stand in what is asked, not in the record.

    Args:
        record: The first message.
        asked: The second.
    """
    return _Prompt(record, asked).holds


@dataclass
class _Prompt:
    record: View | str
    asked: str

    @cached_property
    def _rest(self) -> str:
        return dense(self.asked if isinstance(self.record, View) else f"{self.record}\n{self.asked}")

    def holds(self, text: str) -> bool:
        return dense(text) in self._rest or (isinstance(self.record, View) and self.record.sources.holds(text))


def cut_words(reply: Reply, limit: int | None) -> str:
    """What is wrong with a reply that was cut again and again."""
    if not reply.text.strip():
        return f"the judge used its whole room of {limit} tokens, each time without an answer (hidden reasoning counts)"
    return f"the judge's reply was cut at {limit} tokens, also when it got more room"


def spoken(reply: Reply) -> str:
    """What a reply says. Raises `Unreadable` if it says nothing, or waits for a tool before it says its last word."""
    if reply.calls:
        raise Unreadable("it calls a tool, and there is none")
    if reply.finish == "empty":
        raise Unreadable("it is empty")
    return reply.text


def _read(reply: Reply, question: Question, view: View) -> Reading:
    return read_reply(spoken(reply), question.choices, style=question.style, planted=planted_in(view, question.text))
