"""Whose fault it is, over every way in which four runs can go; and what an outcome makes of it."""

from __future__ import annotations

import asyncio
from itertools import product
from typing import Any, Literal

import pytest

from rubricgrade.checks.dialogue import Attempt, Trouble
from rubricgrade.checks.messages import Found
from rubricgrade.checks.settling import Given, Settled, settle
from rubricgrade.checks.verdict import Use, outcome_of, picked
from rubricgrade.result import Cause

RESULT: dict[str, Any] = {
    "op": "found", "value": 1, "measured": None, "fields": {}, "evidence": [], "message": "", "passed": None,
    "total": None, "faulted": 0,
}  # fmt: skip
GOOD = Found(**RESULT)


def went(origin: Literal["agent", "grader", "unclear"] | None = None, kind: str = "KeyError", *doubts: str) -> Attempt:
    cause: Cause = "sandbox_lost" if kind == "lost" else "check_error"
    trouble = None if origin is None else Trouble(origin, kind, f"{kind}!", cause=cause)
    return Attempt(GOOD if trouble is None else None, trouble, frozenset(doubts), ran_agents_code=True)


def settled(*attempts: Attempt, starts_empty: bool = False) -> tuple[Settled, list[tuple[bool, Given]]]:
    asked: list[tuple[bool, Given]] = []

    async def attempt(fresh: bool, given: Given) -> Attempt:
        asked.append((fresh, given))
        return attempts[len(asked) - 1]

    return asyncio.run(settle(attempt, starts_empty=starts_empty)), asked


def origin(*attempts: Attempt) -> str | None:
    trouble = settled(*attempts)[0].trouble
    return trouble.origin if trouble else None


def test_what_is_clear_is_run_once() -> None:
    for attempt in (went(), went("agent"), went("grader")):
        found, asked = settled(attempt)
        assert found.trouble is attempt.trouble
        assert asked == [(False, "all")]


def test_what_goes_away_in_a_fresh_fork_was_nobodys() -> None:
    found, asked = settled(went("unclear", "lost"), went())
    assert found.trouble is None
    assert asked == [(False, "all"), (True, "all")]


def test_what_also_comes_without_the_agents_files_is_the_graders() -> None:
    assert origin(went("unclear"), went("unclear"), went("unclear")) == "grader"
    assert origin(went("unclear", "lost"), went("unclear", "lost"), went("unclear", "lost")) == "grader"


def test_what_comes_only_with_them_is_the_agents() -> None:
    assert origin(went("unclear"), went("unclear"), went()) == "agent"
    assert origin(went("unclear"), went("unclear"), went("agent", "BadArtifact")) == "agent"
    assert origin(went("unclear", "lost"), went("unclear", "lost"), went()) == "agent"


def test_a_control_that_our_own_sandbox_spoils_proves_nothing() -> None:
    assert origin(went("unclear"), went("unclear"), went("unclear", "lost")) == "grader"
    assert origin(went(None, "", "timeout"), went(None, "", "timeout"), went("unclear", "lost")) == "grader"


def test_what_the_host_has_measured_twice_is_never_the_agents() -> None:
    told = Trouble("unclear", "lost", "no memory", cause="sandbox_lost", by_host=True)
    short = Attempt(None, told, frozenset(), ran_agents_code=True)
    assert origin(short, short) == "grader"
    assert origin(went("unclear", "lost"), short) == "grader"
    assert origin(short, went()) is None
    assert origin(short, went("unclear", "lost"), went()) == "agent"


def test_what_was_killed_is_run_once_more_and_then_believed() -> None:
    killed = went(None, "", "killed")
    assert origin(killed, went("agent")) == "agent"
    found, asked = settled(killed, killed)
    assert (found.trouble, found.attempt.said) == (None, GOOD)
    assert asked == [(False, "all"), (True, "all")]


def test_a_doubtful_run_stands_when_the_control_has_no_such_doubt() -> None:
    found, asked = settled(went(None, "", "timeout"), went(None, "", "timeout"), went())
    assert found.trouble is None
    assert found.attempt.said is GOOD
    assert asked == [(False, "all"), (True, "all"), (True, "start")]
    assert origin(went("agent", "AgentFault", "memory"), went("agent", "AgentFault", "memory"), went()) == "agent"


