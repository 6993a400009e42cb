"""The rewarder itself: whole batches, limits, counting, and surviving pickling, threads and loops."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rubricgrade import JudgeOptions, load_rubric, load_trajectory
from rubricgrade.errors import InputError, RubricError, SandboxUnavailable
from rubricgrade.integrations import trl
from rubricgrade.integrations.rewarding import Rewarder
from rubricgrade.integrations.tally import FEWEST, Tally, TooManyUngraded
from rubricgrade.readers.jsontext import parse
from rubricgrade.rewards.blocking import wait_for
from rubricgrade.rewards.conversation import DEEPEST, from_messages, from_responses, from_sides, plain
from rubricgrade.rewards.rewarded import Build, fallback
from rubricgrade.store.grades import latest_grade
from rubricgrade.trajectory import Trajectory
from tests.chat.scripted import ScriptedServer, Seen, Wire, completion, error
from tests.integrations.conftest import WriteRubric

POLITE = {"id": "polite", "points": 1, "description": "is polite", "judge": {}}
FOUR = {
    "id": "four", "points": 1, "description": "says 4", "check": {"trajectory": {"final_message": {"contains": "4"}}},
}  # fmt: skip


def judge(server: ScriptedServer) -> JudgeOptions:
    return JudgeOptions(model="openai/judge", api_base=server.base, api_key="k", cache=False, concurrency=16)


def yes(_seen: Seen) -> Wire:
    quote = {"quote": "this here is number", "where": "[1].text"}
    wire = completion(json.dumps({"reasoning": "so it is", "evidence": [quote], "answer": "yes"}))
    return replace(wire, delay=0.5)


def unless(marker: str, wire: Wire) -> Any:
    return lambda seen: wire if marker in json.dumps(seen.body) else yes(seen)


def saying(text: str) -> Build:
    return lambda: from_sides("Say it.", text)


def test_one_failing_judge_call_costs_one_reward(write_rubric: WriteRubric, server: ScriptedServer) -> None:
    server.script = [unless("number 3.", error(401))]
    rewarder = Rewarder(write_rubric(POLITE), judge=judge(server))
    found = asyncio.run(rewarder.many([saying(f"this here is number {n}.") for n in range(8)], [{}] * 8))
    assert [each.reward for each in found] == [1.0, 1.0, 1.0, None, 1.0, 1.0, 1.0, 1.0]
    assert found[3].cause == "judge_failed"
    assert rewarder.tally.counts == {"graded": 7, "judge_failed": 1}
    assert server.peak > 1


def test_causes_can_be_told_apart(write_rubric: WriteRubric, server: ScriptedServer) -> None:
    no = completion(json.dumps({"reasoning": "not at all", "evidence": [], "answer": "no"}))
    server.script = [lambda seen: completion("rubbish") if "odd" in json.dumps(seen.body) else no]
    rewarder = Rewarder(write_rubric(POLITE), judge=judge(server))
    found = asyncio.run(rewarder.many([saying(""), saying("odd"), saying("rude"), lambda: from_messages([])], [{}] * 4))
    assert [(each.reward, each.cause) for each in found] == [
        (0.0, None), (None, "judge_unparseable"), (0.0, None), (None, "trajectory_invalid"),
    ]  # fmt: skip
    assert [each.facts()["graded"] for each in found] == [1.0, 0.0, 1.0, 0.0]
    assert found[1].lines().startswith("not graded (judge_unparseable)")


def test_a_batch_ends_at_its_limit_and_keeps_what_is_done(tmp_path: Path, write_rubric: WriteRubric) -> None:
    checks = tmp_path / "checks"
    checks.mkdir()
    marker = "spin" + tmp_path.name[-8:]
    (checks / "c.py").write_text(
        f"def check(case):\n    while '{marker}' in case.final_message: pass\n    return True\n"
    )
    body = {"id": "spins", "points": 1, "description": "ends", "check": {"python": "checks/c.py:check", "timeout": 600}}
    rewarder = Rewarder(write_rubric(body), timeout=8, concurrency=4)
    texts = ["fine", marker, "fine", "fine"]
    found = asyncio.run(rewarder.many([saying(text) for text in texts], [{}] * 4))
    assert [(each.reward, each.cause) for each in found] == [(1.0, None), (None, "timeout"), (1.0, None), (1.0, None)]


def test_too_many_failures_stop_a_run_if_that_is_asked_for(write_rubric: WriteRubric) -> None:
    rubric = write_rubric(POLITE)
    builds = [saying(str(n)) for n in range(FEWEST)]
    assert {each.reward for each in asyncio.run(Rewarder(rubric).many(builds, [{}] * FEWEST))} == {None}
    with pytest.raises(TooManyUngraded, match=f"{FEWEST} of the latest {FEWEST}"):
        asyncio.run(Rewarder(rubric, abort_above=0.5).many(builds, [{}] * FEWEST))


def test_few_failures_do_not_stop_it() -> None:
    tally = Tally(abort_above=0.5)
    tally.take(["timeout"] * (FEWEST - 1))
    with pytest.raises(TooManyUngraded):
        tally.take([None])
    tally = Tally(abort_above=0.5)
    tally.take(["timeout"] * FEWEST + [None] * FEWEST)
    with pytest.raises(InputError, match="share"):
        Tally(abort_above=1.5)


def test_rewards_are_kept_with_their_trajectories(tmp_path: Path, write_rubric: WriteRubric) -> None:
    rewarder = Rewarder(write_rubric(FOUR), store=tmp_path / "kept")
    found = asyncio.run(rewarder.one(saying("It is 4."), {}))
    (folder,) = (tmp_path / "kept").iterdir()
    assert latest_grade(folder) == found.grade
    assert load_trajectory(folder).final_message == "It is 4."


def test_a_record_that_can_not_be_kept_costs_no_reward(tmp_path: Path, write_rubric: WriteRubric) -> None:
    (tmp_path / "file").write_text("in the way")
    rewarder = Rewarder(write_rubric(FOUR), store=tmp_path / "file")
    assert asyncio.run(rewarder.one(saying("It is 4."), {})).reward == 1.0


def test_a_lost_sandbox_while_building_has_its_cause(write_rubric: WriteRubric) -> None:
    async def lost() -> Trajectory:
        raise SandboxUnavailable("gone")

    assert asyncio.run(Rewarder(write_rubric(FOUR)).one(lost, {})).cause == "sandbox_unavailable"


def test_rubrics_by_row(write_rubric: WriteRubric) -> None:
    paths = {"a": write_rubric(FOUR), "b": load_rubric(write_rubric({**FOUR, "id": "other", "points": 2}))}
    rewarder = Rewarder(lambda row: paths[row["name"]])
    found = asyncio.run(rewarder.many([saying("4")] * 3, [{"name": "a"}, {"name": "b"}, {"name": "nobody"}]))
    assert [each.reward for each in found] == [1.0, 1.0, None]
    assert [each.grade.criteria[0].id for each in found[:2] if each.grade] == ["four", "other"]


def test_a_rubric_without_a_value_for_a_var_is_loaded_and_waits_for_a_row(write_rubric: WriteRubric) -> None:
    rewarder = Rewarder(write_rubric({**FOUR, "description": "says {{ vars.x }}"}, vars={"x": None}))
    found = asyncio.run(rewarder.many([saying("4")] * 2, [{"x": "four"}, {}]))
    assert [(each.reward, each.cause) for each in found] == [(1.0, None), (None, "rubric_invalid")]
    assert found[0].grade is not None
    assert found[0].grade.criteria[0].description == "says four"


def test_bad_options_are_said_at_once(write_rubric: WriteRubric) -> None:
    with pytest.raises(RubricError):
        Rewarder("no/such/rubric.yaml")
    with pytest.raises(InputError, match="concurrency"):
        Rewarder(write_rubric(FOUR), concurrency=0)


@pytest.mark.parametrize("value", [None, True, float("nan"), float("inf"), "0"])
def test_a_fallback_is_a_finite_number(value: object) -> None:
    with pytest.raises(InputError, match="finite number"):
        fallback(value)


def test_the_sync_function_works_anywhere_and_can_be_pickled(write_rubric: WriteRubric) -> None:
    function = pickle.loads(pickle.dumps(trl.reward_function(write_rubric(FOUR))))
    assert function.func.__name__ == "rubricgrade"

    async def inside() -> list[float | None]:
        return function(prompts=["a"], completions=["4"])

    assert function(prompts=["a"], completions=["4"]) == asyncio.run(inside()) == [1.0]
    assert wait_for(inside) == [1.0]


def test_the_async_function_is_one(write_rubric: WriteRubric) -> None:
    function = trl.async_reward_function(write_rubric(FOUR))
    assert inspect.iscoroutinefunction(function)


def test_trl_columns_and_lists(write_rubric: WriteRubric) -> None:
    function = trl.reward_function(write_rubric(FOUR))
    given: dict[str, Any] = {"trainer_state": object(), "completion_ids": [[1], [2]], "my_column": ["x", "y"], "n": 3}
    assert function(prompts=["a", "b"], completions=["4", "5"], **given) == [1.0, 0.0]
    assert function(prompts=[], completions=[]) == []
    with pytest.raises(ValueError, match="2 prompts, but 1 completions"):
        function(prompts=["a", "b"], completions=["4"])


def test_trl_tool_calls_without_ids_are_paired() -> None:
    call = {"type": "function", "function": {"name": "bash", "arguments": {"command": "ls"}}}
    said = [
        {"role": "assistant", "tool_calls": [call, call], "content": ""},
        {"role": "tool", "name": "bash", "content": "one"},
        {"role": "tool", "name": "bash", "content": "two"},
        {"role": "assistant", "content": "done"},
    ]
    trajectory = from_sides([{"role": "user", "content": "go"}], said)
    assert [step.answers for step in trajectory.steps] == [None, None, (1, 1), (1, 2), None]
    assert trajectory.warnings == ()


def test_nesting_that_an_agent_chose_is_cut_and_graded(write_rubric: WriteRubric) -> None:
    deep: Any = "core"
    for _ in range(500):
        deep = {"in": deep}
    calls = [{"function": {"name": "bash", "arguments": deep}}]
    said = [{"role": "assistant", "content": "4", "tool_calls": calls}]
    found = asyncio.run(Rewarder(write_rubric(FOUR)).one(lambda: from_sides("q", said), {}))
    assert found.reward == 1.0


NAN = float("nan")
SOUND: list[Any] = [
    "4",
    [{"role": "assistant", "content": "4"}],
    [{"role": "assistant", "content": [{"type": "text", "text": "4"}]}],
    [
        {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "f", "arguments": {}}}]},
        {"role": "tool", "content": 5},
        {"role": "assistant", "content": "4"},
    ],
]
BROKEN: list[Any] = [None, NAN, 4, True, b"4", object(), *([{"role": "assistant", "content": content}] for content in (
    NAN, 4, False, {"a": 4}, [4], [NAN], [{"type": "text", "text": 4}], [{"type": "text", "text": NAN}], [{"a": 4}],
    object(), b"4",
))]  # fmt: skip


def test_what_no_agent_can_have_said_has_no_reward(write_rubric: WriteRubric) -> None:
    reward = trl.reward_function(write_rubric(FOUR))
    said = [*SOUND, *BROKEN]
    assert reward(["Add."] * len(said), said) == [1.0] * len(SOUND) + [None] * len(BROKEN)
    assert reward([None, NAN, 4], ["4"] * 3) == [1.0, None, None]
    rewarder = Rewarder(write_rubric(FOUR))
    outputs = [[{"type": "message", "role": "assistant", "content": content}] for content in ("4", 4, NAN)]
    records = [{"responses_create_params": {"input": "Add."}, "response": {"output": output}} for output in outputs]
    builds = [lambda record=record: from_responses(record) for record in records]
    found = asyncio.run(rewarder.many(builds, [{}] * 3))
    assert [each.cause for each in found] == [None, "trajectory_invalid", "trajectory_invalid"]


@pytest.mark.parametrize("timeout", [-1, 0, NAN, float("inf"), "5", True])
def test_a_limit_that_can_not_pass_is_refused(write_rubric: WriteRubric, timeout: Any) -> None:
    with pytest.raises(InputError, match="timeout must be a number of seconds above 0"):
        trl.reward_function(write_rubric(FOUR), timeout=timeout)


@pytest.mark.parametrize("given", [{"model": "x"}, 5, ["x"]])
def test_a_judge_of_a_wrong_kind_is_refused(write_rubric: WriteRubric, given: Any) -> None:
    with pytest.raises(InputError, match=r"judge must be the name of a model, or JudgeOptions\(model=...\)"):
        Rewarder(write_rubric(FOUR), judge=given)


def test_the_same_episode_has_the_same_name() -> None:
    assert from_sides("a", "b").id == from_sides("a", "b").id != from_sides("a", "c").id


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(max_size=9) | st.just(object)
trees = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner))


@settings(max_examples=50)
@given(trees)
def test_anything_becomes_json(value: Any) -> None:
    made = plain(value)
    text = json.dumps(made, allow_nan=False)
    again, notes = parse(text)
    assert (again, notes) == (made, ())


def test_depth_is_bounded() -> None:
    deep: Any = []
    for _ in range(3 * DEEPEST):
        deep = [deep]
    assert len(json.dumps(plain(deep))) < 4 * DEEPEST


LATE = {**POLITE, "id": "late", "when": "vars.late"}


def test_a_judge_that_can_not_be_asked_is_said_at_once(
    write_rubric: WriteRubric, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    model = "openai/gpt-5-mini"
    with pytest.raises(InputError, match="judge: openai/gpt-5-mini: no API key"):
        Rewarder(lambda _row: write_rubric(FOUR), judge=model)
    # Whether a criterion applies is for each row to say.
    late = write_rubric(FOUR, LATE, vars={"late": None})
    with pytest.raises(InputError, match="set OPENAI_API_KEY"):
        Rewarder(late, judge=model)
    with pytest.raises(RubricError, match="rubric r: openai/gpt-5-mini"):
        Rewarder(write_rubric(POLITE, judge={"model": model}))
    assert Rewarder(write_rubric(FOUR), judge=model)
    assert Rewarder(late, judge=JudgeOptions(model=model, offline=True))


def test_a_row_whose_rubric_names_who_can_not_be_asked_has_no_reward(
    write_rubric: WriteRubric, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    polite = write_rubric(POLITE, judge={"model": "openai/gpt-5-mini"})
    found = asyncio.run(Rewarder(lambda _row: polite).one(saying("Hello"), {}))
    assert (found.reward, found.cause) == (None, "rubric_invalid")
    assert "set OPENAI_API_KEY" in found.message


def test_a_cause_is_warned_of_once_and_again_at_powers_of_ten(
    write_rubric: WriteRubric, server: ScriptedServer, caplog: pytest.LogCaptureFixture
) -> None:
    server.script = [error(401, "revoked")]
    rewarder = Rewarder(write_rubric(POLITE), judge=judge(server))
    with caplog.at_level(logging.WARNING, "rubricgrade"):
        for size in (3, 4, 4):
            asyncio.run(rewarder.many([saying(str(n)) for n in range(size)], [{}] * size))
    told = [record.getMessage() for record in caplog.records]
    assert [text.partition(": ")[0] for text in told] == [
        "episodes without a reward (judge_failed), so far 3",
        "episodes without a reward (judge_failed), so far 11",
    ]
    assert all("revoked" in text for text in told)
