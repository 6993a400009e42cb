"""OpenAI Responses items, bare or with request and response around them, and NeMo Gym's rollouts made of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from rubricgrade.readers.calls import call_of
from rubricgrade.readers.content import Content, content_of, said
from rubricgrade.readers.draft import Draft
from rubricgrade.readers.message import ROLES, add_message, leftovers, remark
from rubricgrade.readers.records import facts_of, name_of
from rubricgrade.readers.shapes import as_label, as_list, as_object, as_text, without_nulls
from rubricgrade.readers.source import Document
from rubricgrade.readers.usage import usage_of
from rubricgrade.trajectory import Call, Part, Trajectory, Usage

CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
# Items of tools that the provider runs itself: what they did and what came of it stand in one item.
BUILT_IN = "_call"
OUTCOMES = ("output", "outputs", "results", "result", "error")
OUTPUT = "_output"
# What of a request and a response is read; and what of a response is kept even where it repeats the request.
READ = {"input", "instructions", "model", "output", "usage", "reward"}
KEPT = {"id", "status", "error", "incomplete_details"}


def is_item(value: Any) -> bool:
    """Whether it is an item of a kind that only Responses has."""
    kind = (as_object(value) or {}).get("type")
    return isinstance(kind, str) and (kind.endswith((BUILT_IN, BUILT_IN + OUTPUT)) or kind == "reasoning")


def is_enveloped(value: Any) -> bool:
    """Whether it is a line of a Codex session that holds an item."""
    fields = as_object(value) or {}
    return fields.get("type") == "response_item" and as_object(fields.get("payload")) is not None


def matches_line(value: Any) -> bool:
    """Whether one line of a JSONL file is one item."""
    return is_item(value) or is_enveloped(value)


def matches(value: Any) -> bool:
    """Whether it is a list of items, or holds a request or a response made of them."""
    entries = as_list(value)
    if entries is not None:
        return any(is_item(entry) for entry in entries)
    fields = as_object(value) or {}
    request, response = _halves(fields)
    return "input" in request or isinstance(response.get("output"), list)


def read(document: Document) -> list[Trajectory]:
    """The episode: what the model was given, then what it put out.

    Raises:
        TrajectoryError: An item can't be read, or there is none.
    """
    draft = Draft()
    fields = as_object(document.value)
    if fields is None:
        Items(draft).add_all(document.value, "")
        return [draft.finish(id=document.name)]
    request, response = _halves(fields)
    instructions = request.get("instructions") or response.get("instructions")
    if instructions:
        add_message(draft, {"role": "system", "content": instructions}, "instructions")
    given = request.get("input")
    items = Items(draft)
    items.add_all([{"role": "user", "content": given}] if isinstance(given, str) else given, "input")
    items.usage = usage_of(response.get("usage"))
    items.add_all(_joined(draft, response.get("output")), "output")
    if not response:
        draft.warn("", "has a request but no response: the agent did nothing", "no_response")
    if response.get("error") or response.get("incomplete_details"):
        draft.warn("response", "the response is marked as failed or incomplete; see meta", "incomplete")
    rest = {
        key: value for key, value in fields.items() if key not in {"request", "response", "responses_create_params"}
    }
    if fields is response:
        rest = {"id": fields.get("id")}
    facts = facts_of({"model": response.get("model") or request.get("model"), "usage": response.get("usage"), **rest})
    about = {key: value for key, value in request.items() if key not in READ} if request is not response else {}
    asked = request if request is not response else {}
    put_out = {
        key: value
        for key, value in response.items()
        if key not in READ and (key in KEPT or key not in asked or value != asked[key])
    }
    meta = {**facts["meta"], "request": without_nulls(about), "response": without_nulls(put_out)}
    facts["meta"] = leftovers(draft, meta, "")
    return [draft.finish(id=name_of(rest, document), **facts)]


def _joined(draft: Draft, output: Any) -> Any:
    """The items of an output; where each turn has a list of all items up to its end, put together.

    NeMo Gym writes such lists for agents that contain transitions.
    """
    entries = as_list(output)
    if not entries or not all(isinstance(entry, list) for entry in entries):
        return output
    joined: list[Any] = []
    for index, items in enumerate(as_list(entry) or [] for entry in entries):
        if items[: len(joined)] == joined:
            joined = items
        elif joined[: len(items)] != items:
            draft.warn(f"output[{index}]", "does not go on from the turns before it; put after them", "transitions")
            joined = joined + items
    return joined


def read_lines(documents: list[Document]) -> list[Trajectory]:
    """The episode of a JSONL file with one item on each line, bare or in the envelope of a Codex session.

    Raises:
        TrajectoryError: An item can't be read.
    """
    draft = Draft()
    items = Items(draft)
    enveloped = any(is_enveloped(document.value) for document in documents)
    others: Counter[str] = Counter()
    for document in documents:
        draft.line = document.line
        line = as_object(document.value) or {}
        if not enveloped:
            items.add(document.value, "")
        elif is_enveloped(line):
            items.add(line["payload"], "payload")
        else:
            others[str(line.get("type"))[:60]] += 1
    items.end()
    draft.line = 0
    if others:
        listed = ", ".join(f"{count} {kind}" for kind, count in sorted(others.items()))
        draft.warn("", f"lines that hold no item were left out: {listed}", "not_messages")
    return [draft.finish(id=documents[0].name.rsplit("-", 1)[0])]


@dataclass(slots=True)
class Items:
    """Items while they are put together to steps.

    What a model puts out in one turn is several items: reasoning, a message, calls. They make one step, which ends with
    anything that the model did not put out, and with an item that can't belong to the same turn.

    Attributes:
        draft: Where the steps go.
        usage: Tokens of what follows; the first step made of it gets them.
    """

    draft: Draft
    usage: Usage | None = None
    said: Content = field(default_factory=Content)
    calls: list[Call] = field(default_factory=list[Call])
    outcomes: list[tuple[str | None, str, list[Part], bool | None]] = field(
        default_factory=list[tuple[str | None, str, list[Part], bool | None]]
    )
    open: bool = False
    extra: dict[str, Any] = field(default_factory=dict[str, Any])
    place: str = ""

    def add_all(self, items: Any, path: str) -> None:
        """Add items in order, and end the last step."""
        for index, item in enumerate(as_list(items) or []):
            self.add(item, f"{path}[{index}]")
        self.end()

    def takes(self, item: Any) -> bool:
        """Whether it is an item, or a whole response, that can stand in a list of messages."""
        return is_item(item) or isinstance((as_object(item) or {}).get("output"), list)

    def add(self, item: Any, place: str) -> None:
        """Add one item, of a known kind or not, or the items of a whole response."""
        fields = as_object(item)
        if fields is not None and isinstance(fields.get("output"), list) and fields.get("object") == "response":
            self.end()
            self.usage = usage_of(fields.get("usage"))
            self.add_all(fields["output"], f"{place}.output")
            return
        if fields is None:
            self.draft.fault(place, "is no item; an item is an object with a type")
            return
        kind = as_text(fields.get("type"))
        if kind in CALLS:
            self._add_call(fields, CALLS[kind], place)
        elif kind == "reasoning":
            self._begin(place, new=bool(self.said.parts or self.calls))
            self.said.add(fields)
        elif kind is not None and kind.endswith(OUTPUT):
            self.end()
            self._add_result(fields, place)
        elif kind is not None and kind.endswith(BUILT_IN):
            self._add_built_in(fields, kind, place)
        elif "role" in fields and kind in {None, "message"}:
            self._add_message(fields, place)
        else:
            self.end()
            text = content_of(fields)
            self.draft.warn(place, f"an item of unknown type {str(kind)[:60]!r}; kept as an assistant step", "unknown")
            self.draft.say("assistant", text.parts, place=place)

    def end(self) -> None:
        """Make a step of what was gathered, and steps of what its built-in tools gave."""
        if not self.open:
            return
        said, outcomes = self.said, self.outcomes
        remark(self.draft, said, self.place)
        said.split_thinking()
        extra = self.extra | ({"content": said.extra} if said.extra else {})
        self.draft.say(
            "assistant",
            said.parts,
            place=self.place,
            reasoning=said.thoughts,
            calls=self.calls,
            usage=self.usage,
            extra=extra,
        )
        for key, tool, parts, failed in outcomes:
            self.draft.answer(parts, place=self.place, key=key, tool=tool, failed=failed)
        self.said, self.calls, self.outcomes, self.extra = Content(), [], [], {}
        self.open, self.usage = False, None

    def _begin(self, place: str, *, new: bool) -> None:
        if new:
            self.end()
        if not self.open:
            self.open, self.place = True, place

    def _add_message(self, fields: dict[str, Any], place: str) -> None:
        name = fields.get("role")
        if (ROLES.get(name) if isinstance(name, str) else None) != "assistant":
            self.end()
            add_message(self.draft, {key: value for key, value in fields.items() if key not in {"type", "id"}}, place)
            return
        self._begin(place, new=bool(self.said.parts or self.calls))
        content = said(fields.get("content"))
        self.said.parts += content.parts
        self.said.notes += content.notes
        self.said.extra |= content.extra
        rest = {key: value for key, value in fields.items() if key not in {"type", "role", "content", "status"}}
        self.extra |= leftovers(self.draft, rest, place)

    def _add_call(self, fields: dict[str, Any], arguments: str, place: str) -> None:
        self._begin(place, new=False)
        given = fields.get(arguments)
        if fields.get("type") == "custom_tool_call":
            given = {"input": given}
        skipped = {"type", "id", "call_id", "status", "name", arguments}
        rest = leftovers(self.draft, {key: item for key, item in fields.items() if key not in skipped}, place)
        if rest:
            self.extra[f"call_{len(self.calls) + 1}"] = rest
        call_id = fields.get("call_id") or fields.get("id")
        self.calls.append(call_of(fields.get("name"), given, call_id=call_id, draft=self.draft, place=place))

    def _add_built_in(self, fields: dict[str, Any], kind: str, place: str) -> None:
        """A call of a provider's own tool: all that is no result are its arguments."""
        self._begin(place, new=False)
        name = as_text(fields.get("name")) or kind.removesuffix(BUILT_IN)
        call_id = fields.get("call_id") or fields.get("id")
        skipped = {"type", "id", "call_id", "status", "name", *OUTCOMES}
        given = as_text(fields.get("arguments")) or {key: item for key, item in fields.items() if key not in skipped}
        content = Content()
        given = given if isinstance(given, str) else content.slim(without_nulls(given))
        self.calls.append(call_of(name, given, call_id=call_id, draft=self.draft, place=place))
        outcome = {key: fields[key] for key in OUTCOMES if fields.get(key)}
        if outcome:
            found = content_of(next(iter(outcome.values())) if len(outcome) == 1 else outcome)
            remark(self.draft, found, place)
            failed = True if fields.get("error") or fields.get("status") == "failed" else None
            self.outcomes.append((as_label(call_id), name, found.parts, failed))

    def _add_result(self, fields: dict[str, Any], place: str) -> None:
        content = content_of(fields.get("output"))
        remark(self.draft, content, place)
        skipped = {"type", "call_id", "output", "id", "status"}
        extra = leftovers(self.draft, {key: item for key, item in fields.items() if key not in skipped}, place)
        self.draft.answer(content.parts, place=place, key=as_label(fields.get("call_id")), extra=extra)


def _halves(fields: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The request and the response in a record, a NeMo Gym rollout, a response alone or a request alone."""
    request = as_object(fields.get("responses_create_params")) or as_object(fields.get("request"))
    response = as_object(fields.get("response"))
    if request is not None or response is not None:
        return request or {}, response or {}
    if isinstance(fields.get("output"), list) and (fields.get("object") == "response" or "input" in fields):
        return fields, fields
    return (fields, {}) if isinstance(fields.get("input"), list) and "messages" not in fields else ({}, {})
