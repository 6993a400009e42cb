"""Where one is: the runs and their episodes, the queue, and who is reviewing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rubricgrade.errors import InputError
from rubricgrade.report.arithmetic import failed
from rubricgrade.review.episodes import Episode
from rubricgrade.review.exporting import reviewers_of
from rubricgrade.review.queue import Mix
from rubricgrade.review.records import reviewer_name
from rubricgrade.review.web.front import (
    KEYS,
    SEAT,
    YEAR,
    desk_of,
    episode_id,
    fault,
    form_of,
    page,
    reviewer_of,
    to,
)

LARGEST_DRAW = 100_000
DEFAULT_DRAW = 50


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run of the overview. What follows from judges' verdicts is counted over episodes that are open to the reader.

    Attributes:
        name: The run's folder; empty for the folder that is reviewed.
        rubrics: Titles.
        judges: Names.
        episodes: How many.
        gates_passed: Episodes whose gates all passed.
        ungraded: Episodes without a score, of those that are open.
        mean: Mean score of those that are open and graded; None if there is none.
        mean_now: The same with what people say.
        open: Episodes that are wholly open.
        items: What people can decide.
        reviewed: Of these, what anybody decided.
        cost: Of judging those that are open, US dollars; None is unknown.
    """

    name: str
    rubrics: tuple[str, ...]
    judges: tuple[str, ...]
    episodes: int
    gates_passed: int
    ungraded: int
    mean: float | None
    mean_now: float | None
    open: int
    items: int
    reviewed: int
    cost: float | None


async def runs(request: Request) -> Response:
    """The overview."""
    desk, reviewer = desk_of(request), reviewer_of(request)
    names = sorted({episode.run for episode in desk.episodes.values()})
    episodes = [
        {
            "episode": episode,
            "id": episode_id(episode),
            "gates": _passed(episode),
            "open": desk.wholly_open_to(episode, reviewer),
            "now": desk.effective(episode).bounds,
            "decided": sum(desk.dealt_with(item, reviewer) for item in episode.items),
        }
        for episode in desk.episodes.values()
    ]
    return page(request, "runs.html", rows=[_row(request, name) for name in names], episodes=episodes)


async def queue(request: Request) -> Response:
    """What is to be reviewed."""
    desk, reviewer = desk_of(request), reviewer_of(request)
    query = request.query_params
    wanted = {name: query.get(name, "") for name in ("criterion", "state", "episode")}
    rows: list[dict[str, Any]] = []
    for item, drawn in desk.queue(reviewer):
        opinion = desk.opinion(item, reviewer)
        state = "decided" if opinion.final else "skipped" if opinion.skipped else "waiting"
        if wanted["criterion"] in ("", item.row) and wanted["state"] in ("", state):
            if wanted["episode"] and wanted["episode"] not in item.episode:
                continue
            # Why it was drawn tells what the judge said of it.
            seen = desk.open_to(item, reviewer)
            rows.append(
                {
                    "item": item,
                    "state": state,
                    "opinion": opinion,
                    "drawn": drawn if seen else None,
                    "doubts": desk.doubts(item) if seen and item.by == "judge" else (),
                }
            )
    return page(
        request,
        "queue.html",
        rows=rows,
        wanted=wanted,
        criteria=sorted({item.row for item in desk.items.values()}),
        current=desk.current_draw(),
        size=min(DEFAULT_DRAW, len(desk.items)),
        population=len(desk.items),
        known=list(reviewers_of(desk)),
    )


async def draw(request: Request) -> Response:
    """Draw a queue."""
    form = await form_of(request)
    try:
        mix = Mix.parse("/".join(form.text(name) or "0" for name in ("uncertain", "random", "gold")))
        size = form.number("size", DEFAULT_DRAW, LARGEST_DRAW)
        among = [reviewer_name(name) for name in re.split(r"[\s,]+", form.text("reviewers")) if name]
        desk_of(request).draw(
            reviewer_of(request),
            size=size,
            mix=mix,
            seed=form.number("seed", 0, 2**31),
            reviewers=among,
            overlap=form.number("overlap", 0, 100) / 100,
        )
    except InputError as error:
        return fault(request, error)
    return to("/queue")


async def seat(request: Request) -> Response:
    """Who is reviewing."""
    return page(request, "seat.html", known=list(reviewers_of(desk_of(request))))


async def take_seat(request: Request) -> Response:
    """Review under another name, in this browser."""
    form = await form_of(request)
    try:
        name = reviewer_name(form.text("name").strip())
    except InputError as error:
        return fault(request, error)
    response = to("/queue")
    response.set_cookie(SEAT, name, max_age=YEAR, httponly=True, samesite="strict")
    return response


async def keys(request: Request) -> Response:
    """Switch the keys on or off, in this browser."""
    form = await form_of(request)
    back = form.text("back")
    # An address of ours begins with one slash; two would lead to another site.
    response = to(back if back.startswith("/") and not back.startswith(("//", "/\\")) else "/")
    response.set_cookie(KEYS, "off" if form.text("keys") == "off" else "on", max_age=YEAR, samesite="strict")
    return response


def _row(request: Request, name: str) -> RunRow:
    desk, reviewer = desk_of(request), reviewer_of(request)
    episodes = [episode for episode in desk.episodes.values() if episode.run == name]
    seen = [episode for episode in episodes if desk.wholly_open_to(episode, reviewer)]
    items = [item for episode in episodes for item in episode.items]
    costs = [episode.grade.usage.cost for episode in seen]
    return RunRow(
        name=name,
        rubrics=tuple(_named(f"{each.rubric.title or each.rubric.id}" for each in episodes)),
        judges=tuple(_named(each.grade.judge.id if each.grade.judge else "no judge" for each in episodes)),
        episodes=len(episodes),
        gates_passed=sum(_passed(episode) for episode in episodes),
        ungraded=sum(episode.grade.score is None for episode in seen),
        mean=_mean([episode.grade.score for episode in seen]),
        mean_now=_mean([desk.effective(episode).score for episode in seen]),
        open=len(seen),
        items=len(items),
        reviewed=sum(any(opinion.final for opinion in desk.opinions(item).values()) for item in items),
        cost=None if None in costs else sum(cost for cost in costs if cost is not None),
    )


def _passed(episode: Episode) -> bool:
    return not any(gate.open or failed(gate.value, gate.at_least) for gate in episode.grade.gates)


def _named(names: Iterator[str]) -> Iterator[str]:
    """Names by how often they come, at most three."""
    yield from (name for name, _ in Counter(names).most_common(3))


def _mean(scores: list[float | None]) -> float | None:
    known = [score for score in scores if score is not None]
    return sum(known) / len(known) if known else None


ROUTES: tuple[BaseRoute, ...] = (
    Route("/", runs),
    Route("/queue", queue),
    Route("/queue", draw, methods=["POST"]),
    Route("/seat", seat),
    Route("/seat", take_seat, methods=["POST"]),
    Route("/keys", keys, methods=["POST"]),
)
