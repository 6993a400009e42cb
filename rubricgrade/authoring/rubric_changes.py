"""What changed from one rubric to another, and what it costs: new points are free, new wording is asked anew."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from rubricgrade import digest
from rubricgrade.result import Subject
from rubricgrade.rubric import Gate, Rubric
from rubricgrade.rubric.rules import placed

WORDING = frozenset({"description", "judge", "for_each", "examples"})
"""Keys that a judge's question is made of: with another value, its verdicts are asked for again."""

CODE = frozenset({"check", "pick", "at_least", "bands"})
QUIET = frozenset({"id", "criteria"})
WORDS = re.compile(r"\s+|[^\s\w]|\w+")

Effect = Literal["asked anew", "checked anew", "scored anew"]


class Change(BaseModel):
    """One difference.

    Attributes:
        item: The gate or criterion, or ``rubric`` for what holds for all.
        key: Its key; empty for an item that came or went.
        before: As text; None where it was not there.
        after: As text; None where it is not there any more.
        words: Both in one for texts, ``[-out-]{+in+}``.
        effect: What has to be done again for grades that exist.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    item: str
    key: str
    before: str | None
    after: str | None
    words: str = ""
    effect: Effect


class RubricChanges(BaseModel):
    """All differences, in the order of the later rubric; what went away comes last."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_: Literal["rubricgrade.rubric-changes/1"] = Field(default="rubricgrade.rubric-changes/1", alias="schema")
    before: Subject
    after: Subject
    changes: tuple[Change, ...]


def rubric_changes(before: Rubric, after: Rubric) -> RubricChanges:
    """Compare two rubrics by the ids of their gates and criteria; labels and examples are left out."""
    return RubricChanges(
        before=Subject(id=before.id, hash=before.hash, version=before.version),
        after=Subject(id=after.id, hash=after.hash, version=after.version),
        changes=(*_whole(before, after), *_items(before, after)),
    )


def in_words(before: str, after: str) -> str:
    """Two texts in one: what went out as ``[-...-]``, what came in as ``{+...+}``."""
    old, new = WORDS.findall(before), WORDS.findall(after)
    parts: list[str] = []
    for kind, i, j, k, m in SequenceMatcher(a=old, b=new, autojunk=False).get_opcodes():
        if kind == "equal":
            parts.append("".join(old[i:j]))
            continue
        parts += [f"[-{''.join(old[i:j])}-]"] if i < j else []
        parts += [f"{{+{''.join(new[k:m])}+}}"] if k < m else []
    return "".join(parts)


def _whole(before: Rubric, after: Rubric) -> Iterator[Change]:
    effects: Mapping[str, Effect] = {"vars": "asked anew", "judge": "asked anew", "checks": "checked anew"}
    old, new = _facts(before), _facts(after)
    for key, effect in effects.items():
        yield from _changed("rubric", key, old.get(key), new.get(key), effect)
    files = {path: digest.of_bytes(data) for path, data in before.sealed.items()}
    now = {path: digest.of_bytes(data) for path, data in after.sealed.items()}
    for path in sorted({*files, *now}):
        yield from _changed("rubric", f"sealed file {path}", files.get(path), now.get(path), "checked anew")


def _items(before: Rubric, after: Rubric) -> Iterator[Change]:
    old, new = _by_id(before), _by_id(after)
    for name, facts in new.items():
        if name not in old:
            told = _as_text(facts["description"])
            effect: Effect = "asked anew" if "judge" in facts else "checked anew"
            yield Change(item=name, key="", before=None, after=told, effect=effect)
            continue
        for key in dict.fromkeys((*old[name], *facts)):
            effect = "asked anew" if key in WORDING else "checked anew" if key in CODE else "scored anew"
            yield from _changed(name, key, old[name].get(key), facts.get(key), effect)
    for name in (name for name in old if name not in new):
        yield Change(item=name, key="", before=_as_text(old[name]["description"]), after=None, effect="scored anew")


def _by_id(rubric: Rubric) -> dict[str, dict[str, Any]]:
    items = [(gate.id, _facts(gate), ()) for gate in rubric.gates]
    items += [(one.criterion.id, _facts(one.criterion), one.around) for one in placed(rubric)]
    return {
        name: {**{key: value for key, value in facts.items() if key not in QUIET}, **({"in": list(a)} if a else {})}
        for name, facts, a in items
    }


def _facts(part: Rubric | Gate | Any) -> dict[str, Any]:
    facts: dict[str, Any] = part.model_dump(mode="json", exclude_defaults=True, by_alias=True)
    # Only examples that the judge is shown are part of its question; the others are tests.
    facts["examples"] = [each for each in facts.get("examples", ()) if each.get("show")]
    # `judge: {}` is all defaults, and says who decides.
    return {**facts, "judge": facts.get("judge", {})} if getattr(part, "judge", None) is not None else facts


def _changed(item: str, key: str, before: Any, after: Any, effect: Effect) -> Iterator[Change]:
    if before == after:
        return
    old, new = _as_text(before), _as_text(after)
    words = in_words(old, new) if old is not None and new is not None and not key.startswith("sealed") else ""
    yield Change(item=item, key=key, before=old, after=new, words=words, effect=effect)


def _as_text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)
