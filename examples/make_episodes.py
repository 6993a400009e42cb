"""Record the stored episodes again: ``python examples/make_episodes.py [travel-mis | calc | ...]``.

Each script of an example's ``plays/`` becomes a folder of its ``episodes/``. Recorded verdicts belong to the exact text
of an episode, so a changed script asks for its verdicts again (see ``make_verdicts.py``).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from making.play import Stage, fresh, play
from making.tools import FolderDesk, Shell

HERE = Path(__file__).resolve().parent
CODER = "You are a software engineer. You work in /work with a bash tool. Finish with a one-sentence summary."
ANALYST = (
    "You are the MIS assistant of Acme's finance team. You can read Drive, Slack and the finance inbox, work in /work"
    " with bash, print a workbook to PDF, and send mail. Finish with a short summary for the person who asked."
)
CODE_TASKS = ("seed-tasks/calc", "seed-tasks/sales-report", "seed-tasks/duration", "invoicekit")


def main(names: list[str]) -> None:
    """Play every script of the named examples, or of all."""
    for example in ("travel-mis", *CODE_TASKS):
        if names and example not in names and Path(example).name not in names:
            continue
        for script in scripts(HERE / example):
            trajectory = play(script, stage(HERE / example, script.stem))
            print(f"{example}/episodes/{script.stem}: {len(trajectory.steps)} steps")


def scripts(example: Path) -> Iterator[Path]:
    """The scripts of an example in a fixed order."""
    yield from sorted((example / "plays").glob("*.yaml"))


def stage(example: Path, name: str) -> Stage:
    """A fresh episode folder and the tools over it."""
    folder = example / "episodes" / name
    if example.name == "travel-mis":
        task = (example / "TASK.md").read_text().strip()
        workspace = fresh(folder)
        world = folder / "world"
        world.mkdir()
        desk = FolderDesk(example / "world", workspace, world)
        tools = {**Shell(workspace).tools(), **desk.tools()}
        return Stage(example.name, ANALYST, task, tools, folder)
    start = example / "environment"
    task = (start / "TASK.md").read_text().strip()
    workspace = fresh(folder, start)
    return Stage(example.name, CODER, task, Shell(workspace).tools(), folder)


if __name__ == "__main__":
    main(sys.argv[1:])
