"""A dry run asks nobody and says what asking would take: what then is asked stays within its ranges."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rubricgrade.chat.contract import Reply, Request
from rubricgrade.chat.prices import price_of
from rubricgrade.chat.tokens import Tokens
from rubricgrade.judge import JudgeOptions, Judging
from rubricgrade.judge.estimating import Estimate, Planned, by_criterion, total
from rubricgrade.judge.planning import CACHED, CANARY, CUT, NOBODY, OFFLINE, RECORDED
from rubricgrade.result import Usage
from rubricgrade.rubric import Rubric
from rubricgrade.store.recorded import RecordedQuote, write_verdicts
from rubricgrade.store.verdicts import VerdictCache
from rubricgrade.trajectory import Trajectory
from tests.judge.scripted import rubric, said, step, trajectory
from tests.judge.test_batching import all_yes, asked_in, many
from tests.judge.test_long import Reader, flooded

QUOTE = "The total is 48.2L."
YES, NO = said("yes", QUOTE), said("no")
MODEL = "openai/gpt-4o-mini"


class Counting:
    """Answers, and counts what it was asked as a provider would: tokens of four characters."""

    def __init__(self, answer: str | Callable[[Request], str] = YES) -> None:
        self.answer = answer
        self.asked: list[Request] = []

    async def ask(self, request: Request) -> Reply:
        self.asked.append(request)
        await asyncio.sleep(0)
        answer: str = self.answer(request) if callable(self.answer) else self.answer
        tokens = Tokens(input=sum(len(m["content"]) for m in request.messages) // 4, output=len(answer) // 4 + 40)
        price = price_of(request.model, {})
        assert price is not None
        usage = Usage(calls=1, input_tokens=tokens.input, output_tokens=tokens.output, cost=price.cost(tokens))
        return Reply(answer, "stop", "counting-1", usage)


def plan(
    judged: Rubric, *, episode: Trajectory | None = None, cache: VerdictCache | None = None, **options: Any
) -> list[Planned]:
    settings: dict[str, Any] = {"model": MODEL, **options}
    judging = Judging(episode or trajectory(), judged, JudgeOptions(**settings), verdicts=cache)
    return asyncio.run(judging.plan([(leaf, None) for leaf in judged.leaves()]))


def spend(
    judged: Rubric, chat: Any, *, episode: Trajectory | None = None, cache: VerdictCache | None = None, **options: Any
) -> Usage:
    settings: dict[str, Any] = {"model": MODEL, **options}

    async def run() -> Usage:
        judging = Judging(episode or trajectory(), judged, JudgeOptions(**settings), chat=chat, verdicts=cache)
        found = await asyncio.gather(*(judging.decide(leaf) for leaf in judged.leaves()))
        return sum((each.record.usage for each in found), Usage())

    return asyncio.run(run())


def outside(estimate: Estimate, usage: Usage) -> dict[str, tuple[float | None, Any]]:
    """What was not as estimated: what it took, and the range."""
    spent = {
        "calls": (usage.calls, estimate.calls),
        "input": (usage.input_tokens, estimate.input_tokens),
        "output": (usage.output_tokens, estimate.output_tokens),
        "cost": (usage.cost, estimate.cost),
    }
    return {
        name: (taken, span)
        for name, (taken, span) in spent.items()
        if taken is None or span is None or not span[0] <= taken <= span[1]
    }


class TestWithinTheRanges:
    @pytest.mark.parametrize(
        ("options", "calls"),
        [
            ({}, (5, 5)),
            ({"votes": 3}, (15, 15)),
            ({"votes": "adaptive"}, (10, 15)),
            ({"model": f"{MODEL},openai/gpt-4o"}, (10, 10)),
            ({"escalate": "openai/gpt-4o"}, (5, 10)),
            ({"canary": True}, (6, 6)),
            ({"style": "direct"}, (5, 5)),
        ],
    )
    def test_one_by_one(self, options: dict[str, Any], calls: tuple[int, int]) -> None:
        estimate = total(each.estimate for each in plan(many(5), **options))
        assert estimate.calls == calls

        def answer(request: Request) -> str:
            if "stands the text" in request.messages[2]["content"]:
                return NO
            return '{"answer": "no"}' if options.get("style") == "direct" else YES

        assert not outside(estimate, spend(many(5), Counting(answer), **options))

    @pytest.mark.parametrize(("batch", "calls"), [(2, 3), (3, 2), ("all", 1)])
    def test_together(self, batch: Any, calls: int) -> None:
        estimate = total(each.estimate for each in plan(many(5), batch=batch))
        assert estimate.calls == (calls, calls)
        usage = spend(many(5), Counting(lambda r: all_yes(r) if asked_in(r) else YES), batch=batch)
        assert not outside(estimate, usage)

    @pytest.mark.parametrize("chosen", [["[6].result"], []])
    def test_too_long_to_be_shown_whole(self, chosen: list[str]) -> None:
        asked = rubric({"description": "a transfer was refused"})
        (planned,) = plan(asked, episode=flooded(), max_characters=40_000)
        assert planned.note == CUT
        assert planned.estimate.calls[0] == 1
        chat = Counting(Reader(chosen=chosen)._say)
        usage = spend(asked, chat, episode=flooded(), max_characters=40_000)
        assert usage.calls > 2
        assert not outside(planned.estimate, usage)

    def test_what_can_not_be_shown_at_all(self) -> None:
        talk = [step("assistant", f"thought {n} " + "lorem ipsum " * 500) for n in range(12)]
        episode = trajectory(step("user", "go"), *talk, step("assistant", "done"))
        asked = rubric({"description": "a transfer was refused"})
        (planned,) = plan(asked, episode=episode, max_characters=40_000)
        chat = Counting(Reader(chosen=["[3].text"])._say)
        assert not outside(planned.estimate, spend(asked, chat, episode=episode, max_characters=40_000))


class TestWhatIsKnown:
    def test_what_is_cached_costs_nothing(self, tmp_path: Path) -> None:
        cache = VerdictCache(tmp_path / "v.sqlite")
        spend(many(3), Counting(), cache=cache)
        planned = plan(many(4), cache=cache)
        assert [each.note for each in planned] == [CACHED] * 3 + [""]
        assert [each.estimate.calls for each in planned] == [(0, 0)] * 3 + [(1, 1)]

    def test_what_is_recorded_costs_nothing(self, tmp_path: Path) -> None:
        judging = Judging(trajectory(), rubric(), JudgeOptions(offline=True))
        asyncio.run(judging.decide(rubric().tops[0]))
        filled = {"answer": "yes", "recorded_by": "hand: Ada", "evidence": (RecordedQuote(quote=QUOTE),)}
        write_verdicts(tmp_path / "v.jsonl", [judging.unanswered[0].model_copy(update=filled)])
        (planned,) = plan(rubric(), verdicts=(tmp_path / "v.jsonl",))
        assert (planned.note, planned.estimate) == (RECORDED, Estimate())

    def test_without_a_model_it_is_counted_for_any_one(self) -> None:
        planned = plan(many(2), model=None)
        named = plan(many(2), model="openai/nobody-knows-it")
        assert [each.note for each in planned] == [NOBODY] * 2
        assert [each.estimate for each in planned] == [each.estimate for each in named]
        assert total(each.estimate for each in planned).cost is None
        (long,) = plan(many(1), model=None, episode=flooded(), max_characters=40_000)
        assert long.note == f"{NOBODY}; {CUT}"

    @pytest.mark.parametrize("options", [{}, {"episode": flooded(), "max_characters": 20_000}, {"model": None}])
    def test_offline_nobody_is_asked_whoever_is_named(self, options: dict[str, Any]) -> None:
        (planned,) = plan(many(1), offline=True, **options)
        assert (planned.note, planned.estimate) == (OFFLINE, Estimate())

    def test_an_unknown_price_is_unknown_and_not_nothing(self) -> None:
        estimate = total(each.estimate for each in plan(many(2), model="openai/nobody-knows-it"))
        assert estimate.cost is None
        assert estimate.calls == (2, 2)

    def test_prices_of_the_callers_own(self) -> None:
        extra = {"input_cost_per_token": 1.0, "output_cost_per_token": 0.0}
        (planned,) = plan(many(1), model="openai/nobody-knows-it", extra=extra)
        assert planned.estimate.cost == tuple(map(float, planned.estimate.input_tokens))

    def test_a_shared_prefix_is_taken_for_cached_at_best(self) -> None:
        first, second = plan(many(2), episode=flooded(2000))
        assert first.estimate.cost is not None
        assert second.estimate.cost is not None
        assert second.estimate.cost[0] < first.estimate.cost[0]
        assert second.estimate.cost[1] == first.estimate.cost[1]

    def test_by_criterion_over_trajectories(self) -> None:
        planned = [*plan(many(2), canary=True), *plan(many(2), canary=True)]
        found = by_criterion(planned)
        assert list(found) == ["c0", "c1", CANARY]
        assert [each.calls for each in found.values()] == [(2, 2)] * 3
