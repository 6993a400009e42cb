"""Rules that span several parts of a rubric. Each fault comes with its place, so that a loader can name the line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import PurePosixPath

from rubricgrade.rubric.check import Check, Command
from rubricgrade.rubric.files import File
from rubricgrade.rubric.judge import Judge
from rubricgrade.rubric.model import Band, Criterion, Gate, Rubric
from rubricgrade.rubric.wording import MOST_FILLED, filled_length, unknown_names

Place = tuple[str | int, ...]

MOST_COMPARED = 500


@dataclass(frozen=True, slots=True)
class Problem:
    """A broken rule.

    Attributes:
        place: The path of keys to it.
        message: What is wrong, and what to do.
        other: The place of what it collides with, if there is one.
    """

    place: Place
    message: str
    other: Place | None = None

    def __str__(self) -> str:
        where = ".".join(str(key) for key in self.place)
        return f"{where}: {self.message}" if where else self.message


@dataclass(frozen=True, slots=True)
class Placed:
    """A criterion and where it stands.

    Attributes:
        place: The path of keys to it.
        around: Ids of the groups that it is in, outermost first.
        sign: Whether meeting it can raise (1) or lower (-1) the score, by the groups around it and its own points.
    """

    criterion: Criterion
    place: Place
    around: tuple[str, ...]
    sign: int


def placed(rubric: Rubric) -> list[Placed]:
    """Every criterion, groups before their parts, in the order of the file."""
    return list(_walk(rubric.tops, ("criteria",), (), 1))


def checks_of(rubric: Rubric) -> Iterator[tuple[Place, Check]]:
    """Every check that stands in a rubric, with its place; what another check holds is part of that."""
    for name, check in rubric.checks.items():
        yield ("checks", name), check
    for index, gate in enumerate(rubric.gates):
        if isinstance(gate.check, Check):
            yield ("gates", index, "check"), gate.check
    for one in placed(rubric):
        if isinstance(one.criterion.check, Check):
            yield (*one.place, "check"), one.criterion.check


def problems(rubric: Rubric) -> list[Problem]:
    """Every broken rule; empty for a good rubric."""
    return list(_problems(rubric))


def nearest(name: str, known: Iterable[str]) -> str:
    """``; did you mean 'x'?`` when a known name is close, else nothing."""
    names = list(known)
    # Comparing is slow: one wrong name is worth it among hundreds, a thousand wrong names among thousands are not.
    close = get_close_matches(name, names, n=1) if len(names) <= MOST_COMPARED else []
    return f"; did you mean {close[0]!r}?" if close else ""


def _walk(criteria: tuple[Criterion, ...], place: Place, around: tuple[str, ...], sign: int) -> Iterator[Placed]:
    for index, criterion in enumerate(criteria):
        here = (*place, index)
        lowers = criterion.veto or (criterion.points or 0) < 0
        own = -sign if lowers else sign
        yield Placed(criterion, here, around, own)
        yield from _walk(criterion.criteria or (), (*here, "criteria"), (*around, criterion.id), own)


def _problems(rubric: Rubric) -> Iterator[Problem]:
    criteria = placed(rubric)
    if not rubric.gates and rubric.criteria is None:
        yield Problem((), "has neither gates nor criteria")
    yield from _ids(rubric, criteria)
    for index, gate in enumerate(rubric.gates):
        yield from _item(rubric, gate, ("gates", index))
    for one in criteria:
        yield from _item(rubric, one.criterion, one.place)
        yield from _criterion(rubric, one)
    if rubric.criteria is not None and not _positive(rubric.tops):
        yield Problem(("criteria",), "no criterion has positive points, so no score above 0 could be earned")
    yield from _needs(criteria)
    for name, check in rubric.checks.items():
        yield from _check(rubric, check, ("checks", name), repr(name))
    yield from _judge(rubric, rubric.judge, ("judge",), "'judge'", item=False)
    if (length := filled_length(_texts(rubric, criteria), rubric.vars)) > MOST_FILLED:
        yield Problem((), f"has {length:,} characters of text with names filled in, more than {MOST_FILLED:,}")


def _texts(rubric: Rubric, criteria: list[Placed]) -> Iterator[str]:
    """Every text that names are filled into, but for the commands' environment."""
    yield from (item.description for item in (*rubric.gates, *(one.criterion for one in criteria)))
    for judge in (rubric.judge, *(one.criterion.judge for one in criteria)):
        if judge is not None:
            yield from (text for text in (judge.guidance, judge.reference) if text is not None)


