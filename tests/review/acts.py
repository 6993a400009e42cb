"""Acts of reviewers, without a browser."""

from __future__ import annotations

from rubricgrade.evidence import Sources, select
from rubricgrade.review import acting
from rubricgrade.review.desk import Desk
from rubricgrade.review.items import Item


def item_of(desk: Desk, episode: str, criterion: str) -> Item:
    return next(each for each in desk.items.values() if (each.episode, each.criterion) == (episode, criterion))


def decide(
    desk: Desk,
    episode: str,
    criterion: str,
    verdict: str,
    *,
    by: str = "anna",
    why: str = "",
    quotes: tuple[str, ...] = (),
) -> None:
    sources = Sources(select(desk.episodes[episode].trajectory()))
    acting.decide(desk, item_of(desk, episode, criterion), by, verdict, why=why, quotes=quotes, sources=sources)
