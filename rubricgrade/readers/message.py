"""One message of a conversation to steps: role, content, tool calls and results, however the provider spells them.

Chat completions keep calls beside the content and answer in messages of role ``tool``; Anthropic, the AI SDK and others
put calls and results inside the content. Both are read here, mixed or not.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from rubricgrade.readers.calls import call_block, call_entry, call_of, is_result_block, result_block
from rubricgrade.readers.content import Content, content_of, is_part, said
from rubricgrade.readers.draft import Draft
from rubricgrade.readers.media import without_binary
from rubricgrade.readers.shapes import as_label, as_list, as_number, as_object, as_text, as_time, take, without_nulls
from rubricgrade.readers.usage import beside, usage_of
from rubricgrade.trajectory import Call, Image, Role, Usage

ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "agent": "assistant",
    "ai": "assistant",
    "model": "assistant",
    "tool": "tool",
    "function": "tool",
}
# Long arrays for training that no grader reads.
TOKENS = (
    "token_ids",
    "prompt_token_ids",
    "completion_token_ids",
    "generation_token_ids",
    "generation_log_probs",
    "logprobs",
    "mask",
    "is_content",
)
REASONING = ("reasoning_content", "reasoning", "thinking")


def add_message(draft: Draft, message: Any, place: str) -> None:
    """Add the steps of one message. What is no message is a fault of the draft.

    Args:
        draft: The episode so far.
        message: Anything; an object with a ``role`` is a message.
        place: Where it stands, such as ``messages[3]``.
    """
    given = as_object(message)
    if given is None:
        draft.fault(place, f"is {_kind(message)}; a message is an object with a role and content")
        return
    rest = dict(given)
    name = rest.pop("role", None)
    role = ROLES.get(name) if isinstance(name, str) else None
    if role is None:
        problem = "is missing" if name is None else f"is {str(name)[:60]!r}"
        draft.fault(f"{place}.role".lstrip("."), f"{problem}; it must be one of {', '.join(ROLES)}")
        return
    if name != role:
        rest["role"] = name
    _lift(rest)
    if role == "tool":
        _add_result(draft, rest, place)
    else:
        _add_turn(draft, role, rest, place)


def _lift(rest: dict[str, Any]) -> None:
    """Bring up the time, cost and usage that mini-swe-agent keeps under ``extra``, beside the model's response."""
    extra = as_object(rest.get("extra"))
    if extra is None:
        return
    response = as_object(extra.get("response")) or {}
    found = {"timestamp": extra.get("timestamp"), "cost": extra.get("cost"), "usage": response.get("usage")}
    lifted = {key: value for key, value in found.items() if value is not None and rest.get(key) is None}
    if "usage" in lifted:
        extra = {**extra, "response": {key: value for key, value in response.items() if key != "usage"}}
    rest["extra"] = {key: value for key, value in extra.items() if key not in lifted}
    rest |= lifted


def leftovers(draft: Draft, rest: dict[str, Any], place: str) -> dict[str, Any]:
    """What a message has besides, for `Step.extra`, without nulls; binary data and token ids are left out and noted."""
    tokens = [name for name in TOKENS if as_list(rest.get(name))]
    if tokens:
        rest = {key: value for key, value in rest.items() if key not in tokens}
        draft.warn(place, "token ids, masks or log-probabilities were left out", "tokens")
    images: list[Image] = []
    slim, cut = without_binary(without_nulls(rest), images)
    if cut or images:
        draft.warn(place, "binary data beside the content was left out; its size and hash are kept", "binary")
    return slim


def remark(draft: Draft, content: Content, place: str) -> None:
    """Pass on what could not be kept of a content."""
    for note in content.notes:
        draft.warn(f"{place}.content".lstrip("."), note, "content")


@dataclass(slots=True)
class _Turn:
    """What a person or a model said, while it is gathered: a result inside it ends one step and starts another.

    Attributes:
        extra: What the message has besides; the first step made of it gets it.
        spoken: Whether a step was made of it.
    """

    draft: Draft
    role: Role
    place: str
    time: str | None
    usage: Usage | None
    extra: dict[str, Any]
    said: Content = field(default_factory=Content)
    calls: list[Call] = field(default_factory=list[Call])
    spoken: bool = False

    @property
    def empty(self) -> bool:
        return not (self.said.parts or self.said.reasoning or self.calls)

    def end_step(self) -> None:
        """Add a step of what was gathered."""
        if self.role == "assistant":
            self.said.split_thinking()
        remark(self.draft, self.said, self.place)
        extra = self.extra | ({"content": self.said.extra} if self.said.extra else {})
        self.draft.say(
            self.role,
            self.said.parts,
            place=self.place,
            reasoning=self.said.thoughts,
            calls=self.calls,
            time=self.time,
            usage=self.usage,
            extra=extra,
        )
        self.said, self.calls, self.usage, self.extra, self.spoken = Content(), [], None, {}, True


