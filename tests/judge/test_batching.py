"""Several criteria in one call: who is asked together, and what one bad answer does to the others (nothing)."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubricgrade.chat.contract import AskFailed, Reply, Request
from rubricgrade.judge import Judged, JudgeOptions, Judging
from rubricgrade.result import Usage
from rubricgrade.rubric import Rubric
from rubricgrade.store.verdicts import VerdictCache
from rubricgrade.trajectory import Trajectory
from tests.judge.scripted import EPISODE, Scripted, reply, rubric, said, step, trajectory

QUOTE = "The total is 48.2L."
ASKED = re.compile(r"^\[(q\d+)\]\n.*?CRITERION\n(.*?)\n", re.MULTILINE | re.DOTALL)


def asked_in(request: Request) -> dict[str, str]:
    """Name and criterion of every question in a request's first turn."""
    return dict(ASKED.findall(request.messages[2]["content"]))


def one(name: str, answer: Any = "yes", *quotes: str) -> dict[str, Any]:
    evidence = [{"where": "", "quote": quote} for quote in quotes or (QUOTE,)]
    return {"id": name, "reasoning": f"because of {name}", "evidence": evidence, "answer": answer}


def answers(*entries: Any) -> str:
    return json.dumps({"answers": list(entries)})


def all_yes(request: Request) -> str:
    names = re.findall(r"q\d+", request.messages[-1]["content"].rpartition("answers for")[2]) or list(asked_in(request))
    return answers(*(one(name) for name in dict.fromkeys(names)))


def many(count: int, **judge: Any) -> Rubric:
    return rubric(*({"id": f"c{n}", "description": f"criterion number {n}", "judge": judge} for n in range(count)))


def decide(
    judged: Rubric,
    chat: Scripted,
    *,
    cache: VerdictCache | None = None,
    episode: Trajectory | None = None,
    **options: Any,
) -> dict[str, Judged]:
    settings: dict[str, Any] = {"model": "m", "batch": "all", **options}

    async def run() -> dict[str, Judged]:
        judging = Judging(episode or trajectory(), judged, JudgeOptions(**settings), chat=chat, verdicts=cache)
        found = await asyncio.gather(*(judging.decide(top) for top in judged.tops))
        return {top.id: each for top, each in zip(judged.tops, found, strict=True)}

    return asyncio.run(run())


class TestWhoIsAskedTogether:
    def test_all_in_one_call(self) -> None:
        chat = Scripted([all_yes])
        found = decide(many(7), chat)
        assert {judged.verdict for judged in found.values()} == {"met"}
        assert len(chat.asked) == 1
        assert sorted(asked_in(chat.asked[0]).values()) == [f"criterion number {n}" for n in range(7)]
        assert list(asked_in(chat.asked[0])) == [f"q{n}" for n in range(1, 8)]

    @pytest.mark.parametrize(("batch", "sizes"), [(1, [1] * 7), (3, [2, 2, 3]), (4, [3, 4]), (7, [7]), (99, [7])])
    def test_at_most_so_many(self, batch: int, sizes: list[int]) -> None:
        chat = Scripted([lambda request: all_yes(request) if asked_in(request) else said("yes", QUOTE)])
        found = decide(many(7), chat, batch=batch)
        assert {judged.verdict for judged in found.values()} == {"met"}
        assert sorted(len(asked_in(request)) or 1 for request in chat.asked) == sizes

    def test_the_rubric_can_ask_for_it_and_the_caller_wins(self) -> None:
        for option, calls in ((None, 1), (1, 4)):
            chat = Scripted([lambda request: all_yes(request) if asked_in(request) else said("yes", QUOTE)])
            decide(many(4, batch="all"), chat, batch=option)
            assert len(chat.asked) == calls

    def test_only_those_that_see_the_same(self) -> None:
        chat = Scripted([all_yes])
        judged = rubric(
            *({"id": f"a{n}", "description": f"criterion {n}"} for n in range(2)),
            *({"id": f"b{n}", "description": f"criterion {n}", "judge": {"sees": ["final_message"]}} for n in range(2)),
        )
        decide(judged, chat)
        assert sorted(len(asked_in(request)) for request in chat.asked) == [2, 2]

    def test_the_order_is_shuffled_and_the_same_every_time(self) -> None:
        orders: list[list[str]] = []
        for criteria in (
            many(9),
            rubric(*reversed([top.model_dump(mode="json", exclude_none=True) for top in many(9).tops])),
        ):
            chat = Scripted([all_yes])
            decide(criteria, chat, votes=2)
            orders.append([list(asked_in(request).values()) for request in chat.asked])  # type: ignore[arg-type]
        first, other = orders
        assert first == other
        assert len(first) == 2
        assert first[0] != first[1], "each vote has an order of its own"
        assert first[0] != sorted(first[0])

    def test_a_question_alone_is_asked_as_usual(self) -> None:
        chat = Scripted([said("yes", QUOTE)])
        assert decide(many(1), chat)["c0"].verdict == "met"
        assert asked_in(chat.asked[0]) == {}

    def test_what_does_not_fit_together_is_asked_apart(self) -> None:
        judged = rubric(
            *(
                {"id": f"c{n}", "description": f"criterion number {n}", "judge": {"guidance": "g" * 5000}}
                for n in range(4)
            )
        )
        chat = Scripted([lambda request: all_yes(request) if asked_in(request) else said("yes", QUOTE)])
        assert {each.verdict for each in decide(judged, chat, max_characters=20_000).values()} == {"met"}
        assert len(chat.asked) == 2
        assert all(sum(len(m["content"]) for m in request.messages) <= 20_000 for request in chat.asked)

    def test_late_ones_wait_for_each_other_and_nobody_for_them(self) -> None:
        chat = Scripted([lambda request: all_yes(request) if asked_in(request) else said("yes", QUOTE)])
        judged = many(5)

        async def run() -> None:
            judging = Judging(trajectory(), judged, JudgeOptions(model="m", batch="all"), chat=chat)

            async def late(number: int) -> Judged:
                await asyncio.sleep(0.05)
                return await judging.decide(judged.tops[number])

            await asyncio.gather(*(judging.decide(top) for top in judged.tops[:3]), late(3), late(4))

        asyncio.run(run())
        assert [len(asked_in(request)) for request in chat.asked] == [3, 2]

    def test_cancelling_the_grade_stops_the_call(self) -> None:
        class Hanging:
            def __init__(self) -> None:
                self.running = 0
                self.begun = asyncio.Event()

            async def ask(self, request: Request) -> Reply:
                assert request.messages
                self.running += 1
                self.begun.set()
                try:
                    await asyncio.sleep(3600)
                finally:
                    self.running -= 1
                return reply("")

        chat, judged = Hanging(), many(3)

        async def run() -> None:
            judging = Judging(trajectory(), judged, JudgeOptions(model="m", batch="all"), chat=chat)
            task = asyncio.gather(*(judging.decide(top) for top in judged.tops))
            await chat.begun.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.sleep(0)
            await asyncio.sleep(0)

        asyncio.run(run())
        assert chat.running == 0


