"""An episode is graded in the template that it was made in: what it deleted is gone, and no other template will do."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from rubricgrade import agrade
from rubricgrade.errors import TemplateError
from rubricgrade.readers import load_trajectory, write_trajectory
from rubricgrade.result import Grade
from rubricgrade.sandbox import BubblewrapProvider
from rubricgrade.templates import Built, Store, build, load_source, named
from rubricgrade.trajectory import Template as Named
from tests.grading.episodes import episode, rubric

TEXT = "files: project\nworkdir: /srv/project\nenv: {MODE: template}\n"
GATES = [
    {"id": "mode", "description": "the template's environment", "check": {"command": {"run": ["sh", "-c", "echo $MODE"], "equals": "template\n"}}},
    {"id": "kept", "description": "a file of the template", "check": {"command": ["grep", "-q", "given", "given.txt"]}},
    {"id": "gone", "description": "what was deleted is gone", "check": {"command": ["test", "!", "-e", "doomed.txt"]}},
    {"id": "made", "description": "what was made is there", "check": {"exists": "made.txt"}},
]  # fmt: skip


@pytest.fixture(scope="module")
def provider() -> BubblewrapProvider:
    return BubblewrapProvider()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A template on disk; the user's store is an empty one."""
    monkeypatch.setenv("RUBRICGRADE_TEMPLATES", str(tmp_path / "store"))
    project = tmp_path / "template" / "project"
    project.mkdir(parents=True)
    (project / "given.txt").write_text("given\n")
    (project / "doomed.txt").write_text("doomed\n")
    (tmp_path / "template/sandbox.yaml").write_text(TEXT)
    return tmp_path / "template"


def made_in(at: Path, name: str, hash_: str | None) -> Path:
    """The episode in a folder, said to have been made in a template."""
    made = load_trajectory(at).model_copy(update={"template": Named(name=name, hash=hash_)})
    write_trajectory(made, at / "trajectory.json")
    return at


async def played(folder: Path, at: Path, provider: BubblewrapProvider, script: str) -> Built:
    """An episode: a fork in which a script runs, its snapshot, and its trajectory."""
    built, _ = await build(load_source(folder), Store(), provider=provider)
    async with named(Named(name=built.name, hash=built.digest), provider=provider) as template:
        sandbox = await provider.open(template)
        try:
            assert (await sandbox.exec(["sh", "-ec", script])).ok
            made_in(episode(at), built.name, built.digest)
            await sandbox.snapshot(at / "workspace.tar.zst")
        finally:
            await sandbox.close()
    return built


def graded(at: Path, body: dict[str, Any], provider: BubblewrapProvider, **options: Any) -> Grade:
    return asyncio.run(agrade(at, rubric(at.parent / "rubric", body), provider=provider, **options))


def test_it_is_graded_in_the_template_that_it_names(folder: Path, tmp_path: Path, provider: BubblewrapProvider) -> None:
    asyncio.run(played(folder, tmp_path / "episode", provider, "rm doomed.txt; echo made > made.txt"))
    grade = graded(tmp_path / "episode", {"gates": GATES}, provider)
    assert [(gate.id, gate.verdict) for gate in grade.gates] == [
        ("mode", "met"),
        ("kept", "met"),
        ("gone", "met"),
        ("made", "met"),
    ]
    assert grade.score == 1
    assert grade.warnings == ()


def test_a_deleted_folder_that_was_made_anew_shows_nothing_of_the_old_one(
    folder: Path, tmp_path: Path, provider: BubblewrapProvider
) -> None:
    (folder / "project/old").mkdir()
    (folder / "project/old/inside").write_text("x")
    asyncio.run(played(folder, tmp_path / "episode", provider, "rm -r old; mkdir old; echo n > old/new"))
    gate = {"id": "anew", "description": "-", "check": {"command": {"run": ["ls", "old"], "equals": "new\n"}}}
    assert graded(tmp_path / "episode", {"gates": [gate]}, provider).score == 1


