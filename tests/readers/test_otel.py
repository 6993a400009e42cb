"""OpenTelemetry's conventions, old and new: the same conversation in every spelling reads the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rubricgrade.readers import load_trajectories, load_trajectory
from rubricgrade.trajectory import Trajectory
from tests.readers.made import PIXEL, all_loaded, codes, lines, loaded, written

ARGUMENTS = {"city": "Oslo"}
CALL = {"id": "c", "type": "function", "function": {"name": "get", "arguments": json.dumps(ARGUMENTS)}}
ASKED: Any = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "weather?"}]
CALLED: Any = {"role": "assistant", "content": "Looking.", "tool_calls": [CALL]}
RESULT: Any = {"role": "tool", "tool_call_id": "c", "content": "rainy"}
SAID: Any = {"role": "assistant", "content": "rain"}
TURNS: Any = [(ASKED, CALLED), ([*ASKED, CALLED, RESULT], SAID)]


def span(turn: int, attributes: Any, events: Any = ()) -> Any:
    usage = {"gen_ai.usage.prompt_tokens": 10, "gen_ai.usage.completion_tokens": 2}
    return {
        "name": "chat m",
        "context": {"trace_id": "0x1", "span_id": f"0x{turn}"},
        "start_time": f"2026-01-01T00:00:0{turn}.000000Z",
        "end_time": f"2026-01-01T00:00:0{turn}.500000Z",
        "attributes": {"gen_ai.request.model": "m", **usage, **attributes},
        "events": list(events),
    }


def flat(name: str, fields: Any) -> Any:
    """Nested fields as numbered attributes."""
    pairs = fields.items() if isinstance(fields, dict) else enumerate(fields)
    found: dict[str, Any] = {}
    for key, value in pairs:
        path = f"{name}.{key}"
        found |= flat(path, value) if isinstance(value, dict | list) else {path: value}
    return found


def numbered(message: Any) -> Any:
    calls = [{"id": call["id"], **call["function"]} for call in message.get("tool_calls", [])]
    return {**message, **({"tool_calls": calls} if calls else {})}


def wrapped(message: Any) -> Any:
    calls = [{"tool_call": call} for call in message.get("tool_calls", [])]
    return {"message": {**message, **({"tool_calls": calls} if calls else {})}}


def openllmetry(turn: int, given: Any, put_out: Any) -> Any:
    attributes = flat("gen_ai.prompt", [numbered(one) for one in given])
    return [span(turn, attributes | flat("gen_ai.completion", [numbered(put_out)]))]


def openinference(turn: int, given: Any, put_out: Any) -> Any:
    attributes = flat("llm.input_messages", [wrapped(one) for one in given])
    return [span(turn, attributes | flat("llm.output_messages", [wrapped(put_out)]))]


def body(message: Any) -> Any:
    rest = {key: value for key, value in message.items() if key not in {"role", "tool_call_id"}}
    return rest | ({"id": message["tool_call_id"]} if message["role"] == "tool" else {})


def span_events(turn: int, given: Any, put_out: Any) -> Any:
    events = [
        {"name": f"gen_ai.{one['role']}.message", "attributes": {"gen_ai.event.content": json.dumps(body(one))}}
        for one in given
    ]
    choice = {"index": 0, "finish_reason": "stop", "message": put_out}
    events.append({"name": "gen_ai.choice", "attributes": {"gen_ai.event.content": json.dumps(choice)}})
    return [span(turn, {}, events)]


def log_records(turn: int, given: Any, put_out: Any) -> Any:
    def record(name: str, said: Any) -> Any:
        about = {"trace_id": "0x1", "span_id": f"0x{turn}", "attributes": {"event.name": name}}
        return {"body": said, **about, "timestamp": f"2026-01-01T00:00:0{turn}Z"}

    # Given back, a call is told without what was said beside it.
    told = [{key: value for key, value in one.items() if key != "content" or "tool_calls" not in one} for one in given]
    records = [record(f"gen_ai.{one['role']}.message", body(one)) for one in told]
    return [*records, record("gen_ai.choice", {"index": 0, "message": put_out}), span(turn, {})]


def one_attribute_of_events(turn: int, given: Any, put_out: Any) -> Any:
    events = [{"event.name": f"gen_ai.{one['role']}.message", **body(one), "role": one["role"]} for one in given]
    events.append({"event.name": "gen_ai.choice", "index": 0, "message": put_out})
    return [span(turn, {"events": json.dumps(events)})]


def content_events(turn: int, given: Any, put_out: Any) -> Any:
    prompt = {"name": "gen_ai.content.prompt", "attributes": {"gen_ai.prompt": json.dumps(given)}}
    completion = {"name": "gen_ai.content.completion", "attributes": {"gen_ai.completion": json.dumps([put_out])}}
    return [span(turn, {}, [prompt, completion])]


def ai_sdk(turn: int, given: Any, put_out: Any) -> Any:
    attributes = {"ai.prompt.messages": json.dumps(given), "ai.response.text": put_out["content"]}
    calls = [{"toolCallId": "c", "toolName": "get", "input": ARGUMENTS} for _ in put_out.get("tool_calls", [])]
    return [span(turn, attributes | ({"ai.response.toolCalls": json.dumps(calls)} if calls else {}))]


SPELLINGS = (
    openllmetry,
    openinference,
    span_events,
    log_records,
    one_attribute_of_events,
    content_events,
    ai_sdk,
)


def told(trajectory: Trajectory) -> Any:
    return [(step.role, step.text, [(call.name, call.arguments) for call in step.calls]) for step in trajectory.steps]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_every_spelling_of_a_conversation_reads_the_same(tmp_path: Path, spelling: Any) -> None:
    records = [record for turn, (given, put_out) in enumerate(TURNS, 1) for record in spelling(turn, given, put_out)]
    trajectory = load_trajectory(lines(tmp_path, records))
    assert told(trajectory) == [
        ("system", "Be brief.", []),
        ("user", "weather?", []),
        ("assistant", "Looking.", [("get", ARGUMENTS)]),
        ("tool", "rainy", []),
        ("assistant", "rain", []),
    ]
    assert (trajectory.results, trajectory.model, codes(trajectory)) == ({(2, 1): 3}, "m", ["spans"])
    assert [step.usage and step.usage.input_tokens for step in trajectory.steps] == [None, None, 10, None, 10]
    assert trajectory.steps[4].time is not None
    assert trajectory.steps[4].time.startswith("2026-01-01T00:00:02.5")
    assert trajectory.usage is not None
    assert trajectory.usage.output_tokens == 4


def test_what_an_exporter_prints_with_indents_is_read(tmp_path: Path) -> None:
    records = [record for turn, (given, put_out) in enumerate(TURNS, 1) for record in openllmetry(turn, given, put_out)]
    file = written(tmp_path, "\n".join(json.dumps(record, indent=4) for record in records))
    assert told(load_trajectory(file)) == told(load_trajectory(lines(tmp_path, records)))


def test_contexts_that_differ_are_put_together_and_nothing_is_lost(tmp_path: Path) -> None:
    helper = [{"role": "user", "content": "summarize"}]
    turns = [(ASKED, CALLED), (helper, {"role": "assistant", "content": "short"}), (ASKED[1:], SAID)]
    records = [record for turn, (given, put_out) in enumerate(turns, 1) for record in openllmetry(turn, given, put_out)]
    assert [text for _, text, _ in told(loaded(tmp_path, records))] == [
        "Be brief.",
        "weather?",
        "Looking.",
        "summarize",
        "short",
        "rain",
    ]


def test_a_result_that_no_model_was_given_comes_from_the_tools_span(tmp_path: Path) -> None:
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.id": "c", "gen_ai.tool.call.result": "rainy"}
    trajectory = loaded(tmp_path, [*openllmetry(1, ASKED, CALLED), span(2, tool)])
    assert told(trajectory)[-1] == ("tool", "rainy", [])
    assert trajectory.results == {(2, 1): 3}


def test_a_span_that_failed_says_why_and_spans_around_calls_are_not_read_twice(tmp_path: Path) -> None:
    around = span(3, {"gen_ai.operation.name": "invoke_agent", "gen_ai.input.messages": json.dumps([ASKED[1]])})
    failed = {**span(4, {}), "status": {"status_code": "ERROR", "description": "timeout"}}
    trajectory = loaded(tmp_path, [*openllmetry(1, ASKED, SAID), around, failed])
    assert len(trajectory.steps) == 3
    assert [str(warning) for warning in trajectory.warnings] == ["span 2: failed: timeout"]
    assert [step.role for step in loaded(tmp_path, [around]).steps] == ["user"]


def test_log_records_alone_and_typed_values(tmp_path: Path) -> None:
    def record(name: str, fields: Any) -> Any:
        values = [{"key": key, "value": {"stringValue": value}} for key, value in fields.items()]
        return {"eventName": name, "traceId": "1", "spanId": "2", "body": {"kvlistValue": {"values": values}}}

    records = [record("gen_ai.user.message", {"content": "weather?"})]
    records.append(record("gen_ai.choice", {"message": "rain", "finish_reason": "stop"}))
    trajectory = loaded(tmp_path, {"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]})
    assert told(trajectory) == [("user", "weather?", []), ("assistant", "rain", [])]
    assert trajectory.steps[1].extra == {"finish_reason": "stop"}


def test_images_of_the_newest_conventions(tmp_path: Path) -> None:
    parts = [
        {"type": "blob", "modality": "image", "mime_type": "image/png", "content": PIXEL},
        {"type": "uri", "modality": "image", "mime_type": "image/png", "uri": "https://example.test/a.png"},
    ]
    given = json.dumps([{"role": "user", "parts": parts}])
    trajectory = loaded(tmp_path, [span(1, {"gen_ai.input.messages": given})])
    inline, remote = trajectory.steps[0].content
    assert inline.type == "image"
    assert inline.size == 70
    assert remote.type == "image"
    assert remote.url == "https://example.test/a.png"


def test_a_trace_of_one_named_conversation_is_one_episode(tmp_path: Path) -> None:
    named = span(1, {"gen_ai.conversation.id": "talk", **flat("gen_ai.prompt", [{"role": "user", "content": "hi"}])})
    other = span(2, flat("gen_ai.completion", [{"content": "hello"}]))
    assert [(one.id, len(one.steps)) for one in all_loaded(tmp_path, [named, other])] == [("talk", 2)]
    assert len(load_trajectories(lines(tmp_path, [named, other]))) == 1
