"""Whether an answer's quotes carry it: every one that it gives must stand in the record, and some answers need one."""

from __future__ import annotations

import json
from dataclasses import dataclass

from rubricgrade.evidence import Sources, locate, one_line, proves
from rubricgrade.judge.question import Question
from rubricgrade.judge.reply import Quote
from rubricgrade.result import Evidence

LEAST = "two words and eight letters or digits"
"""What a quote must have to prove anything unless it is all of a line, in words; `evidence.proves` decides it."""

_OR_ALL = ", or be all of a line"
_NAMED = 3  # lost quotes that a message names


@dataclass(frozen=True, slots=True)
class Gap:
    """What the quotes of an answer lack.

    Attributes:
        lost: Quotes that were given and do not stand in the record.
        short: Quotes that stand there and say too little to prove anything; empty if another quote proves enough, or
            none has to.
        needed: The answer needs a quote that proves it, and has none.
    """

    lost: tuple[str, ...]
    short: tuple[str, ...]
    needed: bool

    @property
    def words(self) -> str:
        """What is wrong, for people."""
        if self.lost:
            more = f" and {len(self.lost) - _NAMED} more" if len(self.lost) > _NAMED else ""
            return f"it quotes what does not stand in the record: {_listed(self.lost[:_NAMED])}{more}"
        if self.short:
            return f"its quotes say too little: {_listed(self.short[:_NAMED])}; one must have at least {LEAST}{_OR_ALL}"
        return "it needs a quote from the record, and gives none"

    @property
    def hint(self) -> str:
        """What is wrong, for the judge."""
        return f"Not found in the record: {_listed(self.lost)}." if self.lost else "Yours are missing or too short."


def look_up(quotes: tuple[Quote, ...], sources: Sources) -> tuple[Evidence, ...]:
    """Each quote with its place in the record, if it has one. A blank one is none: forms get filled in with them."""
    return tuple(locate(quote.text, sources, quote.where) for quote in quotes if quote.text.strip())


def gap_of(
    answer: str, evidence: tuple[Evidence, ...], question: Question, sources: Sources, *, strict: bool
) -> Gap | None:
    """What an answer's quotes lack; None if it counts.

    The rule is the same for every answer, also for those that need no quote: one that was made up shows that the answer
    does not rest on the record.

    Args:
        answer: A choice or ``cannot_tell``.
        evidence: Its quotes, looked up.
        question: What was asked.
        sources: What it was looked up in.
        strict: Whether ``near`` is not enough.
    """
    enough = ("verified",) if strict else ("verified", "near")
    lost = tuple(each.quote for each in evidence if each.verified not in enough)
    # Who says no more than "Idiot!" can't be quoted with more.
    needed = question.needs_quote(answer) and not any(
        proves(each, strict=strict) or sources.whole(each) for each in evidence
    )
    if not lost and not needed:
        return None
    short = tuple(each.quote for each in evidence if each.verified in enough) if needed else ()
    return Gap(lost, short, needed)


def _listed(quotes: tuple[str, ...]) -> str:
    return ", ".join(json.dumps(one_line(quote, 200), ensure_ascii=False) for quote in quotes)
