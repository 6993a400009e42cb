"""Which keys may stand where, read off the models; and what an author who wrote another one probably meant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from types import UnionType
from typing import Annotated, Any, Union, cast, get_args, get_origin

from pydantic import BaseModel

from rubricgrade.rubric import Check, Criterion, Gate, Judge, Rubric

Place = tuple[str | int, ...]

TO_POINTS = "'points' says how much a criterion counts"
TO_SCALE = "choices are listed in 'judge: {scale: [...]}', each with 'choice' and 'value'"
TO_GATE = (
    "what must hold goes under 'gates' (with a check); fatal conduct that code can't see is a criterion with 'veto'"
)
TO_TEXT = "the question is the 'description'"
HINTS = {
    "weight": TO_POINTS,
    "weights": TO_POINTS,
    "score": TO_POINTS,
    "max_points": TO_POINTS,
    "requirement": TO_TEXT,
    "text": TO_TEXT,
    "question": TO_TEXT,
    "criterion": TO_TEXT,
    "name": "items are named by 'id'",
    "options": TO_SCALE,
    "choices": TO_SCALE,
    "levels": TO_SCALE,
    "required": TO_GATE,
    "gate": TO_GATE,
    "critical": TO_GATE,
    "optional": "an item that is only reported has 'points: 0'",
    "negative": "a penalty has negative points",
    "threshold": "the value from which it counts is 'at_least'",
    "depends_on": "what must be met first is listed in 'needs'",
    "requires": "what must be met first is listed in 'needs'",
    "run": "a command is 'check: {command: [...]}'",
    "cmd": "a command is 'check: {command: [...]}'",
    "llm": "a judged criterion has 'judge: {}'",
    "task": "the rubric's name for people is its 'title'",
    "type": "what decides an item is said by its key: check, judge, human or criteria",
}


def explain_unknown(place: Place) -> str:
    """Why the key at the end of a place can't stand there, with the nearest one that can."""
    key = str(place[-1])
    models = _models_at(place[:-1])
    known = sorted({name for model in models for name in _keys(model)})
    return f"unknown key {key!r}; {_advice(key, models, known)}"


def _advice(key: str, models: tuple[type[BaseModel], ...], known: list[str]) -> str:
    if Gate in models and key == "judge":
        return "a judge can't be a gate; use a criterion with 'veto: true'"
    if Gate in models and key == "points":
        return "a gate has no points: failing it makes the score 0"
    if Gate in models or Criterion in models:
        if key in _keys(Check):
            return f"it belongs into 'check': check: {{{key}: ...}}"
        if key in _keys(Judge) and Criterion in models:
            return f"it belongs into 'judge': judge: {{{key}: ...}}"
    close = get_close_matches(key, known, n=1, cutoff=0.85)
    if close := close or get_close_matches(key, [*known, *HINTS], n=1, cutoff=0.7):
        return HINTS[close[0]] if close[0] not in known else f"did you mean {close[0]!r}?"
    return f"known here: {', '.join(known)}" if known else "nothing is known here"


@cache
def _keys(model: type[BaseModel]) -> Mapping[str, Any]:
    """A model's keys as an author writes them, with the types of their values."""
    return {field.alias or name: field.annotation for name, field in model.model_fields.items()}


def _models_at(place: Place) -> tuple[type[BaseModel], ...]:
    types: list[Any] = [Rubric]
    for part in place:
        # A part that leads nowhere is a tag of pydantic's for one member of a union.
        types = [inner for kind in types for inner in _step(kind, part)] or types
    return tuple(kind for each in types for kind in _members(each) if _is_model(kind))


def _step(kind: Any, part: str | int) -> Iterator[Any]:
    for member in _members(kind):
        origin, inside = get_origin(member), get_args(member)
        if _is_model(member):
            if part in _keys(member):
                yield _keys(member)[str(part)]
        elif origin is tuple and isinstance(part, int):
            yield inside[0]
        elif origin is dict and isinstance(part, str):
            yield inside[1]


def _members(kind: Any) -> Iterator[Any]:
    origin = get_origin(kind)
    if origin is Annotated:
        yield from _members(get_args(kind)[0])
    elif origin in {Union, UnionType}:
        for member in get_args(kind):
            yield from _members(member)
    else:
        yield kind


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(cast("type[Any]", kind), BaseModel)
