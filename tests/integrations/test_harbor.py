"""What Harbor is left: files, exit codes, its own error for "no reward"; and nothing that leads out of a download."""

from __future__ import annotations

import asyncio
import importlib
import io
import json
import shutil
import sys
import tarfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rubricgrade.errors import InputError
from rubricgrade.integrations.harbor_files import main, write_reward
from rubricgrade.integrations.harbor_transfer import pack, unpack
from rubricgrade.result import Grade, Subject
from tests.integrations.conftest import WriteRubric
from tests.integrations.fakes import stand_in

SOLVED = {"id": "solved", "points": 1, "description": "a file says 4", "check": {"contains": {"path": "a.txt", "text": "4"}}}  # fmt: skip
POLITE = {"id": "polite", "points": 1, "description": "is polite", "judge": {}}


def graded(score: float | None) -> Grade:
    subject = Subject(id="x", hash="sha256:0")
    return Grade(
        status="graded" if score is not None else "ungraded", score=score, bounds=(0.0, 1.0), rubric=subject,
        trajectory=subject,
    )  # fmt: skip


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a.txt").write_text("4")
    return tmp_path / "work"


def test_a_reward_has_one_key_and_the_rest_lies_beside(tmp_path: Path) -> None:
    assert write_reward(graded(0.25), tmp_path)
    assert json.loads((tmp_path / "reward.json").read_text()) == {"reward": 0.25}
    assert json.loads((tmp_path / "reward-details.json").read_text())["score"] == 0.25


def test_a_link_that_the_agent_has_left_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "kept.txt").write_text("kept")
    to = tmp_path / "verifier"
    to.mkdir()
    for name in ("reward.json", ".reward.json", "reward-details.json"):
        (to / name).symlink_to(tmp_path / "kept.txt")
    assert write_reward(graded(0.25), to)
    assert (tmp_path / "kept.txt").read_text() == "kept"
    assert json.loads((to / "reward.json").read_text()) == {"reward": 0.25}


def test_an_ungraded_trial_leaves_no_reward_not_even_an_old_one(tmp_path: Path) -> None:
    for name in ("reward.json", "reward.txt"):
        (tmp_path / name).write_text("1")
    assert not write_reward(graded(None), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["reward-details.json"]


def test_the_script_of_a_task(tmp_path: Path, work: Path, write_rubric: WriteRubric) -> None:
    to = tmp_path / "verifier"
    given = ["--workspace", str(work), "--to", str(to), "--trajectory", str(tmp_path / "none.json")]
    assert main([write_rubric(SOLVED), *given]) == 0
    assert json.loads((to / "reward.json").read_text()) == {"reward": 1.0}
    assert main([write_rubric(SOLVED, POLITE), *given]) == 3
    assert not (to / "reward.json").exists()
    (to / "reward.txt").write_text("1")
    assert main([str(tmp_path / "missing.yaml"), *given]) == 2
    assert not (to / "reward.txt").exists()


@pytest.fixture
def verifier(tmp_path: Path, work: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A function that verifies a trial whose environment holds `work`."""
    stand_in(monkeypatch, "harbor")
    monkeypatch.delitem(sys.modules, "rubricgrade.integrations.harbor", raising=False)
    adapter = importlib.import_module("rubricgrade.integrations.harbor")

    async def download(source_dir: str, target_dir: Path) -> None:
        assert source_dir == "/app"
        await asyncio.to_thread(shutil.copytree, work, target_dir)

    async def execute(command: str) -> Any:
        assert command == "pwd"
        return SimpleNamespace(stdout="/app\n")

    paths = SimpleNamespace(agent_dir=tmp_path / "agent", verifier_dir=tmp_path / "verifier")
    task = SimpleNamespace(instruction="Write 4", paths=SimpleNamespace(tests_dir=tmp_path / "tests"))
    environment = SimpleNamespace(download_dir=download, exec=execute)

    def verify(rubric: str, **more: Any) -> Any:
        made = adapter.RubricVerifier(task=task, trial_paths=paths, environment=environment, rubric=rubric, **more)
        return asyncio.run(made.verify())

    return verify, adapter.verifying.RewardFileNotFoundError, paths.verifier_dir


def test_the_verifier_on_this_side(verifier: Any, write_rubric: WriteRubric) -> None:
    verify, missing, folder = verifier
    assert verify(write_rubric(SOLVED)).rewards == {"reward": 1.0}
    assert json.loads((folder / "reward.json").read_text()) == {"reward": 1.0}
    with pytest.raises(missing, match="no_judge"):
        verify(write_rubric(SOLVED, POLITE))
    assert not (folder / "reward.json").exists()
    with pytest.raises(missing, match="no such rubric"):
        verify("nowhere.yaml")


def test_a_judge_that_can_not_be_asked_is_said_when_it_is_made(verifier: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    verify, *_ = verifier
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(InputError, match="set OPENAI_API_KEY"):
        verify("nowhere.yaml", judge="openai/gpt-5-mini")


def packed(*members: tuple[str, bytes, dict[str, Any]]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        for name, content, more in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            for key, value in more.items():
                setattr(info, key, value)
            tar.addfile(info, io.BytesIO(content))
    return made.getvalue()


def test_a_hostile_archive_stays_in_its_folder(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    link = {"type": tarfile.SYMTYPE, "linkname": str(outside)}
    data = packed(
        ("./good/a.txt", b"4", {"mode": 0o000}),
        ("./way", b"", link),
        ("./way/planted", b"x", {}),
        ("../planted", b"x", {}),
        (f"{outside}/planted", b"x", {}),
        ("./pipe", b"", {"type": tarfile.FIFOTYPE}),
    )
    unpack(data, tmp_path / "to")
    assert (tmp_path / "to" / "good" / "a.txt").read_text() == "4"
    assert not list(outside.iterdir())
    assert not (tmp_path / "planted").exists()
    assert sorted(path.name for path in (tmp_path / "to").iterdir()) == ["good", "way"]


def test_a_folder_comes_back_as_it_was(tmp_path: Path, work: Path) -> None:
    (work / "bin").mkdir()
    (work / "bin" / "go").write_bytes(b"\x7fELF")
    (work / "bin" / "go").chmod(0o755)
    unpack(pack(work), tmp_path / "to")
    assert (tmp_path / "to" / "bin" / "go").read_bytes() == b"\x7fELF"
    assert (tmp_path / "to" / "bin" / "go").stat().st_mode & 0o777 == 0o755
