"""The commands of a Dockerfile's ``RUN``: what is carried out here, and what this host has to have in its place."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

INSTALLS = re.compile(
    r"\b(apt|apt-get|apk|yum|dnf|pip|pip3|uv|npm|conda|cargo|gem|go)\b[^;&|]*\b(install|add|update|upgrade|clean)\b"
)
BEFORE = re.compile(r"(?:\w+=\S*\s+|sudo\s+|yes\s*\|\s*|python3?\s+-m\s+|\S*/)*")
"""What may stand before the name of a command."""
PIP = re.compile(r"\bpip3?\s+install\b(.*)", re.DOTALL)
BESIDE = re.compile(r"""(?:--with|-w)[ =]["']?([^\s"']+)""")
"""What `uv run` and `uvx` have beside a program."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
WITH_VALUE = frozenset({
    "-c", "--constraint", "-i", "--index-url", "--extra-index-url", "-f", "--find-links", "-t",
    "--target", "--python", "-p", "--prefix", "--root", "--timeout", "--retries", "--trusted-host",
})  # fmt: skip
TOOLS = frozenset({"pip", "setuptools", "wheel", "uv", "virtualenv", "build", "pytest-json-ctrf"})
"""Packages that bring others, and one that is stood in for where it is used: nothing of a task's own needs them."""
ACCOUNTS = frozenset({"useradd", "adduser", "groupadd", "usermod", "chown", "chgrp"})
"""A sandbox has one user, to whom everything belongs."""
UPKEEP = frozenset({"rm", "ln", "chmod", "ldconfig", "locale-gen", "update-alternatives", "apt-mark"})
IMAGE_HOME = "/root"
"""Where a Dockerfile's commands are at home."""
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/etc", "/var/lib/apt", "/var/cache", f"{IMAGE_HOME}/.cache", "/tmp")  # noqa: S108 - paths inside
ENTANGLED = re.compile(r"\|\||<<|[`()]|\b(if|for|while|until|case)\b")
"""What makes a command line more than a row of commands."""


@dataclass(frozen=True, slots=True)
class Commands:
    """One ``RUN``.

    Attributes:
        run: What is carried out, for a shell; may be empty.
        left: What is not.
        packages: Python packages that were to be installed: they must be here already.
        lists: Files with the names of more.
        folders: Absolute folders that are made.
    """

    run: str
    left: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()


def read_commands(text: str, workdir: str) -> Commands:
    """Take a ``RUN`` apart.

    Installations are not carried out, nor what only tends to the system's own files, which are the host's.

    Args:
        text: All of it, in one line.
        workdir: Where it is carried out.
    """
    run: list[str] = []
    left: list[str] = []
    installs: list[str] = []
    folders: list[str] = []
    for part, separator in _parts(text):
        if _installs(part):
            installs.append(part)
            left.append(part)
        elif _is_upkeep(part):
            left.append(part)
        else:
            run += [part, separator]
            folders += _folders(part, workdir)
    named = [each for part in installs for each in _named(part)]
    return Commands(
        run=" ".join(run[:-1]),
        left=tuple(left),
        packages=tuple(name for name in named if not name.startswith("-")),
        lists=tuple(name.removeprefix("-r ") for name in named if name.startswith("-r ")),
        folders=tuple(folders),
    )


def package_names(text: str) -> list[str]:
    """The packages that a list for pip names, one a line, without those that only bring others."""
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    return [name for line in lines if (name := _package(line))]


def script_packages(text: str) -> list[str]:
    """The Python packages that a test script would install, or run its tests with."""
    joined = text.replace("\\\n", " ")
    lines = [line for line in joined.splitlines() if not line.lstrip().startswith("#")]
    installed = [name for line in lines for name in read_commands(line, "/").packages]
    beside = [_package(match[1]) for line in lines for match in BESIDE.finditer(line)]
    return list(dict.fromkeys([*installed, *filter(None, beside)]))


def _parts(text: str) -> Iterator[tuple[str, str]]:
    """The commands of a row, each with what stands after it (``&&`` or ``;``); an entangled text is one command."""
    if ENTANGLED.search(text):
        yield text.strip(), ";"
        return
    found = re.findall(r"""((?:'[^']*'|"(?:\\.|[^"\\])*"|\\.|(?!&&)[^;'"\\])+)(&&|;|\Z)""", text)
    for part, separator in found:
        if part.strip():
            yield part.strip(), separator or ";"


def _words(part: str) -> list[str]:
    try:
        return shlex.split(part)
    except ValueError:
        return []


def _is_upkeep(part: str) -> bool:
    words = _words(part)
    if not words:
        return False
    command = PurePosixPath(words[0]).name
    if command in ACCOUNTS:
        return True
    given = [word for word in words[1:] if not word.startswith("-")]
    paths = [word for word in given if "/" in word]
    if command not in UPKEEP or (given and not paths):
        return False
    return all(any(PurePosixPath(path).is_relative_to(place) for place in SYSTEM) for path in paths)


def _installs(part: str) -> bool:
    found = INSTALLS.search(part)
    return found is not None and (bool(ENTANGLED.search(part)) or BEFORE.fullmatch(part[: found.start()]) is not None)


def _named(part: str) -> Iterator[str]:
    """The packages that pip is to install, and ``-r FILE`` for each list of them."""
    if (found := PIP.search(part)) is None:
        return
    words = iter(_words(found[1]))
    for word in words:
        if word in {"-r", "--requirement"}:
            yield f"-r {next(words, '')}"
        elif word in WITH_VALUE:
            next(words, None)
        elif name := _package(word):
            yield name


def _package(word: str) -> str:
    """The name in a requirement; empty when there is none, or when nothing of a task's own needs it."""
    if word.startswith(("http:", "https:", "git+")) or (name := NAME.match(word)) is None:
        return ""
    return "" if name[0].lower().replace("_", "-") in TOOLS else name[0]


def _folders(part: str, workdir: str) -> Iterator[str]:
    words = _words(part)
    if words and words[0] == "mkdir":
        yield from (
            str(PurePosixPath(workdir, word)) for word in words[1:] if not word.startswith("-") and "$" not in word
        )
