"""Results of tau2: simulations in a list, calls of both sides, several results in one message."""

from __future__ import annotations

from pathlib import Path

from tests.readers.made import all_loaded


def test_tau2_simulations(tmp_path: Path) -> None:
    asked = {"role": "assistant", "tool_calls": [{"id": name, "name": "f", "arguments": {"n": name}} for name in "ab"]}
    results = [{"id": name, "role": "tool", "content": f"of {name}", "error": name == "b"} for name in "ba"]
    messages = [
        {"role": "user", "content": "go", "timestamp": "2026-01-01T00:00:00"},
        asked | {"cost": 0.25, "usage": {"prompt_tokens": 9, "completion_tokens": 1}},
        {"role": "tool", "tool_messages": results},
    ]
    simulation = {"id": "s1", "task_id": "7", "trial": 2, "reward_info": {"reward": 1.0}, "messages": messages}
    [trajectory] = all_loaded(tmp_path, {"timestamp": "t", "info": {}, "tasks": [], "simulations": [simulation]})
    assert (trajectory.id, trajectory.task_id, trajectory.sample, trajectory.reward) == ("s1", "7", 2, 1.0)
    assert trajectory.results == {(1, 2): 2, (1, 1): 3}
    assert [step.failed for step in trajectory.steps[2:]] == [True, None]
    assert trajectory.steps[1].usage is not None
    assert (trajectory.steps[1].usage.cost, trajectory.steps[1].usage.input_tokens) == (0.25, 9)
