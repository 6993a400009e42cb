"""The checks of ready rubrics, run as they are in a real sandbox."""

from __future__ import annotations

import asyncio

import pytest

from rubricgrade.checks import Bench, Outcome
from rubricgrade.loading import load_rubric
from rubricgrade.sandbox import default_provider
from rubricgrade.trajectory import Call, Step, Text, Trajectory


def said(role: str, text: str = "", **more: object) -> Step:
    return Step.model_validate({"role": role, "content": (Text(text=text),), **more})


def booking(seat: str) -> Step:
    return said("assistant", calls=(Call(name="book", arguments={"seat": seat}),))


@pytest.mark.parametrize(
    ("failed", "second", "value", "where"),
    [(True, "1A", 1.0, ["[3].call_1"]), (True, "1B", 0.0, []), (False, "1A", 0.0, []), (None, "1A", 0.0, [])],
)
def test_repeating_a_failed_call(failed: bool | None, second: str, value: float, where: list[str]) -> None:
    rubric = load_rubric("tool-use")
    check = next(rubric.check_of(leaf) for leaf in rubric.leaves() if leaf.id == "repeats-a-failed-call")
    assert check is not None
    result = said("tool", "taken", failed=failed, answers=(1, 1))
    steps = (said("user", "a seat please"), booking("1A"), result, booking(second), said("assistant", "sorry"))

    async def run() -> Outcome:
        async with Bench(Trajectory(id="t", steps=steps), rubric, default_provider()) as bench:
            return await bench.run(check)

    outcome = asyncio.run(run())
    assert (outcome.fault, outcome.value) == (None, value)
    assert [evidence.where for evidence in outcome.evidence] == where
