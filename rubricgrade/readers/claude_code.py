"""Claude Code sessions: the JSONL files it keeps of itself, the stream of its JSON output, and lists of such lines."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from rubricgrade.plural import count
from rubricgrade.readers.draft import Draft, label_of
from rubricgrade.readers.message import add_message, leftovers
from rubricgrade.readers.shapes import as_list, as_object, as_text, without_nulls
from rubricgrade.readers.source import Document, told_lines
from rubricgrade.readers.usage import beside, total, usage_of
from rubricgrade.trajectory import Trajectory

SPEAKERS = {"user", "assistant"}
SESSION = ("sessionId", "session_id")
LINES = "loglines"
# What stays with a step; the rest of a line's envelope is the same on all lines, or a link between them.
KEPT = (
    "uuid",
    "isMeta",
    "isSidechain",
    "isCompactSummary",
    "isApiErrorMessage",
    "toolUseResult",
    "parent_tool_use_id",
    "attachment",
)
ABOUT = ("cwd", "gitBranch", "slug", "agentId")
# What of the closing line of a stream is read elsewhere.
CLOSING = {"type", "session_id", "uuid", "usage", "total_cost_usd", "result"}
SYNTHETIC = "<synthetic>"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a session.

    Attributes:
        number: 1-based line of a JSONL file; 0 elsewhere.
        place: Its place in a list of lines; empty for a line of a file.
        fields: What it holds.
    """

    number: int
    place: str
    fields: dict[str, Any]

    @property
    def aside(self) -> bool:
        """Whether a sub-agent said it, or was told it."""
        return self.fields.get("isSidechain") is True or bool(self.fields.get("parent_tool_use_id"))


def matches(value: Any) -> bool:
    """Whether it is a line of a session that holds a message."""
    line = as_object(value) or {}
    return _speaks(line) and any(name in line for name in (*SESSION, "parentUuid"))


def matches_list(value: Any) -> bool:
    """Whether it is a list of such lines, or an object that holds one."""
    lines = as_list((as_object(value) or {}).get(LINES))
    if lines is not None:
        return any(_speaks(as_object(line) or {}) for line in lines)
    return any(matches(line) for line in as_list(value) or [])


def read_lines(documents: list[Document]) -> list[Trajectory]:
    """The session of a JSONL file. Lines of one API message are put together.

    Raises:
        TrajectoryError: A message can't be read, or there is none.
    """
    lines = [Line(document.line, "", as_object(document.value) or {}) for document in documents]
    return [_session(lines, documents[0].name.rsplit("-", 1)[0])]


def read(document: Document) -> list[Trajectory]:
    """The session of a list of lines.

    Raises:
        TrajectoryError: A message can't be read, or there is none.
    """
    fields = as_object(document.value) or {}
    entries = as_list(fields.get(LINES)) or as_list(document.value) or []
    prefix = LINES if fields else ""
    return [
        _session(
            [Line(0, f"{prefix}[{index}]", as_object(entry) or {}) for index, entry in enumerate(entries)],
            document.name,
        )
    ]


def _session(lines: list[Line], name: str) -> Trajectory:
    draft = Draft()
    spoken = _distinct(draft, [line for found in lines if (line := _queued(found)) and _speaks(line.fields)])
    aside = [line for line in spoken if line.aside]
    mixed = 0 < len(aside) < len(spoken)
    if mixed:
        spoken = _own_last(spoken)
        message = f"what sub-agents said and did stands among the steps, as the agent's own: {_where(aside)}"
        draft.warn("", message, "sidechain")
    _warn_of_others(draft, [line for line in lines if not _speaks((_queued(line) or line).fields)])
    _warn_of_rewinds(draft, [line.fields for line in spoken])
    own = [line for line in spoken if not line.aside] or spoken
    models = [model for line in own if (model := _model(line.fields)) is not None]
    for line, message in _whole_messages(spoken):
        draft.line = line.number
        message.pop("model", None)
        if (model := _model(line.fields)) is not None and model not in models[:1]:
            message["model_name"] = model
        message.pop("type", None)
        if mixed and line.aside and message["role"] == "user":
            # The agent wrote it: shown as the user's, it could pass for a person's consent.
            message |= {"role": "assistant", "subagent_prompt": True}
        add_message(draft, message, f"{line.place}.message".lstrip("."))
    draft.line = 0
    first = spoken[0].fields if spoken else {}
    results = [line.fields for line in lines if line.fields.get("type") == "result"]
    result = results[-1] if results else {}
    session = label_of(first, *SESSION)
    meta = {"session_id": session, "agent": {"name": "claude-code", "version": first.get("version")}}
    meta |= {key: first[key] for key in ABOUT if key in first}
    meta |= {key: item for key, item in result.items() if key not in CLOSING and key not in meta}
    whole = {**(as_object(result.get("usage")) or {}), "cost_usd": result.get("total_cost_usd")}
    meta |= without_nulls({"usage": beside(whole)})
    if (closing := as_text(result.get("result"))) and closing not in (step.text for step in draft.steps[-1:]):
        meta["result"] = closing
    return draft.finish(
        id=name if len(aside) == len(spoken) else session or name,
        model=next(iter(models), None),
        usage=usage_of(whole) or total(step.usage for step in draft.steps),
        meta=leftovers(draft, meta, ""),
    )


def _speaks(line: dict[str, Any]) -> bool:
    return as_text(line.get("type")) in SPEAKERS and as_object(line.get("message")) is not None


def _model(line: dict[str, Any]) -> str | None:
    model = as_text((as_object(line.get("message")) or {}).get("model"))
    return None if model == SYNTHETIC else model


def _queued(line: Line) -> Line:
    """The line; one with what a person typed while the agent worked, as the message that the model was given."""
    attachment = as_object(line.fields.get("attachment")) or {}
    prompt = attachment.get("prompt")
    if attachment.get("type") != "queued_command" or not prompt:
        return line
    fields = {**line.fields, "attachment": "queued_command", "type": "user"}
    return Line(line.number, line.place, {**fields, "message": {"role": "user", "content": prompt}})


def _distinct(draft: Draft, lines: list[Line]) -> list[Line]:
    """The lines without those that a resumed session wrote once more."""
    seen: set[str] = set()
    kept: list[Line] = []
    again: list[Line] = []
    for line in lines:
        key = as_text(line.fields.get("uuid"))
        (again if key in seen else kept).append(line)
        if key is not None:
            seen.add(key)
    if again:
        draft.warn("", f"lines that stand twice were left out the second time: {_where(again)}", "repeated")
    return kept


def _own_last(lines: list[Line]) -> list[Line]:
    """The lines with the session's own last message behind all that sub-agents said, so that it stays the last word."""
    last = next(line for line in reversed(lines) if not line.aside)
    key = (as_object(last.fields.get("message")) or {}).get("id")
    closing = [
        line
        for line in lines
        if line is last
        or (key is not None and not line.aside and (as_object(line.fields.get("message")) or {}).get("id") == key)
    ]
    first = lines.index(closing[0])
    late = [line for line in lines[first:] if line.aside]
    if not late or late[-1] is not lines[-1]:
        return lines
    return [*lines[:first], *late, *(line for line in lines[first:] if not line.aside)]


def _whole_messages(lines: list[Line]) -> list[tuple[Line, dict[str, Any]]]:
    """The messages in order; an API message that was written as several lines stands where its first line does."""
    messages: list[tuple[Line, dict[str, Any]]] = []
    whole: dict[str, dict[str, Any]] = {}
    for line in lines:
        message = dict(as_object(line.fields.get("message")) or {})
        message.setdefault("role", line.fields["type"])
        key = as_text(message.get("id"))
        content = as_list(message.get("content"))
        if line.fields["type"] == "assistant" and key is not None and content is not None:
            if key in whole:
                called = {_call_id(block) for block in whole[key]["content"]} - {None}
                whole[key]["content"].extend(block for block in content if _call_id(block) not in called)
                # Usage is counted up while the message is streamed: the last line has all of it.
                whole[key] |= {name: message[name] for name in ("usage", "stop_reason") if message.get(name)}
                continue
            message["content"] = list(content)
            whole[key] = message
        if (usage := as_object(message.get("usage"))) is not None:
            message["usage"] = {"cache_read_input_tokens": 0, **usage}
        if "timestamp" in line.fields:
            message["timestamp"] = line.fields["timestamp"]
        messages.append((line, message | {name: line.fields[name] for name in KEPT if line.fields.get(name)}))
        if key in whole:
            whole[key] = messages[-1][1]
    return messages


def _call_id(block: Any) -> str | None:
    fields = as_object(block) or {}
    return as_text(fields.get("id")) if fields.get("type") == "tool_use" else None


def _where(lines: list[Line]) -> str:
    """The places of lines, for people."""
    numbers = [line.number for line in lines if line.number]
    if numbers:
        return told_lines(numbers)
    return ", ".join(line.place for line in lines[:10]) + (" ..." if len(lines) > 10 else "")  # noqa: PLR2004 - as many as before


def _warn_of_others(draft: Draft, lines: list[Line]) -> None:
    kinds: dict[str, list[Line]] = {}
    for line in lines:
        kinds.setdefault(str(line.fields.get("type"))[:40], []).append(line)
    if kinds:
        told = ", ".join(f"{len(found)} {kind} ({_where(found)})" for kind, found in sorted(kinds.items()))
        draft.warn("", f"lines that hold no message were left out: {told}", "not_messages")


def _warn_of_rewinds(draft: Draft, lines: list[dict[str, Any]]) -> None:
    """Two prompts with one parent: the person went back, and what came of the first prompt was given up."""
    prompts = Counter(
        parent
        for line in lines
        if line["type"] == "user"
        and (parent := as_text(line.get("parentUuid"))) is not None
        and isinstance((as_object(line.get("message")) or {}).get("content"), str)
    )
    if rewound := sum(count > 1 for count in prompts.values()):
        draft.warn(
            "",
            f"the session was rewound {count(rewound, 'time')}; all branches are here, in order of the file",
            "rewound",
        )
