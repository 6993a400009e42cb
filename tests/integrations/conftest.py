from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest

from tests.chat.scripted import ScriptedServer


class WriteRubric(Protocol):
    def __call__(self, *criteria: dict[str, Any], **body: Any) -> str: ...


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    running = ScriptedServer()
    yield running
    running.close()


@pytest.fixture
def write_rubric(tmp_path: Path) -> WriteRubric:
    """Write a rubric with these criteria; returns its path."""

    def write(*criteria: dict[str, Any], **body: Any) -> str:
        path = tmp_path / f"rubric-{len(list(tmp_path.iterdir()))}.yaml"
        content: dict[str, Any] = {"id": "r", **body}
        if criteria:
            content["criteria"] = list(criteria)
        path.write_text(json.dumps(content))
        return str(path)

    return write
