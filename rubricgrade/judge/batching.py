"""One vote on each of several questions in one call: each answer is read, checked and, if need be, failed by itself."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from rubricgrade.chat.contract import Reply, Request
from rubricgrade.errors import JudgeError
from rubricgrade.judge import wording
from rubricgrade.judge.asking import (
    NO_ANSWER,
    Ask,
    Cast,
    again,
    cut_words,
    no_reply,
    not_read,
    planted_in,
    said,
    spoken,
    weigh,
    with_more_room,
)
from rubricgrade.judge.options import JudgeOptions
from rubricgrade.judge.question import CANNOT_TELL, Question
from rubricgrade.judge.reply import Reading, Unreadable, read_batch
from rubricgrade.judge.view import View
from rubricgrade.result import Cause, Usage


@dataclass(frozen=True)
class Batch:
    """Questions that are asked together; each has a name that says nothing: ``q1``, ``q2``, in the order shown."""

    questions: tuple[Question, ...]

    @property
    def named(self) -> dict[str, Question]:
        """The questions by name."""
        return {f"q{number}": question for number, question in enumerate(self.questions, 1)}

    @property
    def text(self) -> str:
        """The last message of the prompt."""
        style = self.questions[0].style
        asked = [
            f"[{name}]\n{question.asked}\nAnswers: {', '.join(json.dumps(each) for each in question.listed)}, "
            f'"{CANNOT_TELL}"'
            for name, question in self.named.items()
        ]
        head = wording.BATCH.format(count=len(asked))
        return "\n\n".join([head, *asked, wording.batch_format(tuple(self.named), style=style)])

    @property
    def schema(self) -> dict[str, object]:
        """JSON schema of the reply."""
        choices = dict.fromkeys(choice for question in self.questions for choice in question.listed)
        return wording.batch_schema(tuple(self.named), tuple(choices), style=self.questions[0].style)


@dataclass(slots=True)
class _State:
    """What is still open, and what the calls took."""

    open: dict[str, Question]
    casts: dict[str, Cast] = field(default_factory=dict[str, Cast])
    usage: Usage = field(default_factory=Usage)
    notes: tuple[str, ...] = ()

    def fail(self, cause: Cause, message: str, reply: Reply) -> None:
        """Fail all that is open."""
        for name in list(self.open):
            self.settle(name, Cast(None, cause=cause, message=message, **said(reply, reply.text)))

    def settle(self, name: str, cast: Cast) -> None:
        """Close one."""
        del self.open[name]
        self.casts[name] = cast


async def cast_batch(ask: Ask, request: Request, batch: Batch, view: View, options: JudgeOptions) -> list[Cast]:
    """Ask a judge several questions at once, and again, once, about those whose answers can't be used.

    Args:
        ask: Makes one call.
        request: The first one.
        batch: What is asked.
        view: Where quotes are looked up.
        options: What counts as a quote, and what an answer does that its quotes do not carry.

    Returns:
        A vote for each question, in order. What the calls took is shared out among them; the sum is right.
    """
    state = _State(dict(batch.named))
    tried: set[str] = set()
    while state.open:
        try:
            reply = await ask(request)
        except JudgeError as error:
            lost = no_reply(error, Usage())
            state.usage += lost.usage
            for name in list(state.open):
                state.settle(name, replace(lost, usage=Usage()))
            break
        state.usage += reply.usage
        state.notes = (*state.notes, *(note for note in reply.notes if note not in state.notes))
        if reply.finish in NO_ANSWER:
            state.fail("judge_failed", NO_ANSWER[reply.finish], reply)
        elif reply.finish == "length":
            if "room" in tried:
                state.fail("judge_unparseable", cut_words(reply, request.max_tokens), reply)
            tried.add("room")
            request = with_more_room(request)
        else:
            request = _next(request, reply, state, view, options, last="again" in tried)
            tried.add("again")
    shares = _shared(state.usage, len(batch.questions))
    return [
        replace(state.casts[name], usage=share, notes=(*state.notes, *state.casts[name].notes))
        for name, share in zip(batch.named, shares, strict=True)
    ]


def _next(request: Request, reply: Reply, state: _State, view: View, options: JudgeOptions, *, last: bool) -> Request:
    """Settle what a reply settles; the request that asks for the rest."""
    try:
        readings = _read(reply, state.open, view)
    except Unreadable as fault:
        if last:
            state.fail("judge_unparseable", f"the judge's reply could not be read: {fault}", reply)
        return again(request, reply, not_read(reply, fault))
    faults: dict[str, str] = {}
    for name, question in list(state.open.items()):
        counted = _counted(readings[name], question, view, options, last=last)
        if isinstance(counted, Cast):
            state.settle(name, replace(counted, **said(reply, reply.text)))
        else:
            faults[name] = counted
    return again(request, reply, _complaint(faults))


def _read(reply: Reply, asked: Mapping[str, Question], view: View) -> dict[str, Reading | Unreadable]:
    choices = {name: question.choices for name, question in asked.items()}
    return read_batch(
        spoken(reply), choices, planted=planted_in(view, "\n\n".join(question.asked for question in asked.values()))
    )


def _counted(
    reading: Reading | Unreadable, question: Question, view: View, options: JudgeOptions, *, last: bool
) -> Cast | str:
    """A vote, or what is wrong with an answer that is to be asked for again."""
    if isinstance(reading, Unreadable):
        if last:
            return Cast(None, cause="judge_unparseable", message=f"the judge's answer could not be read: {reading}")
        return str(reading)
    counted = weigh(reading, question, view, options, last=last)
    if isinstance(counted, Cast):
        return counted
    wanted = "needs a quote that stands" if counted.needed else "may only have quotes that stand"
    return f'the answer "{reading.answer}" {wanted} in the record. {counted.hint}'


def _complaint(faults: Mapping[str, str]) -> str:
    listed = "\n".join(f"- {name}: {fault}" for name, fault in faults.items())
    return wording.BATCH_AGAIN.format(faults=listed, names=", ".join(faults))


def _shared(usage: Usage, count: int) -> Sequence[Usage]:
    """What calls took, in shares that add up to it."""

    def share(total: int, index: int) -> int:
        return total // count + (index < total % count)

    return [
        Usage(
            calls=share(usage.calls, index),
            input_tokens=share(usage.input_tokens, index),
            cached_tokens=share(usage.cached_tokens, index),
            output_tokens=share(usage.output_tokens, index),
            cost=None if usage.cost is None else usage.cost / count,
            seconds=usage.seconds / count,
        )
        for index in range(count)
    ]
