"""The verbs of the program, as somebody would type them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.chat.scripted import ON_ITS_WAY, ScriptedServer, completion, error, spread
from tests.cli.program import run
from tests.episode.making import EXAMPLES, bash, by_turn, write
from tests.episode.test_dialects import VENDOR

# Rollouts, solved, pass@1, pass@2, pass^2, mean reward.
TABLE = {
    "calc": ["2", "0", "0", "0", "0", "0.92"],
    "duration": ["2", "2", "1", "1", "1", "1"],
    "sales-report": ["2", "2", "1", "1", "1", "1"],
    "overall": ["6", "4", "0.67", "0.67", "0.67", "0.97"],
}


def test_the_seeds_tasks_from_end_to_end(tmp_path: Path) -> None:
    tasks = [EXAMPLES / name for name in ("calc", "sales-report", "duration")]
    ran = run("run", *tasks, "--agent", "replay", "-n", "2", "-o", tmp_path / "run")
    assert ran.code == 0, ran.err
    assert "calc #0: reward 0.9231 (12/13) in 3 steps" in ran.out
    rows = {words[0]: words[1:7] for line in ran.out.splitlines() if (words := line.split())}
    assert {name: rows[name] for name in TABLE} == TABLE
    scored = run("score", tmp_path / "run", "--json").json
    assert (scored["overall"]["rollouts"], scored["overall"]["solved"]) == (6, 4)
    again = run("run", "--resume", tmp_path / "run", "-q")
    assert (again.code, again.out) == (0, ran.out[ran.out.index("task ") :])
    assert run("run", "--resume", tmp_path / "run", "--json").json == scored


def test_the_bar_that_was_asked_for_and_what_to_do_with_a_task(task: Path, tmp_path: Path) -> None:
    assert run("run", task, "--agent", "nop", "-o", tmp_path / "run").code == 0
    assert run("score", tmp_path / "run", "--min-reward", "0.5").code == 1
    table = run("calibrate", tmp_path / "run", "--no-probe").out
    assert table.startswith("answer      0/1    0% (0% to 79%)     inspect  never solved")


def test_a_model_at_an_address_of_ones_own(task: Path, tmp_path: Path, server: ScriptedServer) -> None:
    server.script = [by_turn(bash("echo 42 > answer.txt"), completion("done"))]
    arguments = ["run", task, "--agent", "litellm:openai/scripted", "--api-base", server.base, "-o", tmp_path / "run"]
    ran = run(*arguments, env={"OPENAI_API_KEY": "k"})
    assert ran.code == 0, ran.err
    line = json.loads((tmp_path / "run" / "trajectories.jsonl").read_text())
    assert (line["model"], line["reward"], line["usage"]["input"]) == ("openai/scripted", 1.0, 200)


def test_the_agents_model_is_called_so_often_a_minute(task: Path, tmp_path: Path, server: ScriptedServer) -> None:
    server.script = [by_turn(bash("echo 42 > answer.txt"), completion("done"))]
    given = ["--agent", "litellm:openai/scripted", "--api-base", server.base, "-n", "3", "-o", tmp_path / "run"]
    ran = run("run", task, *given, "--rpm", "600", env={"OPENAI_API_KEY": "k"})
    assert ran.code == 0, ran.err
    assert spread(server) >= 0.1 * 5 - ON_ITS_WAY


def test_an_episode_that_gets_too_dear_ends(task: Path, tmp_path: Path, server: ScriptedServer) -> None:
    server.script = [bash("echo 42 > answer.txt")]
    given = ["--agent", "litellm:openai/scripted", "--api-base", server.base, "-o", tmp_path / "run"]
    ran = run("run", task, *given, "--max-episode-cost", "0.4", "--price", "1000/1000", env={"OPENAI_API_KEY": "k"})
    assert ran.code == 0, ran.err
    assert "answer #0: reward 1 (1/1) in 4 steps, ended: cost" in ran.out
    ran = run("run", "--resume", tmp_path / "run", "-n", "2", "--max-cost", "0.1", env={"OPENAI_API_KEY": "k"})
    assert ran.code == 4
    assert "its cap is $0.1" in ran.err
    assert run("run", task, *given, "--price", "dear").code == 2


def test_an_episode_of_a_run_is_graded_in_its_template(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    assert run("run", EXAMPLES / "calc", "--agent", "oracle", "-q", "-o", folder).code == 0
    graded = run("grade", EXAMPLES / "calc" / "tests" / "rubric.yaml", folder / "calc", "--no-store", "--json")
    (grade,) = graded.json["grades"]
    made_in = json.loads((folder / "calc" / "0" / "trajectory.json").read_text())["template"]
    assert (grade["score"], grade["template"]["id"], grade["template"]["hash"]) == (1, "calc", made_in["hash"])


def test_a_model_that_cannot_be_asked_leaves_the_attempt_to_be_made(
    task: Path, tmp_path: Path, server: ScriptedServer
) -> None:
    server.script = [error(401, "bad key")]
    arguments = ["run", task, "--agent", "litellm:openai/m", "--api-base", server.base, "--retries", "0"]
    ran = run(*arguments, "-o", tmp_path / "run", env={"OPENAI_API_KEY": "k"})
    assert ran.code == 3
    assert "answer #0: not made" in ran.err
    assert f"rubricgrade run --resume {tmp_path / 'run'}" in ran.err


@pytest.mark.parametrize("option", [["--api-base", "http://127.0.0.1:9/v1"], ["--rpm", "9"], ["--temperature", "1"]])
def test_what_is_meant_for_a_judge_is_not_taken_for_an_agent_without_a_model(
    task: Path, tmp_path: Path, option: list[str]
) -> None:
    ran = run("run", task, "--agent", "oracle", *option, "-o", tmp_path / "run")
    assert ran.code == 2
    assert f"{option[0]}: for the agent's model, and oracle has none" in ran.err
    assert "--judge-" in ran.err
    assert not (tmp_path / "run").exists()


def test_an_agent_that_never_ran_is_told(task: Path, tmp_path: Path) -> None:
    ran = run("run", task, "--agent", "command:no-such-program", "-n", "2", "-o", tmp_path / "run")
    assert "the agent failed in every attempt; what came of the first: exit 127" in ran.err
    assert "not found" in ran.err
    idle = run("run", task, "--agent", "command:true", "-o", tmp_path / "idle")
    assert "failed in every attempt" not in idle.err


def test_bad_input_is_said_before_anything_is_made(task: Path, tmp_path: Path) -> None:
    for arguments in (
        ["run", task],
        ["run", task, "--agent", "nobody", "-o", tmp_path / "run"],
        ["score", tmp_path],
        ["task", "check", tmp_path / "none"],
    ):
        ran = run(*arguments)
        assert ran.code == 2, arguments
        assert ran.err.startswith("error: ")
    assert not (tmp_path / "run").exists()


def test_grading_again_prints_what_changed(task: Path, tmp_path: Path) -> None:
    assert run("run", task, "--agent", "oracle", "-o", tmp_path / "run", "-q").code == 0
    rubric = task / "tests" / "rubric.yaml"
    rubric.write_text(rubric.read_text().replace("^42$", "^43$"))
    ran = run("regrade", tmp_path / "run")
    assert ran.code == 0, ran.err
    assert "answer #0: 1 is now 0" in ran.out
    assert "1 score changed" in ran.err


@pytest.mark.slow
def test_tasks_are_proved_taken_in_and_handed_on(tmp_path: Path) -> None:
    ran = run("task", "import", write(tmp_path / "vendor", VENDOR), tmp_path / "task")
    assert ran.code == 0, ran.err
    ran = run("task", "check", tmp_path / "task")
    assert ran.code == 0, ran.out
    assert ran.out.count("  ok  ") == 5
    assert run("task", "export", EXAMPLES / "add", tmp_path / "add").code == 0
    arguments = ["--tests", tmp_path / "add" / "tests", "--workspace", tmp_path, "--logs", tmp_path / "logs"]
    verified = run("task", "verify", *arguments)
    assert (verified.code, verified.out) == (0, "graded: 0.0\n")
    assert json.loads((tmp_path / "logs" / "verifier" / "reward.json").read_text())["reward"] == 0


def test_a_broken_task_is_below_the_bar(task: Path) -> None:
    write(task, {"solution/solve.sh": "true\n"})
    ran = run("task", "check", task)
    assert ran.code == 1
    assert "FAILS" in ran.out
    ran = run("task", "check", task, "--json")
    assert ran.code == 1
    (checked,) = ran.json["tasks"]
    assert {one["proof"]: one["holds"] for one in checked["findings"]}["solved"] is False
