"""Graded trajectories as training data: what earned full reward, and pairs of a better and a worse attempt."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from rubricgrade.readers import load_trajectory
from rubricgrade.runs.lines import messages_of
from rubricgrade.runs.parquet import file_of, messages_type, pyarrow
from rubricgrade.runs.standing import CLOSE, Attempt

FOLDER = "trajectories"


@dataclass(frozen=True, slots=True)
class Graded:
    """Which graded trajectories a delivery holds. Never one of a held-out task, never one that is ungraded.

    Attributes:
        all: Every graded attempt, with its reward.
        best: Attempts with reward 1, for fine-tuning.
        pairs: The best and the worst attempt of each task, for preference tuning.
        margin: Rewards that a pair must differ by, at least.
        form: Of the files: JSON lines, or Parquet (extra ``parquet``).
    """

    all: bool = False
    best: bool = False
    pairs: bool = False
    margin: float = 0.2
    form: Literal["jsonl", "parquet"] = "jsonl"


def write_graded(folder: Path, attempts: Sequence[Attempt], wanted: Graded) -> None:
    """Write ``trajectories/{all,best,pairs}``, with full messages, in the order of tasks and samples.

    Raises:
        MissingExtraError: Parquet is wanted, and pyarrow is not installed.
    """
    scored = sorted((one for one in attempts if one.reward is not None), key=lambda one: one.line.key)
    if wanted.all:
        _write(folder, "all", map(_row, scored), wanted)
    if wanted.best:
        _write(folder, "best", (_row(one) for one in scored if _reward(one) >= 1 - CLOSE), wanted)
    if wanted.pairs:
        _write(folder, "pairs", _pairs(scored, wanted.margin), wanted)


def _pairs(scored: Sequence[Attempt], margin: float) -> Iterator[dict[str, Any]]:
    """One pair a task at most; of equal rewards the shorter attempt is better and the longer one worse."""
    for task in dict.fromkeys(one.line.task for one in scored):
        its = sorted((one for one in scored if one.line.task == task), key=lambda one: (_reward(one), -one.line.steps))
        worst, best = its[0], its[-1]
        if _reward(best) - _reward(worst) >= margin - CLOSE:
            yield {
                "task": task,
                "chosen": _messages(best),
                "rejected": _messages(worst),
                "chosen_reward": _reward(best),
                "rejected_reward": _reward(worst),
            }


def _row(attempt: Attempt) -> dict[str, Any]:
    line = attempt.line
    return {
        "task": line.task,
        "sample": line.sample,
        "model": line.model,
        "reward": _reward(attempt),
        "messages": _messages(attempt),
    }


def _reward(attempt: Attempt) -> float:
    if attempt.reward is None:
        raise ValueError("an ungraded attempt is no training data")
    return attempt.reward


def _messages(attempt: Attempt) -> list[dict[str, Any]]:
    with attempt.place.episode() as folder:
        return list(messages_of(load_trajectory(folder), shown=None))


def _write(folder: Path, name: str, rows: Iterable[dict[str, Any]], wanted: Graded) -> None:
    (folder / FOLDER).mkdir(exist_ok=True)
    file = folder / FOLDER / f"{name}.{wanted.form}"
    if wanted.form == "parquet":
        file.write_bytes(file_of(rows, _schema(name)))
        return
    with file.open("w", encoding="utf-8", errors="surrogatepass") as out:
        out.writelines(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows)


def _schema(name: str) -> Any:
    """The columns of a file; nothing in it is ever null but what a message does not have."""
    arrow = pyarrow()
    text, real, messages = arrow.string(), arrow.float64(), messages_type(arrow)
    row = {"task": text, "sample": arrow.int64(), "model": text, "reward": real, "messages": messages}
    rewards = {"chosen_reward": real, "rejected_reward": real}
    pair = {"task": text, "chosen": messages, "rejected": messages, **rewards}
    columns = pair if name == "pairs" else row
    return arrow.schema([arrow.field(column, kind, nullable=False) for column, kind in columns.items()])
