"""Inspect: an eval with a scripted model, scored by a rubric, and the same log scored again afterwards.

Needs inspect-ai. Run: ``python examples/hosts/inspect_eval.py``.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import tiktoken
from inspect_ai import Task, score
from inspect_ai import eval as evaluate
from inspect_ai.dataset import Sample
from inspect_ai.log import read_eval_log
from inspect_ai.model import ModelOutput, get_model
from inspect_ai.solver import generate

from rubricgrade.integrations.inspect_ai import rubric_scorer

HERE = Path(__file__).resolve().parent


def rubric_of(row: Any) -> Path:
    return HERE / row["rubric"]


def values(log: Any) -> list[Any]:
    (name,) = {name for sample in log.samples for name in sample.scores}
    found = [sample.scores[name] for sample in log.samples]
    return [[one.reason or one.value, one.metadata["rubricgrade"]["graded"]] for one in found]


def main() -> None:
    # Inspect counts the tokens of a mock model too, with a table that it would have to download.
    tiktoken.get_encoding = lambda _name: SimpleNamespace(encode=lambda text, **_given: text.split())
    said = [("It is 4.", "rubric.yaml"), ("It is 5.", "rubric.yaml"), ("It is 4.", "judged.rubric.yaml")]
    samples = [
        Sample(input="What is 2 + 2?", target="4", metadata={"answer": "4", "rubric": rubric}) for _, rubric in said
    ]
    model = get_model("mockllm/model", custom_outputs=[ModelOutput.from_content("mockllm", text) for text, _ in said])
    task = Task(dataset=samples, solver=generate(), scorer=rubric_scorer(rubric_of))
    with tempfile.TemporaryDirectory() as folder:
        (log,) = evaluate(task, model=model, log_dir=folder, display="none", max_samples=1)
        again = score(read_eval_log(log.location), rubric_scorer(rubric_of), action="overwrite", display="none")
        result = log.results.scores[0]
        print(json.dumps({
            "host": "inspect", "status": log.status, "scores": values(log), "again": values(again),
            "mean": result.metrics["mean"].value, "unscored": result.unscored_samples,
        }))  # fmt: skip


if __name__ == "__main__":
    main()
