"""The template that a trajectory is to be graded in: the caller's, the task's, the store's, or a ready one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import asynccontextmanager
from os import PathLike
from pathlib import Path

from rubricgrade import library
from rubricgrade.errors import TemplateError
from rubricgrade.sandbox import Provider, Template
from rubricgrade.templates.building import build
from rubricgrade.templates.identity import identify, same_base
from rubricgrade.templates.reading import Source, load_source
from rubricgrade.templates.store import Built, Store, matching
from rubricgrade.trajectory import Template as Named


@asynccontextmanager
async def opened(
    path: str | PathLike[str], *, store: Store | None = None, provider: Provider | None = None
) -> AsyncGenerator[Template]:
    """A template by its folder, its name or its hash, built first if need be. Close all forks inside.

    A folder, or the name of a template that ships with this package, stands for what its ``sandbox.yaml`` says now.

    Raises:
        TemplateError: There is none, or it can't be built here.
        StoreError: The store can't be used.
    """
    store = store or Store()
    if not _is_definition(path):
        for built in matching(store.all(), str(path)):
            _require_same_base(built)
            async with _used(store, built.digest) as template:
                yield template
            return
    built, _ = await build(load_source(path), store, provider=provider)
    async with _used(store, built.digest) as template:
        yield template


@asynccontextmanager
async def named(
    wanted: Named, *, places: Sequence[Path] = (), store: Store | None = None, provider: Provider | None = None
) -> AsyncGenerator[Template]:
    """The template that a trajectory names, which it was made in. Close all forks inside.

    With a hash, only what has it will do; the name is then for people. Looked for in the places given, in the store,
    and among those that ship with this package; what is found as a definition is built.

    Args:
        wanted: Name and hash, as the trajectory has them.
        places: Folders of templates that belong to the task.
        store: Default: the user's own.
        provider: Builds what has to be built.

    Raises:
        TemplateError: It is not there, or not on this host. A grade then stays open (``template_missing``).
        StoreError: The store can't be used.
    """
    store = store or Store()
    source = await asyncio.to_thread(_definition, wanted, [load_source(place) for place in places])
    if source is None:
        if (built := _stored(wanted, store)) is not None:
            async with _used(store, built.digest) as template:
                yield template
            return
        source = await asyncio.to_thread(_definition, wanted, list(_ready()))
    if source is None:
        raise TemplateError(
            f"the trajectory was made in template {wanted.name!r} ({wanted.hash or 'no hash'}), which is not here; "
            f"build it with `rubricgrade sandbox build`, or name the one to grade in"
        )
    built, _ = await build(source, store, provider=provider)
    async with _used(store, built.digest) as template:
        yield template


def _is_definition(path: str | PathLike[str]) -> bool:
    return Path(path).exists() or library.find("sandboxes", str(path)) is not None


def _definition(wanted: Named, sources: Sequence[Source]) -> Source | None:
    """The one that has the hash that is wanted; the name decides when no hash is."""
    if wanted.hash is None:
        return next((source for source in sources if source.name == wanted.name), None)
    return next((source for source in sources if _digest(source) == wanted.hash), None)


def _digest(source: Source) -> str:
    """The hash of a definition; empty for one that can't be built here, and so can't be the one."""
    try:
        return identify(source).digest
    except (TemplateError, OSError):
        return ""


def _stored(wanted: Named, store: Store) -> Built | None:
    """What the store has under a hash, else the newest of a name.

    Raises:
        TemplateError: It is there, but the host that it lies on has changed.
    """
    if wanted.hash is None:
        return next((built for built in store.all() if built.name == wanted.name and not same_base(built.base)), None)
    try:
        built = store.find(wanted.hash)
    except ValueError as error:
        raise TemplateError(f"the trajectory names a template by what is no hash: {error}") from error
    if built is not None:
        _require_same_base(built)
    return built


def _ready() -> Iterator[Source]:
    for folder in library.ready("sandboxes"):
        yield load_source(folder)


def _require_same_base(built: Built) -> None:
    if changed := same_base(built.base):
        raise TemplateError(
            f"template {built.name!r} ({built.digest}) lies on the host's own system, which has changed: {changed}"
        )


@asynccontextmanager
async def _used(store: Store, digest: str) -> AsyncGenerator[Template]:
    async with store.use(digest) as template:
        if template is None:
            raise TemplateError(f"template {digest} was removed from {store.folder} just now")
        yield template
