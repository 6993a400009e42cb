"""Record the verdicts of ``verdicts.yaml`` in ``verdicts.jsonl``: one line per question as a judge would be asked it.

A recorded verdict is found by the hash of its question: wording, references, and all that is shown. Run this again when
a criterion, a reference or an episode has changed, after reading again what the verdict was about.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml

from rubricgrade import load_trajectory
from rubricgrade.store.recorded import RecordedQuote, Verdict, read_verdicts, write_verdicts

HERE = Path(__file__).resolve().parent
PROGRAM = Path(sys.executable).with_name("rubricgrade")


def main() -> None:
    """Write ``verdicts.jsonl`` anew."""
    hand: dict[str, Any] = yaml.safe_load((HERE / "verdicts.yaml").read_text())
    signed = {name: hand.pop(name) for name in ("recorded_by", "recorded_at")}
    where = hand.pop("where")
    ids = {name: load_trajectory(HERE / "episodes" / name).id for name in hand}
    answers = {(ids[name], criterion): answer for name, given in hand.items() for criterion, answer in given.items()}
    asked = {(line.trajectory, line.criterion): line for line in questions()}
    if asked.keys() != answers.keys():
        raise SystemExit(f"asked or answered, not both: {sorted(asked.keys() ^ answers.keys())}")
    lines = [_filled(asked[key], answer, where).model_copy(update=signed) for key, answer in answers.items()]
    write_verdicts(HERE / "verdicts.jsonl", lines)
    print(f"{len(lines)} verdicts")


def questions() -> tuple[Verdict, ...]:
    """Every question that a judge would be asked about the episodes, unanswered."""
    with tempfile.TemporaryDirectory() as folder:
        missing = Path(folder) / "questions.jsonl"
        command = [PROGRAM, "grade", HERE / "rubric.yaml", HERE / "episodes", "--offline", "--no-cache", "--no-store"]
        # No recorded verdicts, so every question is open, and the exit code says that something is ungraded.
        command += ["--verdicts", os.devnull, "--missing", missing]
        subprocess.run(command, check=False, stdout=subprocess.DEVNULL)
        return read_verdicts(missing)


def _filled(line: Verdict, answer: dict[str, Any], where: str) -> Verdict:
    quotes = tuple(RecordedQuote(quote=quote, where=where) for quote in answer.get("quotes", ()))
    told = {"answer": answer["answer"], "reasoning": answer["reasoning"], "evidence": quotes}
    return line.model_copy(update=told)


if __name__ == "__main__":
    main()
