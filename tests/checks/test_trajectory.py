"""What the agent did, step by step."""

from __future__ import annotations

from typing import Any

import pytest

from rubricgrade.trajectory import Call
from tests.checks.conftest import Ask, Episode, message

STEPS = (
    message(
        "assistant",
        "Looking.",
        Call(name="get_user", arguments={"id": "u1"}),
        Call(name="search", arguments={"q": "fares"}),
    ),
    message("tool", '{"name": "Ann"}', answers=(1, 1)),
    message("tool", "nothing found", answers=(1, 2)),
    message("assistant", "", Call(name="book", arguments={"id": "u1", "seats": 2, "price": 100.5})),
    message("tool", "booked", answers=(4, 1)),
    message("assistant", "", Call(name="search", raw="{broken")),
    message("assistant", "Booked for you."),
)
CHECKS: list[tuple[dict[str, Any], float]] = [
    ({"tool": "book"}, 1.0),
    ({"tool": "cancel"}, 0.0),
    ({"tool": "cancel", "never": True}, 1.0),
    ({"tool": "book", "never": True}, 0.0),
    ({"tool": "search", "at_least": 2}, 1.0),
    ({"tool": "search", "at_most": 1}, 0.0),
    ({"tool": "cancel", "at_most": 1}, 1.0),
    ({"tool": "search", "at_least": 1, "at_most": 2}, 1.0),
    ({"tool": "book", "arguments": {"seats": 2.0}}, 1.0),
    ({"tool": "book", "arguments": {"seats": 2, "price": 100}}, 0.0),
    ({"tool": "book", "arguments": {"seats": True}}, 0.0),
    ({"tool": "book", "arguments": {"missing": None}}, 0.0),
    ({"tool": "book", "argument_matches": {"id": "^u"}}, 1.0),
    ({"tool": "book", "argument_matches": {"seats": "^3$"}}, 0.0),
    ({"tool": "book", "argument_matches": {"none": "."}}, 0.0),
    ({"tool": "book", "result": {"equals": "booked"}}, 1.0),
    ({"tool": "book", "result": {"contains": "failed"}}, 0.0),
    ({"tool": "get_user", "before": "book"}, 1.0),
    ({"tool": "book", "before": "get_user"}, 0.0),
    ({"tool": "get_user", "before": "search"}, 1.0),
    ({"tool": "cancel", "at_least": 0, "before": "refund"}, 1.0),
    ({"tool": "lookup", "at_least": 0, "before": "book"}, 0.0),
    ({"tool": "book", "after": "get_user"}, 1.0),
    ({"tool": "book", "after": "refund"}, 0.0),
    ({"order": ["get_user", "book", "search"]}, 1.0),
    ({"order": ["book", "get_user"]}, 0.0),
    ({"max_steps": 4}, 1.0),
    ({"max_steps": 3}, 0.0),
    ({"final_message": {"contains": "Booked"}}, 1.0),
    ({"final_message": {"matches": "^Sorry"}}, 0.0),
]


@pytest.fixture(scope="module")
def outcomes(ask: Ask) -> list[Any]:
    return ask.all([{"trajectory": spec} for spec, _ in CHECKS], episode=Episode(files=None, steps=STEPS))


@pytest.mark.parametrize("index", range(len(CHECKS)), ids=[str(spec) for spec, _ in CHECKS])
def test_rules(outcomes: list[Any], index: int) -> None:
    outcome = outcomes[index]
    assert (outcome.value, outcome.fault) == (CHECKS[index][1], None), outcome.message
    assert outcome.evidence


def test_evidence_has_addresses(outcomes: list[Any]) -> None:
    found = {str(spec): outcome for (spec, _), outcome in zip(CHECKS, outcomes, strict=True)}
    book = found[str({"tool": "book"})]
    assert [(item.quote, item.where) for item in book.evidence] == [
        ('book {"id": "u1", "seats": 2, "price": 100.5}', "[4].call_1")
    ]
    searches = found[str({"tool": "search", "at_least": 2})]
    assert [item.where for item in searches.evidence] == ["[1].call_2", "[6].call_1"]
    assert searches.evidence[1].quote == "search {broken"
    assert searches.measured == 2
    assert found[str({"final_message": {"contains": "Booked"}})].evidence[0].where == "[7].text"


def test_an_episode_that_ends_without_a_word(ask: Ask) -> None:
    outcome = ask.one({"trajectory": {"final_message": {"contains": "x"}}}, episode=Episode(steps=STEPS[:5]))
    assert (outcome.value, outcome.message) == (0.0, "there is no final message")


def test_a_tolerance_holds_for_arguments(ask: Ask) -> None:
    check = {"trajectory": {"tool": "book", "arguments": {"price": 100}}, "within": "1%"}
    assert ask.one(check, episode=Episode(steps=STEPS)).value == 1.0


UNCLEAR = {
    "a key twice": '{"id": "u1", "id": "u2"}',
    "nested too deeply": '{"id": "u1", "x": ' + "[" * 200 + "]" * 200 + "}",
    "nested beyond any parser": '{"id": "u1", "x": ' + "[" * 100_000,
    "an endless number": '{"id": "u1", "x": ' + "1" * 5000 + "}",
}


@pytest.mark.parametrize("raw", UNCLEAR.values(), ids=UNCLEAR)
def test_arguments_that_can_be_read_in_two_ways_pass_no_rule_on_arguments(ask: Ask, raw: str) -> None:
    episode = Episode(files=None, steps=(message("assistant", "", Call(name="pay", raw=raw)),))
    asked: dict[str, Any] = {"tool": "pay", "arguments": {"id": "u1"}}
    rules: list[dict[str, Any]] = [asked, {**asked, "never": True}, {"tool": "pay", "argument_matches": {"id": "u"}}]
    checks: list[dict[str, Any]] = [{"trajectory": rule} for rule in rules]
    for outcome in ask.all([*checks, {"not": checks[0]}], episode=episode):
        assert (outcome.value, outcome.fault) == (None, "agent"), outcome.message
        assert outcome.evidence[0].where == "[1].call_1"
    assert ask.one({"trajectory": {"tool": "pay", "never": True}}, episode=episode).value == 0.0
