"""Votes counted a second time, by hand, over random panels whose members answer anything or nothing."""

from __future__ import annotations

from itertools import product
from typing import Literal

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.judge.test_panel import DOUBT, DOWN, LIE, NO, YES, ByModel, decide

ANSWERS = {"yes": YES, "no": NO, "cannot_tell": DOUBT, "lie": LIE, "down": DOWN}
SAID = {"yes": "yes", "no": "no", "cannot_tell": "cannot_tell", "lie": None, "down": None}
VERDICTS = {"yes": ("met", 1.0), "no": ("not_met", 0.0), "cannot_tell": ("cannot_tell", None)}


def asked(models: list[list[str]], votes: int | Literal["adaptive"]) -> list[str]:
    """What is answered, in the order in which it is asked: every model once, then every model again."""
    wanted = 3 if votes == "adaptive" else votes * len(models)
    every = [models[number % len(models)][number // len(models)] for number in range(wanted)]
    if votes != "adaptive":
        return every
    return every if SAID[every[0]] != SAID[every[1]] else every[:2]


def majority(answers: list[str]) -> str | None:
    """The answer of more than half of all that were asked."""
    said = [SAID[answer] for answer in answers]
    return next((each for each in VERDICTS if 2 * said.count(each) > len(said)), None)


def doubtful(answers: list[str]) -> bool:
    """Whether a stronger judge is to look."""
    said = {SAID[answer] for answer in answers} - {None}
    return "lie" in answers or "cannot_tell" in said or len(said) > 1


scripts = st.lists(st.sampled_from(list(ANSWERS)), min_size=3, max_size=3)


@settings(max_examples=120, deadline=None)
@given(
    st.lists(scripts, min_size=1, max_size=3),
    st.sampled_from([1, 2, 3, "adaptive"]),
    st.none() | st.sampled_from(list(ANSWERS)),
)
def test_the_verdict_is_what_a_recount_gives(
    models: list[list[str]], votes: int | Literal["adaptive"], strong: str | None
) -> None:
    named = dict(zip("abc", models, strict=False))
    # A quote that is not found is asked for again at once, and not found again.
    chat = ByModel(
        **{
            name: [ANSWERS[each] for one in script for each in [one] * (1 + (one == "lie"))]
            for name, script in named.items()
        },
        strong=ANSWERS[strong or "down"],
    )
    # One after another, so that a script is used up in the order in which votes are cast.
    if any("lie" in script for script in models) and len(models[0]) > 1:
        models = [[script[0]] * 3 for script in models]
        chat = ByModel(**{name: ANSWERS[script[0]] for name, script in named.items()}, strong=ANSWERS[strong or "down"])
    found = decide(chat, model=",".join(named), votes=votes, escalate="strong" if strong else None)

    answers = asked(models, votes)
    looks = strong is not None and doubtful(answers)
    winner = SAID[strong] if looks and strong is not None else majority(answers)
    cast = [SAID[each] or "error" for each in [*answers, *([strong] if looks and strong is not None else [])]]
    assert [vote.answer for vote in found.record.votes] == cast
    assert found.value == (VERDICTS[winner][1] if winner else None)
    if winner:
        assert found.verdict == VERDICTS[winner][0]
    assert (found.cause is None) == (found.value is not None)


@given(st.lists(st.sampled_from(["yes", "no", "cannot_tell", "down", "lie"]), min_size=1, max_size=5))
def test_a_vote_that_failed_decides_nothing(answers: list[str]) -> None:
    """What is decided although votes failed is what they would have left decided, whatever they had been."""
    winner = majority(answers)
    lost = [number for number, answer in enumerate(answers) if SAID[answer] is None]
    if winner is None:
        return
    for filled in product(["yes", "no", "cannot_tell"], repeat=len(lost)):
        whole = list(answers)
        for number, answer in zip(lost, filled, strict=True):
            whole[number] = answer
        assert majority(whole) == winner
