"""A rubric of ours while it is made from another one: criteria with stable ids, and a list of what got lost."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rubricgrade.errors import Fault, InputError
from rubricgrade.loading import parse_rubric
from rubricgrade.loading.yamltext import to_yaml
from rubricgrade.rubric import Rubric
from rubricgrade.rubric.judge import RESERVED_CHOICES
from rubricgrade.trajectory import clean_text

ID_LENGTH = 80
ALWAYS_MET = "always-met"


@dataclass(frozen=True, slots=True)
class Imported:
    """A rubric that was another program's.

    Attributes:
        rubric: As it loads.
        text: Its YAML.
        lost: What could not be carried over, or was changed for it, a sentence each.
    """

    rubric: Rubric
    text: str
    lost: tuple[str, ...]


class Draft:
    """Gathers criteria and losses.

    Args:
        name: Becomes the rubric's id, as far as it is fit to be one.
        title: For people.
        description: What the rubric is about, such as the question that is answered.
        guidance: Added to every question to the judge.
        reference: Hidden material for every question.
    """

    def __init__(
        self, name: str, *, title: str = "", description: str = "", guidance: str = "", reference: str = ""
    ) -> None:
        self.lost: list[str] = []
        self._taken: set[str] = set()
        self._number = 0
        self._head: dict[str, Any] = {"id": fit_id(name) or "imported"}
        for key, text in (("title", title), ("description", description)):
            if text.strip():
                self._head[key] = self._text(text)
        judge = {"guidance": guidance, "reference": reference}
        judge = {key: self._text(text) for key, text in judge.items() if text.strip()}
        if judge:
            self._head["judge"] = judge

    def lose(self, what: str) -> None:
        """Note something that is not in the result as it was; said once."""
        if what not in self.lost:
            self.lost.append(what)

    def criterion(
        self,
        text: Any,
        points: Any,
        *,
        name: Any = None,
        tags: Sequence[Any] = (),
        judge: dict[str, Any] | None = None,
        check: dict[str, Any] | None = None,
        parts: list[dict[str, Any]] | None = None,
        at_least: float | None = None,
        full_at: float | None = None,
    ) -> dict[str, Any]:
        """A criterion, decided by a judge unless it has a check or parts.

        Args:
            text: What is asked.
            points: Its weight, of any sign.
            name: What the source calls it; without one its id is made of its place and a hash of its text.
            tags: Labels; what is no text is made one.
            judge: Settings of the judge.
            check: A check of ours instead.
            parts: Criteria of a group instead.
            at_least: The value from which it counts as met.
            full_at: The sum of a group that is worth all of its points.

        Raises:
            InputError: The text is none, or the points are no finite number.
        """
        self._number += 1
        where = f"criterion {self._number}"
        if not isinstance(text, str) or not text.strip():
            raise InputError(Fault(f"{where}: its text must be text that is not empty, not {text!r}"))
        made: dict[str, Any] = {
            "id": self._id(name, text),
            "description": self._text(text),
            "points": finite(points, where),
        }
        labels = [self._text(str(tag)) for tag in tags if str(tag).strip()]
        if labels:
            made["tags"] = labels
        limits = {"at_least": at_least, "full_at": full_at}
        made |= {key: limit for key, limit in limits.items() if limit is not None}
        if parts is not None:
            made["criteria"] = parts
        elif check is not None:
            made["check"] = check
        else:
            made["judge"] = judge or {}
        return made

    def finish(self, criteria: list[dict[str, Any]]) -> Imported:
        """The rubric.

        Raises:
            InputError: There is nothing in it, or the strict loader does not take it.
        """
        if not criteria:
            raise InputError(Fault("holds no criteria"))
        if not any(each["points"] > 0 for each in criteria):
            self.lose(
                "it has penalties only, which leave nothing to be earned: a criterion that is always met was added, "
                "worth as much as the penalties together"
            )
            criteria = [self._always_met(-sum(each["points"] for each in criteria)), *criteria]
        text = to_yaml({**self._head, "criteria": criteria})
        return Imported(parse_rubric(text), text, tuple(self.lost))

    def _always_met(self, points: float) -> dict[str, Any]:
        check = {"trajectory": {"max_steps": 1_000_000_000}}
        return self.criterion("is always met", points or 1, name=ALWAYS_MET, check=check)

    def _text(self, text: str) -> str:
        kept = clean_text(text).strip()
        if "{{" in kept:
            self.lose("double braces in texts would be template variables here: a space was put between them")
            kept = kept.replace("{{", "{ {")
            while "{{" in kept:
                kept = kept.replace("{{", "{ {")
        return kept

    def _id(self, name: Any, text: str) -> str:
        wanted = fit_id(str(name)) if name is not None else ""
        if not wanted:
            wanted = f"c{self._number:02d}-{hashlib.sha256(text.encode(errors='replace')).hexdigest()[:6]}"
        made, count = wanted, 1
        while made in self._taken:
            count += 1
            made = f"{wanted}-{count}"
        if made != wanted:
            self.lose(f"the name {wanted!r} stands more than once: later ones were numbered")
        self._taken.add(made)
        return made


def fit_id(name: str) -> str:
    """The name as an id of ours; empty if nothing of it can stay."""
    return re.sub(r"[^\w.\-]+", "-", name.strip()).strip("-._")[:ID_LENGTH]


def finite(value: Any, where: str) -> float:
    """A number as it was written.

    Raises:
        InputError: It is none, or not finite.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InputError(Fault(f"{where}: its weight must be a finite number, not {value!r}"))
    return value


def scale(values: Sequence[tuple[str, float]], draft: Draft) -> list[dict[str, Any]] | None:
    """A scale of ours from labels with values of 0 to 1, worst first; None when it is no scale of at least two steps.

    Labels of equal value become one choice, since each choice of ours is worth more than the one before.
    """
    by_value: dict[float, list[str]] = {}
    for label, value in values:
        text = clean_text(label).strip() or "(empty)"
        if text in RESERVED_CHOICES:
            draft.lose(f"the choice {text!r} is a verdict's own name here: it is called '({text})'")
            text = f"({text})"
        by_value.setdefault(value, []).append(text)
    if any(len(labels) > 1 for labels in by_value.values()):
        draft.lose("choices of equal value were made one choice")
    steps = [(" / ".join(labels), value) for value, labels in sorted(by_value.items())]
    return [{"choice": label, "value": value} for label, value in steps] if len(steps) > 1 else None
