"""Real files of every format: how many episodes, steps, calls and paired results each holds, and how it ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rubricgrade.readers import load_trajectories, load_trajectory, write_trajectory
from tests.readers.made import SAMPLES, codes

# file: episodes; then of the first one: steps, calls, paired results, start of the final message, model
EXPECTED = {
    "anthropic_messages/pydantic_ai_cassette_tool_use.json": (
        1,
        9,
        3,
        3,
        "order-123: refund allowed",
        "claude-fable-5",
    ),
    "atif/claude_code_tool_call.harbor0.26_converted.json": (1, 4, 1, 1, "The README", "claude-opus-4-5-20251101"),
    "atif/openhands_hello-world.trajectory.json": (1, 7, 2, 1, "All done!", None),
    "claude_code/tool_call_conversation.jsonl": (1, 4, 1, 1, "The README", "claude-opus-4-5-20251101"),
    "claude_code/agent_session.jsonl": (1, 4, 1, 1, "Based on the exploration", "claude-opus-4-5-20251101"),
    "claude_code/agent-atest01.jsonl": (1, 4, 1, 1, "## Codebase Structure", "claude-sonnet-4-20250514"),
    "inspect/2025-11-07T10-59-47-05-00_websearch-addition-problem_LqPDntDnkk4h2fSqQ8i6CE.eval": (
        1,
        2,
        0,
        0,
        "1 + 1 = 2",
        "anthropic/claude-sonnet-4-5",
    ),
    "inspect/log_formats.eval": (1, 3, 0, 0, "No", "ollama/llama3.1"),
    "inspect/mockllm_addition_unscored_epochs2.eval": (6, 4, 1, 1, "the sum is 3", "mockllm/model"),
    "mini_swe_agent/github_issue.traj.json": (1, 22, 0, 0, "Now let's verify that the updated file works", None),
    "mini_swe_agent/local.traj.json": (1, 6, 0, 0, "OK, now let me end this run.", None),
    "mini_swe_agent/v2.4.6_toolcall_deterministic.traj.json": (1, 9, 4, 3, None, "deterministic_toolcall"),
    "nemo_gym/example_single_tool_call.rollouts.jsonl": (5, 3, 0, 0, "Could you please", "gpt-4.1-2025-04-14"),
    "nemo_gym/example_single_tool_call.tasks.jsonl": (5, 2, 0, 0, None, None),
    "openai_chat/openhands_sdk_fncall-llm-message.json": (1, 14, 6, 6, None, None),
    "openai_responses/test_openai_responses_model_retry.json": (1, 5, 2, 2, "It seems", "gpt-4o-2024-08-06"),
    "openhands/basic.json": (1, 4, 2, 1, "I've created a simple implementation", "claude-3-5-sonnet-20241022"),
    "openhands/sdk_v1_events.jsonl": (1, 5, 2, 2, None, "litellm_proxy/minimax-m2.7"),
    "swe_agent/marshmallow-1867.function_calling.traj": (1, 24, 11, 11, None, "gpt-4o"),
    "tau_bench/gpt-4o-airline.task41_x4trials.json": (
        4,
        14,
        2,
        2,
        "Your reservation has been successfully cancelled",
        None,
    ),
    "verifiers/v0.4.0_episode_built_with_library.jsonl": (1, 4, 1, 1, "the sum is 3", "m"),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_real_file_is_read_whole(name: Any) -> None:
    count, steps, calls, paired, ending, model = EXPECTED[name]
    trajectories = load_trajectories(SAMPLES / name)
    first = trajectories[0]
    ended = first.final_message
    assert (len(trajectories), len(first.steps), len(list(first.calls())), len(first.results)) == (
        count,
        steps,
        calls,
        paired,
    )
    assert (ended is None) if ending is None else (ended is not None and ended.startswith(ending)), ended
    assert first.model == model


def test_every_file_of_the_samples_is_expected_or_belongs_to_one() -> None:
    files = {str(path.relative_to(SAMPLES)) for path in SAMPLES.rglob("*") if path.is_file()} - {"README.md"}
    assert {name for name in files - EXPECTED.keys() if "linear-history" not in name} == set()


@pytest.mark.parametrize("name", EXPECTED)
def test_writing_and_reading_again_changes_nothing(name: Any, tmp_path: Path) -> None:
    for trajectory in load_trajectories(SAMPLES / name):
        again = load_trajectory(write_trajectory(trajectory, tmp_path / "again.json"))
        assert again == trajectory
        assert again.hash == trajectory.hash


def test_tau_bench_keeps_tasks_attempts_and_rewards() -> None:
    trajectories = load_trajectories(SAMPLES / "tau_bench/gpt-4o-airline.task41_x4trials.json")
    assert [(one.task_id, one.sample, one.reward) for one in trajectories] == [
        ("41", 0, 0.0),
        ("41", 1, 1.0),
        ("41", 2, 0.0),
        ("41", 3, 1.0),
    ]
    # The instruction is the simulated user's secret, not what the agent was told.
    assert trajectories[0].task is None


def test_mini_swe_agent_keeps_how_it_ended() -> None:
    trajectory = load_trajectory(SAMPLES / "mini_swe_agent/v2.4.6_toolcall_deterministic.traj.json")
    assert trajectory.meta["exit"] == {
        "content": "def f(): return 1\n",
        "extra": {"exit_status": "Submitted", "submission": "def f(): return 1\n"},
    }
    assert codes(trajectory) == ["exit", "unanswered_call"]
    assert trajectory.usage is not None
    assert trajectory.usage.cost == 0.04


def test_swe_agent_keeps_the_patch_and_the_problem() -> None:
    trajectory = load_trajectory(SAMPLES / "swe_agent/marshmallow-1867.function_calling.traj")
    info = trajectory.meta["info"]
    assert isinstance(info, dict)
    assert info["exit_status"] == "submitted"
    assert "diff --git a/src/marshmallow/fields.py" in str(info["submission"])
    assert trajectory.task is not None
    assert trajectory.task.startswith("TimeDelta serialization precision")


def test_verifiers_sums_weighted_rewards() -> None:
    trajectory = load_trajectory(SAMPLES / "verifiers/v0.4.0_episode_built_with_library.jsonl")
    assert trajectory.reward == pytest.approx(0.7 * 1.0 + 0.3 * 1.0 + 0.3 * 0.0)
    assert trajectory.task == "what is 1+2?"


def test_nemo_gym_tasks_without_a_response_say_so() -> None:
    for trajectory in load_trajectories(SAMPLES / "nemo_gym/example_single_tool_call.tasks.jsonl"):
        assert codes(trajectory) == ["no_response"]


def test_harbors_own_conversion_of_a_claude_code_session_reads_the_same() -> None:
    ours = load_trajectory(SAMPLES / "claude_code/tool_call_conversation.jsonl")
    theirs = load_trajectory(SAMPLES / "atif/claude_code_tool_call.harbor0.26_converted.json")

    def told(trajectory: Any) -> Any:
        return [
            {
                **step.model_dump(include={"role", "content", "reasoning", "calls", "answers", "tool", "failed"}),
                # ATIF has no time for a result, and Harbor estimates a cost that the session does not have.
                "time": step.time if step.role != "tool" else None,
                "usage": step.usage and step.usage.model_dump(exclude={"cost"}),
            }
            for step in trajectory.steps
        ]

    assert told(ours) == told(theirs)
    assert (ours.id, ours.model) == (theirs.id, theirs.model)