def _ids(rubric: Rubric, criteria: list[Placed]) -> Iterator[Problem]:
    first: dict[str, Place] = {}
    places: list[tuple[str, Place]] = [(gate.id, ("gates", index)) for index, gate in enumerate(rubric.gates)]
    places += [(one.criterion.id, one.place) for one in criteria]
    for name, place in places:
        if name in first:
            message = f"id {name!r} is taken; ids are unique over gates and criteria"
            yield Problem((*place, "id"), message, first[name])
        else:
            first[name] = place


def _item(rubric: Rubric, item: Gate | Criterion, place: Place) -> Iterator[Problem]:
    if isinstance(item.check, str):
        if item.check not in rubric.checks:
            yield Problem((*place, "check"), f"no check is called {item.check!r}{nearest(item.check, rubric.checks)}")
    elif item.check is not None:
        yield from _check(rubric, item.check, (*place, "check"), repr(item.id))
    if item.pick is not None and item.check is None:
        yield Problem((*place, "pick"), "'pick' takes a field of a check's result; there is no check here")
    if item.when is not None:
        name = item.when.rpartition("vars.")[2]
        if name not in rubric.vars:
            yield Problem((*place, "when"), f"no variable is called {name!r}{nearest(name, rubric.vars)}")
    each = item.for_each if isinstance(item, Criterion) else None
    here = (*place, "description")
    yield from _text(rubric, item.description, here, repr(item.id), item=each is not None)
    if each is not None and filled_length([item.description], rubric.vars) * each.at_most > MOST_FILLED:
        message = f"{item.id!r} has more than {MOST_FILLED:,} characters with {each.at_most} items filled in"
        yield Problem(here, f"{message}; name the item less often, or lower 'at_most'")


def _criterion(rubric: Rubric, one: Placed) -> Iterator[Problem]:
    criterion, place = one.criterion, one.place
    ways = [way for way in ("check", "judge", "human", "criteria") if getattr(criterion, way) is not None]
    if len(ways) != 1:
        found = f"has {' and '.join(ways)}" if ways else "has none"
        yield Problem(place, f"criterion {criterion.id!r} needs exactly one of check, judge, human, criteria; {found}")
        return
    way = ways[0]
    if criterion.veto:
        yield from _veto(rubric, one)
    elif criterion.points is None:
        yield Problem(place, f"criterion {criterion.id!r} has no points")
    if criterion.full_at is not None and way != "criteria":
        yield Problem((*place, "full_at"), "'full_at' belongs to a group (with 'criteria')")
    if criterion.bands is not None:
        if way != "check":
            message = "'bands' turn a check's measured number into a value; there is no check here"
            yield Problem((*place, "bands"), message)
        yield from _bands(criterion.bands, (*place, "bands"))
    if criterion.for_each is not None:
        if way != "judge":
            yield Problem((*place, "for_each"), "'for_each' asks a judge one question per item; there is no judge here")
        yield from _for_each(rubric, criterion.for_each.vars, (*place, "for_each", "vars"))
    if criterion.judge is not None:
        with_item = criterion.for_each is not None
        yield from _judge(rubric, criterion.judge, (*place, "judge"), repr(criterion.id), item=with_item)
    elif any(example.show for example in criterion.examples):
        yield Problem((*place, "examples"), "'show: true' gives a judge an example; there is no judge here")
    yield from _examples(rubric, criterion, place)
    if criterion.criteria is not None and not _positive(criterion.criteria):
        yield Problem((*place, "criteria"), f"group {criterion.id!r} has no positive points, so it is always worth 0")


def _veto(rubric: Rubric, one: Placed) -> Iterator[Problem]:
    criterion, place = one.criterion, one.place
    if one.around:
        yield Problem((*place, "veto"), "a veto stands at the top level, not in a group")
    if criterion.points is not None:
        yield Problem((*place, "points"), "a veto has no points: it makes the score 0")
    judge = criterion.judge.over(rubric.judge) if criterion.judge is not None else None
    partial = criterion.for_each or criterion.criteria or criterion.bands or (judge is not None and judge.scale)
    if partial and criterion.at_least is None:
        yield Problem((*place, "veto"), "this veto can be met in part: say from which value it counts, with 'at_least'")


def _bands(bands: tuple[Band, ...], place: Place) -> Iterator[Problem]:
    """Bands go one way, and a harder one is worth more; otherwise one of them could never decide."""
    if len({band.at_least is None for band in bands}) > 1:
        yield Problem(place, "bands use either 'at_least' or 'at_most', not both")
        return
    easiest_first = sorted(enumerate(bands), key=lambda pair: _hardness(pair[1]))
    for (_, easier), (index, harder) in pairwise(easiest_first):
        if _hardness(easier) == _hardness(harder):
            yield Problem((*place, index), "two bands have the same bound")
        elif easier.value >= harder.value:
            yield Problem((*place, index), "this band is harder to reach than another one and worth no more")


