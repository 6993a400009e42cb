"""OpenRLHF: its own executor, which asks a reward server. Needs openrlhf and torch; no GPU.

Run: ``python examples/hosts/openrlhf_server.py PROGRAM``, where PROGRAM is an installed ``rubricgrade``.
"""

from __future__ import annotations

import asyncio
import json
import sys
from types import SimpleNamespace
from typing import Any

from openrlhf.utils.agent import SingleTurnAgentExecutor
from openrlhf_run import Engine, Letters, number
from reward_server import EPISODES, served


async def rewards(url: str) -> list[Any]:
    # As --reward.remote_url would name it.
    executor = SingleTurnAgentExecutor(f"{url}/openrlhf")
    found: list[Any] = []
    for text, rubric in EPISODES:
        label = json.dumps({"answer": "4", "rubric": rubric})
        sampling = SimpleNamespace(max_tokens=64, logprobs=None)
        done = await executor.execute("2 + 2 = ", label, sampling, 256, Letters(), Engine(text))
        found.append([number(done["reward"]), number(done["extra_logs"]["graded"])])
    return found


if __name__ == "__main__":
    with served(sys.argv[1]) as place:
        print(json.dumps({"host": "openrlhf", "served": asyncio.run(rewards(place))}))
