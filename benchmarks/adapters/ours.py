"""For the bench: whole grades by `agrade_all`, with quotes verified, a verdict cache and grade files on.

The bench's server quotes one fixed sentence as its evidence, so that sentence is put into every trajectory; without it
no answer would hold. opts: {"cache": PATH} keeps the cache for a second run, {"style": "direct"} asks for no quotes,
{"rounds": 10} grades ten times over, each time with nothing cached.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from rubricgrade import Grade, JudgeOptions, Rubric, agrade_all
from rubricgrade.collecting import collect_seldom
from rubricgrade.loading import parse_rubric
from rubricgrade.trajectory import Call, Step, Text, Trajectory

_folder = tempfile.TemporaryDirectory()  # removed when the process ends, which is no part of grading
QUOTED = "The transcript shows this at step 4 (mock)."


def _rubric(criteria: Any) -> str:
    items = [
        {"id": name.lower(), "points": points, "description": text, "judge": {}} for name, points, text in criteria
    ]
    return json.dumps({"id": "bench", "title": "The bench's rubric", "criteria": items})


def _step(message: dict[str, Any]) -> Step:
    calls = tuple(
        Call(id=call["id"], name=call["function"]["name"], arguments=json.loads(call["function"]["arguments"]))
        for call in message.get("tool_calls", ())
    )
    return Step(role=message["role"], content=(Text(text=message.get("content") or ""),), calls=calls)


def _trajectory(entry: Any) -> Trajectory:
    steps = [_step(message) for message in entry["messages"]]
    return Trajectory(id=entry["id"], steps=(*steps, Step(role="assistant", content=(Text(text=QUOTED),))))


async def run(trajectories: Any, criteria: Any, concurrency: int, base: str, opts: dict[str, Any]) -> dict[Any, Any]:
    """Grade every trajectory; an open verdict is reported as its cause."""
    rubric = parse_rubric(_rubric(criteria), file="bench.yaml")
    loaded = [_trajectory(entry) for entry in trajectories]
    collect_seldom()  # as the program does
    for _ in range(opts.get("rounds", 1)):
        grades = await _graded(loaded, rubric, concurrency, base, opts)
    for grade in grades:
        _make_sure(grade)
    names = {name.lower(): name for name, _, _ in criteria}
    return {
        (grade.trajectory.id, names[item.id]): item.message or item.cause if item.open else item.value == 1
        for grade in grades
        for item in grade.criteria
    }


def _make_sure(grade: Grade) -> None:
    """What is open is no number, and says why and between which bounds the score lies. Raises `AssertionError`."""
    lost = [item for item in grade.criteria if item.open]
    assert (grade.status == "ungraded") == bool(lost)
    assert (grade.score is None) == bool(lost)
    assert all(item.value is None and item.cause and item.message for item in lost)
    assert not lost or (grade.cause and grade.bounds[0] <= grade.bounds[1])


async def _graded(
    loaded: list[Trajectory], rubric: Rubric, concurrency: int, base: str, opts: dict[str, Any]
) -> list[Grade]:
    folder = tempfile.mkdtemp(dir=_folder.name)
    judge = JudgeOptions(
        model="openai/gpt-4o-mini",
        api_base=base,
        api_key="sk",
        concurrency=concurrency,
        cache=Path(opts.get("cache", f"{folder}/cache.sqlite")),
        style=opts.get("style", "reasoned"),
    )
    return await agrade_all(
        loaded,
        rubric,
        judge=judge,
        store=lambda trajectory: f"{folder}/{trajectory.id}",
        concurrency=concurrency,
    )
