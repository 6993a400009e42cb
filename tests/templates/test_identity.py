"""A template's hash changes with everything that decides what is in it, and with nothing else."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from rubricgrade.errors import TemplateError
from rubricgrade.templates import identify, load_source
from rubricgrade.templates.identity import same_base
from tests.templates.made import template

TEXT = """
name: one
base: host
requires: {packages: [pytest]}
files: start
setup: {script: setup.sh, timeout: 10}
env: {A: b}
limits: {memory: 1 GiB}
"""
FILES = {"start/a": "1", "start/run": "#!/bin/sh\n", "setup.sh": "echo x > y\n"}


def digest(folder: Path) -> str:
    return identify(load_source(folder)).digest


def reworded(old: str, new: str) -> Callable[[Path], object]:
    assert old in TEXT
    return lambda folder: (folder / "sandbox.yaml").write_text(TEXT.replace(old, new))


CHANGES: dict[str, Callable[[Path], object]] = {
    "content": lambda folder: (folder / "start/a").write_text("2"),
    "new file": lambda folder: (folder / "start/b").write_text(""),
    "executable": lambda folder: (folder / "start/run").chmod(0o755),
    "script": lambda folder: (folder / "setup.sh").write_text("echo x > z\n"),
    "script's network": reworded("timeout: 10", "timeout: 10, network: host"),
    "no script": reworded("setup: {script: setup.sh, timeout: 10}", ""),
    "place of files": reworded("files: start", "files: [{from: start, to: deeper}]"),
    "environment": reworded("A: b", "A: c"),
    "limits": reworded("1 GiB", "2 GiB"),
    "workdir": reworded("base: host", "base: host\nworkdir: /elsewhere"),
    "network": reworded("base: host", "base: host\nnetwork: host"),
    "allowed hosts": reworded("base: host", "base: host\nnetwork: {allow: [a.test]}"),
    "upper": reworded("base: host", "base: host\nupper: disk"),
    "packages": reworded("[pytest]", "[pytest, pydantic]"),
    "image": reworded("base: host", "base: {image: debian}"),
}
SAME: dict[str, Callable[[Path], object]] = {
    "name": reworded("name: one", "name: two"),
    "description": reworded("name: one", "description: more"),
    "patience": reworded("timeout: 10", "timeout: 20"),
    "other spelling": reworded("1 GiB", "1024 MiB"),
    "time": lambda folder: os.utime(folder / "start/a", (1, 1)),
    "other file": lambda folder: (folder / "README.md").write_text("about"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_changes_the_hash(tmp_path: Path, change: Callable[[Path], object]) -> None:
    folder = template(tmp_path / "t", TEXT, FILES)
    before = digest(folder)
    change(folder)
    assert digest(folder) != before


@pytest.mark.parametrize("change", SAME.values(), ids=SAME)
def test_what_does_not(tmp_path: Path, change: Callable[[Path], object]) -> None:
    folder = template(tmp_path / "t", TEXT, FILES)
    before = digest(folder)
    change(folder)
    assert digest(folder) == before


def test_a_copy_elsewhere_has_the_same_hash(tmp_path: Path) -> None:
    assert digest(template(tmp_path / "a", TEXT, FILES)) == digest(template(tmp_path / "b" / "c", TEXT, FILES))


def test_missing_packages_are_all_named_with_the_remedy(tmp_path: Path) -> None:
    folder = template(tmp_path / "t", "requires: {packages: [no-such-one, pytest, no-such-two]}")
    with pytest.raises(TemplateError) as caught:
        digest(folder)
    assert [fault.message.rpartition(": ")[2] for fault in caught.value.faults] == [
        "pip install no-such-one",
        "pip install no-such-two",
    ]


def test_files_that_can_not_be_copied(tmp_path: Path) -> None:
    folder = template(tmp_path / "t", "files: start", {"start/a": "1"})
    os.mkfifo(folder / "start/pipe")
    with pytest.raises(TemplateError, match="'pipe': FIFO"):
        digest(folder)


def test_a_host_that_has_changed_is_told_apart(tmp_path: Path) -> None:
    base = identify(load_source(template(tmp_path / "t", TEXT, FILES))).base
    assert same_base(base) == ""
    assert "pytest 1.0 then" in same_base({**base, "packages": {"pytest": "1.0"}})
    assert "no-such-one 1.0 then, none now" in same_base({**base, "packages": {"no-such-one": "1.0"}})
    assert "python 2.7 then" in same_base({**base, "python": "2.7"})
    assert same_base({"kind": "rootfs", "content": "sha256:0"}) == ""
