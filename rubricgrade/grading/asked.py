"""Whom grading may ask, and whether each of them can be asked: found out before anything is run, asked or written."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rubricgrade.chat.askable import trouble
from rubricgrade.errors import Fault, InputError, RubricError
from rubricgrade.judge.options import JudgeOptions, models_of
from rubricgrade.judge.recorded import check_recorded
from rubricgrade.rubric import Criterion, Rubric

HINT = (
    "nothing was begun; to ask nobody, and take recorded verdicts and the cache alone, say --offline, or "
    "JudgeOptions(offline=True) in Python"
)


@dataclass(frozen=True, slots=True)
class Asked:
    """A model that may be asked, and who names it."""

    model: str
    named_by: str
    by_rubric: bool = False


def judged_criteria(rubric: Rubric) -> Iterator[Criterion]:
    """The judged criteria that apply, in order; groups are walked into."""
    yield from _judged(rubric, rubric.tops)


def _judged(rubric: Rubric, criteria: Iterable[Criterion]) -> Iterator[Criterion]:
    for criterion in criteria:
        if not rubric.applies(criterion):
            continue
        if criterion.criteria is not None:
            yield from _judged(rubric, criterion.criteria)
        elif criterion.judge is not None:
            yield criterion


def names_judge(rubric: Rubric) -> str | None:
    """The first model that a rubric names, if it names any."""
    named = [leaf.judge.model for leaf in rubric.leaves() if leaf.judge is not None]
    return next((model for model in [rubric.judge.model, *named] if model), None)


def may_be_asked(
    options: JudgeOptions, rubrics: Iterable[Rubric] | None, *, varying: bool = False
) -> tuple[Asked, ...]:
    """Whom grading may ask, each once; empty if nobody is named, or there is nothing to judge.

    Args:
        options: Of the caller; a model there wins over those of rubrics.
        rubrics: What is graded with; None if that is not known yet.
        varying: Whether the rubrics' vars will get other values, so that criteria count whatever their `when` says now.
    """
    if options.offline:
        return ()
    own = [Asked(model, "judge") for model in options.models]
    found: list[Asked] = own if rubrics is None else []
    for rubric in rubrics or ():
        for criterion in rubric.leaves() if varying else judged_criteria(rubric):
            if criterion.judge is None:
                continue
            found += own or _named_in(rubric, criterion)
    if found and options.escalate is not None:
        found.append(Asked(options.escalate, "escalate"))
    return tuple(dict.fromkeys(found))


def _named_in(rubric: Rubric, criterion: Criterion) -> list[Asked]:
    by_itself = criterion.judge.model if criterion.judge is not None else None
    named_by = f"rubric {rubric.id}" + (f", criterion {criterion.id}" if by_itself else "")
    return [Asked(model, named_by, by_rubric=True) for model in models_of(by_itself or rubric.judge.model)]


def check_judge(
    options: JudgeOptions, rubrics: Sequence[Rubric] | None, *, here: bool = True, varying: bool = False
) -> None:
    """Find out that whoever may be asked can be asked, and that files of verdicts can be used; without the network.

    Args:
        options: Of the caller.
        rubrics: What is graded with; None if that is not known yet.
        here: Whether this machine asks: keys, files and packages are looked for only where they are used.
        varying: As in `may_be_asked`.

    Raises:
        RubricError: A model that only rubrics name can't be asked.
        InputError: Somebody else can't be asked, or a file can't be used. Every fault is named, with who names the
            model and what to do.
    """
    faults: list[Fault] = []
    try:
        check_recorded(options.verdicts, rubrics)
    except InputError as error:
        faults += error.faults
    asked = may_be_asked(options, rubrics, varying=varying)
    nobody = not (asked or options.offline or options.verdicts)
    if nobody and options.escalate and any(any(judged_criteria(rubric)) for rubric in rubrics or ()):
        faults.append(Fault(f"{options.escalate} is asked after another judge, and none is named", "escalate"))
    refused = [(each, words) for each in asked if (words := trouble(each.model, options, here=here))]
    faults += [Fault(words, each.named_by) for each, words in refused]
    if asked and here and options.cache:
        faults += _cache_faults(options.cache)
    if not faults:
        return
    if refused:
        faults.append(Fault(HINT))
    only_rubrics = len(faults) == len(refused) + 1 and all(each.by_rubric for each, _ in refused)
    raise (RubricError if only_rubrics else InputError)(faults)


def _cache_faults(cache: Path) -> Iterator[Fault]:
    """What is wrong with the place of a cache that the caller named. One that can be read but not written will do."""
    if cache.is_dir():
        yield Fault("is a folder; the verdict cache is a file", str(cache))
    elif not cache.exists():
        place = next(place for place in cache.absolute().parents if place.exists())
        if not place.is_dir() or not os.access(place, os.W_OK):
            why = "is no folder" if not place.is_dir() else "can't be written to"
            yield Fault(f"{why}, so the verdict cache {cache} can't be made there", str(place))