def test_a_doubt_that_an_empty_folder_shares_is_the_graders() -> None:
    assert origin(*[went(None, "", "timeout")] * 4) == "grader"
    assert origin(*[went("agent", "A", "flood")] * 4) == "grader"
    assert origin(*[went(None, "", "timeout")] * 3, went("unclear", "lost")) == "grader"


def test_a_doubt_that_only_the_start_state_shares_is_the_agents() -> None:
    hung = went(None, "", "timeout")
    found, asked = settled(hung, hung, hung, went())
    assert (found.trouble, found.attempt) == (None, hung)
    assert asked == [(False, "all"), (True, "all"), (True, "start"), (True, "nothing")]
    crashed = went("unclear", "TypeError", "timeout")
    assert origin(crashed, crashed, crashed, went("agent", "BadArtifact")) == "agent"
    assert origin(crashed, crashed, crashed, went("unclear", "TypeError")) == "grader"


def test_a_limit_is_the_same_whether_it_stops_the_solution_or_the_check_that_waits_for_it() -> None:
    waited, stopped = went("unclear", "timeout"), went("agent", "Hung", "timeout")
    assert origin(waited, waited, stopped, stopped) == "grader"
    assert origin(stopped, stopped, waited, stopped) == "grader"
    assert origin(stopped, stopped, stopped, waited) == "grader"
    assert origin(waited, waited, stopped, went()) == "agent"
    assert origin(waited, waited, waited) == "grader"
    assert origin(went("unclear", "memory"), went("unclear", "memory"), stopped) == "agent"


def test_where_there_is_no_start_state_the_empty_folder_is_not_tried_twice() -> None:
    found, asked = settled(*[went(None, "", "timeout")] * 3, starts_empty=True)
    assert found.trouble is not None
    assert found.trouble.origin == "grader"
    assert len(asked) == 3


ALL = [
    went(),
    went("agent"),
    went("grader"),
    went("unclear"),
    went("unclear", "lost"),
    went("unclear", "timeout"),
    went(None, "", "timeout"),
    went("agent", "A", "timeout"),
]


@pytest.mark.parametrize(("first", "second"), list(product(ALL, ALL)))
def test_every_fault_ends_with_an_owner_and_none_with_a_number(first: Attempt, second: Attempt) -> None:
    for start, bare in product(ALL, ALL):
        found = settled(first, second, start, bare)[0]
        assert found.trouble is None or found.trouble.origin in {"agent", "grader"}
        outcome = outcome_of("python", found, worst_high=False)
        assert (outcome.value is None) == (outcome.fault is not None)
        assert (outcome.cause is not None) == (outcome.fault == "grader")


def outcome(kind: str = "python", **result: Any) -> Any:
    attempt = Attempt(Found(**{**RESULT, **result}), None, frozenset(), ran_agents_code=False)
    return outcome_of(kind, Settled(attempt, None), worst_high=False)


PLAIN, BANDED = Use(banded=False, plain=True), Use(banded=True, plain=False)


def test_a_number_out_of_range_is_of_use_to_bands_only() -> None:
    assert picked(outcome(value=48.2), PLAIN, None).fault == "grader"
    found = picked(outcome(value=48.2), BANDED, None)
    assert (found.value, found.measured, found.fault) == (None, 48.2, None)
    assert picked(outcome(value=48.2), Use(banded=True, plain=True), None).fault == "grader"


def test_a_picked_field_is_the_value_or_the_measured_number() -> None:
    several = outcome(fields={"small": 0.25, "large": 7})
    assert picked(several, PLAIN, "small").value == 0.25
    assert picked(several, PLAIN, "large").fault == "grader"
    assert picked(several, BANDED, "large").measured == 7
    assert picked(several, PLAIN, "none").message == "the check gave no field 'none'; it gave large, small"


def test_bands_without_a_number_are_the_agents_fault_where_the_number_was_its_to_give() -> None:
    assert picked(outcome("json", value=0), BANDED, None).fault == "agent"
    assert picked(outcome("python", value=0), BANDED, None).fault is None