def _add_turn(draft: Draft, role: Role, rest: dict[str, Any], place: str) -> None:
    """Add what a person or a model said, and the results that its content holds."""
    value = rest.pop("content", None)
    time = take(rest, "timestamp", as_time)
    usage = _usage(rest)
    reasoning = _reasoning(rest) if role == "assistant" else []
    spoken = _spoken(rest) if role == "assistant" else []
    calls = _calls(draft, rest, place)
    turn = _Turn(draft, role, place, time, usage, leftovers(draft, rest, place), calls=calls)
    blocks = as_list(value)
    if blocks is None or not all(is_part(block) for block in blocks):
        turn.said, blocks = said(value), []
    turn.said.reasoning[:0] = reasoning
    for index, entry in enumerate(blocks):
        block = as_object(entry) or {}
        where = f"{place}.content[{index}]"
        if (call := call_block(block, draft, where)) is not None:
            turn.calls.append(call)
        elif is_result_block(block):
            if not turn.empty:
                turn.end_step()
            _answer(draft, block, where, time, turn.extra)
            turn.extra, turn.spoken = {}, True
        else:
            turn.said.add(entry)
    for text in spoken:
        turn.said.add_text(text)
    if not turn.empty or not turn.spoken:
        turn.end_step()


def _answer(draft: Draft, block: dict[str, Any], place: str, time: str | None, rest: dict[str, Any]) -> None:
    value, key, tool, failed = result_block(block)
    content = content_of(value)
    remark(draft, content, place)
    extra = rest | ({"content": content.extra} if content.extra else {})
    draft.answer(content.parts, place=place, key=key, tool=tool, failed=failed, time=time, extra=extra)


def _add_result(draft: Draft, rest: dict[str, Any], place: str) -> None:
    """Add a message of role ``tool``: one result, or one for each result block in its content."""
    time = take(rest, "timestamp", as_time)
    value = rest.pop("content", None)
    blocks = [as_object(entry) or {} for entry in as_list(value) or []]
    if blocks and all(is_result_block(block) for block in blocks):
        for index, block in enumerate(blocks):
            _answer(
                draft, block, f"{place}.content[{index}]", time, leftovers(draft, rest, place) if index == 0 else {}
            )
        return
    ids = as_list(rest.pop("tool_call_ids", None)) or []
    key = as_label(rest.pop("tool_call_id", None)) or next((as_label(item) for item in ids), None)
    if key is None and draft.expects(as_label(rest.get("id"))):
        key = take(rest, "id", as_label)
    tool = as_text(rest.pop("name", None)) or as_text(rest.get("function"))
    rest.pop("function", None)
    content = content_of(value)
    remark(draft, content, place)
    extra = leftovers(draft, rest, place)
    if content.extra:
        extra["content"] = content.extra
    draft.answer(content.parts, place=place, key=key, tool=tool, failed=_failed(rest), time=time, extra=extra)


def _calls(draft: Draft, rest: dict[str, Any], place: str) -> list[Call]:
    """The calls that stand beside the content."""
    calls: list[Call] = []
    entries = rest.pop("tool_calls", None)
    for index, entry in enumerate(as_list(entries) or []):
        call = call_entry(entry, draft, f"{place}.tool_calls[{index}]")
        if call is not None:
            calls.append(call)
    if entries and as_list(entries) is None:
        draft.fault(f"{place}.tool_calls", f"is {_kind(entries)}; it is a list of calls")
    if (legacy := as_object(rest.get("function_call"))) is not None:
        del rest["function_call"]
        where = f"{place}.function_call"
        calls.append(call_of(legacy.get("name"), legacy.get("arguments"), draft=draft, place=where))
    return calls


def _reasoning(rest: dict[str, Any]) -> list[str]:
    """Take the reasoning that stands beside the content."""
    found: list[str] = []
    for name in REASONING:
        text = as_text(rest.get(name))
        if text is not None:
            found.append(text)
            del rest[name]
    for name in ("thinking_blocks", "reasoning_details"):
        blocks = Content()
        for entry in as_list(rest.get(name)) or []:
            block = as_object(entry) or {}
            blocks.add({**block, "type": "reasoning"})
        if blocks.reasoning:
            found.extend(blocks.reasoning)
            del rest[name]
    return found


def _spoken(rest: dict[str, Any]) -> list[str]:
    """Take what the model said beside the content: a refusal, and the words of what it said aloud."""
    found = [take(rest, "refusal", as_text)]
    if (audio := as_object(rest.get("audio"))) is not None:
        rest["audio"] = audio = dict(audio)
        found.append(take(audio, "transcript", as_text))
    return [text for text in found if text]


def _usage(rest: dict[str, Any]) -> Usage | None:
    """Take the usage, with a cost that stands beside it; what has no field of its own stays."""
    usage = usage_of(rest.get("usage"))
    cost = as_number(rest.get("cost"))
    if cost is not None and (usage is None or usage.cost is None):
        usage = (usage or Usage()).model_copy(update={"cost": cost})
        del rest["cost"]
    if usage is not None and (more := beside(rest.pop("usage", None))):
        rest["usage"] = more
    return usage


def _failed(rest: dict[str, Any]) -> bool | None:
    """The error mark of a tool message, in any spelling."""
    if isinstance(mark := rest.get("is_error"), bool):
        return mark
    if rest.get("status") == "error" or rest.get("error"):
        return True
    return None


def _kind(value: Any) -> str:
    match value:
        case str():
            return "a text"
        case list():
            return "a list"
        case dict():
            return "an object"
        case None:
            return "null"
        case _:
            return "a number or a boolean"
