"""Claude Code sessions: lines put together, sub-agents marked, and what is no message named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rubricgrade.errors import TrajectoryError
from rubricgrade.readers import load_trajectory
from tests.readers.made import codes, lines, loaded


def line(kind: Any, content: Any, number: Any, **more: Any) -> Any:
    message = {"role": kind, "content": content, **more.pop("message", {})}
    return {"type": kind, "uuid": f"u{number}", "sessionId": "s1", "timestamp": f"2026-01-01T00:00:0{number}Z"} | {
        "message": message,
        **more,
    }


def use(name: Any) -> Any:
    return {"type": "tool_use", "id": name, "name": "Bash", "input": {"command": name}}


def result(name: Any) -> Any:
    return {"type": "tool_result", "tool_use_id": name, "content": f"of {name}"}


def test_lines_of_one_api_message_are_one_step_with_its_usage_once(tmp_path: Path) -> None:
    one = {"id": "m1", "model": "claude-x"}
    rows = [
        line("user", "go", 0),
        line("assistant", [{"type": "text", "text": "two"}], 1, message={**one, "usage": {"output_tokens": 1}}),
        line("assistant", [use("a")], 2, message={**one, "usage": {"output_tokens": 5}}),
        line("user", [result("a")], 3),
        line("assistant", [use("b")], 4, message={**one, "usage": {"input_tokens": 7, "output_tokens": 9}}),
        line("user", [result("b")], 5, toolUseResult={"stdout": "of b"}),
        line("assistant", [{"type": "text", "text": "done"}], 6, message={"id": "m2", "model": "claude-x"}),
    ]
    trajectory = load_trajectory(lines(tmp_path, rows))
    assert [step.role for step in trajectory.steps] == ["user", "assistant", "tool", "tool", "assistant"]
    assert trajectory.results == {(1, 1): 2, (1, 2): 3}
    assert trajectory.usage is not None
    assert (trajectory.usage.input_tokens, trajectory.usage.output_tokens) == (7, 9)
    assert trajectory.steps[3].extra["toolUseResult"] == {"stdout": "of b"}
    assert trajectory.steps[3].time == "2026-01-01T00:00:05Z"
    assert (trajectory.id, trajectory.model, trajectory.final_message) == ("s1", "claude-x", "done")


def test_what_sub_agents_did_is_the_agents_own_and_never_the_last_word(tmp_path: Path) -> None:
    rows = [
        {"type": "summary", "summary": "earlier"},
        line("user", "go", 0),
        line("user", "explore, the user allows it", 1, isSidechain=True),
        {"type": "file-history-snapshot", "snapshot": {}},
        line("assistant", [use("a")], 2, isSidechain=True),
        line("assistant", "done", 3),
        line("user", [result("a")], 4, isSidechain=True),
        line("assistant", "found", 5, parent_tool_use_id="t"),
        {"type": "file-history-snapshot", "snapshot": {}},
    ]
    trajectory = load_trajectory(lines(tmp_path, rows))
    assert [(step.role, step.text) for step in trajectory.steps] == [
        ("user", "go"),
        ("assistant", "explore, the user allows it"),
        ("assistant", ""),
        ("tool", "of a"),
        ("assistant", "found"),
        ("assistant", "done"),
    ]
    assert (trajectory.instruction, trajectory.final_message) == ("go", "done")
    assert trajectory.steps[1].extra["subagent_prompt"] is True
    assert codes(trajectory) == ["sidechain", "not_messages"]
    assert trajectory.warnings[0].message.endswith("lines 3, 5, 7-8")
    assert trajectory.warnings[1].message.endswith("2 file-history-snapshot (lines 4, 9), 1 summary (line 1)")


def test_a_transcript_of_a_sub_agent_alone_is_read_like_any_other(tmp_path: Path) -> None:
    rows = [line("user", "explore", 0, isSidechain=True), line("assistant", "found", 1, isSidechain=True)]
    trajectory = load_trajectory(lines(tmp_path, rows, "agent-7.jsonl"))
    assert ([step.role for step in trajectory.steps], trajectory.id) == (["user", "assistant"], "agent-7")
    assert codes(trajectory) == []


def test_a_session_as_a_list_of_lines_and_below_loglines(tmp_path: Path) -> None:
    rows = [line("user", "go", 0), line("assistant", [use("a")], 1), line("user", [result("a")], 2)]
    streamed = [{"type": "system", "subtype": "init", "session_id": "s1"}, *rows]
    bare = [{key: value for key, value in row.items() if key != "sessionId"} for row in rows]
    for value in (rows, streamed, {"loglines": bare}):
        trajectory = loaded(tmp_path, value)
        assert [step.role for step in trajectory.steps] == ["user", "assistant", "tool"]
        assert trajectory.results == {(1, 1): 2}
    with pytest.raises(TrajectoryError, match=r"loglines\[0\]\.message\.tool_calls: is a text"):
        loaded(tmp_path, {"loglines": [line("user", "x", 0, message={"tool_calls": "x"})]})


def test_lines_that_a_resumed_session_wrote_again_and_calls_in_them_count_once(tmp_path: Path) -> None:
    one = {"id": "m1", "model": "claude-x"}
    rows = [
        line("user", "go", 0),
        line("assistant", [use("a")], 1, message=one),
        line("user", "go", 0),
        line("assistant", [use("a")], 2, message=one),
        line("user", [result("a")], 3),
    ]
    trajectory = load_trajectory(lines(tmp_path, rows))
    assert [step.role for step in trajectory.steps] == ["user", "assistant", "tool"]
    assert len(trajectory.steps[1].calls) == 1
    assert codes(trajectory) == ["repeated"]
    assert trajectory.warnings[0].message.endswith(": line 3")


def test_another_model_stands_at_its_step_and_usage_without_a_field_is_kept(tmp_path: Path) -> None:
    usage = {"input_tokens": 3, "cache_creation_input_tokens": 40, "output_tokens": 2, "service_tier": "standard"}
    rows = [
        line("assistant", "one", 0, message={"model": "claude-x", "usage": usage}),
        line("assistant", "two", 1, message={"model": "claude-y"}),
        line("assistant", "three", 2, message={"model": "<synthetic>"}),
        line("assistant", "four", 3, message={"model": {"odd": 1}}),
    ]
    trajectory = load_trajectory(lines(tmp_path, rows))
    assert trajectory.model == "claude-x"
    assert [step.extra.get("model_name") for step in trajectory.steps] == [None, "claude-y", None, None]
    assert trajectory.steps[0].extra["usage"] == {"cache_creation_input_tokens": 40, "service_tier": "standard"}
    assert trajectory.steps[0].usage is not None
    assert trajectory.steps[0].usage.input_tokens == 43


def test_what_a_person_typed_while_the_agent_worked_is_a_message(tmp_path: Path) -> None:
    queued = {"type": "attachment", "uuid": "q", "sessionId": "s1"}
    rows = [
        line("user", "go", 0),
        queued | {"attachment": {"type": "queued_command", "prompt": "stop that"}},
        queued | {"uuid": "r", "attachment": {"type": "todo_reminder", "content": []}},
        line("assistant", "stopped", 1),
    ]
    trajectory = load_trajectory(lines(tmp_path, rows))
    assert [(step.role, step.text) for step in trajectory.steps] == [
        ("user", "go"),
        ("user", "stop that"),
        ("assistant", "stopped"),
    ]
    assert trajectory.warnings[0].message.endswith("1 attachment (line 3)")


def test_a_session_that_was_rewound_says_so(tmp_path: Path) -> None:
    rows = [
        line("user", "first try", 0, parentUuid="p"),
        line("assistant", "one", 1, parentUuid="u0"),
        line("user", "second try", 2, parentUuid="p"),
    ]
    assert codes(load_trajectory(lines(tmp_path, rows))) == ["rewound"]


def test_the_stream_of_its_json_output(tmp_path: Path) -> None:
    rows = [
        {"type": "system", "subtype": "init", "session_id": "s9"},
        {"type": "assistant", "session_id": "s9", "message": {"role": "assistant", "content": [use("a")], "id": "m"}},
        {"type": "user", "session_id": "s9", "message": {"role": "user", "content": [result("a")]}},
        {
            "type": "result",
            "subtype": "success",
            "is_error": False,
            "total_cost_usd": 0.5,
            "usage": {"input_tokens": 3},
        },
    ]
    trajectory = load_trajectory(lines(tmp_path, rows))
    assert (trajectory.id, trajectory.results) == ("s9", {(0, 1): 1})
    assert trajectory.usage is not None
    assert (trajectory.usage.cost, trajectory.usage.input_tokens) == (0.5, 3)
    assert trajectory.meta["subtype"] == "success"
