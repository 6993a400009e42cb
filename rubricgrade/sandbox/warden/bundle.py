"""The warden as one command line: the text of its modules, loaded under their own names by a plain Python."""

from __future__ import annotations

import base64
import functools
import json
import resource
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path

import rubricgrade
from rubricgrade.sandbox.contract import Limits, Template

HOME = "/tmp/home"  # noqa: S108  # a path inside
TMP = "/tmp"  # noqa: S108  # a path inside
OPEN_FILES = 4096
MODULES = (
    "rubricgrade.sandbox.pid1.system",
    "rubricgrade.sandbox.pid1.processes",
    "rubricgrade.sandbox.quota",
    "rubricgrade.sandbox.warden.inside.files",
    "rubricgrade.sandbox.warden.inside.commands",
    "rubricgrade.sandbox.warden.inside.memory",
    "rubricgrade.sandbox.warden.inside.serving",
)
"""In the order in which they import each other."""

_LOADER = """
import sys, types
def module(name):
    made = sys.modules[name] = types.ModuleType(name)
    made.__package__ = name.rpartition(".")[0]
    return made
for name, text in texts.items():
    above = name
    while (above := above.rpartition(".")[0]) and above not in sys.modules:
        module(above).__path__ = []
    exec(compile(text, name, "exec"), module(name).__dict__)
sys.modules[name].serve(orders)
"""


@dataclass(frozen=True, slots=True)
class Orders:
    """What the warden has to see to.

    Attributes:
        places: Folders that the sandbox may write to; made if they are missing.
        folders: Folders to make in them.
        limits: (resource, value) for every command.
        lifetime: Seconds until it ends by itself.
        uid: User and group to become when started as root.
        memory: Bytes over all processes that it enforces itself; 0 when the outside does.
        disk: Bytes in all places together that it enforces itself; 0 when the outside does.
        files: The same for files.
        socket: Where it listens; empty: standard input and output.
    """

    places: tuple[str, ...]
    folders: tuple[str, ...]
    limits: tuple[tuple[int, int], ...]
    lifetime: float
    uid: int
    memory: int = 0
    disk: int = 0
    files: int = 0
    socket: str = ""


def places(template: Template) -> tuple[str, ...]:
    """Where a sandbox of this template may write: its work folder, /tmp, and what its layers let it change."""
    targets = (layer.target for layer in template.layers if layer.mode == "overlay")
    return tuple(dict.fromkeys((template.workdir, TMP, *targets)))


def resources(limits: Limits, *, alone: bool) -> tuple[tuple[int, int], ...]:
    """Resource limits of every command.

    Args:
        limits: The template's.
        alone: Nothing outside limits memory and processes.
    """
    values = (
        (resource.RLIMIT_FSIZE, limits.file_size),
        (resource.RLIMIT_NOFILE, OPEN_FILES),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_CPU, limits.cpu),
    )
    if not alone:
        return values
    # Not RLIMIT_AS: node, Java and Go reserve many times the address space that they use.
    return (*values, (resource.RLIMIT_NPROC, limits.processes), (resource.RLIMIT_DATA, limits.memory))


@functools.cache
def _texts() -> dict[str, str]:
    package = Path(rubricgrade.__file__ or "").parent
    return {name: package.joinpath(*name.split(".")[1:]).with_suffix(".py").read_text() for name in MODULES}


def program(orders: Orders) -> str:
    """Python source that becomes the warden; to be run by ``python3 -I -S -B -c``."""
    source = f"texts = {_texts()!r}\norders = {json.dumps(asdict(orders))}\n{_LOADER}"
    packed = base64.b85encode(zlib.compress(source.encode(), 9)).decode()
    return f"import base64,zlib;exec(zlib.decompress(base64.b85decode({packed!r})))"
