"""The acts of a reviewer: each checked against what he may do, and written as records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast, get_args

from rubricgrade import digest
from rubricgrade.errors import InputError
from rubricgrade.evidence import Sources, locate
from rubricgrade.result import Evidence
from rubricgrade.review.desk import Desk
from rubricgrade.review.items import Item
from rubricgrade.review.records import (
    Adjudicated,
    Cause,
    Decided,
    Revealed,
    Skipped,
    Unclear,
    Undone,
    new_id,
    now,
)

MOST_QUOTES = 20
LONGEST_QUOTE = 2000


def decide(
    desk: Desk, item: Item, reviewer: str, verdict: str, *, why: str = "", quotes: Sequence[str] = (), sources: Sources
) -> None:
    """Give a verdict; a first one is followed by seeing the judge's, in the same write.

    Args:
        desk: Where.
        item: On what.
        reviewer: Whose verdict it is.
        verdict: One of the item's.
        why: Needed when the verdict is another than before, and the judge's was seen.
        quotes: What it rests on, looked up in `sources`.
        sources: The texts of the episode.

    Raises:
        InputError: It is no verdict of this item, or the reason is missing.
        StoreError: It can't be written.
    """
    if verdict not in item.verdicts:
        raise InputError("choose one of the answers")
    opinion = desk.opinion(item, reviewer)
    blind = desk.blind and not opinion.open
    before = opinion.final
    if before is not None and before.verdict != verdict and not why.strip():
        raise InputError("say why you change your verdict: the reason is kept with it")
    decided = Decided(
        **_about(desk, item, reviewer),
        verdict=verdict,
        blind=blind,
        why=why.strip(),
        evidence=_located(quotes, sources),
        drawn=desk.drawn(item) if blind else None,
    )
    desk.add(item, [decided] if opinion.seen else [decided, _reveal(desk, item, reviewer)])


def reveal(desk: Desk, item: Item, reviewer: str) -> None:
    """See the judge's verdict without deciding: what he decides later is not blind."""
    if not desk.opinion(item, reviewer).seen:
        desk.add(item, [_reveal(desk, item, reviewer)])


def skip(desk: Desk, item: Item, reviewer: str, why: str) -> None:
    """Leave an item undecided.

    Raises:
        InputError: No reason is given.
    """
    desk.add(item, [Skipped(**_about(desk, item, reviewer), why=_reason(why, "say why you skip it"))])


def flag(desk: Desk, item: Item, reviewer: str, why: str) -> None:
    """Call a criterion unclear.

    Raises:
        InputError: No reason is given.
    """
    desk.add(item, [Unclear(**_about(desk, item, reviewer), why=_reason(why, "say what is unclear in it"))])


def adjudicate(desk: Desk, item: Item, reviewer: str, verdict: str, *, cause: str, why: str) -> None:
    """Settle a disagreement.

    Raises:
        InputError: The adjudicator has not decided it himself before, or something is missing.
    """
    if not desk.open_to(item, reviewer):
        raise InputError("give your own verdict first")
    if verdict not in item.verdicts:
        raise InputError("choose the verdict that holds")
    if cause not in get_args(Cause):
        raise InputError("choose what the disagreement comes from")
    reason = _reason(why, "say why: the reason is kept with it")
    act = Adjudicated(**_about(desk, item, reviewer), verdict=verdict, cause=cast("Cause", cause), why=reason)
    desk.add(item, [act])


def undo(desk: Desk, item: Item, reviewer: str) -> None:
    """Take back the reviewer's last act on an item. What he has seen can't be taken back.

    Raises:
        InputError: There is nothing to take back.
    """
    last = desk.opinion(item, reviewer).last
    if last is None:
        raise InputError("there is nothing to undo here")
    desk.add(item, [Undone(**_about(desk, item, reviewer), undoes=last.id)])


def _about(desk: Desk, item: Item, reviewer: str) -> dict[str, Any]:
    grade = desk.episodes[item.episode].grade
    return {
        "id": new_id(),
        "at": now(),
        "by": reviewer,
        "trajectory": grade.trajectory.hash,
        "rubric": grade.rubric.hash,
        "criterion": item.criterion,
        "question": item.question,
    }


def _reveal(desk: Desk, item: Item, reviewer: str) -> Revealed:
    grade = digest.of_bytes(desk.episodes[item.episode].grade.canonical())
    return Revealed(**_about(desk, item, reviewer), grade=grade)


def _located(quotes: Sequence[str], sources: Sources) -> tuple[Evidence, ...]:
    wanted = [quote.strip()[:LONGEST_QUOTE] for quote in quotes if quote.strip()][:MOST_QUOTES]
    return tuple(locate(quote, sources) for quote in wanted)


def _reason(why: str, missing: str) -> str:
    if not why.strip():
        raise InputError(missing)
    return why.strip()