def bad(change: Callable[[list[dict[str, Any]]], list[Any]]) -> Callable[[Request], str]:
    """All yes, but for what a change does to the answers in the order shown."""
    return lambda request: answers(*change([one(name) for name in asked_in(request)]))


class TestOneBadAnswer:
    @pytest.mark.parametrize(
        ("change", "words"),
        [
            (lambda found: found[1:], "not answered"),
            (lambda found: [found[0], *found], "answered 2 times"),
            (lambda found: [{**found[0], "answer": "no"}, *found], "answered 2 times"),
            (lambda found: [{**found[0], "id": "q9"}, *found[1:]], "not answered"),
            (lambda found: [{**found[0], "answer": True}, *found[1:]], "not one of"),
            (lambda found: [{**found[0], "answer": "met"}, *found[1:]], "not one of"),
            (lambda found: [{**found[0], "evidence": "x"}, *found[1:]], "no list"),
            (lambda found: [None, *found[1:]], "not answered"),
            (lambda found: [one("q1", "yes", "words that nobody wrote"), *found[1:]], "does not stand in the record"),
            (lambda found: [one("q1", "no", "words that nobody wrote"), *found[1:]], "does not stand in the record"),
        ],
    )
    def test_is_an_error_for_that_criterion_only(self, change: Any, words: str) -> None:
        chat = Scripted(
            [bad(change), '{"answers": []}' if "not answered" in words else bad(lambda found: change(found)[:2])]
        )
        found = decide(many(4), chat)
        first = asked_in(chat.asked[0])["q1"]
        lost = {judged.verdict: (name, judged) for name, judged in found.items() if judged.value is None}
        assert [len(lost), len(chat.asked)] == [1, 2]
        name, judged = next(iter(lost.values()))
        assert first == f"criterion number {name[1:]}"
        assert judged.cause == "judge_unparseable"
        assert words in judged.message
        assert {each.value for other, each in found.items() if other != name} == {1.0}

    @pytest.mark.parametrize(
        ("behind", "lost"),
        [
            (one("q1", "no"), 1),
            ({"id": "Q1", "Answer": "cannot_tell"}, 1),
            ({"answer": "no"}, 4),
            (one("q1"), 0),
            (one("q9", "no"), 0),
            ({"id": "q1"}, 0),
            ({"answer": "Paris"}, 0),
            ({"id": "q1", "answer": "Paris"}, 0),
        ],
    )
    def test_what_is_said_otherwise_before_the_list_is_one_too(self, behind: dict[str, Any], lost: int) -> None:
        """What the record holds is quoted unless it is an answer to the question."""
        fields = {key: value for key, value in behind.items() if value == "Paris" or "id" in behind}
        episode = trajectory(*EPISODE, step("assistant", json.dumps(fields)))
        chat = Scripted([lambda request: f"{json.dumps(behind)}\nAll in all: {all_yes(request)}"])
        found = decide(many(4), chat, episode=episode)
        assert sum(judged.value is None for judged in found.values()) == lost
        assert {judged.value for judged in found.values() if judged.value is not None} <= {1.0}
        assert all("different answers" in judged.message for judged in found.values() if judged.value is None)

    @pytest.mark.parametrize(
        ("more", "lost"),
        [
            ({"id": "q1 (corrected)", "answer": "no"}, 1),
            ({"id": "q1, q2", "answer": "no"}, 2),
            ({"id": "[q1]", "answer": "no"}, 1),
            ({"id": "q11", "answer": "no"}, 0),
            ({"answer": "no"}, 4),
            ({"ID": "q1", "answer": "no"}, 1),
            ("Correction: q1 is no", 4),
            (None, 0),
        ],
    )
    def test_what_a_stray_entry_may_be_about_is_asked_again(self, more: Any, lost: int) -> None:
        chat = Scripted([lambda request: answers(*json.loads(all_yes(request))["answers"], more)])
        found = decide(many(4), chat)
        assert sum(judged.value is None for judged in found.values()) == lost

    def test_names_in_brackets_as_they_are_shown_are_read(self) -> None:
        chat = Scripted([lambda request: re.sub(r'"(q\d+)"', r'"[\1]"', all_yes(request))])
        assert {judged.value for judged in decide(many(4), chat).values()} == {1.0}
        assert len(chat.asked) == 1

    @pytest.mark.parametrize(
        ("reply_", "lost"),
        [
            ("{}\nq1: no", 4),
            ("{}\nThat is all.", 4),
            ("q1: no\n{}", 1),
            ("**q1**\nAnswer: yes\n\n**q9**\nAnswer: no\n{}", 0),
            ("q1: yes\n{}", 0),
        ],
    )
    def test_words_around_the_list(self, reply_: str, lost: int) -> None:
        chat = Scripted([lambda request: reply_.replace("{}", all_yes(request))])
        found = decide(many(4), chat)
        assert sum(judged.value is None for judged in found.values()) == lost
        assert {judged.value for judged in found.values() if judged.value is not None} <= {1.0}

    @pytest.mark.parametrize("more", [{"corrections": [{"id": "q1", "answer": "no"}]}, {"q1": "no"}])
    def test_corrections_under_another_key_count(self, more: dict[str, Any]) -> None:
        def corrected(request: Request) -> str:
            return json.dumps({**json.loads(all_yes(request)), **more})

        found = decide(many(4), Scripted([corrected]))
        assert sum(judged.value is None for judged in found.values()) == 1

    def test_only_the_bad_ones_are_asked_again(self) -> None:
        chat = Scripted([bad(lambda found: found[2:]), all_yes])
        found = decide(many(5), chat)
        assert {judged.verdict for judged in found.values()} == {"met"}
        again = chat.asked[1].messages[-1]["content"]
        assert "- q1: it is not answered\n- q2: it is not answered\n" in again
        assert again.endswith("with answers for q1, q2 only.")
        assert chat.asked[1].messages[:3] == chat.asked[0].messages

    @pytest.mark.parametrize("text", ["prose", "[]", '{"answers": {}}', "{}", ""])
    def test_a_reply_that_is_none_is_asked_again_and_then_fails_all(self, text: str) -> None:
        chat = Scripted([text])
        found = decide(many(3), chat)
        assert {(judged.value, judged.cause) for judged in found.values()} == {(None, "judge_unparseable")}
        assert len(chat.asked) == 2
        chat = Scripted([text, all_yes])
        assert {judged.value for judged in decide(many(3), chat).values()} == {1.0}

    @pytest.mark.parametrize(
        ("answer", "cause"),
        [(AskFailed("down", "server"), "judge_failed"), (AskFailed("cap", "budget"), "budget"),
         (reply("", "filtered"), "judge_failed"), (reply("{", "length"), "judge_unparseable")],
    )  # fmt: skip
    def test_a_call_that_fails_fails_all_of_its_questions(self, answer: Any, cause: str) -> None:
        found = decide(many(3), Scripted([answer]))
        assert {(judged.value, judged.cause) for judged in found.values()} == {(None, cause)}

    @given(st.lists(st.sampled_from(["q1", "q2", "q3", "q4", "Q1 ", 1, None, True]), max_size=6), st.booleans())
    def test_whatever_ids_come_back_nothing_is_guessed(self, ids: list[Any], yes: bool) -> None:
        chat = Scripted([answers(*({**one("q1", "yes" if yes else "no"), "id": name} for name in ids))])
        found = decide(many(3), chat)
        names = {f"criterion number {name[1:]}": name for name in found}
        for shown, wording in asked_in(chat.asked[0]).items():
            judged = found[names[wording]]
            given = [name for name in ids if isinstance(name, str) and name.strip().lower() == shown]
            assert judged.value == (float(yes) if len(given) == 1 else None)


