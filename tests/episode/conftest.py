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


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Templates of these tasks go where the tests' other files go, also those of programs that they start."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield
