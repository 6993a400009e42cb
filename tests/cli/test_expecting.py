from __future__ import annotations

import json
import os
import shutil
import threading
from pathlib import Path

import pytest

from rubricgrade.cli import kinds
from rubricgrade.cli.expecting import misplaced
from rubricgrade.cli.kinds import Kind
from tests.cli.program import SAYS_TOTAL, run, write_episode, write_rubric

TASKS = Path(__file__).parents[2] / "examples" / "tasks"
CHAT = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]


@pytest.fixture(scope="module")
def things(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One of every kind of thing, each under its name."""
    top = tmp_path_factory.mktemp("things")
    rubric = write_rubric(top / "rubric", criteria=[SAYS_TOTAL])
    shutil.copy(rubric, top / "travel.yaml")
    write_rubric(top / "rubrics" / "one", criteria=[SAYS_TOTAL])
    write_rubric(top / "rubrics" / "two", criteria=[SAYS_TOTAL])
    for name in ("add", "calc"):
        shutil.copytree(TASKS / name, top / "tasks" / name)
    shutil.copytree(TASKS / "add", top / "task")
    episode = write_episode(top / "episode")
    write_episode(top / "episodes" / "first")
    write_episode(top / "episodes" / "second")
    shutil.copytree(episode, top / "graded")
    assert run("grade", rubric, top / "graded").code == 0
    shutil.copy(next((top / "graded" / "grades").glob("*.json")), top / "grade.json")
    for run_ in ("run", "runs/one"):
        (top / run_).mkdir(parents=True)
        (top / run_ / "run.json").write_text("{}")
        (top / run_ / "trajectories.jsonl").write_text('{"run": "r", "task": "t", "sample": 0, "reward": 1}\n')
    (top / "delivery").mkdir()
    (top / "delivery" / "manifest.json").write_text('{\n "schema": "rubricgrade.delivery/1"}')
    (top / "template").mkdir()
    (top / "template" / "sandbox.yaml").write_text("name: t\n")
    (top / "vendor").mkdir()
    (top / "vendor" / "task.yaml").write_text("instruction: do\n")
    (top / "chat.json").write_text(json.dumps(CHAT, indent=1))
    (top / "chats.jsonl").write_text("".join(json.dumps({"messages": CHAT}) + "\n" for _ in range(2)))
    (top / "labels.jsonl").write_text('{"trajectory": "t", "criterion": "c", "verdict": "met", "by": "anna"}\n')
    (top / "recorded.jsonl").write_text('{"question": "q", "answer": "yes"}\n')
    (top / "rows.jsonl").write_text('{"instance_id": "a__b-1", "problem_statement": "x"}\n')
    shutil.make_archive(str(top / "packed"), "zip", episode)
    (top / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0")
    (top / "empty.txt").touch()
    (top / "empty").mkdir()
    (top / "other" / "sub").mkdir(parents=True)
    (top / "chats").mkdir()
    shutil.copy(top / "chat.json", top / "chats")
    return top


IS = [
    ("travel.yaml", "is a rubric"),
    ("rubric", "is a rubric"),
    ("rubrics", "is a folder of 2 rubrics"),
    ("task", "is a task"),
    ("tasks", "is a folder of 2 tasks"),
    ("episode", "is a trajectory"),
    ("episodes", "is a folder of 2 trajectories"),
    ("chat.json", "is a trajectory"),
    ("chats.jsonl", "is a trajectory"),
    ("grade.json", "is a grade"),
    ("run", "is a run"),
    ("runs", "is a folder with a run in it"),
    ("run/trajectories.jsonl", "is the lines of a run"),
    ("delivery", "is a delivery"),
    ("template", "is a sandbox template"),
    ("vendor", "is a vendor's task"),
    ("labels.jsonl", "is a file of labels"),
    ("recorded.jsonl", "is a file of recorded verdicts"),
    ("rows.jsonl", "is rows of SWE-bench"),
    ("packed.zip", "is an archive"),
    ("picture.png", "is a file that is no text"),
    ("empty.txt", "is an empty file"),
    ("empty", "is an empty folder"),
    ("other", "is a folder of other things"),
    ("chats", "is a folder with a trajectory in it"),
]
WANTED: list[tuple[Kind, set[str]]] = [
    (kinds.RUBRIC, {"travel.yaml", "rubric"}),
    (kinds.TASK, {"task"}),
    (kinds.EPISODE, {"episode", "chat.json", "chats.jsonl"}),
    (kinds.GRADE, {"grade.json"}),
    (kinds.RUN, {"run"}),
    (kinds.DELIVERY, {"delivery"}),
    (kinds.TEMPLATE, {"template"}),
    (kinds.VENDOR, {"vendor"}),
    (kinds.LABELS, {"labels.jsonl", "empty.txt"}),
    (kinds.VERDICTS, {"recorded.jsonl", "empty.txt"}),
]


@pytest.mark.parametrize(("wanted", "fitting"), WANTED, ids=[kind.one for kind, _ in WANTED])
def test_whatever_else_lies_there_is_called_by_its_name(things: Path, wanted: Kind, fitting: set[str]) -> None:
    for name, what in IS:
        fault = misplaced(things / name, wanted)
        if name in fitting:
            assert fault is None, name
        elif name.startswith("run/"):
            assert fault is not None
            assert "one file of a run" in str(fault) or what in str(fault)
        else:
            assert fault is not None, name
            assert f"{what}, not {wanted.one}" in str(fault)


@pytest.mark.parametrize(
    ("name", "wanted", "advice"),
    [
        ("rubrics", kinds.RUBRIC, "Name what is in it, such as {top}/rubrics/one."),
        ("chats", kinds.EPISODE, "Name what is in it, such as {top}/chats/chat.json."),
        ("task", kinds.RUBRIC, "Its rubric is {top}/task/tests/rubric.yaml."),
        ("delivery", kinds.TASK, "Its tasks lie in {top}/delivery/tasks."),
        ("run/trajectories.jsonl", kinds.RUN, "Name its folder: {top}/run"),
        ("task/task.toml", kinds.TASK, "Name its folder: {top}/task"),
        ("episode", kinds.GRADED, "`rubricgrade grade RUBRIC {top}/episode` grades it first."),
        ("tasks", kinds.RUN, "`rubricgrade run {top}/tasks --agent AGENT` makes episodes of it first."),
        ("runs", kinds.EPISODE, "Name one of its episodes' folders."),
        ("packed.zip", kinds.TASK, "Unpack it first."),
        ("grade.json", kinds.EPISODE, "`rubricgrade show {top}/grade.json` takes it."),
        ("runs", kinds.TASK, "`rubricgrade score {top}/runs/one` takes it."),
        ("vendor", kinds.TASK, "`rubricgrade task import {top}/vendor DIR` takes it."),
    ],
)
def test_what_to_do_instead(things: Path, name: str, wanted: Kind, advice: str) -> None:
    assert str(misplaced(things / name, wanted)).endswith(advice.format(top=things))


def test_graded_episodes_are_found_below(things: Path) -> None:
    assert misplaced(things / "graded", kinds.GRADED) is None
    assert misplaced(things / "episode", kinds.GRADED) is not None


def test_a_rubric_with_a_fault_is_left_to_whoever_reads_it(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text("id: x\ncriterai: []\n")
    assert misplaced(file, kinds.RUBRIC) is None


def test_a_pipe_is_not_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(b"id: x"), daemon=True)
    writer.start()
    assert misplaced(pipe, kinds.TASK) is None
    assert pipe.read_bytes() == b"id: x"
    writer.join()


@pytest.mark.parametrize(
    "arguments",
    [
        ["grade", "{top}/episode", "{top}/travel.yaml", "--no-store"],
        ["grade", "{top}/travel.yaml", "{top}/task", "--no-store"],
        ["grade", "{top}/travel.yaml", "{top}/episode", "--no-store", "--verdicts", "{top}/grade.json"],
        ["lint", "{top}/episode"],
        ["test", "{top}/rubrics"],
        ["preview", "{top}/tasks", "-c", "x"],
        ["probe", "{top}/rubric", "--like", "{top}/rubric"],
        ["diff", "{top}/rubric", "{top}/task"],
        ["report", "{top}/rubric"],
        ["show", "{top}/task"],
        ["agreement", "{top}/graded", "--labels", "{top}/grade.json"],
        ["run", "{top}/rubrics", "--agent", "nop"],
        ["run", "--resume", "{top}/task"],
        ["score", "{top}/runs"],
        ["regrade", "{top}/graded"],
        ["calibrate", "{top}/task"],
        ["export", "{top}/graded"],
        ["convert", "{top}/episode", "--to", "gandalf"],
        ["review", "{top}/grade.json"],
        ["serve", "--rubric", "{top}/task"],
        ["serve", "--rubrics", "{top}/rubric"],
        ["redteam", "{top}/run"],
        ["uplift", "{top}/run", "{top}/task"],
        ["deliver", "{top}/rubrics", "-o", "{top}/none"],
        ["deliver", "verify", "{top}/task"],
        ["task", "check", "{top}/episodes"],
        ["task", "quality", "{top}/packed.zip"],
        ["task", "import", "{top}/task", "{top}/none"],
        ["task", "export", "{top}/tasks", "{top}/none"],
        ["cache", "import", "{top}/labels.jsonl"],
        ["sandbox", "build", "{top}/task"],
    ],
    ids=lambda arguments: " ".join(arguments).replace("{top}/", ""),
)
def test_every_verb_says_what_it_was_given(things: Path, arguments: list[str]) -> None:
    done = run(*(word.format(top=things) for word in arguments), cwd=things)
    assert (done.code, done.out) == (2, "")
    (line,) = done.err.splitlines()
    assert line.startswith(f"error: {things}/")
    assert ": is " in line


def test_a_folder_of_tasks_stands_for_all_of_them(things: Path, tmp_path: Path) -> None:
    done = run("run", things / "tasks", "--agent", "nop", "-o", tmp_path / "run", "-q")
    assert done.code == 0
    assert sorted(json.loads((tmp_path / "run" / "run.json").read_text())["tasks"]) == ["add", "calc"]
    assert f"{things / 'tasks'}: 2 tasks: add, calc" in done.err


def test_what_a_file_of_trajectories_would_be_converted_to(things: Path) -> None:
    done = run("convert", things / "chat.json")
    assert done.code == 2
    assert "--to atif or --to trajectory" in done.err


def test_a_folder_of_episodes_is_converted(things: Path, tmp_path: Path) -> None:
    done = run("convert", things / "episodes", "--to", "atif", "-o", tmp_path / "made")
    assert done.code == 0, done.err
    assert {path.name for path in (tmp_path / "made").iterdir()} == {"first.json", "second.json"}


def test_several_results_are_no_one_file(things: Path, tmp_path: Path) -> None:
    done = run("convert", things / "chats.jsonl", "--to", "trajectory", "-o", tmp_path / "made.json")
    assert done.code == 2
    assert "these are 2 results: name a folder" in done.err
    assert not (tmp_path / "made.json").exists()


def test_rows_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text("[]")
    done = run("task", "import", tmp_path / "rows.jsonl", tmp_path / "made")
    assert done.code == 2
    assert "holds no rows" in done.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["run"], "name at least one task, or a run to go on with"),
        (["run", "{top}/task"], "say who acts: --agent litellm:MODEL"),
        (["init", "{top}/chat.json"], "is a file; name a new folder"),
        (["probe", "{top}/rubric", "--like", "{top}/chats.jsonl"], "holds 2 episodes, and one is wanted"),
    ],
)
def test_what_is_missing_or_too_much_is_said(things: Path, arguments: list[str], told: str) -> None:
    done = run(*(word.format(top=things) for word in arguments), cwd=things)
    assert done.code == 2
    assert told in done.err


def test_a_text_is_no_cut_trajectory(things: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("some notes")
    done = run("grade", things / "travel.yaml", tmp_path / "notes.md", "--no-store")
    assert done.code == 2
    assert done.err.endswith("notes.md:1:1: is not JSON; a trajectory is JSON, or lines of JSON\n")


def test_who_named_no_judge_is_told_how(things: Path, tmp_path: Path) -> None:
    rubric = write_rubric(tmp_path, criteria=["{id: polite, points: 4, description: thanks the user, judge: {}}"])
    done = run("grade", rubric, things / "chat.json", "--no-store")
    assert done.code == 3
    assert "name a judge with --judge MODEL" in done.err
    assert "--missing FILE" in done.err


@pytest.mark.parametrize(
    "arguments", [("lint",), ("score",), ("task", "check"), ("grade", "{top}/travel.yaml"), ("convert",), ("init",)]
)
def test_a_name_that_no_file_can_have_is_bad_input(things: Path, arguments: tuple[str, ...]) -> None:
    done = run(*(word.format(top=things) for word in arguments), "x" * 300)
    assert done.code == 2, done.err
    assert done.err.startswith("error: ")
