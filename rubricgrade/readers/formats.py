"""Every format that is read, in the order in which they are tried. A format is recognised by its content alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rubricgrade.readers import (
    atif,
    chat,
    claude_code,
    inspect_log,
    native,
    openhands,
    openhands_events,
    otel,
    responses,
    swe_agent,
    verifiers,
)
from rubricgrade.readers.source import Document
from rubricgrade.trajectory import Trajectory


@dataclass(frozen=True, slots=True)
class Format:
    """How the documents of one format become trajectories.

    Attributes:
        name: What a caller forces it by.
        matches: Whether a document is of this format.
        read: The episodes of one document. Raises `TrajectoryError`.
        split: A document of several episodes as one document for each, so that a bad one does not cost the others.
        read_lines: The episodes of all lines of a JSONL file together, for formats that write one event on each line;
            then `matches` is asked of lines. Raises `TrajectoryError`.
    """

    name: str
    matches: Callable[[Any], bool]
    read: Callable[[Document], list[Trajectory]] | None = None
    split: Callable[[Document], list[Document]] | None = None
    read_lines: Callable[[list[Document]], list[Trajectory]] | None = None


FORMATS: tuple[Format, ...] = (
    Format("rubricgrade", native.matches, native.read),
    Format("atif", atif.matches, atif.read),
    Format("inspect", inspect_log.matches, inspect_log.read, inspect_log.split),
    Format("claude-code", claude_code.matches, read_lines=claude_code.read_lines),
    Format("claude-code", claude_code.matches_list, claude_code.read),
    Format("openhands-sdk", openhands_events.is_event, read_lines=openhands_events.read_lines),
    Format("openhands-sdk", openhands_events.matches, openhands_events.read),
    Format("openhands", openhands.is_event, read_lines=openhands.read_lines),
    Format("openhands", openhands.matches, openhands.read),
    Format("verifiers", verifiers.matches, verifiers.read, verifiers.split),
    Format("swe-agent", swe_agent.matches, swe_agent.read),
    Format("otel", otel.matches, read_lines=otel.read_lines),
    Format("otel", otel.matches, otel.read),
    Format("responses", responses.matches_line, read_lines=responses.read_lines),
    Format("responses", responses.matches, responses.read),
    Format("chat", chat.matches_lines, read_lines=chat.read_lines),
    Format("chat", chat.matches, chat.read),
)
