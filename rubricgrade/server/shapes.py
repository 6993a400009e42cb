"""What our own requests hold: one episode, or several with one rubric and one deadline."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rubricgrade.errors import Fault, InputError
from rubricgrade.misfits import misfits
from rubricgrade.server.reading import Body

MOST_EPISODES = 10_000


class Shape(BaseModel):
    """A part of a request: nothing is converted, and nothing unknown is let pass."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Inline(Shape):
    """A rubric that comes with the request.

    Attributes:
        yaml: Its text, for one without sealed files.
        archive: Base64 of a ``.tar.zst`` of its folder, with a ``rubric.yaml``.
    """

    yaml: str | None = None
    archive: str | None = None


class Asked(Shape):
    """What one episode, or all of a request, is graded with.

    Attributes:
        rubric: A name that the server knows, or a whole rubric; may be left out where the server has one.
        vars: Values of the rubric's vars.
        ungated: Decide the criteria also when a gate has failed.
        timeout: Seconds for all of the request, waiting included; at most the server's own.
    """

    rubric: str | Inline | None = None
    vars: dict[str, Any] = Field(default_factory=dict[str, Any])
    ungated: bool = False
    timeout: Annotated[float, Field(gt=0)] | None = None


class Given(Shape):
    """An episode.

    Attributes:
        trajectory: In our own format, or any other that is read.
        format: The format's name; default: it is recognised.
        workspace: Base64 of what the agent left, as ``.tar.zst``. In a form it is a file.
        workspace_as: The trajectory's workspace is the ``folder`` that it unpacks to, or the ``archive`` as it is. It
            makes no difference but to the workspace's hash in the grade.
        world: Base64 of the state that tools kept outside the sandbox, as ``.tar.zst``. In a form it is a file.
    """

    trajectory: Any
    format: str | None = None
    workspace: str | None = None
    workspace_as: Literal["folder", "archive"] = "folder"
    world: str | None = None


class One(Given, Asked):
    """``POST /grade``."""


class Batch(Asked):
    """``POST /grade/batch``."""

    episodes: tuple[Given, ...] = Field(strict=False, max_length=MOST_EPISODES)


S = TypeVar("S", bound=Shape)


def read_as(shape: type[S], body: Body) -> S:
    """A body in its shape.

    Raises:
        InputError: It has another one; every misfit is named.
    """
    try:
        return shape.model_validate(body.value)
    except ValidationError as error:
        raise InputError([Fault(told, "request") for told in misfits(error)]) from None
