"""How the host and a warden talk: the link between them, and its answers, of which nothing is taken on trust."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Protocol, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, NonNegativeInt, ValidationError

from rubricgrade.errors import SandboxLost
from rubricgrade.misfits import first_misfit
from rubricgrade.sandbox.contract import Done
from rubricgrade.tree import Kind

WITHIN = 20.0
"""Seconds that one question may stay unanswered before the warden says ``pending``."""


class Link(Protocol):
    """A way to one warden.

    Attributes:
        piece: Most bytes of content in one request.
        reply: Most bytes of content to ask for in one answer.
    """

    piece: int
    reply: int

    async def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Send a request and return the answer to it.

        Raises:
            SandboxLost: The warden does not answer any more.
        """
        ...

    async def close(self) -> None:
        """End the sandbox, and make everyone who waits for an answer raise `SandboxLost`. May be called twice."""
        ...


def _decode(text: object) -> object:
    return base64.b64decode(text, validate=True) if isinstance(text, str) else text


Content = Annotated[bytes, BeforeValidator(_decode)]
"""Bytes that travel as base64."""


class Answer(BaseModel):
    """The root of all answers."""

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)


class Greeting(Answer):
    """What a sandbox is like, as seen from inside.

    Attributes:
        path: Its PATH.
        uid: The user of its commands, as they see it.
        uid_map: (first inside, first outside, how many) of users.
        seccomp: Whether a system-call filter is on.
        group: ``cgroup2``, ``cgroup1``, or empty when no memory group shows.
    """

    path: str
    uid: int
    uid_map: list[list[int]]
    seccomp: bool
    group: Literal["", "cgroup1", "cgroup2"]

    def kernel_uid(self) -> int:
        """The user that the kernel outside sees."""
        for first, outside, count in self.uid_map:
            if first <= self.uid < first + count:
                return outside + self.uid - first
        raise SandboxLost(f"the sandbox's user {self.uid} is none that the kernel knows")


class Numbered(Answer):
    """A command that was started."""

    id: int


class Held(Answer):
    """Something opened, to be read or written piece by piece."""

    handle: int
    size: int = 0


class Piece(Answer):
    """A piece of a file; empty at its end."""

    data: Content


class Line(Answer):
    """A line of output, or that it is too long, or that there is none yet."""

    line: Content = b""
    long: bool = False
    pending: bool = False


class Taken(Answer):
    """What became of some input."""

    taken: Literal["ok", "full", "broken"]


class Ending(Answer):
    """How a command ended, or that it has not yet."""

    pending: bool = False
    code: int = 0
    stdout: Content = b""
    stderr: Content = b""
    stdout_total: NonNegativeInt = 0
    stderr_total: NonNegativeInt = 0
    seconds: float = 0.0
    timed_out: bool = False
    flooded: bool = False
    oom: bool = False
    full: bool = False

    def done(self) -> Done:
        """The same as the contract has it."""
        return Done(**self.model_dump(exclude={"pending"}))


class Item(Answer):
    """An entry of a folder, a further piece of the last one, or what was skipped. See `inside.files`."""

    path: str | None = None
    skipped: str = ""
    kind: Kind = "file"
    size: NonNegativeInt = 0
    mode: NonNegativeInt = 0o644
    target: str = ""
    opaque: bool = False
    data: Content = b""
    more: bool = False


class Items(Answer):
    """Some entries; none at the end."""

    items: list[Item]


class Nothing(Answer):
    """It was done."""


A = TypeVar("A", bound=Answer)


async def ask(link: Link, kind: type[A], do: str, **request: Any) -> A:
    """Ask for something and understand the answer.

    Args:
        link: The way to the warden.
        kind: What the answer must be.
        do: The request, a ``do_...`` of `inside.serving.Warden`.
        **request: Its arguments.

    Raises:
        OSError: It can't be done; says why.
        SandboxLost: There is no answer, or none that can be understood.
    """
    answer = await link.ask({"do": do, **request})
    try:
        if "errno" in answer:
            raise OSError(int(answer["errno"]), str(answer.get("error", "")))
        return kind.model_validate(answer)
    except (ValueError, TypeError) as error:
        told = first_misfit(error, shown=False) if isinstance(error, ValidationError) else error
        raise SandboxLost(f"the sandbox gave an answer that can't be understood: {told}") from error
