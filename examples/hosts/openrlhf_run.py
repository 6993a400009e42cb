"""OpenRLHF: its own executor, which loads the file or asks a server, with a model's text written here.

Needs openrlhf and torch; no GPU. Run: ``python examples/hosts/openrlhf_run.py``.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from aiohttp import web
from openrlhf.utils.agent import SingleTurnAgentExecutor

from rubricgrade.integrations.openrlhf import answer
from rubricgrade.integrations.rewarding import Rewarder

HERE = Path(__file__).resolve().parent


class Letters:
    """A tokenizer: one token per character."""

    def __call__(self, text: str, **_given: Any) -> dict[str, Any]:
        return {"input_ids": torch.tensor([[ord(letter) for letter in text]])}

    def decode(self, ids: Any, **_given: Any) -> str:
        return "".join(chr(int(one)) for one in ids)


class Engine:
    """Says what it was made to say."""

    def __init__(self, text: str) -> None:
        self.text = text

    async def generate(self, *_given: Any, **_named: Any) -> Any:
        said = SimpleNamespace(token_ids=[ord(one) for one in self.text], text=self.text, finish_reason="stop")
        return SimpleNamespace(outputs=[said])


async def serve(rewarder: Rewarder) -> tuple[web.AppRunner, str]:
    async def handle(request: web.Request) -> web.Response:
        return web.json_response(await answer(rewarder, await request.json(), ungraded=0.0))

    app = web.Application()
    app.router.add_post("/", handle)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    return runner, f"http://127.0.0.1:{runner.addresses[0][1]}/"


def number(value: Any) -> float:
    """The one number in what OpenRLHF keeps of an answer for one sample."""
    return float(torch.as_tensor(value).flatten()[0])


async def main() -> None:
    rewarder = Rewarder(lambda row: HERE / row["rubric"])
    runner, url = await serve(rewarder)
    found: dict[str, list[Any]] = {}
    for way, place in (("file", str(HERE / "openrlhf_reward.py")), ("server", url)):
        executor = SingleTurnAgentExecutor(place)
        for text, rubric in (
            ("It is 4.", "rubric.yaml"),
            ("It is 5.", "rubric.yaml"),
            ("It is 4.", "judged.rubric.yaml"),
        ):
            label = json.dumps({"answer": "4", "rubric": rubric})
            sampling = SimpleNamespace(max_tokens=64, logprobs=None)
            done = await executor.execute("2 + 2 = ", label, sampling, 256, Letters(), Engine(text))
            found.setdefault(way, []).append([number(done["reward"]), number(done["extra_logs"]["graded"])])
    await runner.cleanup()
    print(json.dumps({"host": "openrlhf", **found}))


if __name__ == "__main__":
    asyncio.run(main())
