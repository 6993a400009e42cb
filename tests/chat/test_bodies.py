"""Bodies in the shapes that providers send, each with all that it has besides; and every one of them damaged."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubricgrade.chat.faults import Fault
from rubricgrade.chat.reading import Answer, read_body
from rubricgrade.judge.reply import Unreadable, read_reply

YES = '{"reasoning": "it does", "evidence": [], "answer": "yes"}'
DRAFT = '{"reasoning": "a draft", "evidence": [], "answer": "no"}'
USAGE = {"prompt_tokens": 40, "completion_tokens": 9, "total_tokens": 49}


def body(
    *, message: dict[str, Any], choice: dict[str, Any] | None = None, usage: dict[str, Any] | None = None, **fields: Any
) -> dict[str, Any]:
    one = {"index": 0, "message": {"role": "assistant", "content": YES, **message}, "finish_reason": "stop"}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [{**one, **(choice or {})}], "usage": {**USAGE, **(usage or {})}, **fields}  # fmt: skip


_SAFE = {kind: {"filtered": False, "severity": "safe"} for kind in ("hate", "self_harm", "sexual", "violence")}
BODIES: dict[str, dict[str, Any]] = {
    "OpenAI": body(
        message={"refusal": None, "annotations": []},
        choice={"logprobs": None},
        usage={"prompt_tokens_details": {"cached_tokens": 32, "audio_tokens": 0}, "completion_tokens_details": {"reasoning_tokens": 4}},
        service_tier="default",
        system_fingerprint=None,
    ),
    "Azure": body(
        message={"refusal": None},
        choice={"content_filter_results": {**_SAFE, "protected_material_text": {"filtered": False, "detected": False}}},
        prompt_filter_results=[{"prompt_index": 0, "content_filter_results": _SAFE}],
    ),
    "DeepSeek": body(
        message={"reasoning_content": DRAFT},
        choice={"logprobs": None},
        usage={"prompt_cache_hit_tokens": 32, "prompt_cache_miss_tokens": 8, "prompt_tokens_details": {"cached_tokens": 32}},
    ),
    "vLLM": body(
        message={"refusal": None, "annotations": None, "audio": None, "function_call": None, "tool_calls": [], "reasoning": DRAFT, "reasoning_content": DRAFT},
        choice={"logprobs": None, "stop_reason": None, "token_ids": None},
        usage={"prompt_tokens_details": None},
        prompt_logprobs=None,
        kv_transfer_params=None,
    ),
    "SGLang": body(message={"reasoning_content": None, "tool_calls": None}, choice={"matched_stop": 151645}),
    "llama.cpp": body(
        message={"reasoning_content": DRAFT}, timings={"prompt_n": 8, "cache_n": 32, "predicted_per_second": 71.5}
    ),
    "Mistral": body(
        message={"tool_calls": None, "prefix": False, "content": [
            {"type": "thinking", "thinking": [{"type": "text", "text": DRAFT}], "closed": True},
            {"type": "text", "text": YES},
        ]},
    ),
    "OpenRouter": body(
        message={"refusal": None, "reasoning": DRAFT, "reasoning_details": [{"type": "reasoning.text", "text": DRAFT, "index": 0}]},
        choice={"native_finish_reason": "completed", "logprobs": None},
        usage={"cost": 0.0001, "is_byok": False},
        provider="Some",
    ),
    "Groq": body(message={"reasoning": DRAFT}, usage={"queue_time": 0.01}, x_groq={"id": "r"}),
    "Gemini": body(message={"extra_content": {"google": {"thought_signature": "abc"}}}),
    "text-generation-inference": body(message={}, choice={"finish_reason": "eos_token"}),
    "LM Studio": body(message={"tool_calls": []}, stats={}, usage={"prompt_tokens": 40}),
}  # fmt: skip


@pytest.mark.parametrize("value", BODIES.values(), ids=BODIES)
def test_each_is_read_for_what_it_says(value: dict[str, Any]) -> None:
    answer = read_body(json.dumps(value).encode())
    assert (answer.text, answer.finish, answer.calls) == (YES, "stop", ())
    assert answer.tokens is not None
    assert (answer.tokens.input, answer.tokens.cached in (0, 32)) == (40, True)
    assert answer.reasoning in ("", DRAFT)


def verdict(raw: bytes) -> str | None:
    """What a judge that has sent this is taken to say; None if nothing."""
    try:
        answer: Answer = read_body(raw)
        answer.text.encode()
        if answer.finish != "stop" or answer.calls:
            return None
        return read_reply(answer.text, ("no", "yes")).answer
    except (Fault, Unreadable):
        return None


RAW = {name: json.dumps(value).encode() for name, value in BODIES.items()}


@given(st.sampled_from(sorted(BODIES)), st.data())
def test_damage_never_turns_one_answer_into_another(name: str, data: st.DataObject) -> None:
    """Deleting a few bytes can make `content` of `reasoning_content`: then it stands twice."""
    raw = RAW[name]
    start = data.draw(st.integers(0, len(raw) - 1))
    end = min(len(raw), start + data.draw(st.integers(0, 12)))
    put = data.draw(
        st.binary(max_size=3) | st.sampled_from([b'"', b"{", b"}", b",", b"\\", b"\\ud800", raw[start:end] * 2])
    )
    assert verdict(raw[:start] + put + raw[end:]) in ("yes", None)
    assert verdict(raw[:start]) is None


@pytest.mark.parametrize("name", sorted(name for name, value in BODIES.items() if "reasoning_content" in str(value)))
def test_a_key_that_is_damaged_into_another_stands_twice(name: str) -> None:
    assert verdict(RAW[name].replace(b'"reasoning_content"', b'"content"')) is None


paths = st.lists(st.integers(0, 30), min_size=1, max_size=5)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=20) | st.just(YES),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "text", "content", "error", "refusal"]), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


@given(st.sampled_from(sorted(BODIES)), paths, anything)
def test_anything_in_any_place_brings_an_answer_or_a_fault(name: str, path: list[int], put: Any) -> None:
    value = json.loads(RAW[name])
    at: Any = value
    for step in path[:-1]:
        inner = list(at.values()) if isinstance(at, dict) else at
        below = inner[step % len(inner)] if inner else None
        if not isinstance(below, dict | list) or not below:
            break
        at = below
    key = list(at)[path[-1] % len(at)] if isinstance(at, dict) else path[-1] % len(at)
    at[key] = put
    assert verdict(json.dumps(value).encode()) in ("yes", None)


def test_many_keys_are_read_in_no_time_or_not_at_all() -> None:
    def with_keys(count: int, more: str = "") -> bytes:
        keys = ",".join(f'"k{number:06d}":0' for number in range(count))
        return RAW["OpenAI"].removesuffix(b"}") + f',"x":{{{keys}{more}}}}}'.encode()

    start = time.process_time()
    with pytest.raises(Fault, match="'k039999' stands twice"):
        read_body(with_keys(40_000, ',"k039999":1'))
    assert time.process_time() - start < 2, "not every key is compared with every other"
    assert read_body(with_keys(150_000)).text == YES
    with pytest.raises(Fault, match="more than 200,000 keys"):
        read_body(with_keys(210_000))


def test_a_key_that_stands_twice_is_shown_in_part() -> None:
    key = b'"' + b"k" * 100_000 + b'":1'
    with pytest.raises(Fault) as caught:
        read_body(b"{" + key + b"," + key + b"}")
    assert len(caught.value.detail) < 500
