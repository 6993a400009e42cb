"""Harbor: a real ``harbor run`` of an example task, in our sandbox and by our verifier. Needs harbor.

The oracle solves it and the agent that does nothing does not; with a rubric that needs a judge there is no reward.
Run: ``python examples/hosts/harbor_run.py``.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TASK = HERE.parent / "tasks" / "add"
SHIM = """#!/bin/sh
# For who runs the task without our verifier: the same, inside the agent's container.
exec python3 -m rubricgrade.integrations.harbor_files /tests/rubric.yaml --workspace "$PWD" --to /logs/verifier
"""


def run(task: Path, agent: str, jobs: Path, *more: str) -> dict[str, Any]:
    """One trial: its rewards, and the error that Harbor recorded, if any."""
    command = [
        str(Path(sys.executable).with_name("harbor")), "run", "-p", str(task), "-a", agent,
        "-o", str(jobs / agent), "-y",
        "-e", "rubricgrade.integrations.harbor_environment:BubblewrapEnvironment",
        "--verifier", "rubricgrade.integrations.harbor:RubricVerifier", *more,
    ]  # fmt: skip
    env = {**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    results = [json.loads(file.read_text()) for file in (jobs / agent).glob("*/*/result.json")]
    if not results:
        raise SystemExit(done.stdout[-3000:] + done.stderr[-3000:])
    (result,) = results
    (trial,) = (file.parent for file in (jobs / agent).glob("*/*/result.json"))
    return {
        "rewards": (result["verifier_result"] or {}).get("rewards"),
        "error": (result["exception_info"] or {}).get("exception_type"),
        "details": (trial / "verifier" / "reward-details.json").exists(),
    }


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        jobs, task = Path(folder) / "jobs", Path(folder) / "add"
        shutil.copytree(TASK, task)
        (task / "tests" / "test.sh").write_text(SHIM)
        found = {agent: run(task, agent, jobs) for agent in ("oracle", "nop")}
        judged = f"rubric={HERE / 'judged.rubric.yaml'}"
        found["ungraded"] = run(task, "oracle", jobs / "judged", "--verifier-kwarg", judged)
    print(json.dumps({"host": "harbor", **found}))


if __name__ == "__main__":
    main()
