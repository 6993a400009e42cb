"""The rubric itself: gates, criteria, groups; frozen and identified by the hash of its content."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import Discriminator, Field, PrivateAttr, StringConstraints, Tag, ValidationInfo, model_validator

from rubricgrade import digest
from rubricgrade.rubric.base import WHEN, Function, Identifier, Many, Part, Some, Text, Variable, as_map
from rubricgrade.rubric.check import Check
from rubricgrade.rubric.counting import Counting
from rubricgrade.rubric.judge import Judge
from rubricgrade.rubric.wording import fill

VarValue = None | bool | int | float | str | Many[str]
When = Annotated[str, StringConstraints(pattern=WHEN)]


def _named_or_given(value: Any) -> str:
    return "name" if isinstance(value, str) else "check"


CheckOrName = Annotated[
    Annotated[Check, Tag("check")] | Annotated[Identifier, Tag("name")], Discriminator(_named_or_given)
]


class Band(Part):
    """A range of a measured number and the value that it earns; exactly one of the two bounds."""

    at_least: float | None = None
    at_most: float | None = None
    value: Annotated[float, Field(ge=0, le=1)]

    @model_validator(mode="after")
    def _one_bound(self) -> Self:
        if (self.at_least is None) == (self.at_most is None):
            raise ValueError("needs exactly one of 'at_least' and 'at_most'")
        return self


class ForEach(Part):
    """One question per item; the criterion's value is the mean.

    Attributes:
        python: ``file.py:function`` that returns a list of texts from the case.
        vars: The name of a list in `vars`.
        at_most: More items are a check error.
        if_none: What no items at all count as.
    """

    python: Function | None = None
    vars: Variable | None = None
    at_most: Annotated[int, Field(ge=1, le=1000)] = 50
    if_none: Literal["met", "not_met"]

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.python is None) == (self.vars is None):
            raise ValueError("needs exactly one of 'python' and 'vars'")
        return self


class Example(Part):
    """A unit test of a criterion: what must be the verdict on a text or a stored trajectory, and why."""

    text: Text | None = None
    trajectory: Text | None = None
    expect: Text
    why: Text | None = None
    show: bool = False

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.text is None) == (self.trajectory is None):
            raise ValueError("needs exactly one of 'text' and 'trajectory'")
        if self.show and self.text is None:
            raise ValueError("'show' needs 'text': a whole trajectory is not shown to the judge")
        return self


class Scored(Part):
    """A unit test of a whole rubric: which score a stored episode must get, and why. It decides no grade.

    Attributes:
        trajectory: An episode's folder or a trajectory file, relative to the rubric.
        at_least: The lowest score that it may get.
        at_most: The highest; 0 for what must earn nothing.
    """

    trajectory: Text
    at_least: Annotated[float, Field(ge=0, le=1)] | None = None
    at_most: Annotated[float, Field(ge=0, le=1)] | None = None
    why: Text | None = None

    @model_validator(mode="after")
    def _bounded(self) -> Self:
        if self.at_least is None and self.at_most is None:
            raise ValueError("needs 'at_least', 'at_most' or both")
        if self.at_least is not None and self.at_most is not None and self.at_least > self.at_most:
            raise ValueError("'at_least' is larger than 'at_most'")
        return self


class Human(Part):
    """Decided by a reviewer; open until then."""

    guidance: Text | None = None

    @model_validator(mode="before")
    @classmethod
    def _nothing(cls, value: Any) -> Any:
        return {} if value is None else value


class Item(Part):
    """What a gate and a criterion have in common."""

    id: Identifier
    description: Text
    tags: Many[Text] = ()
    when: When | None = None
    pick: Text | None = None


class Gate(Item):
    """A hard condition, decided by code: a value below `at_least` makes the score 0.

    Attributes:
        check: What decides it, or the name of a shared check.
    """

    check: CheckOrName
    at_least: Annotated[float, Field(gt=0, le=1)] = 1.0


class Criterion(Item):
    """Points, positive or negative, times a value from 0 to 1. Decided in exactly one of four ways."""

    check: CheckOrName | None = None
    judge: Judge | None = None
    human: Human | None = None
    criteria: Some[Criterion] | None = None
    at_least: Annotated[float, Field(gt=0, le=1)] | None = None
    points: float | None = None
    veto: bool = False
    needs: Many[Identifier] = ()
    full_at: Annotated[float, Field(gt=0)] | None = None
    bands: Some[Band] | None = None
    for_each: ForEach | None = None
    examples: Many[Example] = ()

    @model_validator(mode="before")
    @classmethod
    def _bare_keys(cls, value: Any) -> Any:
        """``judge:`` and ``human:`` with nothing behind them mean the defaults."""
        given = as_map(value)
        if given is None:
            return value
        bare: dict[str, Any] = {key: {} for key in ("judge", "human") if key in given and given[key] is None}
        return {**given, **bare} if bare else given

    @property
    def decided_by(self) -> Literal["check", "judge", "human", "criteria"]:
        """Which of the four ways decides it."""
        ways: tuple[Literal["check", "judge", "human", "criteria"], ...] = ("check", "judge", "human", "criteria")
        return next(way for way in ways if getattr(self, way) is not None)


class Rubric(Part):
    """Gates and criteria. `load_rubric` reads one from YAML; building one in code checks the same rules.

    Attributes:
        format: Version of the file format.
        id: A name for people; the content hash identifies.
        version: A label; not part of the hash.
        vars: Values that a task may override; None means that the task must give it.
        judge: Defaults for judged criteria.
        checks: Checks that run once and are used by name.
        examples: Stored episodes with the score that they must get; they test the rubric and are not in its hash.
    """

    format: Literal[1] = 1
    id: Identifier
    title: Text | None = None
    version: Text | None = None
    description: Text | None = None
    vars: dict[Variable, VarValue] = Field(default_factory=dict)
    judge: Judge = Field(default_factory=Judge)
    checks: dict[Identifier, Check] = Field(default_factory=dict)
    gates: Many[Gate] = ()
    criteria: Some[Criterion] | None = None
    examples: Many[Scored] = ()

    _sealed: dict[str, bytes] = PrivateAttr(default_factory=dict[str, bytes])

    @classmethod
    def build(cls, data: Mapping[str, Any], sealed: Mapping[str, bytes]) -> Self:
        """A rubric whose rules the caller checks itself (with `problems`), with the bytes of its sealed files."""
        rubric = cls.model_validate(data, context={"rules": False})
        return rubric.with_sealed(sealed)

    def with_sealed(self, sealed: Mapping[str, bytes]) -> Self:
        """The same rubric with these sealed files, and the hash that follows from them."""
        copy = self.model_copy()
        copy._sealed = dict(sealed)  # noqa: SLF001 - a copy of our own
        return copy

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """As pydantic's, without what follows from what the copy may not have."""
        copy = super().model_copy(update=update, deep=deep)
        for name in ("counting", "hash"):
            vars(copy).pop(name, None)
        return copy

    @model_validator(mode="after")
    def _rules(self, info: ValidationInfo) -> Self:
        context: Mapping[str, Any] = info.context or {}
        if not context.get("rules", True):
            return self
        from rubricgrade.rubric.rules import problems  # noqa: PLC0415 - the rules read this module

        if found := problems(self):
            raise ValueError("; ".join(str(problem) for problem in found))
        return self

    @property
    def sealed(self) -> Mapping[str, bytes]:
        """Bytes of every sealed file by its path relative to the rubric, as they were when it was loaded."""
        return self._sealed

    @property
    def tops(self) -> tuple[Criterion, ...]:
        """The top-level criteria; empty for a rubric of gates only."""
        return self.criteria or ()

    def leaves(self) -> Iterator[Criterion]:
        """Every criterion that is decided by itself, in order; groups are walked into."""
        yield from _leaves(self.tops)

    def wording(self, text: str, item: str | None = None) -> str:
        """One of the rubric's own texts with the names in double braces replaced."""
        return fill(text, self.vars, item)

    def check_of(self, item: Gate | Criterion) -> Check | None:
        """The check of a gate or criterion, looked up by name if it is a shared one."""
        return self.checks[item.check] if isinstance(item.check, str) else item.check

    def applies(self, item: Item) -> bool:
        """Whether the item's `when` holds; reads task facts only, so that no agent can move the denominator."""
        if item.when is None:
            return True
        negated, _, name = item.when.rpartition("vars.")
        return bool(self.vars.get(name)) is not negated.startswith("not")

    @cached_property
    def counting(self) -> Counting:
        """What of it applies and counts."""
        return Counting.of(self)

    @cached_property
    def hash(self) -> str:
        """``sha256:...`` over all that can change a grade, sealed bytes too; neither labels nor `examples`."""
        body = self.model_dump(mode="json", exclude={"version", "title", "examples"}, exclude_defaults=True)
        files = {path: digest.of_bytes(data) for path, data in self._sealed.items()}
        return digest.of_value({"rubric": body, "sealed": files})


def _leaves(criteria: tuple[Criterion, ...]) -> Iterator[Criterion]:
    for criterion in criteria:
        if criterion.criteria is None:
            yield criterion
        else:
            yield from _leaves(criterion.criteria)
