"""Grade every example offline: code runs in sandboxes, judged criteria take their recorded verdicts. No key or network.

Prints the scores of all, and one whole grade with its evidence. The grades go to a scratch folder.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

EXAMPLES = Path(__file__).parent
PROGRAM = Path(sys.executable).with_name("rubricgrade")
SHOWN = EXAMPLES / "travel-mis" / "episodes" / "copied-the-team"


def main() -> int:
    started = time.monotonic()
    scratch = Path(tempfile.mkdtemp(prefix="rubricgrade-demo-"))
    worst = 0
    for example in sorted(path.parent for path in EXAMPLES.rglob("rubric.yaml")):
        if (episodes := episodes_of(example)) is None:
            continue  # an example of something else, which has none stored
        name = str(example.relative_to(EXAMPLES))
        print(f"\n{name}", flush=True)
        worst = max(worst, grade(example, episodes, scratch / name))
    shown = scratch / "travel-mis" / json.loads((SHOWN / "trajectory.json").read_text())["id"]
    print(f"\nOne of them whole: travel-mis, {SHOWN.name}\n", flush=True)
    worst = max(worst, subprocess.run([PROGRAM, "show", shown], check=False).returncode)
    print(f"\nDone in {time.monotonic() - started:.1f} s. All grades lie in {scratch}; look at one with")
    print(f"  {os.path.relpath(PROGRAM)} show {shown}")
    return worst


def episodes_of(example: Path) -> Path | None:
    return next((path for path in (example / "episodes", example / "episodes.json") if path.exists()), None)


def grade(example: Path, episodes: Path, output: Path) -> int:
    """Grade an example's episodes as its README says; returns the program's exit code."""
    command = [PROGRAM, "grade", example, episodes, "--offline", "--no-cache", "-o", output]
    verdicts = example / "verdicts.jsonl"
    if verdicts.exists():
        command += ["--verdicts", verdicts]
    return subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
