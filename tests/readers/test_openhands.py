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
    assert [str(warning) for warning in trajectory.warnings] == [
        "line 7: Condensation is no step: short",
        "events that are no steps were left out: 1 Condensation (line 7), 1 result of finish (line 9)",
    ]
    assert loaded(tmp_path, events).hash == trajectory.hash


def test_what_the_sdk_adds_to_a_message_and_its_tools_are_kept(tmp_path: Path) -> None:
    said = {"role": "user", "content": [{"type": "text", "text": "go"}]}
    added = [{"type": "text", "text": "<skill>be kind</skill>"}]
    events = [
        sdk("SystemPromptEvent", system_prompt={"type": "text", "text": "You are"}, tools=[{"name": "terminal"}]),
        sdk("MessageEvent", source="user", llm_message=said, extended_content=added),
    ]
    trajectory = loaded(tmp_path, events)
    assert trajectory.steps[0].extra["tools"] == [{"name": "terminal"}]
    assert trajectory.steps[1].text == "go\n<skill>be kind</skill>"


def test_a_history_of_flat_events_is_told_by_its_order(tmp_path: Path) -> None:
    history = [
        {"action": "message", "content": "go"},
        {"action": "run", "command": "ls", "thought": "look"},
        {"observation": "run", "content": "a.txt", "command": "ls", "exit_code": 0},
        {"action": "message", "content": "Is that all?"},
        {"action": "message", "content": "yes"},
        {"action": "finish", "outputs": {}},
    ]
    trajectory = loaded(tmp_path, {"instance_id": "i", "history": history, "metrics": {"accumulated_cost": 0.5}})
    assert [(step.role, step.text) for step in trajectory.steps] == [
        ("user", "go"),
        ("assistant", "look"),
        ("tool", "a.txt"),
        ("assistant", "Is that all?"),
        ("user", "yes"),
        ("assistant", ""),
    ]
    assert trajectory.steps[1].calls[0].arguments == {"command": "ls"}
    assert (trajectory.results, trajectory.usage and trajectory.usage.cost) == ({(1, 1): 2}, 0.5)
    assert codes(trajectory) == ["no_source", "unanswered_call"]


def test_what_was_recalled_counted_and_went_wrong_is_kept(tmp_path: Path) -> None:
    response = metadata("r1", "a", "a")
    response["model_response"] |= {"model": "m", "usage": {"prompt_tokens": 5, "cache_creation_input_tokens": 3}}
    knowledge = [{"name": "github", "content": "Use the token."}]
    events = [
        action(0, "system", args={"content": "You are", "tools": [{"name": "run"}]}),
        action(1, "message", "user", args={"content": "go"}),
        action(2, "recall", "user", args={"query": "go"}),
        observation(2, "Added knowledge", kind="recall", extras={"microagent_knowledge": knowledge}),
        action(3, "run", tool_call_metadata=response, args={"thought": "Only the action has it."}),
        observation(3, "of a", llm_metrics={"accumulated_cost": 0.2, "accumulated_token_usage": {"prompt_tokens": 9}}),
        observation(9, "", kind="agent_state_changed", extras={"agent_state": "error", "reason": "out of budget"}),
    ]
    trajectory = loaded(tmp_path, events)
    assert [step.role for step in trajectory.steps] == ["system", "user", "tool", "assistant", "tool"]
    assert trajectory.steps[0].extra["tools"] == [{"name": "run"}]
    assert trajectory.steps[2].extra["microagent_knowledge"] == knowledge
    assert trajectory.steps[3].text == "Both.\nOnly the action has it."
    assert trajectory.steps[3].extra == {"usage": {"cache_creation_input_tokens": 3}}
    assert trajectory.usage is not None
    assert (trajectory.model, trajectory.usage.cost, trajectory.usage.input_tokens) == ("m", 0.2, 9)
    assert trajectory.results == {(3, 1): 4}
    assert codes(trajectory) == ["reason", "not_messages"]
