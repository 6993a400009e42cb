"""What an agent did: a list of messages with tool calls and results, its workspace, and the world outside.

Glossary. A *step* is one message. A *part* is a piece of its content. A *call* is a tool call of an assistant step; a
tool step is the *result* of one. An *address* names a place for evidence: ``[12].text``, ``[12].reasoning``,
``[12].call_1``, ``[14].result`` (steps count from 0, calls of a step from 1).
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self, cast

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, PrivateAttr, model_validator

from rubricgrade import digest

Role = Literal["system", "user", "assistant", "tool"]
SCHEMA = "rubricgrade.trajectory/1"

UNCLEAN = re.compile("[\ud800-\udfff\0]")
ID_LENGTH = 200
RESERVED = frozenset({"grades", "reviews", "run.json", "trajectories.jsonl", "trajectory.json", "workspace", "world"})
"""Names that mean something in a folder of episodes or in an episode's own, and can't be ids."""


def clean_text(text: str) -> str:
    """The text as every file, database and model takes it: half a surrogate pair becomes U+FFFD, NUL becomes U+2400."""
    if text.isascii() and "\0" not in text:  # nearly all texts, and seen much faster than searched
        return text
    return UNCLEAN.sub(lambda found: "\u2400" if found[0] == "\0" else "\ufffd", text)


def clean_value(value: JsonValue) -> JsonValue:
    """A JSON value with `clean_text` applied to every text and key in it."""
    match value:
        case str():
            return clean_text(value)
        case list():
            return [clean_value(item) for item in value]
        case dict():
            return {clean_text(key): clean_value(item) for key, item in value.items()}
        case _:
            return value


def _clean_object(value: dict[str, JsonValue]) -> dict[str, JsonValue]:
    return {clean_text(key): clean_value(item) for key, item in value.items()}


def _folder_name(name: str) -> str:
    """An id becomes the name of a folder, and it comes from a file that may be hostile."""
    if not name or len(name) > ID_LENGTH or name.startswith(".") or not name.isprintable() or {"/", "\\"} & {*name}:
        raise ValueError(
            f"an id has 1 to {ID_LENGTH} printable characters, no slash or backslash, and does not start with a dot"
        )
    if name.casefold() in RESERVED:
        raise ValueError(f"an id is not {name!r}, which is the name of something beside episodes")
    return name


def _base64(data: str) -> str:
    base64.b64decode(data, validate=True)
    return data


CleanText = Annotated[str, AfterValidator(clean_text)]
CleanValue = Annotated[JsonValue, AfterValidator(clean_value)]
Hash = Annotated[str, Field(pattern="^sha256:[0-9a-f]{64}$")]
CleanObject = Annotated[dict[str, JsonValue], AfterValidator(_clean_object)]


class Value(BaseModel):
    """A frozen value that keeps nothing it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Text(Value):
    """Text content."""

    type: Literal["text"] = "text"
    text: CleanText


class Image(Value):
    """An image, kept beside the trajectory or as data; shown to text-only judges as a placeholder.

    Attributes:
        media_type: Such as ``image/png``.
        sha256: Of its bytes, 64 hex digits; empty when only a URL is known.
        size: Bytes; 0 when unknown.
        data: Base64 of its bytes; empty when only a URL is known.
        url: Where it was, if it was not inline. Never fetched.
    """

    type: Literal["image"] = "image"
    media_type: CleanText = "image/*"
    sha256: str = Field(default="", pattern="^([0-9a-f]{64})?$")
    size: int = Field(default=0, ge=0)
    data: Annotated[str, AfterValidator(_base64)] = ""
    url: CleanText = ""

    @property
    def placeholder(self) -> str:
        """What stands for it in text."""
        where = f"sha256 {self.sha256[:12]}" if self.sha256 else self.url[:200]
        return f"[image {self.media_type}, {self.size} bytes, {where}]"


class Other(Value):
    """Content of a kind that has no model here, kept as it came."""

    type: Literal["other"] = "other"
    kind: CleanText
    value: CleanValue


Part = Annotated[Text | Image | Other, Field(discriminator="type")]


class Call(Value):
    """A tool call.

    Attributes:
        id: As the source had it; None if it had none (calls and results are then paired by order).
        name: The tool.
        arguments: The arguments as an object; None when they were not one.
        raw: The text as it came when it could not be read as a JSON object; kept, never replaced by ``{}``.
    """

    id: CleanText | None = None
    name: CleanText
    arguments: CleanObject | None = None
    raw: CleanText | None = None


