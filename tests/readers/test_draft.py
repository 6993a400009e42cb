"""Pairing of results with calls, by key and by order."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubricgrade.errors import TrajectoryError
from rubricgrade.readers.draft import Draft, fit_id
from rubricgrade.trajectory import Call


def calls(*ids: Any, name: Any = "f") -> Any:
    return [Call(id=one, name=name, arguments={}) for one in ids]


@given(turns=st.lists(st.integers(1, 4), min_size=1, max_size=5), data=st.data())
def test_results_find_their_calls_by_id_in_any_order(turns: Any, data: Any) -> None:
    draft = Draft()
    addresses: dict[str, tuple[int, int]] = {}
    for turn, count in enumerate(turns):
        names = [f"{turn}-{n}" for n in range(count)]
        addresses |= {name: (len(draft.steps), number) for number, name in enumerate(names, 1)}
        draft.say("assistant", calls=calls(*names))
    order = data.draw(st.permutations(list(addresses)))
    for name in order:
        draft.answer(key=name)
    trajectory = draft.finish(id="x")
    first = len(turns)
    assert trajectory.results == {addresses[name]: first + place for place, name in enumerate(order)}
    assert trajectory.warnings == ()


@given(turns=st.lists(st.integers(1, 4), min_size=1, max_size=5))
def test_results_without_ids_pair_by_order_within_the_latest_turn(turns: Any) -> None:
    draft = Draft()
    expected = {}
    for count in turns:
        asked = len(draft.steps)
        draft.say("assistant", calls=calls(*[None] * count))
        for number in range(1, count + 1):
            expected[asked, number] = len(draft.steps)
            draft.answer()
    assert draft.finish(id="x").results == expected


def test_an_id_used_in_every_turn_means_the_latest_turn() -> None:
    draft = Draft()
    for _ in range(3):
        draft.say("assistant", calls=calls("call_0", "call_0"))
        draft.answer(key="call_0")
        draft.answer(key="call_0")
    assert draft.finish(id="x").results == {(0, 1): 1, (0, 2): 2, (3, 1): 4, (3, 2): 5, (6, 1): 7, (6, 2): 8}


def test_a_result_never_pairs_with_a_call_that_has_another_id_or_another_name() -> None:
    draft = Draft()
    draft.say("assistant", calls=calls("a"))
    draft.answer(key="b")
    draft.answer(tool="g")
    trajectory = draft.finish(id="x")
    assert trajectory.results == {}
    assert [warning.code for warning in trajectory.warnings] == ["orphan_result", "orphan_result", "unanswered_call"]


def test_a_result_with_an_id_takes_a_call_that_has_none() -> None:
    draft = Draft()
    draft.say("assistant", calls=calls(None))
    draft.answer(key="made-up")
    assert draft.finish(id="x").results == {(0, 1): 1}


def test_facts_that_do_not_fit_are_an_error() -> None:
    draft = Draft()
    draft.say("user")
    with pytest.raises(TrajectoryError, match="reward"):
        draft.finish(id="x", reward="high")


@given(text=st.text() | st.sampled_from(["world", "Grades", "-workspace."]))
def test_any_text_becomes_an_id(text: Any) -> None:
    draft = Draft()
    draft.say("user")
    assert draft.finish(id=text).id == fit_id(text)
