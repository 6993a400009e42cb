from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.chat.scripted import ScriptedServer


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/chat" in item.nodeid:
            # litellm silences this one itself when it is imported, which lasts for one test only.
            item.add_marker(pytest.mark.filterwarnings("ignore:.*`ReadOnly` qualifier:UserWarning"))


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    running = ScriptedServer()
    yield running
    running.close()


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE", "HTTP_PROXY", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
