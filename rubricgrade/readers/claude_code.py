"""Claude Code sessions: the JSONL files it keeps of itself, and the stream of its JSON output."""

from __future__ import annotations

from collections import Counter
from typing import Any

from rubricgrade.readers.draft import Draft, label_of
from rubricgrade.readers.message import add_message
from rubricgrade.readers.shapes import as_list, as_object, as_text
from rubricgrade.readers.source import Document
from rubricgrade.readers.usage import total, usage_of
from rubricgrade.trajectory import Trajectory

SPEAKERS = {"user", "assistant"}
SESSION = ("sessionId", "session_id")
# What stays with a step; the rest of a line's envelope is the same on all lines, or a link between them.
KEPT = ("uuid", "isMeta", "isCompactSummary", "isApiErrorMessage", "toolUseResult", "parent_tool_use_id")
ABOUT = ("cwd", "gitBranch", "slug", "agentId")
OUTCOME = ("subtype", "is_error")
SYNTHETIC = "<synthetic>"


def matches(value: Any) -> bool:
    """Whether it is a line of a session that holds a message."""
    line = as_object(value) or {}
    return _speaks(line) and any(name in line for name in (*SESSION, "parentUuid"))


def read_lines(documents: list[Document]) -> list[Trajectory]:
    """The session. Lines of one API message are put together, and what sub-agents said is left out, with a warning.

    Raises:
        TrajectoryError: A message can't be read, or there is none.
    """
    draft = Draft()
    lines = [(document.line, as_object(document.value) or {}) for document in documents]
    spoken = [(number, line) for number, line in lines if _speaks(line)]
    aside = sum(line.get("isSidechain") is True for _, line in spoken)
    if 0 < aside < len(spoken):
        draft.warn("", f"{aside} lines of sub-agents (isSidechain) are no steps of this session; left out", "sidechain")
        spoken = [(number, line) for number, line in spoken if line.get("isSidechain") is not True]
    _warn_of_others(draft, [line for _, line in lines if not _speaks(line)])
    _warn_of_rewinds(draft, [line for _, line in spoken])
    models: list[str] = []
    for number, message in _whole_messages(spoken):
        draft.line = number
        if (model := as_text(message.get("model"))) and model != SYNTHETIC:
            models.append(model)
        add_message(draft, {key: value for key, value in message.items() if key not in {"type", "model"}}, "message")
    first = spoken[0][1] if spoken else {}
    results: list[dict[str, Any]] = [line for _, line in lines if line.get("type") == "result"]
    result = results[-1] if results else {}
    name = documents[0].name.rsplit("-", 1)[0]
    session = label_of(first, *SESSION)
    meta = {"session_id": session, "agent": {"name": "claude-code", "version": first.get("version")}}
    meta |= {key: first[key] for key in ABOUT if key in first}
    meta |= {key: result[key] for key in OUTCOME if key in result}
    whole = {**(as_object(result.get("usage")) or {}), "cost_usd": result.get("total_cost_usd")}
    spent = usage_of(whole) or total(step.usage for step in draft.steps)
    return [
        draft.finish(
            id=name if aside == len(spoken) else session or name,
            model=next(iter(models), None),
            usage=spent,
            meta=meta,
        )
    ]


def _speaks(line: dict[str, Any]) -> bool:
    return as_text(line.get("type")) in SPEAKERS and as_object(line.get("message")) is not None


def _whole_messages(lines: list[tuple[int, dict[str, Any]]]) -> list[tuple[int, dict[str, Any]]]:
    """The messages in order; an API message that was written as several lines stands where its first line does."""
    messages: list[tuple[int, dict[str, Any]]] = []
    whole: dict[str, dict[str, Any]] = {}
    for number, line in lines:
        message = dict(as_object(line.get("message")) or {})
        message.setdefault("role", line["type"])
        key = as_text(message.get("id"))
        content = as_list(message.get("content"))
        if line["type"] == "assistant" and key is not None and content is not None:
            if key in whole:
                whole[key]["content"].extend(content)
                # Usage is counted up while the message is streamed: the last line has all of it.
                whole[key] |= {name: message[name] for name in ("usage", "stop_reason") if message.get(name)}
                continue
            message["content"] = list(content)
            whole[key] = message
        if (usage := as_object(message.get("usage"))) is not None:
            message["usage"] = {"cache_read_input_tokens": 0, **usage}
        if "timestamp" in line:
            message["timestamp"] = line["timestamp"]
        messages.append((number, message | {name: line[name] for name in KEPT if line.get(name)}))
        if key in whole:
            whole[key] = messages[-1][1]
    return messages


def _warn_of_others(draft: Draft, lines: list[dict[str, Any]]) -> None:
    kinds = Counter(str(line.get("type"))[:40] for line in lines)
    if kinds:
        listed = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
        draft.warn("", f"lines that hold no message were left out: {listed}", "not_messages")


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
            "", f"the session was rewound {rewound} times; all branches are here, in order of the file", "rewound"
        )
