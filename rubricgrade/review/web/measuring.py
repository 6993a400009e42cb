"""Numbers: how far people and judge agree, one criterion in all episodes, and two versions beside each other."""

from __future__ import annotations

from collections import Counter
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rubricgrade.agreement.joining import answer_of
from rubricgrade.errors import InputError
from rubricgrade.review.figures import SPLITS, figures
from rubricgrade.review.queue import Mix
from rubricgrade.review.versions import compare, flipped, versions_of
from rubricgrade.review.web.front import desk_of, fault, form_of, page, reviewer_of, to

DRAWS = 1000
"""Of the bootstrap: a page should not be waited for."""

LARGEST_QUEUE = 1000
"""Of flipped verdicts."""

BINS = 20
"""Of the histogram of score changes, from -1 to 1."""


async def agreement(request: Request) -> Response:
    """People and judge."""
    asked = request.query_params.get("split", "all")
    split = asked if asked in SPLITS else "all"
    found = figures(desk_of(request), reviewer_of(request), split=split, draws=DRAWS)
    rows = [row for row in found.agreement.criteria if row.labelled or row.split]
    return page(request, "agreement.html", found=found, rows=rows, split=split, splits=SPLITS)


async def criterion(request: Request) -> Response:
    """One criterion, as far as it is open to the reader."""
    desk, reviewer = desk_of(request), reviewer_of(request)
    name = request.path_params["criterion"]
    items = [item for item in desk.items.values() if item.row == name]
    if not items:
        raise HTTPException(404, "no judge and no person decides such a criterion here")
    rows: list[dict[str, Any]] = []
    table, verdicts = Counter[tuple[str, str]](), Counter[str]()
    votes = Counter[tuple[str, str]]()
    several = split = 0
    for item in items:
        if not desk.open_to(item, reviewer):
            continue
        result = desk.episodes[item.episode].results[item.criterion]
        opinions = desk.opinions(item)
        verdicts[result.verdict] += 1
        cast = result.judge.votes if result.judge is not None else ()
        votes.update((vote.recorded_by or vote.model, vote.answer) for vote in cast)
        several += len(cast) > 1
        split += len({vote.answer for vote in cast}) > 1
        for opinion in opinions.values():
            if opinion.first is not None and item.by == "judge":
                table[opinion.first.verdict, answer_of(result) or "no verdict"] += 1
        rows.append({"item": item, "result": result, "opinions": opinions})
    wordings = Counter((item.text, desk.episodes[item.episode].grade.rubric.hash) for item in items)
    return page(
        request,
        "criterion.html",
        name=name,
        item=items[0],
        rows=rows,
        verdicts=verdicts.most_common(),
        table=sorted(table.items()),
        votes=sorted(votes.items()),
        several=several,
        split=split,
        wordings=wordings.most_common(),
        unclear=[act for row in rows for opinion in row["opinions"].values() for act in opinion.unclear],
        closed=len(items) - len(rows),
    )


async def comparison(request: Request) -> Response:
    """Two versions."""
    desk = desk_of(request)
    versions = versions_of(desk)
    names = {version.id for version in versions}
    # The last two are what a change of judge or rubric has made.
    last = [version.id for version in versions][-2:] if len(versions) > 1 else ["", ""]
    before, after = request.query_params.get("a", last[0]), request.query_params.get("b", last[1])
    only = request.query_params.get("only", "")
    found = compare(desk, reviewer_of(request), before, after) if {before, after} <= names else None
    flips = (
        [] if found is None else [flip for flip in found.flips if not only or _against(flip.people, flip.after.verdict)]
    )
    return page(
        request,
        "compare.html",
        versions=versions,
        before=before,
        after=after,
        only=only,
        found=found,
        flips=flips,
        bins=[] if found is None else _histogram([(b, c) for _, b, c in found.scores]),
    )


async def queue_flips(request: Request) -> Response:
    """Draw a queue of what two versions decided differently."""
    form, desk = await form_of(request), desk_of(request)
    by_chance = form.number("random", 20, 99)
    try:
        desk.draw(
            reviewer_of(request),
            size=form.number("size", LARGEST_QUEUE, LARGEST_QUEUE),
            mix=Mix(100 - by_chance, by_chance, 0),
            seed=0,
            flipped=flipped(desk, (form.text("a"), form.text("b"))),
        )
    except InputError as error:
        return fault(request, error)
    return to("/queue")


def _against(people: str | None, verdict: str) -> bool:
    return people is not None and people != verdict


def _histogram(pairs: list[tuple[float | None, float | None]]) -> list[int]:
    """How many scores changed by how much, from -1 to 1."""
    counts = [0] * (BINS + 1)
    for before, after in pairs:
        if before is not None and after is not None:
            counts[round((after - before + 1) / 2 * BINS)] += 1
    return counts


ROUTES: tuple[BaseRoute, ...] = (
    Route("/agreement", agreement),
    Route("/criterion/{criterion}", criterion),
    Route("/compare", comparison),
    Route("/compare", queue_flips, methods=["POST"]),
)
