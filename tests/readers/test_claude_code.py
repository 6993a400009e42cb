"""Claude Code sessions: lines put together, sub-agents apart, and what is no message named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rubricgrade.readers import load_trajectory
from tests.readers.made import codes, lines


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


def test_sub_agents_and_other_lines_are_left_out_with_a_warning(tmp_path: Path) -> None:
    rows = [
        {"type": "summary", "summary": "earlier"},
        line("user", "go", 0),
        line("user", "explore", 1, isSidechain=True),
        {"type": "file-history-snapshot", "snapshot": {}},
        {"type": "file-history-snapshot", "snapshot": {}},
        line("assistant", "done", 2),
    ]
    trajectory = load_trajectory(lines(tmp_path, rows))
    assert [step.text for step in trajectory.steps] == ["go", "done"]
    assert codes(trajectory) == ["sidechain", "not_messages"]
    assert trajectory.warnings[1].message.endswith("2 file-history-snapshot, 1 summary")


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
