from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rubricgrade.chat.loops import PerLoop
from tests.chat.asking import KEY, ask, open_chat, question
from tests.chat.scripted import ScriptedServer

ROOT = str(Path(__file__).parents[2])


@pytest.mark.parametrize("route", ["compatible", "litellm"])
def test_one_chat_serves_loops_one_after_another(server: ScriptedServer, route: str) -> None:
    chat = open_chat(server.base, route)
    for _ in range(3):
        assert ask(chat).text == "yes"
    gc.collect()  # a client that was left open would warn here, and warnings are errors


def test_calls_share_connections(server: ScriptedServer) -> None:
    async def main() -> None:
        for _ in range(5):
            await open_chat(server.base).ask(question())

    asyncio.run(main())
    assert server.connections == 1


def test_a_thing_lives_as_long_as_its_loop() -> None:
    ended: list[object] = []

    async def end(thing: object) -> None:
        ended.append(thing)

    things = PerLoop(object, end)

    async def main() -> object:
        one, other = await asyncio.gather(things.get(), things.get())
        assert one is other
        assert one not in ended
        return one

    first, second = asyncio.run(main()), asyncio.run(main())
    assert first is not second
    assert ended == [first, second]


FORK = """
import asyncio, os, sys
from tests.chat.asking import open_chat, question

chat = open_chat(sys.argv[1])
async def main():
    await chat.ask(question())
    pid = os.fork()
    if pid == 0:
        asyncio.events._set_running_loop(None)
        asyncio.set_event_loop(None)
        reply = asyncio.run(chat.ask(question()))
        os._exit(0 if reply.text == "yes" else 1)
    while (ended := os.waitpid(pid, os.WNOHANG))[0] == 0:
        await asyncio.sleep(0.01)
    assert os.waitstatus_to_exitcode(ended[1]) == 0
    await chat.ask(question())
asyncio.run(main())
"""


def test_a_forked_worker_calls_on_its_own(server: ScriptedServer) -> None:
    environment = {**os.environ, "PYTHONPATH": ROOT}
    subprocess.run([sys.executable, "-c", FORK, server.base], check=True, timeout=60, env=environment, cwd=ROOT)
    assert len(server.seen) == 3
    assert all(seen.headers["authorization"] == f"Bearer {KEY}" for seen in server.seen)


def test_importing_chat_loads_no_vendor() -> None:
    code = "import sys, rubricgrade.chat; print([m for m in ('aiohttp', 'litellm', 'openai', 'httpx') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"
