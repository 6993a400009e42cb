"""Disagreements: opinions without names, in an order that tells nothing, and what an adjudicator makes of them."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rubricgrade import digest
from rubricgrade.agreement.joining import answer_of
from rubricgrade.agreement.measures import CANNOT_TELL
from rubricgrade.errors import InputError
from rubricgrade.review import acting
from rubricgrade.review.desk import Desk
from rubricgrade.review.items import Item
from rubricgrade.review.opinions import settled
from rubricgrade.review.records import Cause
from rubricgrade.review.web.front import address, desk_of, fault, form_of, item_of, message, page, reviewer_of, to

CAUSES: dict[Cause, str] = {
    "judge_wrong": "the judge is wrong",
    "reviewer_wrong": "a reviewer is wrong",
    "criterion_ambiguous": "the criterion can be read both ways",
    "evidence_missing": "what would decide it is not there",
    "trajectory_cut": "the record is cut",
    "other": "something else",
}


@dataclass(frozen=True, slots=True)
class Voice:
    """One opinion, without its name.

    Attributes:
        letter: What it is called.
        verdict: What it holds.
        why: Its reasons.
        quotes: What it rests on.
    """

    letter: str
    verdict: str
    why: str
    quotes: tuple[str, ...]


async def listing(request: Request) -> Response:
    """Everything that is in dispute."""
    desk, reviewer = desk_of(request), reviewer_of(request)
    disputed = [item for item in desk.items.values() if in_dispute(desk, item)]
    rows = [(item, settled(desk.opinions(item).values())) for item in disputed if desk.open_to(item, reviewer)]
    return page(
        request,
        "adjudicate.html",
        waiting=[item for item, act in rows if act is None],
        done=[(item, act) for item, act in rows if act is not None],
        closed=[item for item in _decided_by_others(desk) if not desk.open_to(item, reviewer)],
        causes=CAUSES,
    )


async def show(request: Request) -> Response:
    """One disagreement."""
    item, desk, reviewer = item_of(request), desk_of(request), reviewer_of(request)
    if not desk.open_to(item, reviewer):
        return message(request, 403, "Give your own verdict first", ["Then the opinions of others are shown."])
    return page(
        request,
        "settle.html",
        item=item,
        voices=voices_of(desk, item),
        act=settled(desk.opinions(item).values()),
        causes=CAUSES,
    )


async def settle(request: Request) -> Response:
    """Settle one."""
    item = item_of(request)
    form = await form_of(request)
    try:
        acting.adjudicate(
            desk_of(request),
            item,
            reviewer_of(request),
            form.text("verdict"),
            cause=form.text("cause"),
            why=form.text("why"),
        )
    except InputError as error:
        return fault(request, error)
    return to(str(address("adjudicate")))


def in_dispute(desk: Desk, item: Item) -> bool:
    """Whether people differ among themselves, or one who has seen the judge's verdict still holds another."""
    finals = {opinion.final.verdict for opinion in desk.opinions(item).values() if opinion.final} - {CANNOT_TELL}
    judge = answer_of(desk.episodes[item.episode].results[item.criterion]) if item.by == "judge" else None
    return len(finals) > 1 or (len(finals) == 1 and judge is not None and judge not in finals)


def voices_of(desk: Desk, item: Item) -> list[Voice]:
    """All opinions on an item, the judge's among them."""
    result = desk.episodes[item.episode].results[item.criterion]
    said = [
        (opinion.final.verdict, opinion.final.why, tuple(one.quote for one in opinion.final.evidence))
        for opinion in desk.opinions(item).values()
        if opinion.final
    ]
    if item.by == "judge" and answer_of(result) is not None:
        said.append((result.verdict, result.reasoning, tuple(one.quote for one in result.evidence)))
    said.sort(key=lambda one: digest.of_value([item.id, *one[:2], list(one[2])]))
    return [Voice(chr(ord("A") + number), *one) for number, one in enumerate(said)]


def _decided_by_others(desk: Desk) -> list[Item]:
    return [item for item in desk.items.values() if any(opinion.final for opinion in desk.opinions(item).values())]


ROUTES: tuple[BaseRoute, ...] = (
    Route("/adjudicate", listing),
    Route("/adjudicate/{item}", show),
    Route("/adjudicate/{item}", settle, methods=["POST"]),
)
