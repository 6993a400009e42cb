"""Inspect: a scorer, for evals that run and for logs that lie there.

Task(..., scorer=rubric_scorer("rubric.yaml", judge="openai/gpt-5-mini"))

inspect score LOG.eval --scorer rubricgrade/rubric_scorer -S rubric=rubric.yaml
"""

from __future__ import annotations

from typing import Any

from rubricgrade.integrations.hosts import host
from rubricgrade.integrations.rewarding import Rewarder
from rubricgrade.result import Evidence
from rubricgrade.rewards.conversation import from_messages, plain
from rubricgrade.rewards.rewarded import Rewarded
from rubricgrade.trajectory import Trajectory

scoring = host("inspect_ai.scorer", "inspect")


@scoring.scorer(metrics=[scoring.mean(), scoring.stderr()])
def rubric_scorer(rubric: Any, **options: Any) -> Any:
    """A scorer with values from 0 to 1; what could not be graded is unscored, which metrics leave out and count.

    Args:
        rubric: As in `Rewarder`; a row is the sample's metadata, with its ``target`` as text.
        **options: Further arguments of `Rewarder`.

    Raises:
        InputError: The rubric or an option can't be used.
    """
    rewarder = Rewarder(rubric, **options)

    async def score(state: Any, target: Any) -> Any:
        row = {"target": getattr(target, "text", None), **plain(state.metadata or {})}
        rewarded = await rewarder.one(lambda: _trajectory(state), row)
        metadata: dict[str, Any] = {"rubricgrade": rewarded.facts()}
        if rewarded.grade is not None:
            metadata["grade"] = rewarded.grade.model_dump(mode="json")
        explanation, references = _explained(rewarded, [getattr(message, "id", None) for message in state.messages])
        metadata["scanner_references"] = references
        answer = state.output.completion if state.output is not None else None
        told = {"answer": answer, "explanation": explanation, "metadata": metadata}
        if rewarded.reward is None:
            judged = (rewarded.cause or "").startswith("judge_")
            return scoring.Score.unscored(reason="grader_failed" if judged else "scoring_failed", **told)
        return scoring.Score(value=rewarded.reward, **told)

    return score


def _trajectory(state: Any) -> Trajectory:
    task = state.input if isinstance(state.input, str) else None
    return from_messages(list(state.messages), task=task, task_id=str(state.sample_id), sample=state.epoch)


def _explained(rewarded: Rewarded, ids: list[str | None]) -> tuple[str, list[dict[str, Any]]]:
    """The outcome in words, with a link to the message of every quote that was found, for Inspect's viewer."""
    text = rewarded.lines()
    if rewarded.grade is None:
        return text, []
    references: dict[int, dict[str, Any]] = {}
    for item in [*rewarded.grade.gates, *rewarded.grade.leaves()]:
        steps = {step for evidence in item.evidence if (step := _step(evidence)) is not None and step < len(ids)}
        for step in steps:
            references[step] = {"type": "message", "cite": f"[M{step + 1}]", "id": ids[step]}
        if steps:
            text += f"\nevidence for {item.id}: " + " ".join(f"[M{step + 1}]" for step in sorted(steps))
    return text, [references[step] for step in sorted(references)]


def _step(evidence: Evidence) -> int | None:
    """The step in an address such as ``[12].result``."""
    number = (evidence.where or "").removeprefix("[").partition("]")[0]
    return int(number) if (evidence.where or "").startswith("[") and number.isdecimal() else None
