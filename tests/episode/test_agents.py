"""Agents on a real task in the real sandbox; the model is a real HTTP server that answers by a script."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any, Literal

import pytest

from rubricgrade.episode.agents.choosing import choose_agent
from rubricgrade.episode.limits import End, Limits
from rubricgrade.episode.playing import Episode
from rubricgrade.episode.stage import Script, Stage
from rubricgrade.errors import InputError, JudgeError, SandboxLost
from rubricgrade.readers import load_trajectory
from rubricgrade.sandbox.live import BubblewrapSandbox
from tests.chat.scripted import ScriptedServer, completion, error
from tests.episode.making import bash, by_turn, calling, model_agent, play, write


def tools_of(made: Episode) -> list[str]:
    return [step.text for step in made.trajectory.steps if step.role == "tool"]


def test_a_model_works_in_a_loop_and_is_graded(task: Path, server: ScriptedServer, tmp_path: Path) -> None:
    server.script = [by_turn(bash("cat question.txt"), bash("echo 42 > answer.txt"), completion("It is 42."))]
    made = play(task, model_agent(server), tmp_path / "episode")
    assert (made.end, made.grade.status, made.grade.score) == ("done", "graded", 1.0)
    assert made.trajectory.final_message == "It is 42."
    assert tools_of(made) == ["exit 0\nsix times seven", "exit 0"]
    assert [message["role"] for message in server.seen[-1].body["messages"]] == [
        "system", "user", "assistant", "tool", "assistant", "tool",
    ]  # fmt: skip
    assert made.trajectory.usage is not None
    assert (made.trajectory.usage.input_tokens, made.trajectory.usage.output_tokens) == (300, 30)
    assert load_trajectory(tmp_path / "episode") == made.trajectory


def test_parallel_calls_are_answered_in_order_and_by_id(task: Path, server: ScriptedServer) -> None:
    calls = calling(("bash", {"command": "echo one"}), ("read_file", {"path": "question.txt"}))
    server.script = [by_turn(calls, completion("done"))]
    made = play(task, model_agent(server))
    answers = [message for message in server.seen[-1].body["messages"] if message["role"] == "tool"]
    assert [(message["tool_call_id"], message["content"]) for message in answers] == [
        ("c1", "exit 0\none"),
        ("c2", "six times seven"),
    ]
    assert [step.answers for step in made.trajectory.steps if step.role == "tool"] == [(2, 1), (2, 2)]


def meeting(mine: str, other: str) -> tuple[str, dict[str, str]]:
    """A command that ends when another one has begun."""
    return "bash", {"command": f"touch {mine}; until [ -e {other} ]; do sleep 0.02; done; echo {mine}"}


def test_calls_of_one_reply_go_on_at_the_same_time(task: Path, server: ScriptedServer) -> None:
    server.script = [by_turn(calling(meeting("a", "b"), meeting("b", "a")), completion("done"))]
    made = play(task, model_agent(server), limits=Limits(seconds=30))
    assert (made.end, tools_of(made)) == ("done", ["exit 0\na", "exit 0\nb"])
    server.script = [by_turn(calling(meeting("a", "b"), meeting("b", "a")), completion("done"))]
    made = play(task, model_agent(server), limits=Limits(seconds=1.5, parallel=1))
    assert made.end == "timeout"


def test_no_more_calls_at_once_than_asked_for(task: Path, server: ScriptedServer) -> None:
    commands = [("bash", {"command": f"mkdir -p on/{n}; sleep 0.3; ls on | wc -l; rmdir on/{n}"}) for n in range(4)]
    server.script = [by_turn(calling(*commands), completion("done"))]
    counts = [
        int(text.removeprefix("exit 0\n"))
        for text in tools_of(play(task, model_agent(server), limits=Limits(parallel=2)))
    ]
    assert len(counts) == 4
    assert max(counts) <= 2


def test_an_edit_waits_for_what_stands_before_it_and_is_waited_for(task: Path, server: ScriptedServer) -> None:
    slow_read = ("bash", {"command": "sleep 0.3; cat question.txt"})
    edit = ("edit_file", {"path": "question.txt", "old": "six", "new": "5"})
    server.script = [by_turn(calling(slow_read, edit, ("read_file", {"path": "question.txt"})), completion("done"))]
    made = play(task, model_agent(server))
    assert tools_of(made) == ["exit 0\nsix times seven", "edited question.txt", "5 times seven"]


def test_what_was_answered_before_the_time_ran_out_is_kept(task: Path, server: ScriptedServer) -> None:
    server.script = [calling(("bash", {"command": "sleep 60"}), ("bash", {"command": "echo 42 | tee answer.txt"}))]
    made = play(task, model_agent(server), limits=Limits(seconds=2))
    assert (made.end, made.grade.score) == ("timeout", 1.0)
    answers = {step.answers: step.text for step in made.trajectory.steps if step.role == "tool"}
    assert answers == {(2, 1): "not carried out: the episode ended", (2, 2): "exit 0\n42"}


@pytest.mark.parametrize("given", ['{"command": "echo', "[1]", '"ls"', '{"command": NaN}', "[" * 5000])
def test_arguments_that_are_no_object_are_answered_and_kept(task: Path, server: ScriptedServer, given: str) -> None:
    server.script = [by_turn(calling(("bash", given)), completion("done"))]
    made = play(task, model_agent(server))
    assert "no JSON object" in tools_of(made)[0]
    assert made.trajectory.steps[2].calls[0].raw == given
    assert made.end == "done"
    sent = server.seen[-1].body["messages"][2]["tool_calls"][0]["function"]["arguments"]
    assert json.loads(sent) == {}


def test_long_output_is_cut_for_the_model_only(task: Path, server: ScriptedServer) -> None:
    server.script = [by_turn(bash("seq 10000"), completion("done"))]
    made = play(task, model_agent(server), limits=Limits(shown=500))
    (shown,) = [message["content"] for message in server.seen[-1].body["messages"] if message["role"] == "tool"]
    assert len(shown) < 600
    assert "characters are not shown" in shown
    assert tools_of(made)[0].endswith("\n10000")
    assert "\n5000\n" in tools_of(made)[0]


@pytest.mark.parametrize(
    ("limits", "end", "replies"),
    [
        (Limits(max_steps=2), "max_steps", 2),
        (Limits(tokens=150), "tokens", 2),
        (Limits(cost=0.5), "cost", 1),
        (Limits(seconds=1.5), "timeout", 1),
    ],
)
def test_a_limit_ends_it_and_what_is_there_is_graded(
    task: Path, server: ScriptedServer, limits: Limits, end: End, replies: int
) -> None:
    slow = end == "timeout"
    server.script = [bash("echo 42 > answer.txt; sleep 30" if slow else "echo 42 > answer.txt")]
    made = play(task, model_agent(server), limits=limits)
    assert (made.end, made.grade.score) == (end, 1.0)
    assert sum(step.role == "assistant" for step in made.trajectory.steps) == replies
    assert made.trajectory.meta["end"] == end


@pytest.mark.parametrize(
    ("wire", "end"),
    [
        (error(400, "This model's maximum context length is 8192 tokens"), "context"),
        (completion("I can't", finish="content_filter"), "refused"),
        (completion("", message={"refusal": "no"}), "refused"),
        (calling(("bash", {"command": "rm answer.txt"}), finish="length"), "cut"),
        (completion(""), "done"),
    ],
)
def test_every_way_to_end_is_graded_as_it_stands(task: Path, server: ScriptedServer, wire: Any, end: End) -> None:
    server.script = [by_turn(bash("echo 42 > answer.txt"), wire)]
    made = play(task, model_agent(server))
    assert (made.end, made.grade.score) == (end, 1.0)


def test_a_model_that_is_busy_is_asked_again(task: Path, server: ScriptedServer) -> None:
    busy = error(429, "slow down", {"retry-after": "0"})
    server.script = [busy, bash("echo 42 > answer.txt"), error(500), completion("done")]
    made = play(task, model_agent(server))
    assert (made.end, made.grade.score) == ("done", 1.0)


def test_a_model_that_cannot_be_asked_is_no_failure_of_the_agents(task: Path, server: ScriptedServer) -> None:
    server.script = [error(401, "bad key")]
    with pytest.raises(JudgeError, match="401"):
        play(task, model_agent(server))


def test_background_processes_are_ended_before_the_snapshot(task: Path, server: ScriptedServer) -> None:
    late = "(sleep 0.5; echo 42 > answer.txt) > /dev/null 2>&1 &"
    server.script = [by_turn(bash(late), completion("done"))]
    assert play(task, model_agent(server)).grade.score == 0


def test_a_command_line_agent_is_read_from_its_log(task: Path, tmp_path: Path) -> None:
    log = [
        {"role": "user", "content": "Write the answer"},
        {"role": "assistant", "content": "It is 42 from the log."},
    ]
    write(
        task,
        {
            "environment/files/agent.sh": f"cat > $AGENT_LOG <<'E'\n{json.dumps({'messages': log})}\nE\necho 42 > answer.txt\n"
        },
    )
    made = play(task, "command:sh agent.sh")
    assert (made.end, made.grade.score) == ("done", 1.0)
    assert made.trajectory.final_message == "It is 42 from the log."


def test_a_command_line_agent_without_a_log_is_its_output(task: Path) -> None:
    made = play(task, 'command:echo "$INSTRUCTION"; exit 7')
    assert made.end == "failed"
    assert made.trajectory.final_message == "exit 7\nWrite the answer into answer.txt."


def test_a_command_line_agent_is_stopped_in_time_and_its_log_counts(task: Path) -> None:
    logging = 'echo 42 > answer.txt; echo "{\\"messages\\": [{\\"role\\": \\"assistant\\", \\"content\\": \\"half\\"}]}" > $AGENT_LOG; sleep 60'
    made = play(task, f"command:{logging}", limits=Limits(seconds=1.0))
    assert (made.end, made.grade.score) == ("timeout", 1.0)
    assert made.trajectory.final_message == "half"


def test_a_replay_gives_the_same_trajectory(task: Path, server: ScriptedServer, tmp_path: Path) -> None:
    server.script = [by_turn(bash("echo 42 > answer.txt; ls"), completion("done"))]
    first = play(task, model_agent(server), tmp_path / "runs" / "answer" / "0")
    again = play(task, f"replay:{tmp_path / 'runs'}")
    assert [step.text for step in again.trajectory.steps] == [step.text for step in first.trajectory.steps]
    assert again.grade.score == 1


def test_the_two_that_prove_a_task(task: Path) -> None:
    assert play(task, "oracle").grade.score == 1
    assert play(task, "nop").grade.score == 0


def test_an_oracle_applies_a_patch(task: Path) -> None:
    (task / "solution" / "solve.sh").unlink()
    patch = "--- /dev/null\n+++ b/answer.txt\n@@ -0,0 +1 @@\n+42\n"
    write(task, {"solution/solution.patch": patch})
    assert play(task, "oracle").grade.score == 1


@pytest.mark.parametrize("name", ["gpt", "litellm:", "command:", "oracle:x", "replay:/none"])
def test_an_unknown_agent_is_refused(name: str) -> None:
    with pytest.raises(InputError):
        choose_agent(name)


class Killer:
    """Ends its own sandbox."""

    name = model = "killer"
    sees: Literal["task", "solution"] = "task"

    async def act(self, stage: Stage, script: Script) -> End:
        await stage.act("I am about to fail.")
        await stage.sandbox.close()
        await stage.sandbox.exec(["true"])
        return "done"


def test_a_sandbox_that_dies_is_not_known_to_be_the_agents_fault_at_first(task: Path) -> None:
    with pytest.raises(SandboxLost):
        play(task, Killer())


class Struck(Killer):
    """Works in a sandbox that somebody on the host kills."""

    async def act(self, stage: Stage, script: Script) -> End:
        await stage.act("I am about to succeed.")
        assert isinstance(stage.sandbox, BubblewrapSandbox)
        signal.pidfd_send_signal(stage.sandbox._parts.link.pid1, signal.SIGKILL)
        await stage.sandbox.exec(["true"])
        return "done"


def test_a_sandbox_that_the_host_kills_is_never_the_agents_fault(task: Path) -> None:
    with pytest.raises(SandboxLost, match="killed from outside"):
        play(task, Struck(), blame=True)


def test_an_agent_that_keeps_killing_its_sandbox_is_graded_as_having_done_nothing(task: Path) -> None:
    made = play(task, Killer(), blame=True)
    assert (made.end, made.grade.status, made.grade.score) == ("lost", "graded", 0.0)
