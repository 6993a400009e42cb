"""From a task's ``environment/`` to a sandbox template: prepared once, then forked for every attempt."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from rubricgrade import digest, tree
from rubricgrade.episode.recipe import Copy, Recipe, read_recipe
from rubricgrade.episode.task import Task
from rubricgrade.errors import Fault, TemplateError
from rubricgrade.sandbox import Layer, Limits, Provider, Template, base_template

SETUP_SECONDS = 600.0
SCRIPT_FOLDERS = {"/logs": ("verifier", "agent", "artifacts"), "/tests": ()}
"""Where a plain test script expects to write, and to lie."""


def template_hash(task: Task, *, network: bool = False) -> str:
    """What identifies a task's template: everything that decides its content."""
    folder = task.folder / "environment"
    facts = {"environment": tree.digest(folder) if folder.is_dir() else None, "script": task.by_script}
    return digest.of_value({**facts, "memory": task.memory, "network": network and task.network})


@asynccontextmanager
async def prepared(task: Task, provider: Provider, *, network: bool = False) -> AsyncGenerator[Template]:
    """The template of a task; its files are kept as long as the block runs, so close all forks inside.

    Args:
        task: Whose environment it is.
        provider: Where its forks will come from.
        network: Whether a task that asks for the internet gets it.

    Raises:
        TemplateError: The environment can't be made here; says why.
    """
    recipe = read_recipe(task.folder / "environment")
    async with AsyncExitStack() as held:
        with tempfile.TemporaryDirectory() as place:
            roots = _laid_out(task, recipe, Path(place))
            layers = [
                Layer(await held.enter_async_context(provider.stage(folder)), target, "overlay")
                for target, folder in roots.items()
            ]
        template = base_template(
            name=task.id,
            digest=template_hash(task, network=network),
            layers=tuple(layers),
            env=dict(recipe.env),
            workdir=recipe.workdir,
            limits=Limits() if task.memory is None else Limits(memory=task.memory),
            network="host" if network and task.network else "none",
        )
        if recipe.runs:
            layer = await _set_up(task, template, recipe, provider, held)
            template = replace(template, layers=(*template.layers, layer))
        yield template


def _laid_out(task: Task, recipe: Recipe, place: Path) -> dict[str, Path]:
    """Folders to be mounted, by their place inside."""
    roots: dict[str, Path] = {}
    for copy in recipe.copies:
        for source, name in _sources(task.folder / "environment", copy):
            inside = PurePosixPath(copy.target, name) if name else PurePosixPath(copy.target)
            target = _mount(inside, source, recipe.workdir)
            root = roots.setdefault(target, place / str(len(roots)))
            to = root / inside.relative_to(target)
            to.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, to, dirs_exist_ok=True, ignore=_not_ours(source))
            else:
                shutil.copy(source, to)
    if task.by_script:
        for target, names in SCRIPT_FOLDERS.items():
            root = roots.setdefault(target, place / str(len(roots)))
            for name in ("", *names):
                (root / name).mkdir(parents=True, exist_ok=True)
    return roots


def _sources(context: Path, copy: Copy) -> Iterator[tuple[Path, str]]:
    """What one instruction copies: a path of the build context, and its name below the target (if any)."""
    for source in copy.sources:
        found = sorted(context.glob(source.strip("/"))) if any(c in source for c in "*?[") else [context / source]
        if not found:
            raise TemplateError(Fault(f"{source!r} matches nothing in the build context", str(context)))
        for path in found:
            if not path.resolve().is_relative_to(context.resolve()) or not path.exists():
                raise TemplateError(Fault(f"there is no {source!r} in the build context", str(context)))
            yield path, path.name if copy.into and path.is_file() else ""


def _mount(inside: PurePosixPath, source: Path, workdir: str) -> str:
    if inside.is_relative_to(workdir):
        return workdir
    top = PurePosixPath(*inside.parts[:2])
    if top == inside and source.is_file():
        raise TemplateError(f"{str(inside)!r} can't be put there: a sandbox's root folder is not changed")
    return str(top)


def _not_ours(context: Path) -> Callable[[Any, list[str]], set[str]]:
    """A task's build files are no part of what the agent finds; ``COPY .`` would bring them in."""

    def ignore(folder: Any, names: list[str]) -> set[str]:
        at_top = Path(folder).samefile(context) and (context / "Dockerfile").exists()
        return {name for name in names if name == "__pycache__" or (at_top and name == "Dockerfile")}

    return ignore


async def _set_up(task: Task, template: Template, recipe: Recipe, provider: Provider, held: AsyncExitStack) -> Layer:
    """Run the recipe's commands in a fork and keep what they changed in the work folder as one more layer."""
    sandbox = await provider.open(replace(template, upper="disk"), label=f"set up {task.id}")
    try:
        for command in recipe.runs:
            done = await sandbox.exec(["sh", "-c", command], timeout=SETUP_SECONDS)
            if not done.ok:
                said = (done.error or done.stderr.decode("utf-8", "replace") or f"exit code {done.code}").strip()
                message = f"RUN {command}: {said[-500:]} (only the work folder and /tmp can be changed here)"
                raise TemplateError(Fault(message, str(task.folder / "environment" / "Dockerfile")))
        with tempfile.TemporaryDirectory() as place:
            archive = Path(place) / "set-up.tar.zst"
            await sandbox.snapshot(archive)
            folder = await held.enter_async_context(provider.stage(archive, layer=True))
    finally:
        await sandbox.close()
    return Layer(folder, template.workdir, "overlay")
