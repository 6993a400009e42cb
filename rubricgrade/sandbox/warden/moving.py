"""Moves folders between the host and a sandbox, and from one sandbox into another, entry by entry."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncGenerator, Coroutine, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

from rubricgrade import tree
from rubricgrade.errors import SandboxLost
from rubricgrade.sandbox.warden.asking import Held, Item, Items, Link, Nothing, ask
from rubricgrade.tree.making import Builder
from rubricgrade.tree.visiting import chunks, visit

T = TypeVar("T")
ENTRY = 200
"""Bytes that an entry takes in a message beside its path and its content, about."""


def _wire(item: Item) -> dict[str, Any]:
    """An item as it travels."""
    fields = item.model_dump(exclude_defaults=item.path is None, exclude={"skipped", "data"})
    if item.path is None:
        fields.pop("path", None)
    return fields | {"data": base64.b64encode(item.data).decode(), "more": item.more}


def _items_of(folder: Path, piece: int) -> Iterator[Item]:
    """A staged folder, deletions included. It is ours, but its content was an agent's."""
    with closing(visit(folder, layer=True)) as found:
        for each in found:
            if isinstance(each, tree.Skipped):
                continue
            entry, handle = each
            left = entry.size if entry.kind == "file" else 0
            head = Item(
                path=entry.path,
                kind=entry.kind,
                size=entry.size,
                mode=entry.mode,
                target=entry.target,
                opaque=entry.opaque,
            )
            while True:
                data = _read(handle, min(piece, left)) if left else b""
                left -= len(data)
                yield head.model_copy(update={"data": data, "more": left > 0})
                if not left:
                    break
                head = Item()


def _read(handle: int, size: int) -> bytes:
    return next(chunks(handle, size))


def _batches(items: Iterator[Item], piece: int) -> Iterator[list[Item]]:
    batch: list[Item] = []
    room = piece
    for item in items:
        batch.append(item)
        room -= len(item.data) + 2 * len(item.path or "") + ENTRY
        if room <= 0:
            yield batch
            batch, room = [], piece
    yield batch


class Filling:
    """Entries on their way into one place of a sandbox."""

    def __init__(self, link: Link, handle: int) -> None:
        self._link = link
        self._handle = handle

    async def add(self, items: list[Item]) -> None:
        """Make some entries. Raises `OSError` when they don't fit."""
        wire = [_wire(item) for item in items if not item.skipped]
        if wire:
            await ask(self._link, Nothing, "add", handle=self._handle, items=wire)

    async def finish(self) -> None:
        """Give the folders their modes."""
        await ask(self._link, Nothing, "drop", handle=self._handle)


async def fill(link: Link, place: str, *, frozen: bool = False) -> Filling:
    """Begin to make entries below a place.

    Args:
        link: The way to the sandbox.
        place: Absolute path of a folder inside.
        frozen: Take away the right to write from everything at the end.
    """
    return Filling(link, (await ask(link, Held, "make", place=place, frozen=frozen)).handle)


async def send(link: Link, folder: Path, place: str, *, frozen: bool = False) -> None:
    """Copy a staged folder into a sandbox; arguments as in `fill`."""
    filling = await fill(link, place, frozen=frozen)
    batches = _batches(_items_of(folder, link.piece // 2), link.piece // 2)
    while (batch := await asyncio.to_thread(next, batches, None)) is not None:
        await filling.add(batch)
    await filling.finish()


async def changed(link: Link, place: str, budget: tree.Budget, piece: int | None = None) -> AsyncGenerator[list[Item]]:
    """What has changed in a place since it was marked, some items at a time.

    Args:
        link: The way to the sandbox.
        place: Absolute path of a folder inside.
        budget: What is taken.
        piece: Most bytes of content at a time; default: what the link can.

    Raises:
        SandboxLost: It tells more than it was asked for.
    """
    most = {"entries": budget.entries, "total": budget.total, "file": budget.file}
    piece = piece or link.reply
    handle = (await ask(link, Held, "changes", place=place, budget=most, piece=piece)).handle
    entries, total = budget.entries + 1, budget.total
    while items := (await ask(link, Items, "next", handle=handle, piece=piece)).items:
        entries -= sum(item.path is not None for item in items)
        total -= sum(len(item.data) for item in items)
        if entries < 0 or total < 0:
            raise SandboxLost("the sandbox says that it holds more than it may")
        yield items
    await ask(link, Nothing, "drop", handle=handle)


async def fetch(link: Link, place: str, archive: Path, scratch: Path, budget: tree.Budget) -> tree.Listing:
    """Write what has changed in a place as an archive (`tree.pack`), and list it.

    Args:
        link: The way to the sandbox.
        place: Absolute path of a folder inside.
        archive: The file to write.
        scratch: A folder to make for it; the caller removes it.
        budget: What is taken.

    Raises:
        SandboxLost: What it tells is no folder.
    """
    skipped: list[tree.Skipped] = []
    loop = asyncio.get_running_loop()
    batches = changed(link, place, budget)

    async def following() -> list[Item] | None:
        return await anext(batches, None)

    def call(work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, loop).result()

    def stream() -> Iterator[Item]:
        while (batch := call(following())) is not None:
            yield from batch

    def write() -> tree.Listing:
        items = stream()
        with Builder(scratch, layer=True) as builder:
            for item in items:
                if item.skipped:
                    skipped.append(tree.Skipped(item.path or ".", item.skipped, folder=item.kind == "folder"))
                elif item.path is not None:
                    entry = tree.Entry(item.path, item.kind, item.size, item.mode & 0o777, item.target, item.opaque)
                    builder.add(entry, _content(item, items))
        return tree.pack(scratch, archive, budget, layer=True, left_out=skipped)

    try:
        return await asyncio.to_thread(write)
    except ValueError as error:
        raise SandboxLost(f"what the sandbox tells is no folder: {error}") from error
    finally:
        await batches.aclose()


def _content(head: Item, items: Iterator[Item]) -> Iterator[bytes]:
    """The pieces of one file; the rest is taken from the stream as it is needed."""
    yield head.data
    more = head.more
    while more:
        item = next(items, None)
        if item is None or item.path is not None:
            raise ValueError(f"{head.path!r} is cut")
        yield item.data
        more = item.more