def _hardness(band: Band) -> float:
    return band.at_least if band.at_least is not None else -(band.at_most or 0.0)


def _for_each(rubric: Rubric, name: str | None, place: Place) -> Iterator[Problem]:
    if name is None:
        return
    if name not in rubric.vars:
        yield Problem(place, f"no variable is called {name!r}{nearest(name, rubric.vars)}")
    elif not isinstance(rubric.vars[name], tuple | None):
        yield Problem(place, f"variable {name!r} is no list")


def _examples(rubric: Rubric, criterion: Criterion, place: Place) -> Iterator[Problem]:
    judge = (criterion.judge or Judge()).over(rubric.judge) if criterion.judge is not None else Judge()
    choices = [choice.choice for choice in judge.scale] if judge.scale else ["met", "not_met"]
    allowed = [*choices, "cannot_tell"]
    for index, example in enumerate(criterion.examples):
        if example.expect not in allowed:
            message = f"{example.expect!r} is no verdict of this criterion; verdicts: {', '.join(allowed)}"
            yield Problem((*place, "examples", index, "expect"), message)


def _judge(rubric: Rubric, judge: Judge, place: Place, owner: str, *, item: bool) -> Iterator[Problem]:
    for name in ("artifacts", "world"):
        for index, glob in enumerate(getattr(judge, name) or ()):
            yield from _inside(glob, (*place, name, index))
    for name in ("guidance", "reference"):
        text = getattr(judge, name)
        if text is not None:
            yield from _text(rubric, text, (*place, name), owner, item=item)


def _text(rubric: Rubric, text: str, place: Place, owner: str, *, item: bool) -> Iterator[Problem]:
    for name in unknown_names(text, rubric.vars, item=item):
        known = [f"vars.{variable}" for variable in rubric.vars] + (["item"] if item else [])
        may = f"; known here: {', '.join(known)}" if known else "; this rubric has no vars"
        message = f"{owner} has an unknown template variable {{{{ {name} }}}}: only names are looked up{may}"
        yield Problem(place, message)
    if (length := filled_length([text], rubric.vars)) > MOST_FILLED:
        yield Problem(place, f"{owner} has {length:,} characters with its names filled in, more than {MOST_FILLED:,}")


def _inside(path: str, place: Place) -> Iterator[Problem]:
    """Paths of what an agent left begin at its folder and stay in it."""
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts:
        yield Problem(place, f"{path!r} leads out: paths are relative to the agent's folder")


def _check(rubric: Rubric, check: Check, place: Place, owner: str) -> Iterator[Problem]:
    if isinstance(check.spec, File):
        yield from _inside(check.spec.path, (*place, check.kind, "path"))
    if isinstance(check.spec, Command):
        for name, text in check.spec.env.items():
            yield from _text(rubric, text, (*place, "command", "env", name), owner, item=False)
    if check.not_ is not None:
        if check.within is not None:
            yield Problem((*place, "within"), "give 'within' to the check inside 'not'")
        yield from _check(rubric, check.not_, (*place, "not"), owner)


def _positive(criteria: tuple[Criterion, ...]) -> bool:
    return any((criterion.points or 0) > 0 for criterion in criteria)


def _needs(criteria: list[Placed]) -> Iterator[Problem]:
    """What is needed exists, can be wanted (no penalty), and does not lead back to where it started."""
    by_id = {one.criterion.id: one for one in criteria}
    edges: dict[str, set[str]] = {one.criterion.id: set() for one in criteria}
    for one in criteria:
        name = one.criterion.id
        for group in one.around[-1:]:
            edges[group].add(name)
        for index, need in enumerate(one.criterion.needs):
            here = (*one.place, "needs", index)
            needed = by_id.get(need)
            if needed is None:
                yield Problem(here, f"no criterion is called {need!r}{nearest(need, by_id)}")
            elif need in one.around or name in needed.around:
                yield Problem(here, f"{name!r} and {need!r} contain each other")
            elif needed.sign < 0:
                yield Problem(here, f"{need!r} is a penalty or a veto; what is needed must be worth meeting")
            else:
                edges[name].add(need)
    yield from _cycles(edges, by_id)


def _cycles(edges: dict[str, set[str]], by_id: dict[str, Placed]) -> Iterator[Problem]:
    while True:
        try:
            TopologicalSorter(edges).prepare()
        except CycleError as error:
            # graphlib names each as needed by the one after it.
            cycle: list[str] = list(reversed(error.args[1]))
            start = next(name for name in cycle if by_id[name].criterion.needs)
            yield Problem((*by_id[start].place, "needs"), f"needs go in a circle: {' -> '.join(cycle)}")
            # With one link cut, circles elsewhere come to light.
            edges[cycle[0]].discard(cycle[1])
        else:
            return
