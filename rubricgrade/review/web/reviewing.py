"""One item: the transcript to the left; to the right the reviewer's own verdict first, then the judge's beside it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rubricgrade.errors import InputError
from rubricgrade.review import acting
from rubricgrade.review.effective import effective_grade, ruling_on
from rubricgrade.review.items import Item
from rubricgrade.review.marking import Mark
from rubricgrade.review.opinions import Opinion
from rubricgrade.review.transcript import Transcript
from rubricgrade.review.web.front import (
    address,
    asks_for_part,
    desk_of,
    episode_id,
    form_of,
    front_of,
    item_of,
    message,
    page,
    reviewer_of,
    to,
)
from rubricgrade.review.web.quotes import Quote, joined, quotes_of
from rubricgrade.review.web.reading import marked_blocks, shown_of
from rubricgrade.store.verdicts import VerdictCache


@dataclass(frozen=True, slots=True)
class _Sight:
    """What a reviewer may see of the quotes on an item."""

    judge: list[Quote]
    own: list[Quote]
    marks: dict[str, list[Mark]]


async def start(request: Request) -> Response:
    """Go to the first item of the queue that waits for this reviewer."""
    desk, reviewer = desk_of(request), reviewer_of(request)
    waiting = next((item for item, _ in desk.queue(reviewer) if not desk.dealt_with(item, reviewer)), None)
    return to("/queue" if waiting is None else str(address("review", waiting.id)))


async def show(request: Request) -> Response:
    """The page of an item."""
    item = item_of(request)
    transcript = await desk_of(request).transcript(desk_of(request).episodes[item.episode])
    sight = _sight(request, item, transcript)
    shown = shown_of(request, transcript, sight.marks)
    return page(
        request,
        "review.html",
        transcript=transcript,
        shown=shown,
        unfold=Markup(f"{address('review', item.id)}?"),  # noqa: S704 - an address of ours, made safe
        more=Markup(f"{address('review', item.id, 'steps')}?"),  # noqa: S704 - the same
        query=request.query_params,
        **_panel(request, item, transcript, sight, pages={shown.page}),
    )


async def steps(request: Request) -> Response:
    """A later page of the transcript, for a page that is open."""
    item = item_of(request)
    transcript = await desk_of(request).transcript(desk_of(request).episodes[item.episode])
    return page(
        request,
        "steps.html",
        shown=shown_of(request, transcript, _sight(request, item, transcript).marks),
        unfold=Markup(f"{address('review', item.id)}?"),  # noqa: S704 - an address of ours, made safe
        more=Markup(f"{address('review', item.id, 'steps')}?"),  # noqa: S704 - the same
    )


async def act(request: Request) -> Response:
    """Carry out what a form of an item's page asks for."""
    item, desk, reviewer = item_of(request), desk_of(request), reviewer_of(request)
    form = await form_of(request)
    transcript = await desk.transcript(desk.episodes[item.episode])
    what, why = form.text("act"), form.text("why")
    complaint = ""
    try:
        match what:
            case "decide":
                quotes = form.text("quotes").splitlines()
                verdict = form.text("verdict")
                acting.decide(desk, item, reviewer, verdict, why=why, quotes=quotes, sources=transcript.sources)
            case "reveal":
                acting.reveal(desk, item, reviewer)
            case "skip":
                acting.skip(desk, item, reviewer, why)
            case "unclear":
                acting.flag(desk, item, reviewer, why)
            case "undo":
                acting.undo(desk, item, reviewer)
            case _:
                raise HTTPException(400, "no such act")
    except InputError as error:
        complaint = str(error)
    if not asks_for_part(request):
        return message(request, 422, "Not saved", [complaint]) if complaint else to(str(address("review", item.id)))
    sight = _sight(request, item, transcript)
    loaded = {int(number) for number in form.fields.get("loaded", []) if number.isdecimal() and len(number) < 7}  # noqa: PLR2004 - digits of a page
    return page(
        request,
        "panel.html",
        422 if complaint else 200,
        swapped=marked_blocks(transcript, sight.marks, sorted(loaded), redact=front_of(request).redact),
        unfold=Markup(f"{address('review', item.id)}?"),  # noqa: S704 - an address of ours, made safe
        **_panel(request, item, transcript, sight, pages=loaded, complaint=complaint),
    )


