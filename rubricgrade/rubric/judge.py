"""How a criterion is judged: what the judge is asked, what it sees, how often, and what its doubt counts as."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from rubricgrade.rubric.base import Many, Part, Path, Some, Text

View = Literal[
    "task", "final_message", "agent_messages", "user_messages", "tool_calls", "tool_results", "reasoning", "diff"
]
DEFAULT_SEES: tuple[View, ...] = (
    "task", "final_message", "agent_messages", "user_messages", "tool_calls", "tool_results", "diff",
)  # fmt: skip
RESERVED_CHOICES = frozenset({"cannot_tell", "not_applicable", "not_run", "error", "met", "not_met"})


class Choice(Part):
    """One step of a scale. The judge sees `choice` and `description`, never `value`."""

    choice: Text
    value: Annotated[float, Field(ge=0, le=1)]
    description: Text | None = None


class Judge(Part):
    """Settings of a judged criterion. None means: take the rubric's default, then the built-in one.

    Attributes:
        model: A litellm model name. The caller's choice wins.
        guidance: Added to the question.
        prompt: A Jinja template that replaces the question, never the fences or the answer format.
        scale: Choices with strictly increasing values; default yes and no.
        reference: Hidden material as text.
        reference_files: The same from sealed files.
        sees: Parts of the trajectory.
        artifacts: Globs of workspace files.
        world: Globs of files that tools keep outside the sandbox.
        render: How documents are shown.
        votes: How many independent verdicts; ``adaptive`` is two, and a third when they differ.
        batch: How many criteria that see the same are asked in one call; ``all`` is as many as there are.
        read_at_most: Characters of the agent's work that are read, in several prompts if need be; None: 8 million, in
            at most 32 prompts. What an agent leaves beyond that is its own doing: the judge can't tell.
        if_cannot_tell: ``open`` leaves the criterion open, ``worst`` counts the worst value.
    """

    model: Text | None = None
    guidance: Text | None = None
    prompt: Text | None = None
    scale: Some[Choice] | None = None
    reference: Text | None = None
    reference_files: Many[Path] = ()
    sees: Some[View] | None = None
    artifacts: Many[Path] | None = None
    world: Many[Path] | None = None
    render: Literal["text", "images", "both"] | None = None
    votes: Annotated[int, Field(ge=1, le=100)] | Literal["adaptive"] | None = None
    batch: Annotated[int, Field(ge=1, le=100)] | Literal["all"] | None = None
    read_at_most: Annotated[int, Field(ge=1)] | None = None
    if_cannot_tell: Literal["open", "worst"] | None = None

    @model_validator(mode="before")
    @classmethod
    def _nothing(cls, value: Any) -> Any:
        return {} if value is None else value

    @field_validator("scale")
    @classmethod
    def _increasing(cls, scale: tuple[Choice, ...] | None) -> tuple[Choice, ...] | None:
        if scale is None:
            return scale
        if len(scale) < 2:  # noqa: PLR2004 - a choice of one is none
            raise ValueError("needs at least two choices")
        names = [choice.choice for choice in scale]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"choice {name!r} stands twice")
            if name in RESERVED_CHOICES:
                raise ValueError(f"choice {name!r} is a reserved verdict; call it something else")
        values = [choice.value for choice in scale]
        if any(low >= high for low, high in pairwise(values)):
            raise ValueError("values must increase strictly from the first choice to the last")
        return scale

    def over(self, default: Judge) -> Self:
        """These settings, completed by a default."""
        if not default.model_fields_set:
            return self
        given = {name: getattr(self, name) for name in self.model_fields_set if getattr(self, name) is not None}
        base = {name: getattr(default, name) for name in default.model_fields_set}
        return self.model_copy(update={**base, **given})
