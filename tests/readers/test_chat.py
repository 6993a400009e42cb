"""Chat messages in all their variants: what a step, a call and a reasoning come to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rubricgrade.errors import TrajectoryError
from rubricgrade.readers import load_trajectory
from tests.readers.made import PIXEL, USER, all_loaded, call, codes, lines, loaded, written


@pytest.mark.parametrize("content", [{"content": None}, {}, {"content": ""}], ids=["null", "absent", "empty"])
def test_calls_without_content(tmp_path: Path, content: Any) -> None:
    asked = {"role": "assistant", "tool_calls": [call(id="c1")], **content}
    trajectory = loaded(tmp_path, [USER, asked, {"role": "tool", "tool_call_id": "c1", "content": "rain"}])
    assert [step.role for step in trajectory.steps] == ["user", "assistant", "tool"]
    assert trajectory.steps[1].content == ()
    assert trajectory.steps[1].calls[0].name == "get"
    assert trajectory.results == {(1, 1): 2}
    assert trajectory.steps[2].tool == "get"
    assert trajectory.warnings == ()


@pytest.mark.parametrize("arguments", ['["x"]', '"ls"', "null", "7", '{"path": "/scratch/file", }{', '{"a": 1e999}x'])
def test_malformed_arguments_are_kept_as_they_came(tmp_path: Path, arguments: Any) -> None:
    trajectory = loaded(tmp_path, [{"role": "assistant", "tool_calls": [call(arguments, id="c1")]}])
    [(_, _, made)] = trajectory.calls()
    assert (made.arguments, made.raw) == (None, arguments)
    assert "malformed_arguments" in codes(trajectory)


def test_arguments_that_are_json_but_no_object_and_no_text(tmp_path: Path) -> None:
    [(_, _, made)] = loaded(tmp_path, [{"role": "assistant", "tool_calls": [call(["x"])]}]).calls()
    assert (made.arguments, made.raw) == (None, '["x"]')


def test_arguments_as_object_and_as_text_are_the_same(tmp_path: Path) -> None:
    as_object = loaded(tmp_path, [{"role": "assistant", "tool_calls": [call({"path": "/a"}, id="1")]}])
    as_text = loaded(tmp_path, [{"role": "assistant", "tool_calls": [call('{ "path":"/a" }', id="1")]}])
    assert as_object.hash == as_text.hash


@pytest.mark.parametrize(("arguments", "expected"), [("", ["empty_arguments"]), (None, [])])
def test_no_arguments_are_an_empty_object(tmp_path: Path, arguments: Any, expected: Any) -> None:
    trajectory = loaded(tmp_path, [{"role": "assistant", "tool_calls": [call(arguments)]}])
    [(_, _, made)] = trajectory.calls()
    assert (made.arguments, made.raw) == ({}, None)
    assert codes(trajectory) == [*expected, "unanswered_call"]


def test_parallel_calls_differ_from_calls_in_two_turns(tmp_path: Path) -> None:
    results = [{"role": "tool", "tool_call_id": f"c{n}", "content": str(n)} for n in (1, 2)]
    together = loaded(tmp_path, [{"role": "assistant", "tool_calls": [call(id="c1"), call(id="c2")]}, *results])
    first, second = ({"role": "assistant", "tool_calls": [call(id=f"c{n}")]} for n in (1, 2))
    apart = loaded(tmp_path, [first, results[0], second, results[1]])
    assert list(together.results) == [(0, 1), (0, 2)]
    assert list(apart.results) == [(0, 1), (2, 1)]
    assert together.hash != apart.hash


def test_trl_rows_have_no_ids_and_pair_by_order_and_name(tmp_path: Path) -> None:
    row = {
        "prompt": [USER],
        "completion": [
            {"role": "assistant", "content": "", "tool_calls": [call({"n": 1}, "bash"), call({"n": 2}, "look")]},
            {"role": "tool", "name": "look", "content": "second"},
            {"role": "tool", "name": "bash", "content": "first"},
            {"role": "assistant", "content": "done"},
        ],
        "answer": "42",
    }
    trajectory = loaded(tmp_path, row)
    assert trajectory.results == {(1, 2): 2, (1, 1): 3}
    assert trajectory.final_message == "done"
    assert trajectory.meta == {"answer": "42"}
    assert trajectory.warnings == ()


def test_plain_text_prompt_and_completion(tmp_path: Path) -> None:
    trajectory = loaded(tmp_path, {"prompt": "1+2?", "completion": "3", "reward": 1})
    assert [(step.role, step.text) for step in trajectory.steps] == [("user", "1+2?"), ("assistant", "3")]
    assert trajectory.reward == 1.0


@pytest.mark.parametrize(
    "said",
    [
        {"reasoning_content": "maybe 5, no", "content": "7"},
        {"reasoning": "maybe 5, no", "content": "7"},
        {"content": "<think>maybe 5, no</think>7"},
        {"content": "\n<think>\nmaybe 5, no\n</think>\n\n7"},
        {"content": [{"type": "thinking", "thinking": "maybe 5, no", "signature": "s"}, {"type": "text", "text": "7"}]},
        {"content": "7", "thinking_blocks": [{"type": "thinking", "thinking": "maybe 5, no"}]},
        {"content": "<think>maybe 5, no</think>7", "reasoning_content": "maybe 5, no"},
    ],
)
def test_reasoning_is_no_part_of_the_answer(tmp_path: Path, said: Any) -> None:
    trajectory = loaded(tmp_path, [USER, {"role": "assistant", **said}])
    assert trajectory.final_message == "7"
    assert trajectory.steps[1].reasoning == "maybe 5, no"


def test_think_tags_that_open_nothing_stay_text(tmp_path: Path) -> None:
    text = "The tag <think>x</think> hides text."
    assert loaded(tmp_path, [{"role": "assistant", "content": text}]).final_message == text
    assert loaded(tmp_path, [USER | {"content": "<think>mine</think>"}]).steps[0].text == "<think>mine</think>"


def test_a_think_tag_that_is_never_closed_is_all_reasoning_and_noted(tmp_path: Path) -> None:
    trajectory = loaded(tmp_path, [{"role": "assistant", "content": "<think>so 5 and"}])
    assert (trajectory.final_message, trajectory.steps[0].reasoning) == (None, "so 5 and")
    assert codes(trajectory) == ["content"]


@pytest.mark.parametrize("ending", ["", "  \n", None])
def test_an_empty_answer_is_no_answer_and_no_error(tmp_path: Path, ending: Any) -> None:
    trajectory = loaded(tmp_path, [USER, {"role": "assistant", "content": ending}])
    assert len(trajectory.steps) == 2
    assert trajectory.final_message is None


@pytest.mark.parametrize("value", [[], {"messages": []}, {"traj": []}, {"messages": [], "reward": 1}])
def test_no_messages_are_an_error(tmp_path: Path, value: Any) -> None:
    with pytest.raises(TrajectoryError, match="at least one"):
        loaded(tmp_path, value)


@pytest.mark.parametrize(
    ("content", "text"),
    [({"city": "Oslo", "days": 3}, '{"city":"Oslo","days":3}'), ([1, 2.5], "[1,2.5]"), (7, "7"), (True, "true")],
)
def test_structured_answers_become_compact_json(tmp_path: Path, content: Any, text: Any) -> None:
    assert loaded(tmp_path, [USER, {"role": "assistant", "content": content}]).final_message == text


@pytest.mark.parametrize("content", [5, True, {"a": 1}, [1], [{"type": "text", "text": 5}]])
@pytest.mark.parametrize("role", ["assistant", "user"])
def test_what_nobody_can_have_said_is_noted(tmp_path: Path, content: Any, role: str) -> None:
    assert codes(loaded(tmp_path, [USER, {"role": role, "content": content}])) == ["content"]


def test_a_list_of_objects_is_shown_with_all_its_keys(tmp_path: Path) -> None:
    answer = [{"city": "Oslo"}, {"city": "Rome"}]
    assert loaded(tmp_path, [{"role": "assistant", "content": answer}]).final_message == json.dumps(
        answer, separators=(",", ":")
    )


def test_several_choices_are_several_trajectories(tmp_path: Path) -> None:
    choices = [{"finish_reason": "length", "message": {"role": "assistant", "content": str(n)}} for n in range(3)]
    for record in ({"id": "x", "choices": choices}, {"id": "x", "messages": [USER], "choices": choices}):
        trajectories = all_loaded(tmp_path, record)
        assert [one.id for one in trajectories] == ["x-choice-0", "x-choice-1", "x-choice-2"]
        assert [one.final_message for one in trajectories] == ["0", "1", "2"]
        assert [one.sample for one in trajectories] == [0, 1, 2]
        assert trajectories[0].steps[-1].extra == {"finish_reason": "length"}


def test_a_request_with_its_response_keeps_what_was_asked_for(tmp_path: Path) -> None:
    request = {"model": "m", "system": "Be brief.", "messages": [USER], "tools": [{"name": "get"}], "stream": None}
    response = {"id": "msg_1", "role": "assistant", "content": [{"type": "text", "text": "rain"}], "stop_reason": "end"}
    trajectory = loaded(tmp_path, {"request": request, "response": {**response, "usage": {"input_tokens": 3}}})
    assert [step.text for step in trajectory.steps] == ["Be brief.", "weather?", "rain"]
    assert trajectory.meta["request"] == {"tools": [{"name": "get"}], "stream": None}
    assert trajectory.meta["response"] == {"id": "msg_1", "stop_reason": "end"}
    assert trajectory.usage is not None
    assert (trajectory.model, trajectory.usage.input_tokens) == ("m", 3)


def test_a_run_record_of_the_rollout_script(tmp_path: Path) -> None:
    record = {
        "run": "run-17",
        "task": "calc",
        "sample": 1,
        "model": "m",
        "reward": 12 / 13,
        "passed": 12,
        "total": 13,
        "steps": 2,
        "usage": {"input": 100, "output": 20},
        "fork_ms": 900,
        "agent_ms": 5000,
        "messages": [
            USER,
            {"role": "assistant", "content": None, "tool_calls": [call('{"command": "ls"}', "bash", id="t1")]},
            {"role": "tool", "tool_call_id": "t1", "content": "exit 0\nTASK.md\n"},
            {"role": "assistant", "content": "Done."},
        ],
    }
    trajectory = load_trajectory(lines(tmp_path, [record]))
    assert (trajectory.id, trajectory.task_id, trajectory.sample) == ("run-17-calc-1", "calc", 1)
    assert trajectory.reward == 12 / 13
    assert trajectory.usage is not None
    assert (trajectory.usage.input_tokens, trajectory.usage.output_tokens) == (100, 20)
    assert trajectory.meta["passed"] == 12
    assert trajectory.results == {(1, 1): 2}


def test_messages_of_the_ai_sdk(tmp_path: Path) -> None:
    messages = [
        USER,
        {
            "role": "assistant",
            "content": [
                {"type": "reasoning", "text": "look first"},
                {"type": "text", "text": "Looking."},
                {"type": "tool-call", "toolCallId": "a", "toolName": "bash", "input": {"command": "ls"}},
            ],
        },
        {
            "role": "tool",
            "content": [
                {
                    "type": "tool-result",
                    "toolCallId": "a",
                    "toolName": "bash",
                    "output": {"type": "error-text", "value": "no such file"},
                }
            ],
        },
    ]
    trajectory = loaded(tmp_path, {"messages": messages})
    said, result = trajectory.steps[1], trajectory.steps[2]
    assert (said.reasoning, said.text, said.calls[0].arguments) == ("look first", "Looking.", {"command": "ls"})
    assert (result.text, result.answers, result.tool, result.failed) == ("no such file", (1, 1), "bash", True)


def test_an_image_is_measured_and_hashed_and_never_text(tmp_path: Path) -> None:
    url = f"data:image/png;base64,{PIXEL}"
    parts = [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": url, "detail": "low"}}]
    trajectory = loaded(tmp_path, [{"role": "user", "content": parts}])
    image = trajectory.steps[0].content[1]
    assert image.type == "image"
    assert (image.media_type, image.size, len(image.sha256)) == ("image/png", 70, 64)
    assert PIXEL not in trajectory.steps[0].text
    assert f"[image image/png, 70 bytes, sha256 {image.sha256[:12]}]" in trajectory.steps[0].text


@pytest.mark.parametrize(
    "content",
    [
        f"before data:image/png;base64,{PIXEL} after",
        {"screenshot": f"data:image/png;base64,{PIXEL}"},
        [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}],
        [{"type": "image", "data": PIXEL, "mimeType": "image/png"}],
        [{"type": "image", "image": f"data:image/png;base64,{PIXEL}"}],
        [{"type": "resource", "blob": f"data:image/png;base64,{PIXEL}"}],
    ],
    ids=["text", "structured", "anthropic", "mcp", "inspect", "unknown part"],
)
def test_images_in_tool_results(tmp_path: Path, content: Any) -> None:
    asked = {"role": "assistant", "tool_calls": [call(id="c1")]}
    trajectory = loaded(tmp_path, [asked, {"role": "tool", "tool_call_id": "c1", "content": content}])
    images = [part for part in trajectory.steps[1].content if part.type == "image"]
    assert [image.size for image in images] == [70]
    assert PIXEL not in trajectory.steps[1].text


def test_large_binary_data_that_is_no_image_leaves_its_size_and_a_warning(tmp_path: Path) -> None:
    sound = {"type": "input_audio", "input_audio": {"data": "QUJD" * 1000, "format": "wav"}}
    trajectory = loaded(tmp_path, [{"role": "user", "content": [sound]}])
    assert "QUJDQUJD" not in trajectory.steps[0].text
    assert "4000 characters of base64" in trajectory.steps[0].text
    assert codes(trajectory) == ["content"]


@pytest.mark.parametrize(
    "data", ["data:image/png;base64,!!!!", "data:image/png;base64,", "data:image/png;base64," + "A" * 1001]
)
def test_an_image_that_can_not_be_decoded_is_noted_and_left_out(tmp_path: Path, data: str) -> None:
    trajectory = loaded(tmp_path, [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": data}}]}])
    assert trajectory.steps[0].text == "[image image/*, 0 bytes, ]"
    assert codes(trajectory) == ["content"]


def test_binary_data_beside_the_content_is_noted(tmp_path: Path) -> None:
    message = USER | {"audio": {"data": "QUJD" * 1000}, "shot": f"data:image/png;base64,{PIXEL}"}
    step = loaded(tmp_path, [message]).steps[0]
    assert "QUJD" not in str(step.extra)
    assert str(step.extra["shot"]).startswith("[image image/png, 70 bytes")
    assert codes(loaded(tmp_path, [message])) == ["binary"]


def test_a_document_of_a_user_is_no_image(tmp_path: Path) -> None:
    part = {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64," + "QUJD" * 500}}
    step = loaded(tmp_path, [{"role": "user", "content": [part]}]).steps[0]
    assert step.content[0].type == "other"
    assert "a.pdf" in step.text
    assert "QUJD" not in step.text


@pytest.mark.parametrize(
    ("message", "parts", "extra"),
    [
        ({"content": "Sure.", "refusal": "I can't help."}, ["Sure.", "I can't help."], {}),
        ({"content": None, "refusal": "I can't help."}, ["I can't help."], {}),
        ({"content": None, "audio": {"id": "a", "transcript": "It rains."}}, ["It rains."], {"audio": {"id": "a"}}),
        ({"content": "Sure.", "refusal": None, "audio": None}, ["Sure."], {}),
        ({"content": [{"type": "text", "text": "Sure."}], "refusal": "No."}, ["Sure.", "No."], {}),
        ({"content": "Sure.", "audio": {"id": "a"}}, ["Sure."], {"audio": {"id": "a"}}),
    ],
)
def test_words_beside_the_content_are_said_too(
    tmp_path: Path, message: dict[str, Any], parts: list[str], extra: dict[str, Any]
) -> None:
    step = loaded(tmp_path, [USER, {"role": "assistant", **message}]).steps[1]
    assert step.text == "\n".join(parts)
    assert step.extra == extra


def test_the_old_way_of_calling_a_function(tmp_path: Path) -> None:
    asked = {"role": "assistant", "content": None, "function_call": {"name": "get", "arguments": '{"a": 1}'}}
    trajectory = loaded(tmp_path, [asked, {"role": "function", "name": "get", "content": {"rain": True}}])
    [(_, _, made)] = trajectory.calls()
    assert (made.id, made.name, made.arguments) == (None, "get", {"a": 1})
    assert (trajectory.results, trajectory.steps[1].text) == ({(0, 1): 1}, '{"rain":true}')
    assert trajectory.steps[1].extra == {"role": "function"}


def test_a_call_without_a_name_is_noted(tmp_path: Path) -> None:
    trajectory = loaded(tmp_path, [{"role": "assistant", "tool_calls": [{"function": {"arguments": "{}"}}]}])
    assert "unnamed_call" in codes(trajectory)


@pytest.mark.parametrize("mark", [{"is_error": True}, {"status": "error"}, {"error": {"message": "slow"}}])
def test_a_result_that_is_marked_as_failed(tmp_path: Path, mark: dict[str, Any]) -> None:
    result = {"role": "tool", "tool_call_id": "c", "content": "x", **mark}
    trajectory = loaded(tmp_path, [{"role": "assistant", "tool_calls": [call(id="c")]}, result])
    assert trajectory.steps[1].failed is True


def test_parts_without_a_type_and_parts_that_are_text(tmp_path: Path) -> None:
    message = {"role": "user", "content": ["a", {"type": "text", "text": "b", "annotations": ["n"]}]}
    step = loaded(tmp_path, [message]).steps[0]
    assert (step.text, step.extra) == ("a\nb", {"content": {"2": {"annotations": ["n"]}}})


def test_an_image_by_url_is_not_fetched(tmp_path: Path) -> None:
    part = {"type": "image_url", "image_url": "https://example.test/a.png"}
    image = loaded(tmp_path, [{"role": "user", "content": [part]}]).steps[0].content[0]
    assert image.type == "image"
    assert (image.url, image.data, image.size) == ("https://example.test/a.png", "", 0)


def test_orphans_and_unanswered_calls_are_warnings(tmp_path: Path) -> None:
    messages = [
        {"role": "assistant", "tool_calls": [call(id="a"), call(id="b")]},
        {"role": "tool", "tool_call_id": "a", "content": "1"},
        {"role": "tool", "tool_call_id": "zzz", "content": "whose?"},
        {"role": "tool", "tool_call_id": "a", "content": "again"},
    ]
    trajectory = loaded(tmp_path, messages)
    assert [step.answers for step in trajectory.steps] == [None, (0, 1), None, None]
    assert codes(trajectory) == ["orphan_result", "orphan_result", "unanswered_call"]
    assert trajectory.warnings[0].place == "[2]"
    assert "[0].call_2" in trajectory.warnings[2].message


def test_unknown_keys_are_kept(tmp_path: Path) -> None:
    trajectory = loaded(tmp_path, {"messages": [USER | {"weight": 0, "name": "ann"}], "split": "train"})
    assert trajectory.steps[0].extra == {"weight": 0, "name": "ann"}
    assert trajectory.meta == {"split": "train"}


def test_unknown_parts_are_kept_and_shown(tmp_path: Path) -> None:
    part = {"type": "tool_reference", "tool_name": "x"}
    step = loaded(tmp_path, [{"role": "user", "content": [part]}]).steps[0]
    assert step.content[0].model_dump() == {"type": "other", "kind": "tool_reference", "value": part}
    assert step.text == '{"tool_name":"x","type":"tool_reference"}'


def test_anthropic_results_stand_before_what_the_user_says_with_them(tmp_path: Path) -> None:
    messages = [
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "look", "input": {"a": 1}}]},
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t", "content": "seen", "is_error": True},
                {"type": "text", "text": "and now?"},
            ],
        },
    ]
    trajectory = loaded(tmp_path, {"system": "Be brief.", "messages": messages})
    assert [(step.role, step.text) for step in trajectory.steps] == [
        ("system", "Be brief."),
        ("assistant", ""),
        ("tool", "seen"),
        ("user", "and now?"),
    ]
    assert trajectory.steps[2].failed is True
    assert trajectory.results == {(1, 1): 2}


def test_text_after_a_server_side_result_is_a_step_of_its_own(tmp_path: Path) -> None:
    content = [
        {"type": "text", "text": "searching"},
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "x"}},
        {"type": "web_search_tool_result", "tool_use_id": "s", "content": [{"type": "text", "text": "found"}]},
        {"type": "text", "text": "so it is"},
    ]
    trajectory = loaded(tmp_path, [{"role": "assistant", "content": content}])
    assert [(step.role, step.text) for step in trajectory.steps] == [
        ("assistant", "searching"),
        ("tool", "found"),
        ("assistant", "so it is"),
    ]
    assert trajectory.results == {(0, 1): 1}


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ({"content": "hi"}, r"messages\[1\]\.role: is missing; it must be one of system"),
        ({"role": "narrator", "content": "hi"}, r"messages\[1\]\.role: is 'narrator'"),
        ("hi", r"messages\[1\]: is a text; a message is an object"),
        ({"role": "assistant", "tool_calls": ["x"]}, r"messages\[1\]\.tool_calls\[0\]: a tool call is an object"),
        ({"role": "assistant", "tool_calls": {"a": 1}}, r"messages\[1\]\.tool_calls: is an object; it is a list"),
    ],
)
def test_a_bad_message_is_named_with_its_place_and_what_to_do(tmp_path: Path, message: Any, reason: Any) -> None:
    with pytest.raises(TrajectoryError, match=reason):
        loaded(tmp_path, {"messages": [USER, message]})


def test_all_bad_messages_of_an_episode_are_named(tmp_path: Path) -> None:
    with pytest.raises(TrajectoryError) as caught:
        loaded(tmp_path, {"messages": [{"content": "a"}, USER, {"role": 5}]})
    assert [fault.message.split(":")[0] for fault in caught.value.faults] == ["messages[0].role", "messages[2].role"]


def test_surrogates_and_nul_are_replaced_and_noted(tmp_path: Path) -> None:
    file = written(tmp_path, '[{"role":"assistant","content":"math \\ud835 here\\u0000"}]')
    trajectory = load_trajectory(file)
    assert trajectory.final_message == "math \ufffd here\u2400"
    assert codes(trajectory) == ["json"]
    assert trajectory.model_dump_json().encode()


def test_a_byte_order_mark_and_utf_16(tmp_path: Path) -> None:
    text = json.dumps([USER | {"content": "é"}], ensure_ascii=False)
    for encoding in ("utf-8-sig", "utf-16"):
        (tmp_path / "a.json").write_bytes(text.encode(encoding))
        assert load_trajectory(tmp_path / "a.json").steps[0].text == "é"
