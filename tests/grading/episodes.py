"""Small episodes and rubrics on disk, and a judge that answers over HTTP by what it is asked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.chat.scripted import ScriptedServer, Seen, Wire, completion

MESSAGES = [
    {"role": "user", "content": "Sum up the travel costs."},
    {"role": "assistant", "content": "The total is 48.2L and the largest item is the hotel in Pune."},
]


def episode(folder: Path, files: Mapping[str, str | bytes] | None = None, **fields: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "trajectory.json").write_text(json.dumps({"id": folder.name, "messages": MESSAGES, **fields}))
    if files is not None:
        (folder / "workspace").mkdir()
        for name, content in files.items():
            path = folder / "workspace" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def rubric(folder: Path, body: Mapping[str, Any], sealed: Mapping[str, str] | None = None) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in (sealed or {}).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    path = folder / "rubric.yaml"
    path.write_text(json.dumps({"id": "r", **body}, indent=1))
    return path


def said(answer: str, quote: str = "The total is 48.2L") -> Wire:
    evidence = [{"quote": quote, "where": "[1].text"}] if quote else []
    return completion(json.dumps({"reasoning": "as quoted", "evidence": evidence, "answer": answer}))


def judge_by(server: ScriptedServer, answers: Mapping[str, Wire]) -> None:
    """Answer by the first key that stands in the question, or in what has been said about it since."""

    def answer(seen: Seen) -> Wire:
        question = json.dumps(seen.body["messages"][2:])
        return next(wire for key, wire in answers.items() if key in question)

    server.script = [answer]
