"""A delivery is received from somebody hostile: nothing is written or read but where the receiver said."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from rubricgrade import digest, tree
from rubricgrade.delivery.making import Terms, deliver, hashes
from rubricgrade.delivery.records import HIDDEN
from rubricgrade.delivery.sealing import read_key, seal
from rubricgrade.delivery.verifying import Problem, opened, read_manifest, verify
from rubricgrade.episode.task import Task
from rubricgrade.errors import InputError
from tests.delivery.conftest import World


@pytest.fixture(scope="session")
def sent(world: World, tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("sent")
    deliver(world.tasks, top / "it", Terms(heldout=0.25, key=top / "key"))
    return top


@pytest.fixture
def inbox(sent: Path, tmp_path: Path) -> Path:
    """A folder with nothing but the delivery ``it`` and its ``key``."""
    return Path(shutil.copytree(sent, tmp_path / "inbox"))


def problems(inbox: Path, **more: Any) -> list[Problem]:
    async def collect() -> list[Problem]:
        return [each async for each in verify(inbox / "it", key=inbox / "key", prove=False, **more)]

    return asyncio.run(collect())


def unseal(inbox: Path) -> list[Path]:
    return [*opened(inbox / "it", read_manifest(inbox / "it"), read_key(inbox / "key"), inbox / "in/held")]


def held(inbox: Path) -> str:
    return next(name for name, each in read_manifest(inbox / "it").tasks.items() if each.side == "heldout")


def forge(inbox: Path, change: Any) -> None:
    file = inbox / "it/manifest.json"
    facts = json.loads(file.read_text())
    change(facts)
    file.write_text(json.dumps(facts))


@pytest.mark.parametrize("name", ["../escaped", "{inbox}/escaped", "a/../../escaped", "..", "", "a\0b", "a\n", "-a"])
def test_an_id_that_is_a_path_is_refused_before_anything_is_written(inbox: Path, name: str) -> None:
    one, name = held(inbox), name.format(inbox=inbox)
    source = inbox / "it/escaped"
    (inbox / "it/heldout" / one).rename(source)  # where `heldout/../escaped` leads
    forge(inbox, lambda facts: facts["tasks"].update({name: facts["tasks"].pop(one)}))
    before = sorted(inbox.rglob("*"))
    with pytest.raises(InputError, match="is no name for a task") as caught:
        problems(inbox)
    assert caught.value.faults[0].file == str(inbox / "it/manifest.json")
    assert "tasks" in str(caught.value)
    with pytest.raises(InputError, match="is no name for a task"):
        unseal(inbox)
    assert sorted(inbox.rglob("*")) == before


def test_a_group_and_a_file_that_are_no_names_are_refused(inbox: Path) -> None:
    one = held(inbox)
    forge(inbox, lambda facts: facts["tasks"][one].update(group="../x"))
    with pytest.raises(InputError, match=f"{one}.group"):
        problems(inbox)
    forge(inbox, lambda facts: (facts["tasks"][one].update(group=one), facts["files"].update({"../x": "sha256:0"})))
    with pytest.raises(InputError, match=r"files.*'../x'"):
        problems(inbox)


@pytest.mark.parametrize("place", ["heldout/{held}/environment/notes.txt", "heldout/{held}", "tasks", "groups.jsonl"])
def test_nothing_is_read_over_a_link(inbox: Path, place: str) -> None:
    place = place.format(held=held(inbox))
    link = inbox / "it" / place
    moved = inbox / "private"
    if link.exists():
        link.rename(moved)
    else:
        moved.write_text("private")
    link.symlink_to(moved)
    forge(inbox, lambda facts: facts.update(files=hashes(inbox / "it")))
    assert [each.file for each in problems(inbox) if "is a link to" in each.message] == [place]
    with pytest.raises(InputError, match="is a link to"):
        unseal(inbox)
    assert not (inbox / "in").exists()


@pytest.mark.parametrize("apart", [False, True])
def test_hidden_files_that_are_links_are_not_followed(inbox: Path, apart: bool) -> None:
    one = held(inbox)
    task = inbox / "it/heldout" / one
    (inbox / "private").mkdir()
    (inbox / "private/rubric.yaml").write_text("private")
    (task / "sealed.bin").unlink()
    if apart:
        hidden = inbox / "apart" / one
        hidden.mkdir(parents=True)
        (hidden / "tests").symlink_to(inbox / "private")
        found = tree.digest(hidden)
    else:
        (task / "tests").mkdir()
        (task / "tests/seen").symlink_to(inbox / "private/rubric.yaml")
        found = seal(task, read_key(inbox / "key"))
    forge(inbox, lambda facts: (facts["tasks"][one].update(sealed=found), facts.update(files=hashes(inbox / "it"))))
    told = [each.message for each in problems(inbox, apart=inbox / "apart") if each.file == f"heldout/{one}"]
    assert any("is a link to" in message for message in told), told
    if not apart:
        with pytest.raises(InputError, match="is a link to"):
            unseal(inbox)
        assert not (inbox / "in/held" / one).exists()


def test_what_is_there_is_not_unsealed_over(inbox: Path) -> None:
    made = unseal(inbox)
    assert all((task / name).is_dir() for task in made for name in HIDDEN[:2])
    with pytest.raises(InputError, match="is there already"):
        unseal(inbox)


def test_a_delivery_of_a_task_with_links_holds_files(world: World, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(world.tasks[0].folder, tmp_path / world.tasks[0].id))
    (folder / "environment/real.txt").write_text("seen by the agent")
    (folder / "environment/also.txt").symlink_to("real.txt")
    deliver([Task.load(folder)], tmp_path / "it")
    file = tmp_path / "it/tasks" / folder.name / "environment/also.txt"
    assert not file.is_symlink()
    assert digest.of_file(file) == digest.of_file(folder / "environment/real.txt")
