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
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

EXAMPLES = Path(__file__).parent
PROGRAM = Path(sys.executable).with_name("rubricgrade")
AT_ONCE = os.cpu_count() or 1
SHOWN = EXAMPLES / "travel-mis" / "episodes" / "copied-the-team"


def main() -> int:
    started = time.monotonic()
    scratch = Path(tempfile.mkdtemp(prefix="rubricgrade-demo-"))
    examples = sorted(path.parent for path in EXAMPLES.rglob("rubric.yaml") if episodes_of(path.parent))
    names = [str(example.relative_to(EXAMPLES)) for example in examples]
    worst = 0
    with ThreadPoolExecutor(AT_ONCE) as pool:
        made = pool.map(lambda example, name: grade(example, scratch / name), examples, names)
        for name, done in zip(names, made, strict=True):
            print(f"\n{name}\n{done.stdout}", end="", flush=True)
            worst = max(worst, done.returncode)
    shown = scratch / "travel-mis" / json.loads((SHOWN / "trajectory.json").read_text())["id"]
    print(f"\nOne of them whole: travel-mis, {SHOWN.name}\n", flush=True)
    worst = max(worst, subprocess.run([PROGRAM, "show", shown], check=False).returncode)
    print(f"\nDone in {time.monotonic() - started:.1f} s. All grades lie in {scratch}; look at one with")
    print(f"  {os.path.relpath(PROGRAM)} show {shown}")
    return worst


def episodes_of(example: Path) -> Path | None:
    """Where an example's episodes are stored; None for one of something else."""
    return next((path for path in (example / "episodes", example / "episodes.json") if path.exists()), None)


def grade(example: Path, output: Path) -> subprocess.CompletedProcess[str]:
    """Grade an example's episodes as its README says."""
    command = [PROGRAM, "grade", example, episodes_of(example), "--offline", "--no-cache", "-o", output]
    verdicts = example / "verdicts.jsonl"
    if verdicts.exists():
        command += ["--verdicts", verdicts]
    return subprocess.run(command, capture_output=True, text=True, check=False)


if __name__ == "__main__":
    sys.exit(main())
