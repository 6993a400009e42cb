"""Twins by embeddings, through litellm and a real HTTP endpoint."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from rubricgrade.delivery.likening import by_embeddings
from rubricgrade.errors import JudgeError
from tests.delivery.conftest import World


class Embedder(BaseHTTPRequestHandler):
    """Gives texts about lists one direction, and all others another; `broken`, it gives one for all that was asked."""

    broken = False

    def do_POST(self) -> None:
        texts: list[str] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
        rows = [[1.0, 0.1, 0.0] if "list" in text else [0.0, 0.1, 1.0] for text in texts]
        data = [{"object": "embedding", "index": index, "embedding": row} for index, row in enumerate(rows)]
        if self.broken:
            data = data[:1]
        body = json.dumps(
            {"object": "list", "data": data, "model": "e", "usage": {"prompt_tokens": 1, "total_tokens": 1}}
        )
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name in the base class
        pass


@pytest.fixture
def base(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-a-test")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Embedder)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()


def test_tasks_in_one_direction_are_twins(world: World, base: str) -> None:
    pairs = list(by_embeddings("openai/e", api_base=base)([task for task in world.tasks if task.id < "initials"]))
    found = {(pair.one, pair.two) for pair in pairs}
    assert {("chunks-1", "chunks-2"), ("chunks-1", "chunks-3"), ("chunks-2", "chunks-3")} <= found
    assert not [pair for pair in found if {world.families[name] for name in pair} == {"chunks", "clamp"}]
    assert all(pair.by == "embedding" and 0.9 <= pair.likeness <= 1 + 1e-9 for pair in pairs)


def test_an_answer_that_lacks_some_makes_no_split(world: World, base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Embedder, "broken", True)
    with pytest.raises(JudgeError, match="1 embeddings for 12 texts"):
        list(by_embeddings("openai/e", api_base=base)(world.tasks))
