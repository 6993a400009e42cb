"""Record the verdicts on this task's reference and on its first play in ``tests/verdicts.jsonl``.

The answers are those that were written by hand for the same episode in ``examples/travel-mis/verdicts.yaml``. Run this
again when the task, a play or the rubric has changed, after reading again what the verdicts were about.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any

import yaml

from rubricgrade import JudgeOptions
from rubricgrade.episode.agents.proving import Oracle
from rubricgrade.episode.agents.replay import Replay
from rubricgrade.episode.playing import run_episode
from rubricgrade.episode.task import Task
from rubricgrade.grading.judges import Judges
from rubricgrade.store.recorded import RecordedQuote, Verdict, write_verdicts

HERE = Path(__file__).resolve().parent
HAND = HERE.parent.parent / "travel-mis" / "verdicts.yaml"


async def questions() -> list[Verdict]:
    """Every question that a judge would be asked, unanswered."""
    task = Task.load(HERE)
    async with Judges(JudgeOptions(offline=True, cache=False)) as judges:
        for agent in (Oracle(), Replay()):
            with tempfile.TemporaryDirectory() as folder:
                await run_episode(task, agent, folder=Path(folder), judge=judges)
    return list(judges.unanswered.values())


def main() -> None:
    hand: dict[str, Any] = yaml.safe_load(HAND.read_text())
    signed = {name: hand[name] for name in ("recorded_by", "recorded_at")}
    lines: list[Verdict] = []
    for line in asyncio.run(questions()):
        answer = hand["right"][line.criterion]
        quotes = tuple(RecordedQuote(quote=quote, where=hand["where"]) for quote in answer.get("quotes", ()))
        told = {"answer": answer["answer"], "reasoning": answer["reasoning"], "evidence": quotes}
        lines.append(line.model_copy(update={**told, **signed}))
    write_verdicts(HERE / "tests" / "verdicts.jsonl", lines)
    print(f"{len(lines)} verdicts")


if __name__ == "__main__":
    main()
