from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chat.scripted import ScriptedServer
from tests.cli.program import write_episode


@pytest.fixture
def episode(tmp_path: Path) -> Path:
    return write_episode(tmp_path / "first")


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    running = ScriptedServer()
    yield running
    running.close()