async def prompt(request: Request) -> Response:
    """What the judge was sent, word for word, once the reviewer may see it."""
    item, desk = item_of(request), desk_of(request)
    if not desk.open_to(item, reviewer_of(request)):
        raise HTTPException(403, "give your own verdict first")
    record = desk.episodes[item.episode].results[item.criterion].judge
    texts: tuple[str, ...] | None = None
    if record is not None and record.prompt:
        cache = VerdictCache(front_of(request).cache)
        try:
            texts = cache.prompt(record.prompt)
        finally:
            cache.close()
    return page(request, "prompt.html", item=item, record=record, texts=texts)


def _sight(request: Request, item: Item, transcript: Transcript) -> _Sight:
    desk, reviewer = desk_of(request), reviewer_of(request)
    if not desk.open_to(item, reviewer):
        return _Sight([], [], {})
    result = desk.episodes[item.episode].results[item.criterion]
    judge, of_judge = quotes_of(result.evidence, transcript, prefix="q", title="quoted by the judge", style="judge")
    final = desk.opinion(item, reviewer).final
    evidence = () if final is None else final.evidence
    own, of_own = quotes_of(evidence, transcript, prefix="own", title="quoted by you", style="own")
    return _Sight(judge, own, joined([of_judge, of_own]))


def _panel(
    request: Request, item: Item, transcript: Transcript, sight: _Sight, *, pages: set[int], complaint: str = ""
) -> dict[str, Any]:
    """What the right side shows. Only an open one holds anything that a judge said."""
    desk, reviewer = desk_of(request), reviewer_of(request)
    episode = desk.episodes[item.episode]
    opinions = desk.opinions(item)
    before, after = desk.neighbours(item, reviewer)
    context: dict[str, Any] = {
        "item": item,
        "episode": episode,
        "episode_id": episode_id(episode),
        "opinion": opinions.get(reviewer, Opinion(reviewer)),
        "before": before,
        "after": after,
        "complaint": complaint,
        "open": desk.open_to(item, reviewer),
    }
    if not context["open"]:
        return context

    def link(quote: Quote) -> Markup:
        there = transcript.page_of(quote.anchor) in pages
        start = Markup("") if there else address("review", item.id, at=quote.anchor)
        return Markup("{}#{}").format(start, quote.target)

    result = episode.results[item.criterion]
    votes = Counter(vote.answer for vote in result.judge.votes) if result.judge else Counter[str]()
    ruling = ruling_on(item, opinions)
    return context | {
        "result": result,
        "votes": votes.most_common(),
        "quotes": sight.judge,
        "own": sight.own,
        "link": link,
        "others": {name: each for name, each in opinions.items() if name != reviewer and each.final},
        "ruling": ruling,
        "effect": _effect(request, item),
        "drawn": desk.drawn(item),
        "doubts": desk.doubts(item) if item.by == "judge" else (),
    }


def _effect(request: Request, item: Item) -> tuple[Any, Any] | None:
    """The grade as it stands and as it holds with people's verdicts; None before everything may be seen."""
    desk = desk_of(request)
    episode = desk.episodes[item.episode]
    if not desk.wholly_open_to(episode, reviewer_of(request)):
        return None
    return episode.grade, effective_grade(episode.grade, episode.rubric, desk.rulings(episode))


ROUTES: tuple[BaseRoute, ...] = (
    Route("/review", start),
    Route("/review/{item}", show),
    Route("/review/{item}", act, methods=["POST"]),
    Route("/review/{item}/steps", steps),
    Route("/review/{item}/prompt", prompt),
)