class Usage(Value):
    """Tokens and money of one step or of a whole episode; None is unknown, not 0."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    cost: float | None = None


class Step(Value):
    """One message.

    Attributes:
        role: Who wrote it.
        content: Parts in order; empty for null content.
        reasoning: The agent's private reasoning, apart from what it said.
        calls: Tool calls; parallel ones stand in one step. Those of an assistant step, in some formats also a user's.
        answers: For a tool step: (step, call) of the call that it answers, both as in addresses; None if unknown.
        tool: For a tool step: the tool's name, if known.
        failed: For a tool step: whether the source marked it as an error.
        time: ISO 8601, if known.
        usage: Tokens of this step, if known.
        extra: What the source had besides, kept as it came.
    """

    role: Role
    content: tuple[Part, ...] = ()
    reasoning: CleanText | None = None
    calls: tuple[Call, ...] = ()
    answers: tuple[int, int] | None = None
    tool: CleanText | None = None
    failed: bool | None = None
    time: CleanText | None = None
    usage: Usage | None = None
    extra: CleanObject = Field(default_factory=dict)

    @model_validator(mode="after")
    def _tools_make_no_calls(self) -> Self:
        if self.calls and self.role == "tool":
            raise ValueError("calls: a tool step makes none")
        return self

    @property
    def text(self) -> str:
        """All of its text; images and unknown parts as placeholders."""
        return "\n".join([_as_text(part) for part in self.content])


class Warning(Value):  # noqa: A001 - the field's word for it; never used as the built-in one here
    """Something a reader could not carry over as it was.

    Attributes:
        place: Where it stands in the source, such as ``line 17: messages[3]``; empty for the whole file.
        message: What it is, and what was made of it.
        code: Names its kind, such as ``orphan_result``, ``unanswered_call``, ``malformed_arguments``.
    """

    place: CleanText
    message: CleanText
    code: CleanText = ""

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" if self.place else self.message


class Template(Value):
    """The sandbox template that the episode ran in."""

    name: CleanText
    hash: CleanText | None = None


class Trajectory(Value):
    """One attempt of an agent at a task.

    Attributes:
        id: Names it among others; unique within a file; fit to be the name of a folder.
        task: The instruction that the agent was given, if it is known apart from the messages.
        task_id: The task's name, if known.
        sample: The attempt's number within its task.
        model: The agent's model, if known.
        steps: The messages.
        artifacts: Globs of the workspace files that are the agent's work; empty means all that changed.
        template: Where it ran.
        workspace_hash: ``sha256:...`` of the workspace that it left, as in a grade; None if nobody has recorded it.
        world_hash: The same of the world.
        reward: A reward that the source recorded; shown, never used for grading.
        usage: Of the whole episode.
        meta: What the source had besides.
        warnings: What could not be carried over.
    """

    id: Annotated[CleanText, AfterValidator(_folder_name)]
    task: CleanText | None = None
    task_id: CleanText | None = None
    sample: int | None = None
    model: CleanText | None = None
    steps: tuple[Step, ...] = Field(min_length=1)
    artifacts: tuple[CleanText, ...] = ()
    template: Template | None = None
    workspace_hash: Hash | None = None
    world_hash: Hash | None = None
    reward: float | None = None
    usage: Usage | None = None
    meta: CleanObject = Field(default_factory=dict)
    warnings: tuple[Warning, ...] = ()

    _workspace: Path | None = PrivateAttr(default=None)
    _world: Path | None = PrivateAttr(default=None)
    _folder: Path | None = PrivateAttr(default=None)

    @model_validator(mode="after")
    def _answers_point_back(self) -> Self:
        seen: set[tuple[int, int]] = set()
        for index, step in enumerate(self.steps):
            if step.answers is None:
                continue
            asked, number = step.answers
            if not (0 <= asked < index and 1 <= number <= len(self.steps[asked].calls)):
                raise ValueError(f"steps[{index}].answers: there is no call {number} in an earlier step {asked}")
            if step.answers in seen:
                raise ValueError(f"steps[{index}].answers: call {number} of step {asked} has a result already")
            seen.add(step.answers)
        return self

    def __eq__(self, other: object) -> bool:
        """Two are equal when what is in them is equal, wherever their files lie."""
        if not isinstance(other, Trajectory):
            return NotImplemented
        names = type(self).model_fields
        return all(cast("object", getattr(self, name)) == getattr(other, name) for name in names)

    def __hash__(self) -> int:
        return hash(self.hash)

    def located(
        self, *, folder: Path | None = None, workspace: Path | None = None, world: Path | None = None
    ) -> Trajectory:
        """The same trajectory, told where its files lie.

        Args:
            folder: Where its grades are written: the folder of a trajectory that is alone in it.
            workspace: What the agent left: a folder or a ``.tar.zst``.
            world: State that tools kept outside the sandbox.
        """
        copy = self.model_copy()
        copy._folder, copy._workspace, copy._world = folder, workspace, world  # noqa: SLF001 - a new one of our own
        return copy

    @property
    def workspace(self) -> Path | None:
        """What the agent left: a folder or a ``workspace.tar.zst``; hostile. None when there is none."""
        return self._workspace

    @property
    def world(self) -> Path | None:
        """State that tools kept on our side. None when there is none."""
        return self._world

    @property
    def folder(self) -> Path | None:
        """Where its grades belong; None for one of many in a file."""
        return self._folder

    @cached_property
    def hash(self) -> str:
        """``sha256:...`` of what is in it (messages and facts, not places, warnings, or what lies beside it)."""
        beside = {"warnings", "workspace_hash", "world_hash"}
        return digest.of_value(self.model_dump(mode="json", exclude=beside, exclude_defaults=True))

    @cached_property
    def final_message(self) -> str | None:
        """Text of the last assistant step, if the episode ended with one that says something; else None."""
        for step in reversed(self.steps):
            if step.role == "assistant":
                return step.text if step.text.strip() else None
            if step.role == "tool":
                return None
        return None

    @cached_property
    def instruction(self) -> str:
        """The task's text: as recorded, else the first user message."""
        if self.task is not None:
            return self.task
        return next((step.text for step in self.steps if step.role == "user"), "")

    def calls(self) -> Iterator[tuple[int, int, Call]]:
        """Every tool call with its step and its number in it (from 1)."""
        for index, step in enumerate(self.steps):
            for number, call in enumerate(step.calls, 1):
                yield index, number, call

    @cached_property
    def results(self) -> dict[tuple[int, int], int]:
        """The tool step that answers each (step, call)."""
        return {step.answers: index for index, step in enumerate(self.steps) if step.answers is not None}


def _as_text(part: Any) -> str:
    match part:
        case Text():
            return part.text
        case Image():
            return part.placeholder
        case _:
            return digest.canonical(part.value).decode()
