"""Places: a folder and a store keep the same promises; what a store can't do, such as append, is made up for."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rubricgrade.episode.agents.proving import Nop, Oracle
from rubricgrade.episode.playing import run_episode
from rubricgrade.episode.task import Task
from rubricgrade.errors import InputError, StoreError
from rubricgrade.report.collecting import collect, collect_replaced
from rubricgrade.result import Grade
from rubricgrade.runs.calibration import calibrate
from rubricgrade.runs.lines import Line
from rubricgrade.runs.places import Place, place_of
from rubricgrade.runs.places.local import LocalPlace
from rubricgrade.runs.regrading import regrade
from rubricgrade.runs.running import Outcome, Plan, run
from rubricgrade.runs.standing import attempts_of, stand
from rubricgrade.store.grades import read_grade
from tests.runs.test_lines import line

pytest.importorskip("fsspec", reason="extra 'cloud' is not installed")

URL = "memory://bucket/runs/first"


@pytest.fixture
def memory() -> Iterator[str]:
    from fsspec.implementations.memory import MemoryFileSystem

    yield URL
    MemoryFileSystem.store.clear()
    MemoryFileSystem.pseudo_dirs[:] = [""]


@pytest.fixture(params=["folder", "store"])
def place(request: pytest.FixtureRequest, tmp_path: Path, memory: str) -> Place:
    return place_of(tmp_path / "first" if request.param == "folder" else memory)


@pytest.fixture(scope="module")
def grade(tmp_path_factory: pytest.TempPathFactory) -> Grade:
    from tests.episode.making import write_task

    task = Task.load(write_task(tmp_path_factory.mktemp("graded") / "answer"))
    return asyncio.run(run_episode(task, Nop())).grade


def make(place: Place, one: Line, **files: bytes) -> Line | None:
    with place.claim(one.task, one.sample) as claim:
        assert claim is not None
        for name, data in files.items():
            path = claim.folder / name.replace("__", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        return claim.keep(one)


def run_all(plan: Plan) -> list[Outcome]:
    async def main() -> list[Outcome]:
        return [outcome async for outcome in run(plan)]

    return asyncio.run(main())


def objects() -> list[str]:
    from fsspec.implementations.memory import MemoryFileSystem

    return sorted(MemoryFileSystem.store)


def test_files_are_there_whole_or_not_at_all(place: Place) -> None:
    assert place.read("run.json") is None
    place.write("run.json", b"one")
    place.write("run.json", b"two")
    assert place.read("run.json") == b"two"
    assert (place.name, place.below("a/0").name) == ("first", "0")


def test_an_attempt_has_one_line(place: Place) -> None:
    assert not place.has("calc", 0)
    assert make(place, line()) is not None
    assert place.has("calc", 0)
    assert make(place, line(text="again")) is None
    assert [one.messages for one in place.lines()] == [line().messages]
    assert make(place, line(sample=10)) is not None
    assert make(place, line(sample=2)) is not None
    assert sorted(one.key for one in place.lines()) == [("calc", 0), ("calc", 2), ("calc", 10)]


def test_an_attempts_files_come_back(place: Place) -> None:
    files = {"trajectory.json": b"{}", "workspace.tar.zst": b"\0", "world__mail__sent.txt": b"hello"}
    kept = make(place, line(), **files)
    assert kept is not None
    with place.below(kept.home).episode() as folder:
        assert {name: (folder / name.replace("__", "/")).read_bytes() for name in files} == files


def test_the_last_grade_written_is_the_current_one(place: Place, grade: Grade) -> None:
    assert place.grades(["a/0"]) == [None]
    another = grade.rubric.model_copy(update={"id": "another"})
    other = grade.model_copy(update={"score": 0.25, "bounds": (0.25, 0.25), "rubric": another})
    for one in (grade, other, grade):
        place.below("a/0").write_grade(one)
    place.below("b/0").write_grade(other)
    assert place.grades(["a/0", "b/0", "c/0"]) == [grade, other, None]
    assert place.graded() == ["a/0", "b/0"]
    assert place.below("a/0").graded() == ["."]


def test_a_file_that_is_no_grade_is_told(memory: str) -> None:
    place = place_of(memory)
    place.write("a/0/grades/r.12345678-code-1.json", b"{}")
    with pytest.raises(StoreError, match=r"r\.12345678-code-1\.json is no grade file"):
        place.grades(["a/0"])


def test_whoever_comes_second_leaves_nothing(memory: str) -> None:
    place = place_of(memory)
    with place.claim("calc", 0) as ours, place.claim("calc", 0) as theirs:
        assert ours is not None
        assert theirs is not None
        (ours.folder / "trajectory.json").write_bytes(b"ours")
        (theirs.folder / "trajectory.json").write_bytes(b"theirs")
        assert theirs.keep(line(text="theirs")) is not None
        before = objects()
        assert ours.keep(line(text="ours")) is None
    assert objects() == before
    (kept,) = place.lines()
    assert kept.messages == line(text="theirs").messages
    assert place.below(kept.home).read("trajectory.json") == b"theirs"


def test_half_an_upload_is_nowhere_to_be_seen(memory: str, task: Path, grade: Grade) -> None:
    """A writer that is killed has left files, but no line: nothing reads them, and the attempt is made again."""
    run_all(Plan((Task.load(task),), Oracle(), memory, samples=1))
    place = place_of(memory)
    left = place.below("answer/1-0123456789abcdef")
    left.write("trajectory.json", b"{")
    left.write_grade(grade)
    assert [one.line.sample for one in attempts_of(memory)] == [0]
    assert place.graded() == [place.lines()[0].home]
    (made,) = run_all(Plan((Task.load(task),), Oracle(), memory, samples=2))
    assert isinstance(made, Line)
    assert (made.sample, stand(memory).overall.reward) == (1, 1)


@pytest.mark.parametrize("torn", [b"", b'{"run": "r"'])
def test_half_a_line_counts_as_none(memory: str, torn: bytes) -> None:
    """Some stores show a file while it is written."""
    place = place_of(memory)
    place.write("trajectories/calc/0.jsonl", torn)
    assert (place.lines(), place.has("calc", 0)) == ([], False)
    assert make(place, line()) is not None
    assert [one.key for one in place.lines()] == [("calc", 0)]


def test_a_line_that_is_none_is_told(memory: str) -> None:
    place = place_of(memory)
    place.write("trajectories/calc/0.jsonl", b"nonsense\n")
    with pytest.raises(StoreError, match=r"trajectories/calc/0\.jsonl:1: is no line"):
        place.lines()


def test_a_run_lives_in_a_store(memory: str, task: Path) -> None:
    loaded = Task.load(task)
    assert len(run_all(Plan((loaded,), Oracle(), memory, samples=2, concurrency=2))) == 2
    assert run_all(Plan((loaded,), Oracle(), memory, samples=2)) == []
    with pytest.raises(InputError, match="agent is 'oracle', not 'nop'"):
        run_all(Plan((loaded,), Nop(), memory))
    (more,) = run_all(Plan((loaded,), Oracle(), memory, samples=3))
    assert isinstance(more, Line)
    assert (more.run, more.sample) == ("first", 2)
    assert stand(memory).overall.solved == 3

    rubric = task / "tests" / "rubric.yaml"
    rubric.write_text(rubric.read_text().replace("^42$", "^43$"))

    async def again() -> list[tuple[float | None, float | None]]:
        return [(one.attempt.reward, one.grade.score) async for one in regrade(memory)]

    assert asyncio.run(again()) == [(1.0, 0.0)] * 3
    assert stand(memory).overall.reward == 0
    assert [each.score for each in place_of(memory).history("answer/" + place_of(memory).lines()[2].folder)] == [1, 0]
    replaced, current = collect_replaced(memory).entries, collect(memory).entries
    assert [(old.name, old.grade.score, new.grade.score) for old, new in zip(replaced, current, strict=True)] == [
        (each.name, 1, 0) for each in current
    ]
    made = asyncio.run(calibrate(memory, probe=False))
    assert made.tasks[0].decision == "inspect"
    assert place_of(memory).read("calibration.json") is not None


def test_an_attempt_that_is_not_made_leaves_nothing(memory: str, tmp_path: Path) -> None:
    from tests.episode.making import write_task

    bad = Task.load(write_task(tmp_path / "bad", {"environment/Dockerfile": "FROM a\nRUN false\n"}))
    run_all(Plan((bad,), Oracle(), memory))
    assert [name.rpartition("/")[2] for name in objects()] == ["run.json"]


@pytest.mark.parametrize(
    ("where", "said"),
    [
        (Path("s3://bucket/run"), "looks like a URL that was taken for a path"),
        ("nothing://bucket/run", "Protocol not known"),
        ("memory://", "names no folder"),
    ],
)
def test_what_is_no_place_is_told(where: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        place_of(where)


def test_what_stands_for_a_folder(tmp_path: Path) -> None:
    for where in (tmp_path, str(tmp_path), f"file://{tmp_path}", place_of(tmp_path)):
        assert place_of(where) == LocalPlace(tmp_path)
    assert place_of("runs/a:b") == LocalPlace(Path("runs/a:b"))


def test_a_password_in_a_url_is_never_shown() -> None:
    place = place_of("memory://somebody:secret@bucket/runs/first?key=secret")
    assert "secret" not in f"{place} {place!r} {place.below('a')}"


def test_a_stores_own_error_is_one_of_ours_without_a_password(memory: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from fsspec.implementations.memory import MemoryFileSystem

    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("no way to https://somebody:secret@host/x\nat all")

    monkeypatch.setattr(MemoryFileSystem, "cat_file", fail)
    with pytest.raises(StoreError, match=r"can't read memory://bucket/runs/first/run\.json: no way to") as caught:
        place_of(memory).read("run.json")
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_cannot_be_written_is_told(memory: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from fsspec.implementations.memory import MemoryFileSystem

    def fail(*_: Any, **__: Any) -> None:
        raise FileNotFoundError("The specified bucket does not exist")

    monkeypatch.setattr(MemoryFileSystem, "pipe_file", fail)
    with pytest.raises(StoreError, match=r"can't write memory://bucket/runs/first/run\.json: The specified bucket"):
        place_of(memory).write("run.json", b"")


def test_grades_of_a_folder_are_written_to_a_store(memory: str, grade: Grade, tmp_path: Path) -> None:
    written = place_of(memory).below("t-0").write_grade(grade)
    assert written.startswith("memory://")
    data = place_of(memory).below("t-0/grades").read(written.rpartition("/")[2])
    assert data is not None
    (tmp_path / "grade.json").write_bytes(data)
    assert read_grade(tmp_path / "grade.json") == grade
