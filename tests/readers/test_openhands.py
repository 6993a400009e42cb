"""OpenHands events of both versions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rubricgrade.readers import load_trajectory
from tests.readers.made import codes, lines, loaded


def action(number: Any, kind: Any, source: Any = "agent", **more: Any) -> Any:
    return {"id": number, "source": source, "action": kind, "args": {}, "message": "", **more}


def observation(cause: Any, content: Any, kind: Any = "run", **more: Any) -> Any:
    return {"id": 100 + cause, "source": "agent", "observation": kind, "content": content, "cause": cause, **more}


def metadata(response: Any, call_id: Any, others: Any) -> Any:
    calls = [
        {"id": one, "type": "function", "function": {"name": "run", "arguments": f'{{"c": "{one}"}}'}} for one in others
    ]
    choice = {"message": {"role": "assistant", "content": "Both.", "tool_calls": calls}}
    return {"function_name": "run", "tool_call_id": call_id, "model_response": {"id": response, "choices": [choice]}}


def test_parallel_calls_of_one_response_are_one_step(tmp_path: Path) -> None:
    events = [
        action(0, "message", "user", args={"content": "go"}),
        action(1, "run", tool_call_metadata=metadata("r1", "a", "ab")),
        observation(1, "of a", extras={"exit_code": 0}),
        action(2, "run", tool_call_metadata=metadata("r1", "b", "ab")),
        observation(2, "failed", kind="error"),
        {"id": 9, "source": "environment", "observation": "agent_state_changed", "content": "", "extras": {}},
        action(3, "finish", args={"final_thought": "All done.", "outputs": {}}),
    ]
    trajectory = loaded(tmp_path, events)
    assert [(step.role, step.text) for step in trajectory.steps] == [
        ("user", "go"),
        ("assistant", "Both."),
        ("tool", "of a"),
        ("tool", "failed"),
        ("assistant", ""),
    ]
    assert [call.arguments for call in trajectory.steps[1].calls] == [{"c": "a"}, {"c": "b"}]
    assert trajectory.results == {(1, 1): 2, (1, 2): 3}
    assert (trajectory.steps[2].extra["exit_code"], trajectory.steps[3].failed) == (0, True)
    assert codes(trajectory) == ["not_messages", "unanswered_call"]
    assert load_trajectory(lines(tmp_path, events)).results == trajectory.results


def test_rows_of_the_evaluation_with_pairs_of_events(tmp_path: Path) -> None:
    pair = [action(1, "run", args={"command": "ls", "thought": "look"}), observation(1, "a.txt")]
    row = {"instance_id": "i-1", "instruction": "Do it.", "history": [pair], "git_patch": "diff"}
    trajectory = loaded(tmp_path, row)
    assert (trajectory.id, trajectory.task, trajectory.task_id) == ("i-1", "Do it.", "i-1")
    assert trajectory.steps[0].text == "look"
    assert trajectory.steps[0].calls[0].model_dump() == {
        "id": None,
        "name": "run",
        "arguments": {"command": "ls"},
        "raw": None,
    }
    assert trajectory.results == {(0, 1): 1}
    assert trajectory.meta["git_patch"] == "diff"


def test_an_exported_trajectory_and_a_row_of_the_sdk(tmp_path: Path) -> None:
    events = [action(1, "run", args={"command": "ls"}), observation(1, "a.txt")]
    assert loaded(tmp_path, {"trajectory": events}).results == {(0, 1): 1}
    message = sdk("MessageEvent", source="user", llm_message={"role": "user", "content": "go"})
    row = loaded(tmp_path, {"instance_id": "i-2", "history": [message], "test_result": {"git_patch": "d"}})
    assert (row.id, row.steps[0].text, row.meta["test_result"]) == ("i-2", "go", {"git_patch": "d"})


def sdk(kind: Any, **more: Any) -> Any:
    return {"kind": kind, "id": f"e{more.get('tool_call_id', kind)}", "source": "agent", **more}


def tool(name: Any, call_id: Any, response: Any, arguments: Any = "{}") -> Any:
    entry = {"id": call_id, "name": name, "arguments": arguments}
    return sdk(
        "ActionEvent", tool_name=name, tool_call_id=call_id, llm_response_id=response, tool_call=entry, thought=[]
    )


def test_a_conversation_of_the_sdk(tmp_path: Path) -> None:
    events = [
        sdk("SystemPromptEvent", system_prompt={"type": "text", "text": "You are"}),
        sdk("MessageEvent", source="user", llm_message={"role": "user", "content": [{"type": "text", "text": "go"}]}),
        tool("terminal", "a", "r1"),
        tool("terminal", "b", "r1"),
        sdk("ObservationEvent", tool_call_id="b", observation={"content": [{"type": "text", "text": "of b"}]}),
        sdk("AgentErrorEvent", tool_call_id="a", tool_name="terminal", error="no such tool"),
        sdk("Condensation", summary="short"),
        tool("finish", "f", "r2", '{"message": "All done."}'),
        sdk("ObservationEvent", tool_call_id="f", observation={"content": [{"type": "text", "text": "All done."}]}),
    ]
    trajectory = load_trajectory(lines(tmp_path, events))
    assert [(step.role, step.text) for step in trajectory.steps] == [
        ("system", "You are"),
        ("user", "go"),
        ("assistant", ""),
        ("tool", "of b"),
        ("tool", "no such tool"),
        ("assistant", "All done."),
    ]
    assert trajectory.results == {(2, 2): 3, (2, 1): 4}
    assert trajectory.steps[4].failed is True
    assert trajectory.final_message == "All done."
    assert codes(trajectory) == ["not_messages"]
    assert trajectory.warnings[0].message.endswith("1 Condensation, 1 result of finish")
    assert loaded(tmp_path, events).hash == trajectory.hash
