from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chat.scripted import ScriptedServer
from tests.episode.making import write_task


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    running = ScriptedServer()
    yield running
    running.close()


@pytest.fixture
def task(tmp_path: Path) -> Path:
    return write_task(tmp_path / "answer")
