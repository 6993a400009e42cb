"""Episodes of verifiers 1: one for each trace, and for each branch of a trace, since a trace is a graph of messages."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rubricgrade.errors import Fault, TrajectoryError
from rubricgrade.readers.draft import Draft, label_of
from rubricgrade.readers.message import TOKENS, add_message, leftovers
from rubricgrade.readers.shapes import as_label, as_list, as_number, as_object, as_text, as_whole
from rubricgrade.readers.source import Document
from rubricgrade.readers.usage import total, usage_of
from rubricgrade.trajectory import Trajectory

MOST_BRANCHES = 1000


def matches(value: Any) -> bool:
    """Whether it is an episode of traces, or one trace, made of nodes."""
    fields = as_object(value) or {}
    traces = [as_object(trace) or {} for trace in as_list(fields.get("traces")) or [fields]]
    return any("message" in (as_object(node) or {}) for trace in traces for node in as_list(trace.get("nodes")) or [])


def split(document: Document) -> list[Document]:
    """The episode as one for each of its traces."""
    fields = as_object(document.value) or {}
    if (traces := as_list(fields.get("traces"))) is None:
        return [document]
    prefix = f"{document.path}." if document.path else ""
    return [
        replace(
            document,
            value={"id": fields.get("id"), "task": fields.get("task"), "traces": [trace]},
            path=f"{prefix}traces[{index}]",
            notes=document.notes if index == 0 else (),
        )
        for index, trace in enumerate(traces)
    ]


def read(document: Document) -> list[Trajectory]:
    """Every branch of a trace, alone or as the only one of an episode.

    Raises:
        TrajectoryError: The graph is none, a message can't be read, or there is none.
    """
    fields = as_object(document.value) or {}
    traces = as_list(fields.get("traces"))
    episode = fields if traces is not None else {}
    trace = as_object(next(iter(traces or []), None) if traces is not None else fields) or {}
    nodes = [as_object(node) or {} for node in as_list(trace.get("nodes")) or []]
    leaves = _leaves(nodes)
    return [
        _branch(document, episode, trace, _line(nodes, leaf), number=number, branches=len(leaves))
        for number, leaf in enumerate(leaves)
    ]


def _branch(
    document: Document,
    episode: dict[str, Any],
    trace: dict[str, Any],
    line: list[tuple[int, dict[str, Any]]],
    *,
    number: int,
    branches: int,
) -> Trajectory:
    draft = Draft()
    if branches > 1:
        draft.warn("nodes", f"branch {number + 1} of {branches}; each is a trajectory of its own", "branch")
    calls = {as_whole(call.get("node")): call for call in map(as_object, as_list(trace.get("calls")) or []) if call}
    for index, node in line:
        message = as_object(node.get("message"))
        call = calls.get(index) or {}
        facts = {"usage": call.get("usage"), "timestamp": node.get("timestamp")}
        given = node.get("message") if message is None else {**facts, **message}
        add_message(draft, given, f"nodes[{index}].message")
    if any(as_list(node.get(name)) for _, node in line for name in TOKENS):
        draft.warn("nodes", "token ids, masks or log-probabilities were left out", "tokens")
    task = as_object(trace.get("task")) or as_object(episode.get("task")) or {}
    data = as_object(task.get("data")) or {}
    config = as_object((as_object(trace.get("agent")) or {}).get("config")) or {}
    name = label_of(trace, "id") or label_of(episode, "id") or document.name
    meta = {key: value for key, value in trace.items() if key not in {"nodes", "calls", "mm_token_type_id_map"}}
    return draft.finish(
        id=f"{name}-branch-{number}" if branches > 1 else name,
        task=as_text(data.get("prompt")),
        task_id=as_label(data.get("id")) or as_label(task.get("key")),
        model=as_text(config.get("model")),
        reward=_reward(trace.get("rewards")),
        usage=total(usage_of(call.get("usage")) for call in calls.values()),
        meta=leftovers(draft, {**meta, "episode": label_of(episode, "id")}, ""),
    )


def _leaves(nodes: list[dict[str, Any]]) -> list[int]:
    parents = {as_whole(node.get("parent")) for node in nodes}
    leaves = [index for index in range(len(nodes)) if index not in parents]
    if not leaves or len(leaves) > MOST_BRANCHES:
        problem = "has no end: it is empty or runs in a circle" if not leaves else f"has more than {MOST_BRANCHES} ends"
        raise TrajectoryError(Fault(f"nodes: the graph of messages {problem}", code="TR003"))
    return leaves


def _line(nodes: list[dict[str, Any]], leaf: int) -> list[tuple[int, dict[str, Any]]]:
    """The nodes from the root to a leaf, with their indices."""
    line: list[tuple[int, dict[str, Any]]] = []
    index: int | None = leaf
    while index is not None:
        if index >= len(nodes) or len(line) > len(nodes):
            raise TrajectoryError(Fault("nodes: a parent leads nowhere or in a circle", code="TR003"))
        line.append((index, nodes[index]))
        index = as_whole(nodes[index].get("parent"))
    return line[::-1]


def _reward(rewards: Any) -> float | None:
    """The weighted sum of all rewards, as verifiers makes it; None when one of them is missing."""
    values: list[float] = []
    for reward in (as_object(rewards) or {}).values():
        fields = as_object(reward) or {}
        score, weight = as_number(fields.get("score")), as_number(fields.get("weight", 1.0))
        if score is None or weight is None:
            return None
        values.append(score * weight)
    return sum(values) if values else None
