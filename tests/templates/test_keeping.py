"""A template that was prepared elsewhere is found again by its hash, with its deletions, once what it was is gone."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from pathlib import Path

import pytest

from rubricgrade import digest
from rubricgrade.errors import TemplateError
from rubricgrade.sandbox import BubblewrapProvider, Layer, Limits, Template, base_template
from rubricgrade.templates import Store, keep, named
from rubricgrade.trajectory import Template as Named

HASH = digest.of_value("a task")


def test_it_is_found_by_its_hash_as_it_was(store: Store, provider: BubblewrapProvider, tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    for name in ("kept", "doomed"):
        (tmp_path / "project" / name).write_text(name)

    async def main() -> None:
        async with provider.stage(tmp_path / "project") as folder:
            template = base_template(
                name="task",
                digest=HASH,
                layers=(Layer(folder, "/srv", "overlay"), Layer(folder, "/data")),
                env={"A": "b"},
                workdir="/srv",
                limits=Limits(processes=50),
                allow=("a.test",),
            )
            first = await provider.open(template)
            await first.exec(["sh", "-c", "rm doomed; echo made > made"])
            await first.snapshot(tmp_path / "set-up.tar.zst")
            await first.close()
            async with provider.stage(tmp_path / "set-up.tar.zst", layer=True) as changes:
                whole = replace(template, layers=(*template.layers, Layer(changes, "/srv", "overlay")))
                assert await keep(whole, store, kind="task")
                assert not await keep(whole, store, kind="task")
        async with named(Named(name="any", hash=HASH), store=store, provider=provider) as found:
            assert replace(found, layers=()) == replace(template, layers=())
            second = await provider.open(found)
            done = await second.exec(["sh", "-c", "ls . /data; echo $A; echo x > kept"])
            assert done.stdout == b".:\nkept\nmade\n\n/data:\ndoomed\nkept\nb\n"
            await second.close()

    asyncio.run(main())


def test_what_has_no_hash_or_can_not_be_copied_is_not_kept(store: Store, tmp_path: Path) -> None:
    with pytest.raises(TemplateError, match="no hash"):
        asyncio.run(keep(base_template(), store, kind="task"))
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(TemplateError, match="'pipe': FIFO"):
        asyncio.run(keep(Template(digest=HASH, layers=(Layer(tmp_path, "/data"),)), store, kind="task"))
    assert store.find(HASH) is None
