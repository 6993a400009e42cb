"""The hash that names a template: over its base, its files, its set-up and its settings. Names are no part of it."""

from __future__ import annotations

import platform
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from rubricgrade import digest, tree
from rubricgrade.errors import Fault, TemplateError
from rubricgrade.templates.definition import Allowed, Definition, Image, Network, RootFilesystem
from rubricgrade.templates.reading import Source

SCHEME = 1
"""Changes when the same definition would be built into something else."""

BUDGET = tree.Budget(entries=2_000_000, total=64 << 30, file=16 << 30, depth=200)
"""What a template may hold. It is its author's: the bounds are against accidents."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What a template is.

    Attributes:
        digest: ``sha256:...``.
        base: What it lies on, as far as it decides the digest, for people.
    """

    digest: str
    base: dict[str, Any]


def identify(source: Source) -> Identity:
    """The identity of what a definition would be built into on this host. Reads every file of it.

    Raises:
        TemplateError: A package that it requires is not there, or a file can't be a part of a template.
    """
    definition = source.definition
    base = base_facts(source)
    setup = definition.setup
    facts = {
        "scheme": SCHEME,
        "base": base,
        "programs": sorted(definition.requires.programs),
        "files": [[files.to, _content(source.folder / files.source)] for files in definition.files],
        "setup": None if setup is None else [digest.of_file(source.folder / setup.script), _network(setup.network)],
        **definition.model_dump(include={"env", "workdir", "limits", "upper"}),
        "network": _network(definition.network),
    }
    return Identity(digest.of_value(facts), base)


def _network(network: Network) -> str | list[str]:
    """The order in which hosts are listed decides nothing."""
    return sorted(network.allow) if isinstance(network, Allowed) else network


def base_facts(source: Source) -> dict[str, Any]:
    """What decides the base. The host's own: kind of machine, Python, and the versions of the required packages.

    Raises:
        TemplateError: A package that it requires is not there.
    """
    match source.definition.base:
        case "host":
            return host_facts(source.definition)
        case RootFilesystem():
            rootfs = source.rootfs or source.folder
            return {"kind": "rootfs", "content": _content(rootfs, whole=False)}
        case Image(image=name):
            return {"kind": "image", "image": name}


def host_facts(definition: Definition) -> dict[str, Any]:
    """The facts of the host as a base.

    Raises:
        TemplateError: A package that the definition requires is not there.
    """
    versions: dict[str, str] = {}
    faults: list[Fault] = []
    for name in sorted(definition.requires.packages):
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            faults.append(Fault(f"needs the Python package {name!r} in this environment: pip install {name}"))
    if faults:
        raise TemplateError(faults)
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    return {"kind": "host", "machine": platform.machine(), "python": python, "packages": versions}


def same_base(recorded: dict[str, Any]) -> str:
    """Why this host is no longer what a template was built on; empty when it still is, or when it does not matter."""
    if recorded.get("kind") != "host":
        return ""
    packages: dict[str, str] = recorded.get("packages", {})
    now = {
        "machine": platform.machine(),
        "python": f"{sys.version_info.major}.{sys.version_info.minor}",
        **{name: _version(name) for name in packages},
    }
    then = {"machine": recorded.get("machine"), "python": recorded.get("python"), **packages}
    changed = [f"{name} {then[name]} then, {now[name]} now" for name in now if then[name] != now[name]]
    return "; ".join(changed)


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "none"


def _content(path: Path, *, whole: bool = True) -> str:
    """The hash of a file or folder.

    Raises:
        TemplateError: With `whole`, something in it could not be copied (a FIFO, a file that can't be read).
    """
    if path.is_file():
        return digest.of_file(path)
    if whole and (skipped := tree.walk(path, BUDGET).skipped):
        raise TemplateError([Fault(f"{item.path!r}: {item.reason}", str(path)) for item in skipped])
    return tree.digest(path, BUDGET)
