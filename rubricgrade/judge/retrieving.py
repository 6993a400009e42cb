"""A record that is too long to show: the judge sees an index of it, names the parts it needs, and gets them whole."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, cast

from rubricgrade.evidence import Place, one_line
from rubricgrade.evidence.places import final_step, first_user_step
from rubricgrade.judge import wording
from rubricgrade.judge.need import Need
from rubricgrade.judge.record import MARGIN, Record
from rubricgrade.judge.view import View, fenced, render

MOST = 12
"""Parts that a judge may choose."""

_LONGEST_PREVIEW, _SHORTEST_PREVIEW = 160, 24
_HEADING = 60  # characters that a line of the index takes besides its preview
_STEP = re.compile(r"\[(\d+)\]")


async def retrieve(need: Need) -> View | None:
    """The record's task and end, and the parts that a judge has chosen for a question, with their neighbours.

    Returns:
        The view; None if nobody can be asked, the index does not fit either, or the judge has chosen nothing.

    Raises:
        JudgeError: The judge could not be asked.
    """
    record = need.record
    index = _index(record, need.room)
    if index is None or need.aside is None:
        return None
    text = wording.CHOOSE.format(most=MOST, criterion=need.question.asked)
    said = await need.aside.object(index, text, wording.CHOOSE_SCHEMA, "parts")
    chosen = _chosen(record, said)
    if not chosen:
        return None
    places = _within(record, chosen, need.room)
    # What an earlier view showed does not count: a judge has to see together what it decides by.
    whole = {place.name for place in places if not place.hidden}
    cut = any(place.name not in whole for place in record.places)
    about = f"the judge was shown an index of {len(record.places)} parts and chose {', '.join(chosen)}"
    return render(record, places, "retrieved", cut=cut, about=(about,))


def _index(record: Record, room: int) -> str | None:
    preview = min(_LONGEST_PREVIEW, room // max(len(record.places), 1) - _HEADING)
    if preview < _SHORTEST_PREVIEW:
        return None
    lines = "\n".join(_line(place, preview) for place in record.places)
    return fenced(lines, record.trajectory.hash, wording.INDEX)


def _line(place: Place, preview: int) -> str:
    about = f" ({place.about})" if place.about else ""
    heading = place.name if place.name.startswith("[") else f"[{place.name}]"
    begins = one_line(f"{place.where}: {place.text}" if place.name.startswith("file_") else place.text, preview)
    return f"{heading}{about}, {len(place.text):,} characters\n{MARGIN}{begins}"


def _chosen(record: Record, said: dict[str, Any] | None) -> list[str]:
    """Names of parts that exist, as often as they are named, at most `MOST`."""
    known = {place.name.strip("[]"): place.name for place in record.places}
    given = said.get("parts") if said else None
    wanted = [each for each in cast("list[Any]", given) if isinstance(each, str)] if isinstance(given, list) else []
    names = [known.get(each.strip().strip("[]")) for each in wanted]
    return list(dict.fromkeys(name for name in names if name is not None))[:MOST]


def _within(record: Record, chosen: list[str], room: int) -> tuple[Place, ...]:
    """The parts that fit, in the record's order: what must be there, then the chosen ones, then their neighbours."""
    by_name = {place.name: place for place in record.places}
    kept: dict[str, Place] = {}
    left = room
    for name in dict.fromkeys([*needed(record), *chosen, *_neighbours(record, chosen)]):
        place = by_name[name]
        if record.sizes[place.name] <= left:
            kept[name] = place
        elif name in chosen and left > _LONGEST_PREVIEW:
            kept[name] = _shortened(place, left / record.sizes[place.name])
        else:
            continue
        left -= record.sizes[kept[name].name] - kept[name].missing
    return tuple(kept[place.name] for place in record.places if place.name in kept)


def needed(record: Record) -> Iterator[str]:
    """Names of the parts without which none makes sense: the task and the end."""
    names = {place.name for place in record.places}
    first, final = first_user_step(record.trajectory), final_step(record.trajectory)
    for name in ("task", f"[{first}].text", f"[{final}].text"):
        if name in names:
            yield name


def _neighbours(record: Record, chosen: list[str]) -> Iterator[str]:
    """The parts right before and behind a chosen one, and everything of the same step."""
    names = [place.name for place in record.places]
    steps = {match[1] for name in chosen if (match := _STEP.match(name))}
    for position, name in enumerate(names):
        step = _STEP.match(name)
        same_step = step is not None and step[1] in steps
        if same_step or not {*names[max(position - 1, 0) : position + 2]}.isdisjoint(chosen):
            yield name


def _shortened(place: Place, share: float) -> Place:
    """Its beginning and its end."""
    half = int(len(place.text) * share / 2)
    return place._replace(hidden=((half, len(place.text) - half),))