class TestRecords:
    def test_what_a_call_took_is_shared_out_and_adds_up(self) -> None:
        took = Usage(calls=1, input_tokens=1001, cached_tokens=10, output_tokens=101, cost=0.07, seconds=1.0)
        chat = Scripted([lambda request: Reply(all_yes(request), "stop", "scripted-1", took)])
        found = decide(many(4), chat)
        total = sum((judged.record.usage for judged in found.values()), Usage())
        assert (total.calls, total.input_tokens, total.cached_tokens, total.output_tokens) == (1, 1001, 10, 101)
        assert total.cost == pytest.approx(0.07)

    def test_an_unknown_cost_stays_unknown(self) -> None:
        chat = Scripted([lambda request: Reply(all_yes(request), "stop", "scripted-1", Usage(calls=1, cost=None))])
        assert {judged.record.usage.cost for judged in decide(many(2), chat).values()} == {None}

    def test_a_second_run_asks_nothing_and_a_changed_wording_one(self, tmp_path: Path) -> None:
        cache = VerdictCache(tmp_path / "v.sqlite")
        first = decide(many(5), Scripted([all_yes]), cache=cache)
        chat = Scripted([said("yes", QUOTE)])
        again = decide(many(5), chat, cache=cache)
        assert chat.asked == []
        assert [each.record.prompt for each in again.values()] == [each.record.prompt for each in first.values()]
        changed = many(5).model_dump(mode="json", exclude_none=True)
        changed["criteria"][2]["description"] = "another criterion"
        decide(Rubric.model_validate(changed), chat, cache=cache)
        assert len(chat.asked) == 1
        assert "another criterion" in chat.asked[0].messages[-1]["content"]

    def test_a_single_question_does_not_use_what_was_asked_among_others(self, tmp_path: Path) -> None:
        cache = VerdictCache(tmp_path / "v.sqlite")
        decide(many(3), Scripted([all_yes]), cache=cache)
        chat = Scripted([said("no")])
        assert {judged.verdict for judged in decide(many(3), chat, cache=cache, batch=1).values()} == {"not_met"}

    def test_the_prompt_is_the_one_that_was_sent(self, tmp_path: Path) -> None:
        cache = VerdictCache(tmp_path / "v.sqlite")
        chat = Scripted([all_yes])
        found = decide(many(3), chat, cache=cache)
        assert len({judged.record.prompt for judged in found.values()}) == 1
        sent = [message["content"] for message in chat.asked[0].messages]
        assert cache.prompt(found["c0"].record.prompt) == tuple(sent)

    def test_scales_of_different_criteria(self) -> None:
        scale = [{"choice": "poor", "value": 0.0}, {"choice": "good", "value": 1.0}]
        judged = rubric(
            {"id": "a", "description": "criterion a"},
            {"id": "b", "description": "criterion b", "judge": {"scale": scale}},
        )

        def given_answers(request: Request) -> str:
            names = {wording: name for name, wording in asked_in(request).items()}
            return answers(one(names["criterion a"], "yes"), one(names["criterion b"], "good"))

        chat = Scripted([given_answers])
        assert [each.verdict for each in decide(judged, chat).values()] == ["met", "good"]
        assert 'Answers: "poor", "good", "cannot_tell"' in chat.asked[0].messages[2]["content"]
        assert 'Answers: "yes", "no", "cannot_tell"' in chat.asked[0].messages[2]["content"]

    def test_an_answer_of_another_scale_is_none(self) -> None:
        scale = [{"choice": "poor", "value": 0.0}, {"choice": "good", "value": 1.0}]
        judged = rubric(
            {"id": "a", "description": "criterion a"},
            {"id": "b", "description": "criterion b", "judge": {"scale": scale}},
        )
        found = decide(judged, Scripted([all_yes]))
        assert (found["a"].value, found["b"].value, found["b"].cause) == (1.0, None, "judge_unparseable")

    def test_the_direct_style(self) -> None:
        chat = Scripted([lambda request: answers(*({"id": name, "answer": "yes"} for name in asked_in(request)))])
        assert {judged.verdict for judged in decide(many(3), chat, style="direct").values()} == {"met"}
        assert list(chat.asked[0].schema["properties"]["answers"]["items"]["properties"]) == ["id", "answer"]  # type: ignore[index]
