"""The host's side of sealed pytest suites: the sealed pytest, what is taken of the agent's work, a secret order."""

from __future__ import annotations

import asyncio
import importlib.util
import re
import secrets
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TypeVar

from rubricgrade import tree
from rubricgrade.checks.inside.artifacts import glob_regex, may_hold
from rubricgrade.checks.inside.finding import Unusable
from rubricgrade.errors import CheckError
from rubricgrade.sandbox import Layer

T = TypeVar("T")

LIBRARY = "/suite/library"
"""Where the sealed pytest lies in the solution's sandbox, read-only and before everything else to import from."""
PACKAGES = ("pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments")
AT_ONCE = 4

NEVER_TAKEN = re.compile(
    r"\.?pytest\.(?:ini|toml)|tox\.ini|setup\.(?:cfg|py)|pyproject\.toml|pyvenv\.cfg"
    r"|.*\.(?:pth|pyc)|(?:site|user)customize(?:\..*)?|.*\.(?:dist|egg)-info|\.git|__pycache__"
    # Modules and packages: a folder is imported in place of a file of its name.
    r"|(?:conftest|tests?|test_[^.]*|[^.]*_test)(?:\.py|(?:\..*)?\.(?:so|pyd|dll))?|testdata",
    re.IGNORECASE,
)
"""Names of files and folders that configure tests, that are tests, or that Python runs by itself."""


def library() -> tuple[Layer, ...]:
    """The pytest of this environment, for a solution's sandbox. Raises `CheckError` when it is not installed."""
    layers: list[Layer] = []
    for name in PACKAGES:
        spec = importlib.util.find_spec(name)
        if spec is None or not spec.submodule_search_locations:
            raise CheckError(
                f"a pytest check needs pytest beside rubricgrade, and {name} is missing: pip install pytest"
            )
        layers.append(Layer(Path(spec.submodule_search_locations[0]).resolve(), f"{LIBRARY}/{name}"))
    return tuple(layers)


@dataclass(frozen=True, slots=True)
class Taken:
    """What a suite takes of the agent's work, besides what is never taken: globs, a folder standing for all in it.

    Attributes:
        allow: What is taken; none given: everything.
        keep: What is not, so that it stays as the template has it.
    """

    allow: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()


def take(folder: Path, taken: Taken) -> None:
    """Take out of a private copy of the agent's work what no suite may meet.

    Where `keep` names something below a folder, a link or a file of the agent's in the place of that folder is none.

    Args:
        folder: The copy; marks of deletions count as what they delete.
        taken: What is left in.

    Raises:
        CheckError: One of its globs is none.
    """
    wanted, kept = _globs("allow", taken.allow or ("**",)), _globs("keep", taken.keep)

    def is_around(path: PurePosixPath) -> bool:
        """By a link above it, what is kept could be had from another place, under a name that nothing keeps."""
        return any(may_hold(f"{path}/", pattern) for pattern in taken.keep)

    def stays(path: PurePosixPath) -> bool:
        return bool(NEVER_TAKEN.fullmatch(path.name)) or any(one.fullmatch(str(path)) for one in kept)

    for entry in tree.walk(folder, layer=True).entries:
        path = PurePosixPath(entry.path)
        if any(map(stays, path.parents)):
            continue  # gone with its folder
        ways = [str(way) for way in (path, *path.parents)]
        if entry.kind == "folder":
            # One that is never taken goes with all that is in it: it may hide what the template has there.
            if stays(path):
                tree.remove(folder / path)
        elif stays(path) or is_around(path) or not any(one.fullmatch(way) for one in wanted for way in ways):
            (folder / path).unlink()


def _globs(key: str, patterns: Sequence[str]) -> list[re.Pattern[str]]:
    try:
        return [glob_regex(pattern) for pattern in patterns]
    except Unusable as error:
        raise CheckError(f"{key}: {error}") from None


async def in_secret_order(jobs: Sequence[Callable[[], Awaitable[T]]]) -> list[T]:
    """Do several things, a few at once, in an order that nobody can foresee; results in the order that was given."""
    room = asyncio.Semaphore(AT_ONCE)

    async def do(job: Callable[[], Awaitable[T]]) -> T:
        async with room:
            return await job()

    order = list(range(len(jobs)))
    secrets.SystemRandom().shuffle(order)
    tasks = {index: asyncio.create_task(do(jobs[index])) for index in order}
    try:
        await asyncio.gather(*tasks.values())
    finally:
        for task in tasks.values():
            task.cancel()
        await asyncio.gather(*tasks.values(), return_exceptions=True)
    return [tasks[index].result() for index in range(len(jobs))]
