"""verl: its own loader and reward manager with our reward function, as a configuration names it. Needs verl and torch.

Run: ``python examples/hosts/verl_reward.py``.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from omegaconf import OmegaConf
from verl import DataProto
from verl.experimental.reward_loop.reward_manager.naive import NaiveRewardManager
from verl.trainer.ppo.reward import get_custom_reward_fn

HERE = Path(__file__).resolve().parent


class Letters:
    """A tokenizer: one token per character."""

    def decode(self, ids: Any, **_given: Any) -> str:
        return "".join(chr(int(one)) for one in ids)


def config(rubric: str) -> Any:
    function = {
        "path": "pkg://rubricgrade.integrations.verl",
        "name": "compute_score",
        "reward_kwargs": {"rubric": str(HERE / rubric), "ungraded": 0.0},
    }
    return OmegaConf.create({"reward": {"custom_reward_function": function}})


def sample(response: str, extra: dict[str, Any]) -> DataProto:
    ids = torch.tensor([[ord(letter) for letter in response]])
    return DataProto.from_dict(
        tensors={"responses": ids, "attention_mask": torch.ones_like(ids)},
        non_tensors={
            "data_source": np.array(["sums"], dtype=object),
            "reward_model": np.array([{"ground_truth": "4"}], dtype=object),
            "extra_info": np.array([extra], dtype=object),
        },
    )


async def main() -> None:
    found: list[Any] = []
    for rubric in ("rubric.yaml", "judged.rubric.yaml"):
        made = config(rubric)
        manager = NaiveRewardManager(made, Letters(), get_custom_reward_fn(made))
        for response, extra in (
            ("It is 4.", {"answer": "4"}),
            ("It is 5.", {"answer": "4"}),
            # An agent loop can hand over the conversation itself.
            ("...", {"answer": "4", "messages": [{"role": "assistant", "content": "Thank you for asking: 4."}]}),
        ):
            result = await manager.run_single(sample(response, extra))
            found.append([result["reward_score"], result["reward_extra_info"]["graded"]])
    print(json.dumps({"host": "verl", "rewards": found}))


if __name__ == "__main__":
    asyncio.run(main())
