"""NeMo Gym: its own client, with a reward server as the resources server of its configuration. Needs nemo-gym.

Run: ``python examples/hosts/nemo_gym_client.py PROGRAM``, where PROGRAM is an installed ``rubricgrade``.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any
from urllib.parse import urlsplit

from nemo_gym.base_resources_server import BaseVerifyRequest, BaseVerifyResponse
from nemo_gym.config_types import BaseServerConfig
from nemo_gym.server_utils import ServerClient
from nemo_gym_server import request
from omegaconf import OmegaConf
from reward_server import EPISODES, served


async def rewards(url: str) -> list[Any]:
    parts = urlsplit(url)
    place = {"host": parts.hostname, "port": parts.port, "entrypoint": ""}
    client = ServerClient(
        head_server_config=BaseServerConfig(host=str(parts.hostname), port=int(parts.port or 0)),
        global_config_dict=OmegaConf.create({"sums": {"resources_servers": {"rubricgrade": place}}}),
    )
    found: list[Any] = []
    for text, rubric in EPISODES:
        await client.post("sums", "/seed_session", json={})
        body = request(text, rubric)
        BaseVerifyRequest.model_validate(body)
        answer = await (await client.post("sums", "/verify", json=body)).json()
        reward = BaseVerifyResponse.model_validate(answer).reward
        found.append([reward, answer["mask_sample"], answer["failure_kind"]])
    return found


if __name__ == "__main__":
    # NeMo Gym reads the program's arguments as its own configuration.
    program = sys.argv.pop(1)
    with served(program) as address:
        print(json.dumps({"host": "nemo-gym", "served": asyncio.run(rewards(address))}))
