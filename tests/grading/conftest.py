from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.chat.scripted import ScriptedServer


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    running = ScriptedServer()
    yield running
    running.close()
