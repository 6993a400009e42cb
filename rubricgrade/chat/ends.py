"""How a reply ended, by providers' own words.

A word that is not listed is no end: what it says about a text beside it (refused, masked, broken off) would be a guess.
Such a reply is not read but asked for again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rubricgrade.chat.contract import Finish
from rubricgrade.chat.faults import Fault, shown

_CALLS = frozenset({"tool_calls", "function_call", "tool_use", "tool_call"})
_WORDS: Mapping[Finish, Iterable[str]] = {
    # OpenAI and who speaks its protocol; Anthropic, Bedrock; text-generation-inference, Together; Cohere; Qianfan;
    # AI21; gateways that make it of OpenAI's Responses.
    "stop": (
        "stop", "end_turn", "stop_sequence", "eos", "eos_token", "complete", "normal", "endoftext", "completed",
        *_CALLS,
    ),
    # Anthropic, Bedrock, Cohere, Gemini; Mistral; watsonx.
    "length": ("length", "max_tokens", "model_length", "token_limit"),
    # OpenAI, Azure; Bedrock; Gemini and Vertex; Cohere; GLM.
    "filtered": (
        "content_filter", "content_filtered", "guardrail_intervened", "safety", "recitation", "language", "blocklist",
        "prohibited_content", "spii", "model_armor", "error_toxic", "sensitive",
    ),
    "refused": ("refusal",),
}  # fmt: skip
_ENDS: Mapping[str, Finish] = {word: finish for finish, words in _WORDS.items() for word in words}
_FULL = frozenset({"model_context_window_exceeded", "error_limit"})
"""Anthropic's and Cohere's words for a context that was full before the room for the reply was."""


def end_of(word: Any, *, key: str | None = None) -> Finish:
    """The end that a provider's word stands for.

    Args:
        word: As it came. None or an empty text, from a server that says nothing about it, says nothing against a text
            that is whole, and counts as the reply's own end.
        key: The API key, so that an echo of it is struck out.

    Raises:
        Fault: The reply did not come to an end that is known: it broke off (``error``, vLLM's ``abort``, DeepSeek's
            ``insufficient_system_resource``, Gemini's ``MALFORMED_FUNCTION_CALL``), or the word is nobody's.
    """
    if word is None or word == "":
        return "stop"
    name = _name(word)
    if name in _FULL:
        raise Fault("too_long", "the model's context was full before its reply had ended", maybe_billed=True)
    if name not in _ENDS:
        detail = f"the reply ended with {shown(repr(word), key)}, which is no end of an answer"
        raise Fault("server", detail, maybe_billed=True)
    return _ENDS[name]


def end_beside(finish: Finish, word: Any) -> Finish:
    """The end, unless it is a stop and a second word, such as the upstream provider's own, is known to say otherwise.

    Raises:
        Fault: That word says that the context was full.
    """
    name = _name(word)
    return end_of(word) if finish == "stop" and (name in _ENDS or name in _FULL) else finish


def is_call(word: Any) -> bool:
    """Whether a word says that the model has called a tool and waits for it."""
    return _name(word) in _CALLS


def _name(word: Any) -> str:
    return word.lower().replace("-", "_") if isinstance(word, str) else ""
