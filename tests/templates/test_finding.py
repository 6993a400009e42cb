"""The template that a trajectory names: by its hash in the task, the store and the ready ones; and never another one."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from rubricgrade import library
from rubricgrade.errors import TemplateError
from rubricgrade.sandbox import BubblewrapProvider, Template
from rubricgrade.templates import Store, build, identify, load_source, named, opened
from rubricgrade.trajectory import Template as Named
from tests.templates.made import template


class Lookup:
    """Builds and finds with one store and one provider."""

    def __init__(self, store: Store, provider: BubblewrapProvider) -> None:
        self.store = store
        self.provider = provider

    def build(self, folder: Path) -> str:
        return asyncio.run(build(load_source(folder), self.store, provider=self.provider))[0].digest

    def named(self, name: str, hash_: str | None, *places: Path) -> Template:
        async def main() -> Template:
            wanted = Named(name=name, hash=hash_)
            async with named(wanted, places=places, store=self.store, provider=self.provider) as found:
                assert self.store.remove(found.digest) is False
                return found

        return asyncio.run(main())

    def opened(self, path: str | Path) -> Template:
        async def main() -> Template:
            async with opened(path, store=self.store, provider=self.provider) as found:
                assert self.store.remove(found.digest) is False
                return found

        return asyncio.run(main())


@pytest.fixture
def lookup(store: Store, provider: BubblewrapProvider) -> Lookup:
    return Lookup(store, provider)


@pytest.fixture
def ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed package with one ready template."""
    package = tmp_path / "package"
    monkeypatch.setattr(library, "PACKAGE", package)
    return template(package / "shipped/sandboxes/mine", "files: f", {"f/x": "ready"})


def test_by_hash_in_the_task_the_store_and_the_ready_ones(lookup: Lookup, ready: Path, tmp_path: Path) -> None:
    task, other = (template(tmp_path / name, "files: f", {"f/x": name}) for name in ("task", "other"))
    of_task, of_ready = (identify(load_source(folder)).digest for folder in (task, ready))
    of_other = lookup.build(other)
    assert lookup.named("any", of_task, other, task).digest == of_task
    assert lookup.named("any", of_other).digest == of_other
    assert lookup.named("any", of_ready).digest == of_ready
    assert {built.digest for built in lookup.store.all()} == {of_task, of_other, of_ready}


def test_a_name_without_a_hash(lookup: Lookup, ready: Path, tmp_path: Path) -> None:
    assert lookup.named("mine", None).name == "mine"
    lookup.build(template(tmp_path / "a/both", "files: f", {"f/x": "old"}))
    newer = lookup.build(template(tmp_path / "b/both", "files: f", {"f/x": "new"}))
    assert lookup.named("both", None).digest == newer
    task = template(tmp_path / "task", "name: both\nfiles: f", {"f/x": "task"})
    assert lookup.named("both", None, task).digest == identify(load_source(task)).digest


def test_another_hash_of_the_same_name_will_not_do(lookup: Lookup, ready: Path) -> None:
    wanted = identify(load_source(ready)).digest
    (ready / "f/x").write_text("changed since")
    lookup.build(ready)
    with pytest.raises(TemplateError, match=r"'mine' \(sha256:.*which is not here; build it"):
        lookup.named("mine", wanted)


@pytest.mark.parametrize("hash_", ["", "../../../etc", "sha256:" + "0" * 64, "\n"])
def test_a_hostile_hash_is_not_found(lookup: Lookup, hash_: str) -> None:
    with pytest.raises(TemplateError):
        lookup.named("../../etc", hash_)


def test_a_template_of_a_host_that_has_changed_is_not_there(lookup: Lookup, tmp_path: Path) -> None:
    digest = lookup.build(template(tmp_path / "t", "requires: {packages: [pytest]}"))
    manifest = lookup.store.entry(digest) / "template.json"
    about = json.loads(manifest.read_text())
    about["base"]["packages"]["pytest"] = "1.0"
    manifest.write_text(json.dumps(about))
    for find in (lambda: lookup.named("t", digest), lambda: lookup.opened(digest)):
        with pytest.raises(TemplateError, match=r"pytest 1\.0 then"):
            find()
    with pytest.raises(TemplateError, match="not here"):
        lookup.named("t", None)


def test_opened_by_folder_name_or_hash(lookup: Lookup, ready: Path, tmp_path: Path) -> None:
    folder = template(tmp_path / "t", "files: f", {"f/x": "1"})
    first = lookup.opened(folder)
    assert lookup.opened("t").digest == lookup.opened(first.digest).digest == first.digest
    assert lookup.opened(first.digest.removeprefix("sha256:")[:8]).digest == first.digest
    (folder / "f/x").write_text("2")
    second = lookup.opened(folder)
    assert second.digest != first.digest
    assert lookup.opened("t").digest == second.digest
    assert lookup.opened("mine").digest == identify(load_source(ready)).digest
    with pytest.raises(TemplateError, match="no such template"):
        lookup.opened("nothing")
