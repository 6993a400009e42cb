"""tinker-cookbook: a `RewardFn` in its own environment of messages. The service itself is not needed.

Needs tinker-cookbook. Run: ``python examples/hosts/tinker_reward.py``.
"""

from __future__ import annotations

import asyncio
import json
import pickle
from pathlib import Path
from typing import Any

from tinker_cookbook.tool_use.agent_tool_message_env import AgentToolMessageEnv

from rubricgrade.integrations.tinker import reward_function

HERE = Path(__file__).resolve().parent


async def play(rubric: str, said: str) -> list[Any]:
    reward = pickle.loads(pickle.dumps(reward_function(HERE / rubric, ungraded=0.0, row={"answer": "4"})))
    asked = [{"role": "user", "content": "What is 2 + 2?"}]
    environment = AgentToolMessageEnv(tools=[], initial_messages=asked, max_turns=2, reward_fn=reward)
    step = await environment.step({"role": "assistant", "content": said})
    return [step.reward, step.episode_done, step.metrics["graded"]]


async def main() -> None:
    plays = [("rubric.yaml", "It is 4."), ("rubric.yaml", "It is 5."), ("judged.rubric.yaml", "It is 4.")]
    print(json.dumps({"host": "tinker", "episodes": [await play(*each) for each in plays]}))


if __name__ == "__main__":
    asyncio.run(main())