def test_a_template_that_is_not_here_leaves_the_grade_open(
    folder: Path, tmp_path: Path, provider: BubblewrapProvider
) -> None:
    built = asyncio.run(played(folder, tmp_path / "episode", provider, "echo made > made.txt"))
    assert Store().remove(built.digest)
    grade = graded(tmp_path / "episode", {"gates": GATES}, provider)
    assert (grade.status, grade.score, grade.cause, grade.bounds) == ("ungraded", None, "template_missing", (0, 1))
    assert [gate.verdict for gate in grade.gates] == ["error", "error", "error", "met"]
    assert built.digest in grade.gates[0].message


def test_a_failing_gate_that_needs_no_template_still_decides(
    folder: Path, tmp_path: Path, provider: BubblewrapProvider
) -> None:
    built = asyncio.run(played(folder, tmp_path / "episode", provider, "true"))
    assert Store().remove(built.digest)
    grade = graded(tmp_path / "episode", {"gates": GATES}, provider)
    assert (grade.status, grade.score) == ("gated", 0)


def test_a_rubric_without_checks_needs_no_template(tmp_path: Path, provider: BubblewrapProvider) -> None:
    at = made_in(episode(tmp_path / "episode"), "never built", "sha256:" + "0" * 64)
    grade = graded(at, {"criteria": [{"id": "c", "points": 1, "description": "d", "judge": {}}]}, provider)
    assert grade.causes == ("no_judge",)


def test_the_caller_may_say_otherwise_and_the_grade_says_so(
    folder: Path, tmp_path: Path, provider: BubblewrapProvider
) -> None:
    built = asyncio.run(played(folder, tmp_path / "episode", provider, "rm doomed.txt; echo made > made.txt"))
    assert graded(tmp_path / "episode", {"gates": GATES}, provider, template=folder).warnings == ()
    assert graded(tmp_path / "episode", {"gates": GATES}, provider, template=built.digest).warnings == ()
    (folder / "project/given.txt").write_text("another one\n")
    grade = graded(tmp_path / "episode", {"gates": GATES}, provider, template=folder)
    assert [gate.verdict for gate in grade.gates] == ["met", "not_met", "met", "met"]
    assert built.digest in grade.warnings[0]
    with pytest.raises(TemplateError, match="no such template"):
        graded(tmp_path / "episode", {"gates": GATES}, provider, template=tmp_path / "nothing")


def test_a_ready_template_is_built_when_a_trajectory_names_it(
    tmp_path: Path, provider: BubblewrapProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUBRICGRADE_TEMPLATES", str(tmp_path / "store"))
    at = made_in(episode(tmp_path / "episode", {"test_it.py": "def test_it():\n    assert True\n"}), "python", None)
    gate = {"id": "runs", "description": "-", "check": {"command": ["python3", "-m", "pytest", "-q"]}}
    assert graded(at, {"gates": [gate]}, provider).score == 1
    assert [built.name for built in Store().all()] == ["python"]


def test_what_was_touched_is_listed_as_evidence(folder: Path, tmp_path: Path, provider: BubblewrapProvider) -> None:
    async def main() -> None:
        built, _ = await build(load_source(folder), Store(), provider=provider)
        async with named(Named(name=built.name, hash=built.digest), provider=provider) as template:
            first = await provider.open(template)
            await first.exec(["sh", "-c", "rm doomed.txt; echo x >> given.txt; mkdir new; ln -s given.txt new/link"])
            second = await first.fork()
            await second.exec(["rm", "given.txt"])
            for box, given in ((first, "file"), (second, "deleted")):
                assert {entry.path: entry.kind for entry in (await box.changes()).entries} == {
                    "doomed.txt": "deleted",
                    "given.txt": given,
                    "new": "folder",
                    "new/link": "link",
                }
                await box.close()

    asyncio.run(main())


def test_the_trajectory_names_it_on_disk(folder: Path, tmp_path: Path, provider: BubblewrapProvider) -> None:
    built = asyncio.run(played(folder, tmp_path / "episode", provider, "true"))
    written = json.loads((tmp_path / "episode/trajectory.json").read_text())
    assert written["template"] == {"name": "template", "hash": built.digest}
