"""Formats that are no list of messages: verifiers' graphs, SWE-agent's actions, OpenTelemetry's spans."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rubricgrade.errors import TrajectoryError
from rubricgrade.readers import load_trajectories, load_trajectory
from tests.readers.made import all_loaded, codes, lines, loaded


def node(text: Any, parent: Any = None, role: Any = "assistant", **more: Any) -> Any:
    return {"message": {"role": role, "content": text}, "parent": parent, **more}


def test_every_branch_of_a_graph_is_a_trajectory(tmp_path: Path) -> None:
    nodes = [node("go", role="user"), node("a", 0), node("b", 0), node("b2", 2, token_ids=[1, 2])]
    rewards = {"r": {"score": None, "weight": 1}}
    read = all_loaded(tmp_path, {"id": "e", "traces": [{"id": "t", "nodes": nodes, "rewards": rewards}]})
    assert [[step.text for step in one.steps] for one in read] == [["go", "a"], ["go", "b", "b2"]]
    assert [one.id for one in read] == ["t-branch-0", "t-branch-1"]
    assert [one.reward for one in read] == [None, None]
    assert [codes(one) for one in read] == [["branch"], ["branch", "tokens"]]


@pytest.mark.parametrize(
    "nodes", [[node("a", 1), node("b", 0)], [node("a", 9), node("b", 0)], [node("a", 1), node("b", 1), node("c")]]
)
def test_a_graph_that_is_none(tmp_path: Path, nodes: Any) -> None:
    with pytest.raises(TrajectoryError, match="nodes: "):
        all_loaded(tmp_path, {"nodes": nodes})


def test_a_bad_trace_does_not_cost_the_others(tmp_path: Path) -> None:
    good, bad = {"id": "g", "nodes": [node("a")]}, {"id": "b", "nodes": [node("a", role="robot")]}
    file = lines(tmp_path, [{"id": "e", "traces": [bad, good]}, {"id": "f", "traces": [good]}])
    with pytest.raises(TrajectoryError, match=r"file\.jsonl:1: traces\[0\]: nodes\[0\]\.message\.role"):
        load_trajectories(file)
    assert [one.id for one in load_trajectories(file, strict=False)] == ["g", "g-2"]


def test_swe_agent_without_a_history(tmp_path: Path) -> None:
    actions = [
        {"action": "ls", "observation": "a.txt", "response": "look", "state": "{}", "execution_time": 0.1},
        {"action": "", "observation": "no command", "response": "hm"},
    ]
    trajectory = loaded(tmp_path, {"environment": "main", "trajectory": actions, "info": {"exit_status": "exit_cost"}})
    assert [(step.role, step.text) for step in trajectory.steps] == [
        ("assistant", "look"),
        ("tool", "a.txt"),
        ("assistant", "hm"),
        ("tool", "no command"),
    ]
    assert trajectory.steps[0].calls[0].arguments == {"command": "ls"}
    assert trajectory.results == {(0, 1): 1}
    assert trajectory.meta["info"] == {"exit_status": "exit_cost"}
    assert trajectory.warnings == ()


def test_swe_agent_demonstrations_are_a_history_alone(tmp_path: Path) -> None:
    history = [{"role": "system", "content": "s"}, {"role": "assistant", "content": "a", "is_demo": True}]
    trajectory = loaded(tmp_path, {"history": history})
    assert [step.role for step in trajectory.steps] == ["system", "assistant"]
    assert trajectory.steps[1].extra == {"is_demo": True}


def test_what_swe_agent_told_only_among_its_actions(tmp_path: Path) -> None:
    history = [
        {"role": "user", "content": "go", "agent": "main"},
        {"role": "assistant", "content": "look", "agent": "main"},
        {"role": "user", "content": "a.txt", "agent": "main"},
        {"role": "assistant", "content": "hm", "agent": "reviewer"},
    ]
    actions = [
        {"action": "cd", "response": "go there", "observation": ""},
        {"action": "ls", "response": "look ", "observation": "a.txt"},
        {"action": "", "response": "hm", "observation": ""},
        {"action": "submit", "response": "done", "observation": "diff"},
    ]
    trajectory = loaded(tmp_path, {"history": history, "trajectory": actions})
    assert [(step.role, step.text) for step in trajectory.steps][4:] == [("assistant", "done"), ("tool", "diff")]
    assert [step.extra for step in trajectory.steps[2:4]] == [{}, {"agent": "reviewer"}]
    assert [(warning.place, warning.code) for warning in trajectory.warnings] == [
        ("trajectory", "repeated"),
        ("trajectory[0]", "repeated"),
        ("trajectory[3]", "added"),
    ]


ASKED = {"role": "user", "parts": [{"type": "text", "content": "weather?"}]}
CALLED = {
    "role": "assistant",
    "parts": [
        {"type": "reasoning", "content": "look"},
        {"type": "tool_call", "id": "c", "name": "get", "arguments": {"city": "Oslo"}},
    ],
}
SAID = {"role": "assistant", "parts": [{"type": "text", "content": "rain"}], "finish_reason": "stop"}


def answered(key: Any, role: Any = "tool") -> Any:
    return {"role": role, "parts": [{"type": "tool_call_response", "id": "c", key: "rainy"}]}


def span(start: Any, given: Any, put_out: Any, **more: Any) -> Any:
    return {
        "name": "chat m",
        "context": {"trace_id": "t1"},
        "start_time": start,
        "attributes": {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": "m",
            "gen_ai.usage.input_tokens": 10,
            "gen_ai.usage.output_tokens": 2,
            "gen_ai.input.messages": json.dumps(given),
            "gen_ai.output.messages": json.dumps(put_out),
            **more,
        },
    }


@pytest.mark.parametrize("result", [answered("response"), answered("result"), answered("result", "user")])
def test_spans_of_one_conversation(tmp_path: Path, result: Any) -> None:
    spans = [span(1, [ASKED], [CALLED]), {"name": "execute_tool get", "context": {"trace_id": "t1"}, "attributes": {}}]
    spans += [
        span(
            2,
            [ASKED, CALLED, result],
            [SAID],
            **{"gen_ai.system_instructions": '[{"type":"text","content":"Be brief."}]'},
        )
    ]
    trajectory = load_trajectory(lines(tmp_path, spans))
    assert [(step.role, step.text) for step in trajectory.steps] == [
        ("system", "Be brief."),
        ("user", "weather?"),
        ("assistant", ""),
        ("tool", "rainy"),
        ("assistant", "rain"),
    ]
    assert trajectory.steps[2].reasoning == "look"
    assert trajectory.results == {(2, 1): 3}
    assert (trajectory.id, trajectory.model) == ("t1", "m")
    assert trajectory.usage is not None
    assert trajectory.usage.input_tokens == 20
    assert codes(trajectory) == ["spans"]
    assert loaded(tmp_path, spans).hash == trajectory.hash


def test_otlp_with_typed_values_and_two_conversations(tmp_path: Path) -> None:
    def typed(name: Any, value: Any) -> Any:
        return {"key": name, "value": {"stringValue": value} if isinstance(value, str) else {"intValue": str(value)}}

    def otlp(conversation: Any, text: Any, start: Any) -> Any:
        said = [{"role": "assistant", "parts": [{"type": "text", "content": text}]}]
        attributes = {
            "gen_ai.conversation.id": conversation,
            "gen_ai.output.messages": json.dumps(said),
            "gen_ai.usage.output_tokens": 3,
        }
        return {
            "traceId": "t",
            "startTimeUnixNano": str(start),
            "attributes": [typed(name, value) for name, value in attributes.items()],
        }

    spans = [otlp("x", "late", 2 * 10**18), otlp("x", "early", 10**18), otlp("y", "other", 5)]
    read = all_loaded(tmp_path, {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]})
    assert [(one.id, one.final_message) for one in read] == [("x", "late"), ("y", "other")]
    assert [one.usage.output_tokens for one in read if one.usage] == [6, 3]


def test_spans_without_messages_say_what_to_do(tmp_path: Path) -> None:
    bare = {"name": "chat m", "attributes": {"gen_ai.operation.name": "chat"}}
    with pytest.raises(TrajectoryError, match="let the instrumentation record content"):
        loaded(tmp_path, [bare])
    with pytest.raises(TrajectoryError, match="cut by a limit on attribute length"):
        loaded(tmp_path, [span(1, [ASKED], [SAID], **{"gen_ai.output.messages": '[{"role": "assi'})])
