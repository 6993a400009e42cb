"""Grade every example offline: code runs in sandboxes, judged criteria take their recorded verdicts. No key or network.

Prints the scores of all, and one whole grade with its evidence. The grades go to a scratch folder.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from pathlib import Path

from rubricgrade import Grade, JudgeOptions, Trajectory, agrade_all, load_trajectories, load_trajectory
from rubricgrade.report.lines import Line, write
from rubricgrade.report.summary import summarise
from rubricgrade.report.terminal import line_of, render, summary_lines

EXAMPLES = Path(__file__).parent
PROGRAM = os.path.relpath(Path(sys.executable).with_name("rubricgrade"))
AT_ONCE = os.cpu_count() or 1
"""Examples in work at a time, and episodes of each."""
SHOWN = "travel-mis", "copied-the-team"
"""The example, and the episode of it, whose grade is printed whole."""


async def main() -> int:
    started = time.monotonic()
    scratch = Path(tempfile.mkdtemp(prefix="rubricgrade-demo-"))
    examples = sorted(path.parent for path in EXAMPLES.rglob("rubric.yaml") if episodes_of(path.parent))
    room = asyncio.Semaphore(AT_ONCE)
    tasks = [asyncio.create_task(grade(example, scratch / example.relative_to(EXAMPLES), room)) for example in examples]
    worst = 0
    for example, task in zip(examples, tasks, strict=True):
        grades = await task
        summary = summarise(list(grades.values()))
        print(f"\n{example.relative_to(EXAMPLES)}")
        write([*(line_of(one, place) for place, one in grades.items()), Line()], sys.stdout, wrap=False)
        write(summary_lines(summary), sys.stdout)
        sys.stdout.flush()
        worst = max(worst, summary.exit_code)
    example, place = SHOWN
    print(f"\nOne of them whole: {example}, {place}\n")
    write(render((await tasks[examples.index(EXAMPLES / example)])[place]), sys.stdout)
    print(f"\nDone in {time.monotonic() - started:.1f} s. All grades lie in {scratch}; look at one with")
    print(f"  {PROGRAM} show {scratch / example / place}")
    return worst


def episodes_of(example: Path) -> dict[str, Trajectory]:
    """An example's stored episodes, each in a folder of its own or all in one file; none for one of something else."""
    together = example / "episodes.json"
    if together.exists():
        return {trajectory.id: trajectory for trajectory in load_trajectories(together)}
    return {file.parent.name: load_trajectory(file) for file in sorted(example.glob("episodes/*/trajectory.json"))}


async def grade(example: Path, output: Path, room: asyncio.Semaphore) -> dict[str, Grade]:
    """Grade an example's episodes, each by its place, and keep the grades below a folder."""
    verdicts = example / "verdicts.jsonl"
    judge = JudgeOptions(offline=True, verdicts=(verdicts,) if verdicts.exists() else (), cache=False)
    episodes = episodes_of(example)
    places = {trajectory.id: place for place, trajectory in episodes.items()}
    async with room:
        grades = await agrade_all(
            list(episodes.values()),
            example / "rubric.yaml",
            judge=judge,
            store=lambda trajectory: output / places[trajectory.id],
            concurrency=AT_ONCE,
        )
    return dict(zip(episodes, grades, strict=True))


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
