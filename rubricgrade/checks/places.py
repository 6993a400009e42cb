"""The sandboxes of one grade: the checker's and the solution's, with their layers made ready once, on first need."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import tempfile
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path, PurePosixPath

from rubricgrade import tree
from rubricgrade.checks.facts import facts_of
from rubricgrade.checks.inside.artifacts import glob_regex
from rubricgrade.checks.inside.finding import Unusable
from rubricgrade.checks.inside.wire import FACTS, LEFT_OUT, LINK, LINKS, SEALED, WORKSPACE, WORLD
from rubricgrade.checks.settling import Given
from rubricgrade.checks.solution import Solution
from rubricgrade.checks.suites import Taken, library, take
from rubricgrade.errors import CheckError, TemplateError, TrajectoryError
from rubricgrade.result import Isolation
from rubricgrade.rubric import Rubric
from rubricgrade.sandbox import Layer, Provider, Sandbox, Template, base_template
from rubricgrade.trajectory import Trajectory

MOST_LINKS = 40
"""Links that are followed to find out where one leads, as in Linux."""


class Places:
    """Opens sandboxes for the checks of one grade; whoever opens one closes it.

    Attributes:
        isolation: What really holds in the sandboxes; nothing before one was opened.
    """

    def __init__(
        self, trajectory: Trajectory, rubric: Rubric, provider: Provider, template: Template | TemplateError | None
    ) -> None:
        self._trajectory = trajectory
        self._rubric = rubric
        self._provider = provider
        self._template = template if isinstance(template, Template) else base_template()
        self._absent = template if isinstance(template, TemplateError) else None
        self._held = AsyncExitStack()
        self._lock = asyncio.Lock()
        self._staged: dict[str, Path] = {}
        self._left_out: dict[str, str] = {}
        self._links: dict[str, str] = {}
        self._unchanged: set[Path] = set()
        self.isolation = Isolation()

    @property
    def starts_empty(self) -> bool:
        """Whether the template has nothing in its work folder."""
        return not self._template.image and not _workspace_of(self._template)

    def solution_of(self, given: Given, *, seconds: float) -> Solution:
        """The agent's code for one check, which may take so many seconds, or what stands there without the agent's."""

        def for_test(taken: Taken, pristine: bool) -> Awaitable[Sandbox]:
            return self._open_solution("start" if pristine and given == "all" else given, suite=taken)

        return Solution(lambda: self._open_solution(given), for_test, self._template, seconds=seconds)

    async def checker(self, given: Given) -> Sandbox:
        """A sandbox with the sealed files, the workspace and the world to read, and no code of the agent to run.

        The workspace is what the agent had before it: the template's files, with the agent's changes over them.

        Args:
            given: ``start`` leaves out everything of the agent's, ``nothing`` the template's files as well.
        """
        layers = [Layer(await self._files("sealed", self._rubric.sealed), SEALED)]
        if (world := self._trajectory.world) is not None:
            folder = await (self._copy("checker world", world) if given == "all" else self._files("nothing", {}))
            layers.append(Layer(folder, WORLD))
        if (workspace := self._trajectory.workspace) is not None:
            below = [] if given == "nothing" else _workspace_of(self._template)
            if given == "all":
                folder = await self._copy("checker changes" if below else "checker workspace", workspace)
                below.append(Layer(folder, WORKSPACE, "overlay" if below else "read"))
            layers += below or [Layer(await self._files("nothing", {}), WORKSPACE)]
        layers.append(Layer(await self._facts(control=given != "all"), str(PurePosixPath(FACTS).parent)))
        return await self._open(base_template(layers=tuple(layers)))

    async def _open_solution(self, given: Given, suite: Taken | None = None) -> Sandbox:
        """A pristine copy of the template with the agent's files over it, and no sealed byte.

        Args:
            given: ``start`` leaves the agent's files out, ``nothing`` all that lies in the work folder.
            suite: For a test of a sealed suite: what is taken of the agent's files.
        """
        if self._absent is not None:
            raise TemplateError(self._absent.faults)
        if self._trajectory.workspace is None:
            raise CheckError("this check runs the agent's code, and the trajectory has no workspace")
        workdir = self._template.workdir
        layers = self._template.layers
        if given == "all":
            changes = await self._copy("solution", self._trajectory.workspace, suite)
            layers = (*layers, Layer(changes, workdir, "overlay"))
        if given == "nothing":
            layers = tuple(layer for layer in layers if not PurePosixPath(layer.target).is_relative_to(workdir))
            if self._template.image:
                layers = (*layers, Layer(await self._files("nothing", {}), workdir))  # hides what the image has there
        if suite is not None:
            layers = (*layers, *library())
        return await self._open(replace(self._template, layers=layers))

    async def close(self) -> None:
        """Remove all copies."""
        await self._held.aclose()

    async def _open(self, template: Template) -> Sandbox:
        sandbox = await self._provider.open(template, label="grade")
        found = sandbox.isolation
        self.isolation = Isolation(
            provider=found.provider,
            kernel_uid=found.kernel_uid,
            memory=found.memory,
            processes=found.processes,
            seccomp=found.seccomp,
            network=found.network,
        )
        return sandbox

    async def _facts(self, *, control: bool) -> Path:
        """What a check gets to know beside the files. Of these it is told what the copy lacks, which is made before."""
        left_out, links = ({}, {}) if control else (self._left_out, self._links)
        told = {FACTS: facts_of(self._trajectory, control=control)}
        told |= {LEFT_OUT: json.dumps(left_out).encode(), LINKS: json.dumps(links).encode()}
        files = {PurePosixPath(path).name: data for path, data in told.items()}
        return await self._files("control facts" if control else "facts", files)

    async def _files(self, key: str, files: Mapping[str, bytes]) -> Path:
        """A private folder with some files of ours."""
        async with self._lock:
            if key not in self._staged:
                with tempfile.TemporaryDirectory() as folder:
                    await asyncio.to_thread(_write, Path(folder), files)
                    self._staged[key] = await self._stage(Path(folder))
            return self._staged[key]

    async def _copy(self, role: str, source: Path, suite: Taken | None = None) -> Path:
        """A private copy of a folder that the agent could write to.

        A checker's copy has no links, for the author's code must not be led to a sealed file by one; the solution's
        only what was declared to be the agent's work, if anything was, and for a test of a suite only what that takes.
        """
        key = role if suite is None else f"{role} for a suite of {suite}"
        async with self._lock:
            if key not in self._staged:
                await self._check_unchanged(source)
                folder = await self._stage(source, layer=role in {"solution", "checker changes"})
                if role == "solution" and (artifacts := self._trajectory.artifacts):
                    await asyncio.to_thread(_keep, folder, artifacts)
                if suite is not None:
                    await asyncio.to_thread(take, folder, suite)
                if role.startswith("checker"):
                    links = await asyncio.to_thread(_unlink, folder, hide=role == "checker changes")
                    if role != "checker world":
                        said = {path: f"{LINK}{target!r}; links are not followed" for path, target in links.items()}
                        self._left_out = said | await asyncio.to_thread(_skipped, source)
                        leads = {path: _led(path, links) for path in links}
                        self._links = {path: end for path, end in leads.items() if end}
                self._staged[key] = folder
            return self._staged[key]

    async def _check_unchanged(self, source: Path) -> None:
        """See that files beside their trajectory are those that it was recorded with.

        Raises:
            TrajectoryError: They are not.
        """
        trajectory = self._trajectory
        name = "workspace" if source == trajectory.workspace else "world"
        recorded = trajectory.workspace_hash if name == "workspace" else trajectory.world_hash
        if recorded is None or trajectory.folder is None or source in self._unchanged:
            return
        if (found := await asyncio.to_thread(tree.identity, source)) != recorded:
            raise TrajectoryError(
                f"{source.name} is not what {trajectory.id} left: its hash is {found}, and was {recorded}. Put the "
                f"recorded one back; or, to grade this one, take {name}_hash out of {trajectory.folder}"
            )
        self._unchanged.add(source)

    async def _stage(self, source: Path, *, layer: bool = False) -> Path:
        try:
            return await self._held.enter_async_context(self._provider.stage(source, layer=layer))
        except (ValueError, FileNotFoundError, NotADirectoryError) as error:
            raise TrajectoryError(f"the files that the agent left can't be taken: {error}") from error


def _workspace_of(template: Template) -> list[Layer]:
    """What a template has in its work folder, as layers of a checker's workspace."""
    layers: list[Layer] = []
    workdir = PurePosixPath(template.workdir)
    for layer in template.layers:
        target = PurePosixPath(layer.target)
        if target.is_relative_to(workdir):
            layers.append(Layer(layer.source, str(PurePosixPath(WORKSPACE) / target.relative_to(workdir)), "overlay"))
        elif workdir.is_relative_to(target):
            inside = layer.source / workdir.relative_to(target)
            if inside.is_dir():
                layers.append(Layer(inside, WORKSPACE, "overlay"))
    return layers


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    for path, data in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)


