"""Making a record fit: the middle of long tool results is cut, nothing else, and what was cut is named."""

from __future__ import annotations

from collections.abc import Sequence

from rubricgrade.errors import JudgeError
from rubricgrade.evidence import Place

KEPT = 400
"""Characters of a tool result that are always kept (its beginning and its end, half each)."""


def fit(places: Sequence[Place], sizes: Sequence[int], room: int) -> tuple[Place, ...]:
    """Cut tool results so that the places fit.

    All results that are cut keep the same length; short ones stay whole. The task, everything that the agent said and
    did, and the files are never cut.

    Args:
        places: In order.
        sizes: Characters that each takes in the prompt.
        room: Characters for all.

    Returns:
        The same places; the cut ones with their hidden piece.

    Raises:
        JudgeError: It can't be done.
    """
    excess = sum(sizes) - room
    if excess <= 0:
        return tuple(places)
    results = [
        index for index, place in enumerate(places) if place.section == "log" and place.where.endswith(".result")
    ]
    limit = _limit(sorted(sizes[index] for index in results), excess)
    if limit < KEPT:
        least = sum(sizes) - sum(max(sizes[index] - KEPT, 0) for index in results)
        message = f"judge input too long: {least:,} characters after cutting all that may be cut, room for {room:,}"
        raise JudgeError(message)
    long = {index for index in results if sizes[index] > limit}
    return tuple(_cut(place, limit / sizes[index]) if index in long else place for index, place in enumerate(places))


def _limit(sizes: list[int], excess: int) -> int:
    """The length to which the longest must be cut to save `excess`; sizes ascending. Negative if that is not enough."""
    saved = 0
    for count, size in enumerate(reversed(sizes), 1):
        shorter = sizes[-count - 1] if count < len(sizes) else 0
        if saved + count * (size - shorter) >= excess:
            return size - -(-(excess - saved) // count)
        saved += count * (size - shorter)
    return -1


def _cut(place: Place, share: float) -> Place:
    half = int(len(place.text) * share / 2)
    return place._replace(hidden=((half, len(place.text) - half),))
