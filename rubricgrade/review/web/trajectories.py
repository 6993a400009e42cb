"""One episode: its whole transcript with everything that was quoted, and how its points add up to its score."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rubricgrade.report.arithmetic import score_lines
from rubricgrade.result import CriterionResult, GateResult
from rubricgrade.review.effective import effective_grade
from rubricgrade.review.episodes import Episode
from rubricgrade.review.marking import Mark
from rubricgrade.review.transcript import Transcript
from rubricgrade.review.web.front import address, desk_of, episode_id, episode_of, page, reviewer_of
from rubricgrade.review.web.quotes import Quote, joined, quotes_of
from rubricgrade.review.web.reading import Shown, shown_of
from rubricgrade.review.web.waterfall import waterfall

COLOURS = 6


async def show(request: Request) -> Response:
    """The page of an episode."""
    episode = episode_of(request)
    desk, reviewer = desk_of(request), reviewer_of(request)
    transcript = await desk.transcript(episode)
    quotes, marks = _quotes(request, episode, transcript)
    shown = shown_of(request, transcript, marks)
    context: dict[str, Any] = {"wholly": desk.wholly_open_to(episode, reviewer)}
    if context["wholly"]:
        effective = effective_grade(episode.grade, episode.rubric, desk.rulings(episode))
        context |= {
            "effective": effective,
            "bars": waterfall(effective),
            "sum": score_lines(effective),
            "changed": effective.bounds != episode.grade.bounds,
        }
    return page(
        request,
        "trajectory.html",
        episode=episode,
        episode_id=episode_id(episode),
        transcript=transcript,
        shown=shown,
        quotes=quotes,
        link=_linker(episode, transcript, shown),
        rulings={name: ruling for name, ruling in desk.rulings(episode).items() if name in quotes},
        items={item.criterion: item for item in episode.items},
        results=_shown_results(request, episode),
        hidden=[item for item in episode.items if not desk.open_to(item, reviewer)],
        query=request.query_params,
        unfold=Markup(f"{address('trajectory', episode_id(episode))}?"),  # noqa: S704 - an address of ours, made safe
        more=Markup(f"{address('trajectory', episode_id(episode), 'steps')}?"),  # noqa: S704 - the same
        **context,
    )


async def steps(request: Request) -> Response:
    """A later page of the transcript, for a page that is open."""
    episode = episode_of(request)
    transcript = await desk_of(request).transcript(episode)
    return page(
        request,
        "steps.html",
        shown=shown_of(request, transcript, _quotes(request, episode, transcript)[1]),
        unfold=Markup(f"{address('trajectory', episode_id(episode))}?"),  # noqa: S704 - an address of ours, made safe
        more=Markup(f"{address('trajectory', episode_id(episode), 'steps')}?"),  # noqa: S704 - the same
    )


def _shown_results(request: Request, episode: Episode) -> list[CriterionResult]:
    """Every criterion that is decided by itself and open to the reader: by code, or by a judge that he may hear."""
    desk, reviewer = desk_of(request), reviewer_of(request)
    items = {item.criterion: item for item in episode.items}
    results = [result for leaf in episode.grade.leaves() for result in leaf.parts or (leaf,)]
    return [result for result in results if result.id not in items or desk.open_to(items[result.id], reviewer)]


def _quotes(
    request: Request, episode: Episode, transcript: Transcript
) -> tuple[dict[str, list[Quote]], dict[str, list[Mark]]]:
    """Quotes by gate and criterion, each criterion in its colour, and their marks."""
    quotes: dict[str, list[Quote]] = {}
    marks: list[dict[str, list[Mark]]] = []
    shown: list[GateResult | CriterionResult] = [*episode.grade.gates, *_shown_results(request, episode)]
    for number, result in enumerate(shown):
        quotes[result.id], found = quotes_of(
            result.evidence, transcript, prefix=f"q{number}-", title=result.id, style=f"colour-{number % COLOURS}"
        )
        marks.append(found)
    return quotes, joined(marks)


def _linker(episode: Episode, transcript: Transcript, shown: Shown) -> Any:
    def link(quote: Quote) -> Markup:
        there = transcript.page_of(quote.anchor) == shown.page and not shown.searched
        start = Markup("") if there else address("trajectory", episode_id(episode), at=quote.anchor)
        return Markup("{}#{}").format(start, quote.target)

    return link


ROUTES: tuple[BaseRoute, ...] = (
    Route("/trajectory/{episode}", show),
    Route("/trajectory/{episode}/steps", steps),
)
