"""`sandbox.yaml` as values: what a sandbox template is made of. Reading it from a file is `reading`'s part."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    StringConstraints,
    Tag,
    field_validator,
)

from rubricgrade.rubric.base import Identifier, Many, Some, Text
from rubricgrade.sandbox import allowed, contract

SIZE = re.compile(r"(\d{1,9}) ?(KiB|MiB|GiB)\Z")
UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
MOST = 1 << 50
DEFAULTS = contract.Limits()


def _size(value: Any) -> Any:
    if isinstance(value, str) and (match := SIZE.match(value)):
        return int(match[1]) * UNITS[match[2]]
    return value


def _place_inside(path: str) -> str:
    if not path.startswith("/") or path == "/" or str(PurePosixPath(path)) != path or ".." in path.split("/"):
        raise ValueError(
            "is an absolute path inside the sandbox, such as /work, without '..' and without a slash at its end"
        )
    return path


def _beside(path: str) -> str:
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or "\\" in path or "\0" in path:
        raise ValueError("is a path inside the template's own folder")
    return path


def _target(path: str) -> str:
    return _place_inside(path) if path.startswith("/") else _beside(path)


def _host(entry: str) -> str:
    allowed.ends_of(entry)
    return entry


Beside = Annotated[str, Field(min_length=1, max_length=1000), AfterValidator(_beside)]
Inside = Annotated[str, Field(max_length=1000), AfterValidator(_place_inside)]
Host = Annotated[str, Field(max_length=300), AfterValidator(_host)]
Size = Annotated[int, BeforeValidator(_size), Field(gt=0, le=MOST)]
Amount = Annotated[int, Field(gt=0, le=10_000_000)]
Variable = Annotated[str, StringConstraints(pattern="^[A-Za-z_][A-Za-z0-9_]*$")]
Value = Annotated[str, StringConstraints(pattern="^[^\x00]*$")]
Program = Annotated[str, StringConstraints(pattern="^[A-Za-z0-9_.+-]+$", max_length=100)]
Package = Annotated[str, StringConstraints(pattern="^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=100)]


class Part(BaseModel):
    """A part of a definition: frozen, strict, no unknown keys."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=False, validate_by_name=True, validate_by_alias=True
    )


class RootFilesystem(Part):
    """A root file system that takes the place of the host's.

    Attributes:
        rootfs: A folder, or a tar of one (also compressed by gzip, bzip2, xz or zstd), relative to the template's
            folder or absolute.
    """

    rootfs: Text


class Image(Part):
    """A container image, for providers that have images.

    Attributes:
        image: Its name; with ``@sha256:...`` it can't change.
    """

    image: Text


class Requires(Part):
    """What must be there before anything is built.

    Attributes:
        programs: Looked up in the sandbox's PATH.
        packages: Python packages by the names that pip knows them by. With the host as base these are the packages of
            the running environment, and their versions are a part of the template's hash.
    """

    programs: Many[Program] = ()
    packages: Many[Package] = ()


class Files(Part):
    """Files that are copied in.

    Attributes:
        source: A file or folder beside ``sandbox.yaml`` (the key is ``from``).
        to: Where it appears. Relative to the work folder: the agent may change its own copy. Absolute: a folder that
            everybody can read and nobody can change.
    """

    source: Beside = Field(alias="from")
    to: Annotated[str, Field(min_length=1, max_length=1000), AfterValidator(_target)] = "."


class Allowed(Part):
    """A network with nothing in it but some hosts, by HTTP and HTTPS through a proxy.

    Attributes:
        allow: ``HOST``, ``HOST:PORT`` or ``[IPv6-ADDRESS]:PORT``; without a port: 80 and 443.
    """

    allow: Some[Host]


def _shape(value: Any) -> str:
    return "word" if isinstance(value, str) else "list"


Network = Annotated[
    Annotated[Literal["none", "host"], Tag("word")] | Annotated[Allowed, Tag("list")], Discriminator(_shape)
]


def split(network: Literal["none", "host"] | Allowed) -> tuple[Literal["none", "host"], tuple[str, ...]]:
    """The network and the allowed hosts as `sandbox.contract.Template` has them."""
    return ("none", network.allow) if isinstance(network, Allowed) else (network, ())


class Setup(Part):
    """A script that is run once, inside the sandbox, when the template is built.

    Attributes:
        script: A file beside ``sandbox.yaml``, run by ``sh -eu`` in the work folder.
        network: ``host`` lets the script reach everything that the host can reach; a list, some hosts.
        timeout: Seconds that it may take.
    """

    script: Beside
    network: Network = "none"
    timeout: Annotated[float, Field(gt=0, le=86_400)] = 600


class Limits(Part):
    """What one fork may use; see `sandbox.contract.Limits`. Sizes in bytes, or as text such as ``512 MiB``."""

    memory: Size = DEFAULTS.memory
    processes: Amount = DEFAULTS.processes
    disk: Size = DEFAULTS.disk
    files: Amount = DEFAULTS.files
    file_size: Size = DEFAULTS.file_size
    cpu: Amount = DEFAULTS.cpu
    lifetime: Annotated[float, Field(gt=0, le=30 * 86_400)] = DEFAULTS.lifetime


class Definition(Part):
    """A whole ``sandbox.yaml``.

    Attributes:
        format: Of the file.
        name: For people; default: the folder's name. No part of the hash.
        description: For people. No part of the hash.
        base: What everything lies on: ``host`` (this host's programs and this Python with its packages, read-only), a
            root file system, or a container image.
        requires: What must be there.
        files: What is copied in; a single text is a folder whose content goes into the work folder.
        setup: What is run once; a single text is the script.
        env: Environment of every process.
        workdir: Where processes start.
        limits: Of each fork.
        network: Of each fork: ``none``, ``host``, or some hosts.
        upper: Where a fork's changes live: ``memory`` or ``disk``.
    """

    format: Literal[1] = 1
    name: Identifier | None = None
    description: str = ""
    base: Literal["host"] | RootFilesystem | Image = "host"
    requires: Requires = Requires()
    files: Many[Files] = ()
    setup: Setup | None = None
    env: dict[Variable, Value] = Field(default_factory=dict)
    workdir: Inside = "/work"
    limits: Limits = Limits()
    network: Network = "none"
    upper: Literal["memory", "disk"] = "memory"

    @field_validator("files", mode="before")
    @classmethod
    def _one_folder(cls, value: Any) -> Any:
        return [{"from": value}] if isinstance(value, str) else value

    @field_validator("setup", mode="before")
    @classmethod
    def _only_a_script(cls, value: Any) -> Any:
        return {"script": value} if isinstance(value, str) else value
