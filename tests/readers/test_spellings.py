"""What public files of agents hold besides what their formats promise: usage in odd places, calls as text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rubricgrade.errors import TrajectoryError
from rubricgrade.readers import load_trajectories
from rubricgrade.trajectory import Usage
from tests.readers.made import USER, call, lines, loaded


def test_usage_and_time_of_mini_swe_agents_messages(tmp_path: Path) -> None:
    response = {"id": "r", "usage": {"prompt_tokens": 10, "completion_tokens": 4, "queue_time": 2}}
    turn = {"response": response, "cost": 0.5, "timestamp": 60, "actions": ["ls"]}
    record = {
        "info": {"model_stats": {"instance_cost": 2.0, "api_calls": 2}},
        "messages": [
            USER,
            {"role": "assistant", "content": "", "tool_calls": [call(id="c1")], "extra": turn},
            {"role": "tool", "tool_call_id": "c1", "content": "rain", "extra": {"timestamp": 61, "returncode": 0}},
            {"role": "assistant", "content": "rain", "extra": turn},
        ],
    }
    trajectory = loaded(tmp_path, record)
    asked, answered = trajectory.steps[1:3]
    assert asked.usage == Usage(input_tokens=10, output_tokens=4, cost=0.5)
    assert (asked.time, answered.time) == ("1970-01-01T00:01:00+00:00", "1970-01-01T00:01:01+00:00")
    assert asked.extra == {"extra": {"response": {"id": "r"}, "actions": ["ls"]}, "usage": {"queue_time": 2}}
    assert answered.extra == {"extra": {"returncode": 0}}
    assert trajectory.usage == Usage(input_tokens=20, output_tokens=8, cost=2.0)


def test_a_call_as_text_is_that_call(tmp_path: Path) -> None:
    """As results of verifiers before 1 hold them, with results that name no call."""
    calls = [call({"n": number}, id=f"c{number}") for number in (1, 2)]
    results = [{"role": "tool", "content": str(number), "tool_calls": None} for number in (1, 2)]
    rows = [
        {"prompt": [USER], "completion": [{"role": "assistant", "content": "", "tool_calls": given}, *results]}
        for given in (calls, [json.dumps(each) for each in calls])
    ]
    as_objects, as_texts = load_trajectories(lines(tmp_path, rows))
    assert as_texts.steps == as_objects.steps
    assert as_texts.results == {(1, 1): 2, (1, 2): 3}


@pytest.mark.parametrize("given", ["get the weather", "[1]", "7"])
def test_text_that_is_no_call_is_a_fault(tmp_path: Path, given: str) -> None:
    with pytest.raises(TrajectoryError, match="a tool call is an object"):
        loaded(tmp_path, [{"role": "assistant", "tool_calls": [given]}])
