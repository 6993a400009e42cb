"""What a colleague sends holds links: none of them brings a file of this host to an agent, or is written through."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rubricgrade.episode.copying import copied, is_junk, links_out
from rubricgrade.episode.dialects import import_vendor
from rubricgrade.episode.exporting import export_task
from rubricgrade.episode.task import Task
from rubricgrade.errors import InputError, TemplateError
from tests.episode.making import in_fork, write, write_task

OUT = "which leads out of"
DEEP = "/".join(["d"] * 5)


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    return write(tmp_path / "home", {"key": "private"}) / "key"


@pytest.mark.parametrize("place", ["environment/files/notes", "tests/notes", "solution/notes", "tools/x/notes"])
@pytest.mark.parametrize("text", ["/etc/passwd", "{secret}", "../../../home/key", "../../../home"])
def test_a_task_with_a_link_out_of_it_is_refused(tmp_path: Path, secret: Path, place: str, text: str) -> None:
    task = write_task(tmp_path / "task")
    (task / place).parent.mkdir(exist_ok=True, parents=True)
    (task / place).symlink_to(text.format(secret=secret) if place.count("/") > 1 else secret)
    with pytest.raises(InputError, match=OUT) as caught:
        Task.load(task)
    assert place in str(caught.value)


@pytest.mark.parametrize("name", ["instruction.md", "task.toml", "tests", "environment"])
def test_a_part_of_a_task_that_is_a_link_out_of_it_is_refused_unread(tmp_path: Path, name: str) -> None:
    task = write_task(tmp_path / "task")
    (task / name).rename(tmp_path / "private")
    (task / name).symlink_to("../private")
    with pytest.raises(InputError, match=OUT) as caught:
        Task.load(task)
    assert [fault.file for fault in caught.value.faults] == [str(task / name)]


def test_a_link_from_the_environment_to_the_hidden_tests_is_refused(tmp_path: Path) -> None:
    folder = write_task(tmp_path / "task")
    task = Task.load(folder)
    (folder / "environment/files/seen").symlink_to("../../tests/rubric.yaml")
    with pytest.raises(InputError, match=r"leads out of environment/"):
        Task.load(folder)
    with pytest.raises(TemplateError, match=r"leads out of environment/"):
        in_fork(task, lambda sandbox: sandbox.exec(["true"]))


def test_the_folder_that_was_named_may_be_a_link(tmp_path: Path) -> None:
    real = write_task(tmp_path / "task")
    (tmp_path / "by-link").symlink_to(real)
    assert Task.load(tmp_path / "by-link").id == "task"
    assert [*links_out(tmp_path / "by-link")] == []


def test_a_link_that_stays_is_a_link_for_the_agent_and_in_an_export(tmp_path: Path) -> None:
    task = write_task(tmp_path / "task")
    (task / "environment/files/same.txt").symlink_to("question.txt")
    done = in_fork(task, lambda sandbox: sandbox.exec(["sh", "-c", "readlink same.txt; cat same.txt"]))
    assert done.stdout == b"question.txt\nsix times seven"
    export_task(Task.load(task), tmp_path / "out")
    assert (tmp_path / "out/environment/files/same.txt").readlink() == Path("question.txt")


def test_an_export_writes_its_script_over_a_link_and_not_through_it(tmp_path: Path) -> None:
    task = write_task(tmp_path / "task")
    (task / "tests/test.sh").symlink_to("../solution/solve.sh")
    export_task(Task.load(task), tmp_path / "out")
    assert (tmp_path / "out/solution/solve.sh").read_text() == "echo 42 > answer.txt\n"
    assert "task verify" in (tmp_path / "out/tests/test.sh").read_text()


@pytest.mark.parametrize("name", ["notes.txt", "tests/notes.txt", "Dockerfile", "task.yaml"])
def test_a_vendors_link_out_of_its_folder_is_refused(tmp_path: Path, secret: Path, name: str) -> None:
    vendor = write(tmp_path / "vendor", {"task.yaml": "instruction: go\n", "grade.sh": "true\n", "tests/t.py": ""})
    (vendor / name).unlink(missing_ok=True)
    (vendor / name).symlink_to(secret)
    with pytest.raises(InputError, match=OUT):
        import_vendor(vendor, tmp_path / "task")
    assert not (tmp_path / "task").exists()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("COPY files/ /work/../../../../escaped/", "leads out"),
        ("RUN mkdir -p /work/../../../../escaped", "leads out"),
        ("COPY files/question.txt /work/../../../../escaped", "leads out"),
    ],
)
def test_no_instruction_fills_a_folder_outside(
    tmp_path: Path, line: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(write(tmp_path / "a/b/c/d", {"e": ""})))
    task = write_task(tmp_path / "task", {"environment/Dockerfile": f"FROM a\nWORKDIR /work\n{line}\n"})
    with pytest.raises(TemplateError, match=words):
        in_fork(task, lambda sandbox: sandbox.exec(["true"]))
    assert not [*tmp_path.rglob("escaped")]


def test_links_are_followed_step_by_step(tmp_path: Path) -> None:
    """By its text `far` stays; over `turn`, which leads to the top, it leaves."""
    top = write(tmp_path / "top", {f"{DEEP}/file": "", "target/file": ""})
    (top / DEEP / "turn").symlink_to("../" * 5 + "target")
    (top / "far").symlink_to(f"{DEEP}/turn/" + "../" * 6 + "home")
    (top / "back").symlink_to("../top/target")
    (top / "round").symlink_to("round")
    assert {Path(fault.file).name for fault in links_out(top)} == {"far", "back", "round"}


def test_what_an_earlier_copy_has_put_there_is_not_written_through(tmp_path: Path, secret: Path) -> None:
    to = tmp_path / "to"
    to.mkdir()
    (to / "file").symlink_to(secret)
    (to / "folder").symlink_to(secret.parent)
    copied(write(tmp_path / "one", {"file": "mine"}), to)
    assert (secret.read_text(), (to / "file").read_text()) == ("private", "mine")
    with pytest.raises(InputError, match="another kind"):
        copied(write(tmp_path / "two", {"folder/key": "mine"}), to)
    assert secret.read_text() == "private"


def test_a_whole_copy_holds_no_links_and_goes_round_no_circle(tmp_path: Path) -> None:
    top = write(tmp_path / "top", {"a/file": "x", "__pycache__/b": ""})
    (top / "b").symlink_to("a")
    copied(top, tmp_path / "to", skip=is_junk, whole=True)
    assert sorted(str(path.relative_to(tmp_path / "to")) for path in (tmp_path / "to").rglob("*")) == [
        "a", "a/file", "b", "b/file",
    ]  # fmt: skip
    assert not (tmp_path / "to/b").is_symlink()
    (top / "a/up").symlink_to("..")
    with pytest.raises(InputError, match="circle"):
        copied(top, tmp_path / "other", whole=True)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    top = write(tmp_path / "top", {"a": ""})
    os.mkfifo(top / "pipe")
    with pytest.raises(InputError, match="pipe"):
        copied(top, tmp_path / "to")
