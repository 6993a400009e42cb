"""Ready rubrics: clean, and every criterion shown to be met and missed, by code or by verdicts recorded by hand."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from rubricgrade import library
from rubricgrade.authoring.deciding import deciding
from rubricgrade.authoring.probing import probe
from rubricgrade.authoring.testing import Trials, try_rubric
from rubricgrade.checks import Bench, Outcome
from rubricgrade.grading.judges import Judges
from rubricgrade.judge.options import JudgeOptions
from rubricgrade.loading import load_rubric
from rubricgrade.loading.document import read_document
from rubricgrade.sandbox import default_provider
from rubricgrade.store.recorded import read_verdicts
from rubricgrade.trajectory import Call, Step, Text, Trajectory

READY = library.ready("rubrics")


@pytest.fixture(scope="module", params=READY, ids=lambda folder: folder.name)
def folder(request: pytest.FixtureRequest) -> Path:
    return request.param


@pytest.fixture(scope="module")
def tried(folder: Path) -> Trials:
    rubric, file = load_rubric(folder), folder / "rubric.yaml"
    judges = Judges(deciding(rubric, file, JudgeOptions(cache=False)))
    return asyncio.run(try_rubric(rubric, read_document(file.read_bytes(), str(file)), judge=judges))


def test_there_are_enough_to_start_from() -> None:
    wanted = {"code-change", "bug-fix", "research-report", "tool-use", "data-analysis", "office-document", "safety"}
    assert wanted | {"agent-process", "coding-agent"} <= {folder.name for folder in READY}


def test_every_example_comes_out_as_it_expects(tried: Trials) -> None:
    assert [(one.where, one.found, one.reason) for one in tried.tried if one.outcome != "pass"] == []
    assert tried.untried == ()


def test_each_criterion_is_shown_met_and_missed(folder: Path) -> None:
    for leaf in load_rubric(folder).leaves():
        expected = {example.expect for example in leaf.examples}
        assert len(expected) > 1, leaf.id
        if leaf.judge is None or leaf.judge.scale is None:
            assert expected == {"met", "not_met"}, leaf.id


def test_a_good_and_a_bad_episode_are_told_apart(folder: Path) -> None:
    examples = load_rubric(folder).examples
    assert any(example.at_least == 1 for example in examples)
    assert any((example.at_most or 1) <= 0.1 or example.at_most == 0 for example in examples)


def test_doing_nothing_is_stopped_by_code(folder: Path) -> None:
    done = asyncio.run(probe(load_rubric(folder), judge=Judges(JudgeOptions(offline=True, cache=False))))
    nothing = done.earned[0]
    assert (nothing.agent, nothing.score, len(nothing.gates)) == ("does nothing", 0, 1)


def test_recorded_verdicts_say_who_and_why_and_none_is_left_over(folder: Path) -> None:
    rubric = load_rubric(folder)
    asked = {leaf.id: rubric.wording(leaf.description) for leaf in rubric.leaves() if leaf.judge is not None}
    verdicts = read_verdicts(folder / "verdicts.jsonl")
    assert {verdict.criterion: verdict.asked for verdict in verdicts} == asked
    for verdict in verdicts:
        assert verdict.recorded_by.startswith("hand: ")
        assert len(verdict.reasoning) > 10


def said(role: str, text: str = "", **more: object) -> Step:
    return Step.model_validate({"role": role, "content": (Text(text=text),), **more})


def booking(seat: str) -> Step:
    return said("assistant", calls=(Call(name="book", arguments={"seat": seat}),))


def decide(rubric_name: str, criterion: str, *steps: Step) -> Outcome:
    rubric = load_rubric(rubric_name)
    check = next(rubric.check_of(leaf) for leaf in rubric.leaves() if leaf.id == criterion)
    assert check is not None

    async def run() -> Outcome:
        async with Bench(Trajectory(id="t", steps=steps), rubric, default_provider()) as bench:
            return await bench.run(check)

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("failed", "second", "value", "where"),
    [(True, "1A", 1.0, ["[3].call_1"]), (True, "1B", 0.0, []), (False, "1A", 0.0, []), (None, "1A", 0.0, [])],
)
def test_repeating_a_failed_call(failed: bool | None, second: str, value: float, where: list[str]) -> None:
    result = said("tool", "taken", failed=failed, answers=(1, 1))
    steps = (said("user", "a seat please"), booking("1A"), result, booking(second), said("assistant", "sorry"))
    outcome = decide("tool-use", "repeats-a-failed-call", *steps)
    assert (outcome.fault, outcome.value) == (None, value)
    assert [evidence.where for evidence in outcome.evidence] == where


@pytest.mark.parametrize(
    ("seats", "value"), [("AAA", 1.0), ("AAB", 0.0), ("ABA", 0.0), ("BAAA", 1.0), ("AA", 0.0), ("", 0.0)]
)
def test_the_same_call_three_times_in_a_row(seats: str, value: float) -> None:
    outcome = decide("agent-process", "repeats-itself", said("user", "a seat"), *map(booking, seats))
    assert (outcome.fault, outcome.value) == (None, value)