def _keep(folder: Path, artifacts: Sequence[str]) -> None:
    """Take everything out of a private copy that no glob stands for. Raises `TrajectoryError` for what is no glob."""
    try:
        wanted = [glob_regex(pattern) for pattern in artifacts]
    except Unusable as error:
        raise TrajectoryError(f"artifacts: {error}") from None
    for entry in tree.walk(folder, layer=True).entries:
        if entry.kind != "folder" and not any(pattern.fullmatch(entry.path) for pattern in wanted):
            (folder / entry.path).unlink()


def _unlink(folder: Path, *, hide: bool) -> dict[str, str]:
    """Take all symbolic links out of a private copy; returns them with what they say.

    Args:
        folder: The copy.
        hide: Put a deletion where one was, so that what it hid of the template stays hidden.
    """
    links = {entry.path: entry.target for entry in tree.walk(folder, layer=hide).entries if entry.kind == "link"}
    for path in links:
        (folder / path).unlink()
        if hide:
            os.mknod(folder / path, stat.S_IFCHR, os.makedev(0, 0))
    return links


def _led(path: str, links: Mapping[str, str]) -> str:
    """Where a link ends, by way of other links; empty if it leaves the folder or goes on for long."""
    done: list[str] = []
    rest = path.split("/")
    hops = 0
    while rest:
        part = rest.pop(0)
        if part == ".." and not done:
            return ""
        if part == "..":
            done.pop()
        elif part not in {"", "."}:
            done.append(part)
            target = links.get("/".join(done))
            hops += target is not None
            if target is not None and (target.startswith("/") or hops > MOST_LINKS):
                return ""
            if target is not None:
                done.pop()
                rest[:0] = target.split("/")
    return "/".join(done)


def _skipped(source: Path) -> dict[str, str]:
    """What is not in a copy of a folder or of an archive, in words; a folder of which all is left out has a slash."""
    skipped = tree.walk(source).skipped if source.is_dir() else tree.left_out(source)
    return {f"{one.path}/" if one.folder else one.path: f"can't be taken: {one.reason}" for one in skipped}
