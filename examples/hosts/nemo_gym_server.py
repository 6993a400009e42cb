"""NeMo Gym: its resources server, whose real ``/verify`` route grades with a rubric. Needs nemo-gym.

Run: ``python examples/hosts/nemo_gym_server.py``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient
from nemo_gym.base_resources_server import BaseResourcesServerConfig
from nemo_gym.server_utils import ServerClient

from rubricgrade.integrations.nemo_gym import rubric_server

HERE = Path(__file__).resolve().parent


class Server(rubric_server(lambda row: HERE / row["rubric"])):
    config: BaseResourcesServerConfig


def request(text: str, rubric: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    output = [{"id": "m", "type": "message", "role": "assistant", "status": "completed", "content": content}]
    return {
        "responses_create_params": {"input": [{"role": "user", "content": "What is 2 + 2?", "type": "message"}]},
        "response": {
            "id": "r", "object": "response", "created_at": 0, "model": "m", "output": output,
            "parallel_tool_calls": False, "tool_choice": "auto", "tools": [],
        },
        "answer": "4",
        "rubric": rubric,
    }  # fmt: skip


def main() -> None:
    config = BaseResourcesServerConfig(host="127.0.0.1", port=8000, entrypoint="", name="sums")
    server = Server(config=config, server_client=ServerClient.model_construct())
    found: list[Any] = []
    with TestClient(server.setup_webserver()) as client:
        for text, rubric in (
            ("It is 4.", "rubric.yaml"),
            ("It is 5.", "rubric.yaml"),
            ("It is 4.", "judged.rubric.yaml"),
        ):
            answer = client.post("/verify", json=request(text, rubric)).json()
            found.append([answer["reward"], answer["mask_sample"], answer["failure_kind"]])
    print(json.dumps({"host": "nemo-gym", "answers": found}))


if __name__ == "__main__":
    main()
