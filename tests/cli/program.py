"""Running the real program on real files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROGRAM = Path(sys.executable).with_name("rubricgrade")


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def environment(**more: str) -> dict[str, str]:
    """Ours without what would change the program's behaviour."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("RUBRICGRADE", "OPENAI", "GITHUB"))}
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "PYTHONIOENCODING"):
        kept.pop(name, None)
    return {**kept, **more}


def run(*arguments: str | Path, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> Ran:
    done = subprocess.run(
        [PROGRAM, *map(str, arguments)],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        env=environment(**(env or {})),
        cwd=cwd,
        check=False,
    )
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


def write_episode(
    folder: Path, *, reply: str = "The total is 48.2 lakh.", name: str | None = None, **files: str
) -> Path:
    """An episode folder with a user's question, the agent's reply, and (if any) files in its workspace."""
    folder.mkdir(parents=True)
    steps = [
        {"role": "user", "content": [{"type": "text", "text": "What did we spend on travel?"}]},
        {"role": "assistant", "content": [{"type": "text", "text": reply}]},
    ]
    trajectory = {"schema": "rubricgrade.trajectory/1", "id": name or folder.name, "steps": steps}
    (folder / "trajectory.json").write_text(json.dumps(trajectory))
    for path, text in files.items():
        place = folder / "workspace" / path.replace("__", ".")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return folder


def write_rubric(folder: Path, *, gates: Sequence[str] = (), criteria: Sequence[str] = ()) -> Path:
    """A rubric file from lines in YAML's flow style."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["id: travel"]
    for key, items in (("gates", gates), ("criteria", criteria)):
        if items:
            lines += [f"{key}:", *(f"  - {item}" for item in items)]
    path = folder / "rubric.yaml"
    path.write_text("\n".join(lines) + "\n")
    return path


SAYS_TOTAL = (
    '{id: says-total, points: 3, description: says the total, check: {trajectory: {final_message: {contains: "48.2"}}}}'
)
SHORT = '{id: short, points: 1, description: "is short", check: {trajectory: {max_steps: 2}}}'
POLITE = "{id: polite, points: 4, description: thanks the user, judge: {}}"
HAS_REPORT = "{id: has-report, description: a report is there, check: {exists: report.md}}"
