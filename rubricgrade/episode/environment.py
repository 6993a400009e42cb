"""From a task's ``environment/`` to a template of the store: prepared once, then forked for every attempt."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncGenerator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path, PurePosixPath

from rubricgrade.episode.copying import copied, is_junk
from rubricgrade.episode.recipe import Copy
from rubricgrade.episode.site import Site, require_packages, site_of, verified_at
from rubricgrade.episode.task import Task
from rubricgrade.errors import Fault, InputError, TemplateError
from rubricgrade.sandbox import Layer, Limits, Provider, Template, base_template
from rubricgrade.sandbox.live import BubblewrapSandbox
from rubricgrade.templates import Store, keep

SETUP_SECONDS = 600.0
SCRIPT_FOLDERS = {"/logs": ("verifier", "agent", "artifacts"), "/tests": ()}
"""Where a plain test script expects to write, and to lie."""


@asynccontextmanager
async def prepared(
    task: Task, provider: Provider, *, network: bool = False, store: Store | None = None
) -> AsyncGenerator[Template]:
    """The template of a task, from the store, where it is put when it is prepared for the first time.

    It stays there, so that an episode of the task can be graded later in what it was made in. It is not removed as
    long as the block runs: close all forks inside.

    Args:
        task: Whose environment it is.
        provider: Where its forks will come from.
        network: Whether a task that asks for the internet gets it.
        store: Default: the user's own.

    Raises:
        TemplateError: The environment can't be made here; says why.
        StoreError: The template store can't be used.
    """
    require_packages(task, provider)
    async with _kept(site_of(task, network=network), provider, store or Store()) as template:
        yield template


@asynccontextmanager
async def graded_in(
    task: Task, template: Template, provider: Provider, *, store: Store | None = None
) -> AsyncGenerator[Template]:
    """What a task's episodes are graded in: its own template, or the image of its tests where they have one.

    Raises:
        TemplateError: That image can't be made here; says why.
        StoreError: The template store can't be used.
    """
    site = verified_at(task)
    if site is None:
        yield template
        return
    async with _kept(site, provider, store or Store()) as apart:
        yield replace(apart, name=f"{task.id} tests")


@asynccontextmanager
async def _kept(site: Site, provider: Provider, store: Store) -> AsyncGenerator[Template]:
    """A template out of the store, made first if need be."""
    if store.find(site.hash) is None:
        async with _made(site, provider) as template:
            await keep(template, store, kind="task")
    async with store.use(site.hash) as template:
        if template is None:
            raise TemplateError(f"template {site.hash} of task {site.task} was removed from {store.folder} just now")
        # Tasks with the same environment share an entry, which bears the name of the first.
        yield replace(template, name=site.task)


@asynccontextmanager
async def _made(site: Site, provider: Provider) -> AsyncGenerator[Template]:
    """The template as the recipe says, in folders that are removed after the block."""
    recipe = site.recipe
    async with AsyncExitStack() as held:
        with tempfile.TemporaryDirectory() as place:
            roots = _laid_out(site, Path(place))
            layers = [
                Layer(await held.enter_async_context(provider.stage(folder)), target, "overlay")
                for target, folder in roots.items()
            ]
        template = base_template(
            name=site.task,
            digest=site.hash,
            layers=tuple(layers),
            env=dict(recipe.env),
            workdir=recipe.workdir,
            limits=Limits() if site.memory is None else Limits(memory=site.memory),
            network="host" if site.network else "none",
        )
        if recipe.runs:
            changed = await _set_up(site, template, provider, held)
            template = replace(template, layers=(*template.layers, *changed))
        yield template


def _laid_out(site: Site, place: Path) -> dict[str, Path]:
    """Folders to be mounted, by their place inside."""
    try:
        return _filled(site, place)
    except InputError as error:
        raise error if isinstance(error, TemplateError) else TemplateError(error.faults) from None
    except OSError as error:
        raise TemplateError(Fault(f"can't be laid out: {error}", str(site.context))) from None


def _filled(site: Site, place: Path) -> dict[str, Path]:
    recipe = site.recipe
    roots: dict[str, Path] = {}
    for copy in recipe.copies:
        for source, name in _sources(site.context, copy):
            inside = PurePosixPath(copy.target, name) if name else PurePosixPath(copy.target)
            target = _mount(inside, source, recipe.workdir)
            root = roots.setdefault(target, place / str(len(roots)))
            to = _below(root, str(inside.relative_to(target)), site)
            to.parent.mkdir(parents=True, exist_ok=True)
            if source.is_file() and to.is_dir():
                to = to / source.name
            copied(source.resolve(), to, within=site.context, skip=_not_ours)
    for folder in recipe.folders:
        target = _mount(PurePosixPath(folder), site.context, recipe.workdir)
        root = roots.setdefault(target, place / str(len(roots)))
        _below(root, str(PurePosixPath(folder).relative_to(target)), site).mkdir(parents=True, exist_ok=True)
    if site.script:
        for target, names in SCRIPT_FOLDERS.items():
            root = roots.setdefault(target, place / str(len(roots)))
            for name in ("", *names):
                _below(root, name, site).mkdir(parents=True, exist_ok=True)
    return roots


def _below(root: Path, path: str, site: Site) -> Path:
    """A place in a folder that is being filled; neither ``..`` nor a link that a copy has brought leads out of it."""
    if not (root / path).resolve().is_relative_to(root.resolve()):
        raise TemplateError(Fault(f"{path!r} leads out of the folder that it is put in", str(site.context)))
    return (root / path).resolve()


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


def _not_ours(path: PurePosixPath) -> bool:
    """A task's build files are no part of what the agent finds; ``COPY .`` would bring them in."""
    return is_junk(path) or str(path) == "Dockerfile"


async def _set_up(site: Site, template: Template, provider: Provider, held: AsyncExitStack) -> list[Layer]:
    """Run the recipe's commands in a fork and keep what they changed, as one more layer for each place."""
    sandbox = await provider.open(replace(template, upper="disk"), label=f"set up {site.task}")
    try:
        for command in site.recipe.runs:
            done = await sandbox.exec(["bash", "-o", "pipefail", "-c", command], timeout=SETUP_SECONDS)
            if not done.ok:
                said = (done.error or done.stderr.decode("utf-8", "replace") or f"exit code {done.code}").strip()
                message = (
                    f"RUN {command}: {said[-500:]} (only {', '.join(_places(template))} and /tmp can be changed here)"
                )
                raise TemplateError(Fault(message, str(site.context / "Dockerfile")))
        layers: list[Layer] = []
        with tempfile.TemporaryDirectory() as place:
            for number, target in enumerate(_places(template)):
                archive = Path(place) / f"{number}.tar.zst"
                if isinstance(sandbox, BubblewrapSandbox):
                    changed = await sandbox.snapshot(archive, place=target)
                elif target == template.workdir:
                    changed = await sandbox.snapshot(archive)
                else:
                    continue
                if changed.entries:
                    folder = await held.enter_async_context(provider.stage(archive, layer=True))
                    layers.append(Layer(folder, target, "overlay"))
    finally:
        await sandbox.close()
    return layers


def _places(template: Template) -> list[str]:
    """Where the commands may change something: the work folder, and what else the recipe fills."""
    return list(dict.fromkeys([template.workdir, *(layer.target for layer in template.layers)]))
