"""`sandbox.yaml` is read strictly: what is wrong is said at its place, all of it at once."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubricgrade import library
from rubricgrade.errors import TemplateError
from rubricgrade.templates import load_source
from rubricgrade.templates.definition import Files, RootFilesystem, Setup
from tests.templates.made import template

WHOLE = """
format: 1
name: reports
description: For reports.
base: host
requires: {programs: [sh], packages: [pytest]}
files:
  - {from: start}
  - {from: tables, to: /data}
setup: {script: setup.sh, network: host, timeout: 30}
env: {MODE: test, ANSWER: no}
workdir: /home/agent/project
limits: {memory: 2 GiB, disk: 1048576, lifetime: 60}
network: none
upper: disk
"""


def files(source: str, to: str = ".") -> Files:
    return Files.model_validate({"from": source, "to": to})


def test_a_whole_definition(tmp_path: Path) -> None:
    folder = template(tmp_path / "t", WHOLE, {"start/a": "1", "tables/b": "2", "setup.sh": "true"})
    source = load_source(folder)
    read = source.definition
    assert (source.name, source.folder) == ("reports", folder)
    assert read.files == (files("start"), files("tables", "/data"))
    assert read.setup == Setup(script="setup.sh", network="host", timeout=30)
    assert read.env == {"MODE": "test", "ANSWER": "no"}
    assert (read.limits.memory, read.limits.disk, read.limits.lifetime) == (2 << 30, 1 << 20, 60)
    assert load_source(folder / "sandbox.yaml") == source


def test_short_forms(tmp_path: Path) -> None:
    folder = template(
        tmp_path / "t", "files: start\nsetup: s.sh\nbase: {rootfs: r}\n", {"start/a": "", "s.sh": "", "r/x": ""}
    )
    source = load_source(folder)
    assert source.name == "t"
    assert source.definition.files == (files("start"),)
    assert source.definition.setup == Setup(script="s.sh")
    assert source.definition.base == RootFilesystem(rootfs="r")
    assert source.rootfs == folder / "r"


WRONG = [
    ("base: host\nbases: x\n", 2, "unknown key 'bases'; did you mean 'base'?"),
    ("limits: {memroy: 1}\n", 1, "unknown key 'memroy'; did you mean 'memory'?"),
    ("files:\n  - {from: start, too: x}\n", 2, "unknown key 'too'; did you mean 'to'?"),
    ("files:\n  - {to: x}\n", 2, "has no 'from'"),
    ("setup: {network: none}\n", 1, "'setup' has no 'script'"),
    ("base: ubuntu\n", 1, "'base' is host"),
    ("base: {rootfs: x, image: y}\n", 1, "'base' is host"),
    ("base: {rootfs: nowhere}\n", 1, "there is no folder or tar"),
    ("limits: {memory: 1 GB}\n", 1, "'memory' must be a whole number"),
    ("limits: {memory: 0}\n", 1, "'memory' must be a number above 0, not 0"),
    ("limits: {memory: true}\n", 1, "'memory' must be a whole number"),
    ("network: lan\n", 1, "'network' is none, host or {allow: [HOST, HOST:PORT]}"),
    ("network: [a.test]\n", 1, "'network' is none, host or {allow: [HOST, HOST:PORT]}"),
    ("network: {allow: []}\n", 1, "'allow' "),
    ("network: {allow: [b.test], alow: [a.test]}\n", 1, "unknown key 'alow'; did you mean 'allow'?"),
    ("network:\n  allow:\n    - a.test\n    - https://a.test/x\n", 4, "'https://a.test/x' is no HOST, HOST:PORT"),
    (
        "setup: {script: file, network: {allow: [b.test], alow: [a.test]}}\n",
        1,
        "unknown key 'alow'; did you mean 'allow'?",
    ),
    ("workdir: work\n", 1, "'workdir' is an absolute path inside"),
    ("workdir: /work/../etc\n", 1, "'workdir' is an absolute path inside"),
    ("env: {A B: x}\n", 1, "'A B'"),
    ("env: {A: 1}\n", 1, "'A' must be text, not 1"),
    ("env: {A: }\n", 1, "'A' has nothing behind it"),
    ("files: ../outside\n", 1, "a path inside the template's own folder"),
    ("files: /etc\n", 1, "a path inside the template's own folder"),
    ("files: nothing\n", 1, "'nothing' is not there"),
    ("files: link\n", 1, "goes through a symbolic link"),
    ("files: link/x\n", 1, "goes through a symbolic link"),
    ("files: [{from: file, to: /data}]\n", 1, "only folders go to absolute places"),
    ("setup: start\n", 1, "'start' is no file"),
    ("format: 2\n", 1, "'format' must be 1"),
    ("requires: {programs: ['a;b']}\n", 1, "'programs'"),
    ("- a\n", 1, "a template is a map of keys"),
    ("base: &x host\n", 1, "&x is an anchor"),
    ("base: host\nbase: host\n", 2, "stands twice"),
    ("", 1, "is empty"),
]


@pytest.mark.parametrize(("text", "line", "says"), WRONG)
def test_what_is_wrong_is_said_at_its_place(tmp_path: Path, text: str, line: int, says: str) -> None:
    template(tmp_path / "t", "-", {"start/a": "1", "file": "2"})
    (tmp_path / "t/link").symlink_to("start")
    (tmp_path / "t/sandbox.yaml").write_text(text)
    with pytest.raises(TemplateError) as caught:
        load_source(tmp_path / "t")
    (fault,) = caught.value.faults
    assert says in fault.message
    assert (fault.line, fault.file) == (line, str(tmp_path / "t/sandbox.yaml"))


def test_all_faults_at_once(tmp_path: Path) -> None:
    text = "base: x\nnetwork: y\nlimits: {memory: z, dsk: 1}\nfoo: 1\n"
    with pytest.raises(TemplateError) as caught:
        load_source(template(tmp_path / "t", text))
    assert [fault.line for fault in caught.value.faults] == [1, 2, 3, 3, 4]


def test_what_is_not_there(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nothing", "no-such-ready-template"):
        with pytest.raises(TemplateError, match="no such template"):
            load_source(path)


@pytest.mark.parametrize("folder", library.ready("sandboxes"), ids=lambda folder: folder.name)
def test_ready_templates_are_read_by_name(folder: Path) -> None:
    source = load_source(folder.name)
    assert (source.name, source.folder) == (folder.name, folder)
    assert source.definition.description


@given(text=st.text(alphabet="abefhimnorstuvw:[]{}-, \n/\"'0123&*#", max_size=60))
def test_no_text_is_more_than_a_fault(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    folder = template(tmp_path_factory.getbasetemp() / "any", text or " ")
    with suppress(TemplateError):
        assert load_source(folder).folder == folder
