"""A vendor's ``grade.sh``, as far as it does nothing but run pytest in a way that a sealed suite can take over."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from rubricgrade.episode.dialects.making import Unsealable

SHELL = frozenset("|&;<>()$`\\*?[]{}~!")
"""Signs with which a line can do more than start a program."""
PYTHON = re.compile(r"python(?:3(?:\.\d+)?)?")
PYTEST = frozenset({"pytest", "py.test"})
QUIET = frozenset({
    "-q", "-qq", "-v", "-vv", "-vvv", "-x", "-s", "-l", "--quiet", "--verbose", "--exitfirst", "--showlocals",
    "--no-header", "--no-summary", "--disable-warnings", "--strict-markers",
})  # fmt: skip
"""Options that change what is printed, or how early it ends: with one failure all is lost in any case."""
VALUED = frozenset({"-r", "--tb", "--color", "--durations", "--maxfail", "--capture", "--timeout", "--verbosity"})
"""The same with a value."""
SET = re.compile(r"[-+][aeEuxv]*o?|pipefail|errexit|nounset|xtrace")
HARMLESS = frozenset({"CI", "PYTHONDONTWRITEBYTECODE", "PYTHONHASHSEED", "PYTHONUNBUFFERED", "PYTHONWARNINGS", "TZ"})


@dataclass(frozen=True, slots=True)
class Command:
    """A run of pytest.

    Attributes:
        paths: Files and folders of tests, relative to the work folder; none: all that pytest finds there.
        pythonpath: Folders to import from, relative to the work folder.
    """

    paths: tuple[str, ...]
    pythonpath: tuple[str, ...]


def read_command(script: str, workdir: str) -> Command:
    """What a script runs.

    Args:
        script: Its text.
        workdir: The work folder, in which it is run.

    Raises:
        Unsealable: It does anything else, or runs pytest in a way that decides which tests count.
    """
    commands = list(_commands(script, workdir))
    if len(commands) != 1:
        raise Unsealable(f"grade.sh runs {len(commands) or 'no'} programs, and not pytest alone")
    pythonpath: list[str] = []
    words = commands[0]
    while words and "=" in words[0]:
        name, _, value = words.pop(0).partition("=")
        if name == "PYTHONPATH":
            pythonpath += [_inside(folder or ".", workdir) for folder in value.split(":")]
        elif name not in HARMLESS:
            raise Unsealable(f"grade.sh sets {name}")
    if words[:1] == ["exec"]:
        del words[0]
    match words:
        case [program, *rest] if program in PYTEST:
            pass
        case [python, "-m", "pytest", *rest] | [python, "-B" | "-u", "-m", "pytest", *rest] if PYTHON.fullmatch(python):
            # Python itself puts the folder that it is started in before everything else.
            pythonpath.insert(0, ".")
        case _:
            raise Unsealable(f"grade.sh runs {shlex.join(words[:3])}, and not pytest alone")
    return Command(tuple(_paths(rest, workdir)), tuple(dict.fromkeys(pythonpath)))


def _commands(script: str, workdir: str) -> Iterator[list[str]]:
    """The lines that run something, as words."""
    for line in script.replace("\\\n", " ").splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if SHELL & set(line):
            raise Unsealable(f"grade.sh does more than run pytest: {line.strip()!r}")
        try:
            words = shlex.split(line, comments=True)
        except ValueError as error:
            raise Unsealable(f"grade.sh can't be read: {error}") from None
        match words:
            case ["set", *options] if all(map(SET.fullmatch, options)):
                continue
            case ["cd", folder] if str(PurePosixPath(workdir, folder)) == str(PurePosixPath(workdir)):
                continue
            case ["cd", folder]:
                raise Unsealable(f"grade.sh goes to {folder}, and the work folder is {workdir}")
            case ["export", setting] if setting.partition("=")[0] in HARMLESS:
                continue
            case _:
                yield words


def _paths(words: Sequence[str], workdir: str) -> Iterator[str]:
    rest = list(words)
    while rest:
        word = rest.pop(0)
        name, given, _ = word.partition("=")
        if word in QUIET or (given and name in VALUED) or re.fullmatch(r"-r[A-Za-z]+", word):
            continue
        if rest and (word in VALUED or (word == "-p" and rest[0].startswith("no:"))):
            del rest[0]
        elif word.startswith("-p") and word[2:].startswith("no:"):
            continue
        elif word.startswith("-"):
            raise Unsealable(f"grade.sh runs pytest with {word}")
        elif "::" in word:
            raise Unsealable(f"grade.sh runs single tests: {word}")
        else:
            yield _inside(word, workdir)


def _inside(path: str, workdir: str) -> str:
    place = PurePosixPath(workdir, path)
    if ".." in place.parts or not place.is_relative_to(workdir):
        raise Unsealable(f"grade.sh names {path}, which is not in the work folder")
    return str(place.relative_to(workdir))
