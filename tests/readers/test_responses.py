"""Responses items: what makes one step, built-in tools, and what is around the items."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rubricgrade.errors import TrajectoryError
from rubricgrade.readers import load_trajectory
from tests.readers.made import codes, lines, loaded

USER = {"role": "user", "content": [{"type": "input_text", "text": "go"}]}


def function(name: Any) -> Any:
    return {"type": "function_call", "call_id": name, "name": "f", "arguments": '{"a": 1}'}


def output(name: Any) -> Any:
    return {"type": "function_call_output", "call_id": name, "output": f"of {name}"}


def said(text: Any) -> Any:
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}


def thought(text: Any) -> Any:
    return {"type": "reasoning", "summary": [{"type": "summary_text", "text": text}], "encrypted_content": "x"}


def test_turns(tmp_path: Path) -> None:
    items = [
        USER,
        thought("first"),
        said("looking"),
        function("a"),
        function("b"),
        output("b"),
        output("a"),
        thought("second"),
        function("c"),
        output("c"),
        said("done"),
    ]
    trajectory = loaded(tmp_path, items)
    assert [(step.role, step.text, step.reasoning, len(step.calls)) for step in trajectory.steps] == [
        ("user", "go", None, 0),
        ("assistant", "looking", "first", 2),
        ("tool", "of b", None, 0),
        ("tool", "of a", None, 0),
        ("assistant", "", "second", 1),
        ("tool", "of c", None, 0),
        ("assistant", "done", None, 0),
    ]
    assert trajectory.results == {(1, 2): 2, (1, 1): 3, (4, 1): 5}
    assert trajectory.final_message == "done"
    assert codes(trajectory) == ["content", "content"]  # encrypted reasoning
    assert load_trajectory(lines(tmp_path, items)).hash == trajectory.model_copy(update={"id": "file"}).hash


def test_tools_that_the_provider_runs_have_their_result_in_the_call(tmp_path: Path) -> None:
    items = [
        USER,
        {"type": "web_search_call", "id": "w", "status": "completed", "action": {"query": "x"}},
        {"type": "mcp_call", "id": "m", "name": "read", "arguments": '{"p": 1}', "output": "text", "server_label": "s"},
        {"type": "code_interpreter_call", "id": "c", "code": "1+1", "outputs": [{"type": "logs", "logs": "2"}]},
        {"type": "mcp_call", "id": "n", "name": "read", "arguments": "{}", "error": "denied", "status": "failed"},
        said("done"),
    ]
    trajectory = loaded(tmp_path, items)
    assert [(call.name, call.arguments) for _, _, call in trajectory.calls()] == [
        ("web_search", {"action": {"query": "x"}}),
        ("read", {"p": 1}),
        ("code_interpreter", {"code": "1+1"}),
        ("read", {}),
    ]
    assert trajectory.results == {(1, 2): 2, (1, 3): 3, (1, 4): 4}
    assert trajectory.steps[2].text == "text"
    assert trajectory.steps[4].failed is True
    assert trajectory.steps[-1].text == "done"


def test_a_response_with_its_request(tmp_path: Path) -> None:
    record = {
        "responses_create_params": {"input": "1+2?", "instructions": "Be brief.", "tools": [{"name": "f"}]},
        "response": {
            "model": "m",
            "output": [said("3")],
            "usage": {"input_tokens": 5, "output_tokens": 1, "input_tokens_details": {"cached_tokens": 4}},
            "incomplete_details": {"reason": "max_output_tokens"},
        },
        "reward": 0.5,
        "task_id": 7,
    }
    trajectory = loaded(tmp_path, record)
    assert [(step.role, step.text) for step in trajectory.steps] == [
        ("system", "Be brief."),
        ("user", "1+2?"),
        ("assistant", "3"),
    ]
    assert (trajectory.reward, trajectory.task_id, trajectory.model) == (0.5, "7", "m")
    assert trajectory.usage is not None
    assert trajectory.usage == trajectory.steps[2].usage
    assert trajectory.usage.cached_tokens == 4
    assert codes(trajectory) == ["incomplete"]
    assert trajectory.meta == {
        "request": {"tools": [{"name": "f"}]},
        "response": {"incomplete_details": {"reason": "max_output_tokens"}},
    }


def test_a_bare_response(tmp_path: Path) -> None:
    trajectory = loaded(tmp_path, {"object": "response", "id": "resp_1", "output": [function("a")], "model": "m"})
    assert (trajectory.id, trajectory.model) == ("resp_1", "m")
    assert codes(trajectory) == ["unanswered_call"]


def test_custom_tools_take_text(tmp_path: Path) -> None:
    items = [{"type": "custom_tool_call", "call_id": "x", "name": "patch", "input": "*** Begin"}]
    items += [{"type": "custom_tool_call_output", "call_id": "x", "output": "ok"}]
    trajectory = loaded(tmp_path, items)
    [(_, _, call)] = trajectory.calls()
    assert call.arguments == {"input": "*** Begin"}
    assert trajectory.results == {(0, 1): 1}


def test_a_codex_session(tmp_path: Path) -> None:
    rows = [{"type": "session_meta", "payload": {"id": "x"}}, {"type": "event_msg", "payload": {"type": "token_count"}}]
    rows += [{"type": "response_item", "payload": item} for item in (USER, said("on it"), function("a"), output("a"))]
    trajectory = load_trajectory(lines(tmp_path, rows))
    assert [step.role for step in trajectory.steps] == ["user", "assistant", "tool"]
    assert trajectory.results == {(1, 1): 2}
    assert codes(trajectory) == ["not_messages"]
    assert trajectory.warnings[0].message.endswith("1 event_msg, 1 session_meta")


def test_items_and_responses_among_messages(tmp_path: Path) -> None:
    response = {"object": "response", "output": [thought("t"), function("a")], "usage": {"input_tokens": 2}}
    messages = [{"role": "user", "content": "go"}, response, output("a"), {"role": "assistant", "content": "done"}]
    trajectory = loaded(tmp_path, {"messages": messages, "info": {}})
    assert [step.role for step in trajectory.steps] == ["user", "assistant", "tool", "assistant"]
    assert trajectory.steps[1].usage is not None
    assert trajectory.results == {(1, 1): 2}


def test_what_a_trainer_adds_to_items_is_kept_but_for_its_tokens(tmp_path: Path) -> None:
    call = function("a") | {"generation_token_ids": [1, 2], "turn": 3}
    trajectory = loaded(tmp_path, [USER, call, output("a")])
    assert trajectory.steps[1].extra == {"call_1": {"turn": 3}}
    assert codes(trajectory) == ["tokens"]


def test_unknown_items_are_kept_with_a_warning_and_no_items_are_an_error(tmp_path: Path) -> None:
    trajectory = loaded(tmp_path, [function("a"), output("a"), {"type": "hologram", "beam": 1}])
    assert trajectory.steps[2].text == '{"beam":1,"type":"hologram"}'
    assert codes(trajectory) == ["unknown"]
    with pytest.raises(TrajectoryError, match=r"\[1\]: is no item"):
        loaded(tmp_path, [function("a"), "x"])


def test_turns_that_each_hold_all_items_so_far_are_put_together(tmp_path: Path) -> None:
    first, second = [USER, function("a"), output("a")], [USER, function("a"), output("a"), said("done")]
    rollout = {"responses_create_params": {"input": []}, "response": {"output": [first, second, first[:1]]}}
    trajectory = loaded(tmp_path, rollout)
    assert [step.role for step in trajectory.steps] == ["user", "assistant", "tool", "assistant"]
    assert codes(trajectory) == []
    rollout["response"]["output"].append([said("other")])
    trajectory = loaded(tmp_path, rollout)
    assert trajectory.final_message == "other"
    assert [warning.place for warning in trajectory.warnings if warning.code == "transitions"] == ["output[3]"]


def test_what_a_response_says_otherwise_than_its_request_is_kept_and_zeros_too(tmp_path: Path) -> None:
    rollout = {
        "responses_create_params": {"input": "go", "tools": [], "truncation": None, "tool_choice": "auto"},
        "response": {"output": [said("ok")], "tools": [{"name": "f"}], "truncation": "disabled", "tool_choice": "auto"},
        "_ng_task_index": 0,
    }
    trajectory = loaded(tmp_path, rollout)
    assert trajectory.meta["response"] == {"tools": [{"name": "f"}], "truncation": "disabled"}
    assert trajectory.meta["_ng_task_index"] == 0
    bare = {"object": "response", "output": [said("ok")], "tools": [{"name": "f"}]}
    assert loaded(tmp_path, bare).meta["response"] == {"object": "response", "tools": [{"name": "f"}]}
