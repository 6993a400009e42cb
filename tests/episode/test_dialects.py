"""Tasks in other shapes: a vendor's folder, rows of SWE-bench, plain Harbor tasks; and a task for Harbor."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from rubricgrade.cli.app import app
from rubricgrade.episode.dialects import import_rows, import_swe_bench, import_vendor
from rubricgrade.episode.exporting import export_task, verify
from rubricgrade.episode.task import Task
from rubricgrade.errors import InputError, TemplateError
from tests.episode.making import EXAMPLES, play, write, write_task

VENDOR = {
    "task.yaml": "instruction: |\n  Make double() right.\nrepo: doubles @ 1\ntools: [bash, browse]\nmax_steps: 40\ncategory: bugs\n",
    "Dockerfile": "FROM python:3.12\nWORKDIR /repo\nCOPY . /repo/\n",
    "tools.json": '[{"name": "bash"}]',
    "doubles.py": "def double(x):\n    return x + x + 1\n",
    "tests/test_fail_to_pass.py": "from doubles import double\n\ndef test_it():\n    assert double(2) == 4\n",
    "grade.sh": "python3 -m pytest -q -p no:cacheprovider tests\n",
    "solution.patch": "--- a/doubles.py\n+++ b/doubles.py\n@@ -1,2 +1,2 @@\n def double(x):\n-    return x + x + 1\n+    return x + x\n",
}


def test_a_vendors_folder(tmp_path: Path) -> None:
    made = import_vendor(write(tmp_path / "vendor", VENDOR), tmp_path / "task-0417")
    task = Task.load(made.folder)
    assert task.instruction == "Make double() right."
    assert (task.settings.tools, task.settings.max_steps, task.metadata) == (
        ["bash"], 40, {"category": "bugs", "repo": "doubles @ 1"},
    )  # fmt: skip
    assert any("browse" in note for note in made.notes)
    assert not list((made.folder / "environment").rglob("grade.sh"))
    assert play(task, "oracle").grade.score == 1
    assert play(task, "nop").grade.score == 0


def test_an_agent_that_edits_the_visible_tests_gains_nothing(tmp_path: Path) -> None:
    task = Task.load(import_vendor(write(tmp_path / "vendor", VENDOR), tmp_path / "task").folder)
    edit = "mkdir -p tests; echo 'def test_it(): pass' > tests/test_fail_to_pass.py"
    assert play(task, f"command:{edit}").grade.score == 0


@pytest.mark.parametrize("missing", ["task.yaml", "grade.sh"])
def test_what_is_no_vendors_folder(tmp_path: Path, missing: str) -> None:
    files = {name: text for name, text in VENDOR.items() if name != missing}
    with pytest.raises(InputError):
        import_vendor(write(tmp_path / "vendor", files), tmp_path / "task")
    assert not (tmp_path / "task").exists()


def git(folder: Path, *words: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
    return subprocess.run(
        ["git", "-C", folder, *identity, *words], check=True, capture_output=True, text=True
    ).stdout.strip()


def test_a_row_of_swe_bench(tmp_path: Path) -> None:
    repository = write(tmp_path / "repo", {"doubles.py": VENDOR["doubles.py"]})
    git(repository, "init", "-q")
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "first")
    test = "--- /dev/null\n+++ b/test_doubles.py\n@@ -0,0 +1,5 @@\n+from doubles import double\n+def test_two():\n+    assert double(2) == 4\n+def test_is_there():\n+    assert double\n"
    row: dict[str, Any] = {
        "instance_id": "doubles__1",
        "repo": "a/doubles",
        "base_commit": git(repository, "rev-parse", "HEAD"),
        "problem_statement": "double() is wrong",
        "patch": VENDOR["solution.patch"],
        "test_patch": test,
        "FAIL_TO_PASS": json.dumps(["test_doubles.py::test_two"]),
        "PASS_TO_PASS": ["test_doubles.py::test_is_there"],
    }
    made = import_swe_bench(row, tmp_path / "doubles__1", repository=repository)
    task = Task.load(made.folder)
    assert play(task, "oracle").grade.score == 1
    assert play(task, "nop").grade.score == 0
    with pytest.raises(InputError, match="FAIL_TO_PASS"):
        import_swe_bench({"instance_id": "x", "problem_statement": "y"}, tmp_path / "other")


def test_a_row_without_its_files_is_not_run(tmp_path: Path) -> None:
    row = {"instance_id": "x", "problem_statement": "y", "FAIL_TO_PASS": '["t.py::test"]'}
    task = Task.load(import_swe_bench(row, tmp_path / "x").folder)
    with pytest.raises(TemplateError, match="base image"):
        play(task, "nop")


ROW = {"problem_statement": "Mend it.", "FAIL_TO_PASS": ["t"], "PASS_TO_PASS": []}


@pytest.mark.parametrize("name", ["{}/abs", "../up", "a/b", "..", "a\nb", "-x"])
def test_a_rows_id_is_a_mere_name(tmp_path: Path, name: str) -> None:
    name = name.format(tmp_path)
    rows = write(tmp_path / "in", {"rows.jsonl": json.dumps({"instance_id": name, **ROW})}) / "rows.jsonl"
    done = CliRunner().invoke(app, ["task", "import", str(rows), str(tmp_path / "tasks")])
    assert isinstance(done.exception, InputError)
    assert "instance_id" in str(done.exception)
    assert [each.name for each in tmp_path.iterdir()] == ["in"]


def test_rows_that_are_none_are_named_and_the_others_imported(tmp_path: Path) -> None:
    text = "One line\u2028of two"
    rows = [
        {"instance_id": "a", **ROW, "problem_statement": text},
        {"instance_id": "b"},
        [],
        {"instance_id": "c", **ROW},
    ]
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    lines += ['{"instance_id": ', '{"instance_id": "d", "instance_id": "e"}', ""]
    file = write(tmp_path, {"rows.jsonl": "\n".join(lines)}) / "rows.jsonl"
    done = CliRunner().invoke(app, ["task", "import", str(file), str(tmp_path / "tasks")])
    assert isinstance(done.exception, InputError)
    assert [(fault.file, fault.line) for fault in done.exception.faults] == [(str(file), line) for line in (2, 3, 5, 6)]
    assert sorted(each.name for each in (tmp_path / "tasks").iterdir()) == ["a", "c"]
    assert Task.load(tmp_path / "tasks" / "a").instruction == text


@pytest.mark.parametrize("text", ["[", '[{"instance_id": "a", "instance_id": "b"}]', "7", "[[]]", "\xff"])
def test_a_file_that_holds_no_rows(tmp_path: Path, text: str) -> None:
    (tmp_path / "rows.json").write_bytes(text.encode("latin-1"))
    made, faults = import_rows(tmp_path / "rows.json", tmp_path / "tasks")
    assert made == []
    assert [fault.file for fault in faults] == [str(tmp_path / "rows.json")]
    assert not (tmp_path / "tasks").exists()


@pytest.mark.parametrize(
    "odd",
    [
        {"repo": "\ud800"},
        {"FAIL_TO_PASS": "[" * 100_000},
        {"FAIL_TO_PASS": []},
        {"FAIL_TO_PASS": "x"},
        {"image_name": "x\nRUN touch /tmp/mine"},
        {"base_commit": "0" * 40},
        {"test_patch": "garbage"},
        {"problem_statement": {}},
    ],
    ids=lambda odd: str(odd)[:40],
)
def test_a_row_that_nobody_has_foreseen_costs_no_other_its_task(tmp_path: Path, odd: dict[str, Any]) -> None:
    repository = write(tmp_path / "repo", {"t.py": "def test(): assert 1\n"})
    git(repository, "init", "-q")
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "first")
    rows = [{"instance_id": "odd", **ROW, **odd}, {"instance_id": "good", **ROW}]
    (tmp_path / "rows.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    made, faults = import_rows(tmp_path / "rows.jsonl", tmp_path / "tasks", repository)
    assert [one.folder.name for one in made] == ["good"]
    assert {(fault.file, fault.line) for fault in faults} == {(str(tmp_path / "rows.jsonl"), 1)}
    assert "odd" in str(faults[0])
    assert [each.name for each in (tmp_path / "tasks").iterdir()] == ["good"]


def test_a_file_of_rows_that_is_nested_without_end(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text("[" * 100_000 + "\n")
    assert import_rows(tmp_path / "rows.jsonl", tmp_path / "tasks")[0] == []


def test_facts_of_a_row_that_toml_has_no_word_for(tmp_path: Path) -> None:
    row = {"instance_id": "a", **ROW, "version": float("nan"), "difficulty": "\x7f\x00"}
    assert Task.load(import_swe_bench(row, tmp_path / "a").folder).metadata["version"] == "nan"


def test_what_a_row_lacks_is_noted(tmp_path: Path) -> None:
    repository = write(tmp_path / "repo", {"t.py": "def test(): assert 1\n"})
    git(repository, "init", "-q")
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "first")
    row = {"instance_id": "a", **ROW, "FAIL_TO_PASS": ["t.py::test"]}
    told = "\n".join(import_swe_bench(row, tmp_path / "a", repository=repository).notes)
    assert "no base_commit" in told
    assert "no patch" in told
    told = "\n".join(import_swe_bench({**row, "patch": "no"}, tmp_path / "b", repository=repository).notes)
    assert "the reference can't solve it: its patch: does not apply" in told


@pytest.mark.parametrize(
    ("odd", "told"),
    [
        ({"tools.json": '[{"function": "abc"}]', "task.yaml": "instruction: Do it.\n"}, "no tool is called"),
        ({"grade.sh": f"pytest tests/{'a' * 300}.py\n"}, "can't be imported: OSError"),
        ({"tests/test_fail_to_pass.py": "def test_it():\n    assert double(2) == 1e999\n"}, "no wrong value"),
        ({"tests/test_fail_to_pass.py": f"def test_it():\n    assert double(2) == 0x{'f' * 9000}\n"}, "digits"),
        ({"task.yaml": "instruction: Do it.\nmax_agent_timeout_sec: 3\n"}, "without effect here: max_agent_timeout_sec"),
    ],
)  # fmt: skip
def test_a_vendors_folder_that_nobody_has_foreseen(tmp_path: Path, odd: dict[str, str], told: str) -> None:
    vendor = write(tmp_path / "vendor", VENDOR | odd)
    try:
        said = "\n".join(import_vendor(vendor, tmp_path / "task").notes)
    except InputError as error:
        said = str(error)
        assert not (tmp_path / "task").exists()
    assert told in said


def test_a_vendors_folder_without_a_dockerfile_says_where_its_files_lie(tmp_path: Path) -> None:
    files = {name: text for name, text in VENDOR.items() if name != "Dockerfile"}
    files["grade.sh"] = "cd /app\npython3 -m pytest tests\n"
    notes = import_vendor(write(tmp_path / "vendor", files), tmp_path / "task").notes
    assert any("it has no Dockerfile: its files lie in /work" in note for note in notes), notes
    assert any("grade.sh goes to /app, and the work folder is /work" in note for note in notes), notes


@pytest.mark.timeout(30)
@pytest.mark.parametrize("name", ["tests/pipe", "grade.sh", "pipe"])
def test_pipes_and_folders_in_the_place_of_files(tmp_path: Path, name: str) -> None:
    vendor = write(tmp_path / "vendor", VENDOR)
    (vendor / name).unlink(missing_ok=True)
    os.mkfifo(vendor / name)
    with pytest.raises(InputError, match=name):
        import_vendor(vendor, tmp_path / "task")


def test_git_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="git is needed"):
        import_swe_bench({"instance_id": "a", **ROW}, tmp_path / "a", repository=tmp_path)


@pytest.mark.parametrize(
    ("tools", "fault"), [('{"a": ', "tools.json:1:7: is no JSON"), ('{"a": 1, "a": 2}', "tools.json:1:10")]
)
def test_a_vendors_tools_that_are_no_json(tmp_path: Path, tools: str, fault: str) -> None:
    about = {"task.yaml": "instruction: Make double() right.\n"}
    with pytest.raises(InputError, match=fault):
        import_vendor(write(tmp_path / "vendor", VENDOR | {"tools.json": tools} | about), tmp_path / "task")
    assert not (tmp_path / "task").exists()


def test_a_vendors_patch_in_another_encoding_is_taken_as_it_is(tmp_path: Path) -> None:
    vendor = write(tmp_path / "vendor", VENDOR)
    patch = VENDOR["solution.patch"].replace("return x + x\n", "return x + x  # \xe9\n").encode("latin-1")
    (vendor / "solution.patch").write_bytes(patch)
    made = import_vendor(vendor, tmp_path / "task").folder
    assert (made / "solution" / "solution.patch").read_bytes() == patch


@pytest.mark.parametrize("commit", ["--output={}/precious", "-o{}/precious", "--exec=id", "a b", "HEAD:.."])
def test_a_rows_commit_is_no_option(tmp_path: Path, commit: str) -> None:
    repository = write(tmp_path / "repo", {"a": "a"})
    git(repository, "init", "-q")
    (tmp_path / "precious").write_text("mine")
    row = {"instance_id": "a", **ROW, "base_commit": commit.format(tmp_path)}
    with pytest.raises(InputError, match="is no commit"):
        import_swe_bench(row, tmp_path / "a", repository=repository)
    assert (tmp_path / "precious").read_text() == "mine"
    assert not (tmp_path / "a").exists()


def harbor(folder: Path, script: str) -> Path:
    task = write_task(folder, {"tests/test.sh": script, "tests/expected.txt": "42\n"})
    (task / "tests" / "rubric.yaml").unlink()
    return task


@pytest.mark.parametrize(
    ("write_reward", "right", "wrong"),
    [
        (
            "if cmp -s answer.txt /tests/expected.txt; then echo 1; else echo 0; fi > /logs/verifier/reward.txt",
            1.0,
            0.0,
        ),
        (
            'cmp -s answer.txt /tests/expected.txt && echo \'{"reward": 0.75, "style": 1}\' > /logs/verifier/reward.json || echo 0.25 > /logs/verifier/reward.txt',
            0.75,
            0.25,
        ),
    ],
)
def test_a_plain_harbor_task_is_graded_by_its_script(
    tmp_path: Path, write_reward: str, right: float, wrong: float
) -> None:
    task = harbor(tmp_path / "task", f"#!/bin/bash\n{write_reward}\n")
    assert play(task, "oracle").grade.score == right
    assert play(task, "nop").grade.score == wrong


@pytest.mark.parametrize(
    "script", ["exit 1", "echo nan > /logs/verifier/reward.txt", "echo 7 > /logs/verifier/reward.txt"]
)
def test_a_script_without_a_reward_gives_no_number(tmp_path: Path, script: str) -> None:
    grade = play(harbor(tmp_path / "task", f"{script}\n"), "oracle").grade
    assert (grade.status, grade.cause) == ("ungraded", "check_error")


@pytest.mark.parametrize(
    ("rewards", "said"),
    [
        ('{"style": 1, "speed": 0}', "rewards speed, style: call one of them 'reward'"),
        ("{}", "rewards nothing"),
        ("[1]", "no map of names to rewards"),
    ],
)
def test_several_rewards_of_which_none_is_the_reward(tmp_path: Path, rewards: str, said: str) -> None:
    grade = play(harbor(tmp_path / "task", f"echo '{rewards}' > /logs/verifier/reward.json\n"), "oracle").grade
    assert (grade.status, grade.cause) == ("ungraded", "check_error")
    assert said in grade.criteria[0].message


def test_harbors_own_template_is_graded(tmp_path: Path) -> None:
    # What pytest says goes to standard error, which the grade keeps the end of.
    script = "if pytest --ctrf /logs/verifier/ctrf.json /tests/test_outputs.py -rA >&2; then echo 1; else echo 0; fi"
    task = harbor(tmp_path / "task", f"{script} > /logs/verifier/reward.txt\n")
    write(task, {"tests/test_outputs.py": "def test_it():\n    assert open('answer.txt').read() == '42\\n'\n"})
    grade = play(task, "oracle").grade
    assert grade.score == 1, grade.model_dump_json(indent=1)
    grade = play(task, "nop").grade
    assert grade.score == 0, grade.model_dump_json(indent=1)


def test_an_exported_task_writes_what_harbor_reads(tmp_path: Path) -> None:
    assert export_task(Task.load(EXAMPLES / "calc"), tmp_path / "calc") == ()
    script = (tmp_path / "calc" / "tests" / "test.sh").read_text()
    assert "--workspace /work" in script
    assert not (tmp_path / "calc" / "plays").exists()
    logs, work = tmp_path / "logs", EXAMPLES / "calc" / "solution" / "workspace"
    grade = asyncio.run(verify(tmp_path / "calc" / "tests", work, logs))
    assert grade.score == 1
    reward = json.loads((logs / "verifier" / "reward.json").read_text())
    assert reward == {"reward": 1.0}
    assert json.loads((logs / "verifier" / "reward-details.json").read_text())["status"] == "graded"


def test_an_exported_task_writes_no_reward_without_a_score(tmp_path: Path) -> None:
    export_task(Task.load(EXAMPLES / "travel-mis"), tmp_path / "mis")
    rubric = {"id": "r", "criteria": [{"id": "j", "description": "judged", "points": 1, "judge": {}}]}
    write(tmp_path / "mis", {"tests/rubric.yaml": json.dumps(rubric)})
    logs = write(tmp_path / "logs", {"verifier/reward.json": '{"reward": 1}'})
    assert asyncio.run(verify(tmp_path / "mis" / "tests", tmp_path, logs)).score is None
    assert not (logs / "verifier" / "reward.json").exists()
    assert (logs / "verifier" / "reward-details.json").exists()


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is there already"):
        export_task(Task.load(EXAMPLES / "calc"), tmp_path)
    with pytest.raises(InputError, match="is there already"):
        import_vendor(write(tmp_path / "vendor", VENDOR), tmp_path)


def test_an_import_that_fails_half_way_leaves_nothing(tmp_path: Path) -> None:
    row = {"instance_id": "a", "problem_statement": "Mend it.", "FAIL_TO_PASS": ["t"], "PASS_TO_PASS": []}
    with pytest.raises(InputError):
        import_swe_bench(row, tmp_path / "task", repository=tmp_path / "no repository")
    assert [*tmp_path.iterdir()] == []
