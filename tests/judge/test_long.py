"""Records that do not fit: cut, then shown in chosen parts, then read in pieces; what is a verdict on them, and what not."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rubricgrade.chat.contract import AskFailed, Finish, Reply, Request
from rubricgrade.evidence import Document
from rubricgrade.judge import Judged, JudgeOptions, Judging
from rubricgrade.judge.aside import Aside
from rubricgrade.judge.mapping import MOST_PIECES, map_pieces, pieces_of
from rubricgrade.judge.memory import Memory
from rubricgrade.judge.need import Need
from rubricgrade.judge.polling import Polling
from rubricgrade.judge.question import Questions
from rubricgrade.judge.record import Record, Sight, margined
from rubricgrade.judge.room import room_of, token_range
from rubricgrade.result import Usage
from rubricgrade.rubric import Rubric
from rubricgrade.store.verdicts import VerdictCache
from rubricgrade.trajectory import Call, Trajectory
from tests.judge.scripted import rubric, said, step, trajectory

WANTED = {"id": "wanted", "description": "makes transfers", "points": 1}
NO, DOUBT = said("no"), said("cannot_tell")
FACT = "the transfer to account 7731 was refused"
END = "All transfers were made."


def flooded(size: int = 60_000, *, where: int = 2, count: int = 4) -> Trajectory:
    """Tool results so long that they are cut, the fact in the middle of one."""
    steps = [step("user", "Make the transfers.")]
    for number in range(count):
        steps.append(step("assistant", f"transfer {number}", calls=(Call(name="transfer"),)))
        half = f"line {number} " + "lorem ipsum " * (size // 24)
        body = f"{half}\n{FACT}\n{half}" if number == where else f"{half}{half}"
        steps.append(step("tool", body, answers=(2 * number + 1, 1)))
    return trajectory(*steps, step("assistant", END))


class Reader:
    """A judge that reads: says yes with a quote if the fact stands in what it is shown, and chooses as it is told."""

    def __init__(self, chosen: Any = (), otherwise: str = NO, limit: int | None = None) -> None:
        self.chosen = chosen
        self.otherwise = otherwise
        self.limit = limit
        self.asked: list[Request] = []

    async def ask(self, request: Request) -> Reply:
        self.asked.append(request)
        await asyncio.sleep(0)
        if self.limit is not None and len(str(request.messages)) > self.limit:
            raise AskFailed("too many tokens", "too_long")
        return Reply(self._say(request), "stop", "reader-1", Usage(calls=1, cost=0.01))

    def _say(self, request: Request) -> str:
        record, question = request.messages[1]["content"], request.messages[2]["content"]
        seen = FACT in record
        if '"parts": a list' in question:
            return json.dumps({"reasoning": "these", "parts": list(self.chosen)})
        if '"passages": a list' in question:
            return json.dumps({"passages": [{"where": "", "quote": FACT}] if seen else []})
        return said("yes", FACT) if seen else self.otherwise

    @property
    def kinds(self) -> list[str]:
        marks = {"index": '"parts": a list', "piece": '"passages": a list', "verdict": '"answer": one of'}
        return [next(kind for kind, mark in marks.items() if mark in r.messages[2]["content"]) for r in self.asked]


def decide(
    reader: Any,
    episode: Trajectory,
    *,
    judged: Rubric | None = None,
    cache: VerdictCache | None = None,
    room: int | None = 40_000,
    **options: Any,
) -> Judged:
    chosen = judged or rubric({"description": "a transfer was refused"})

    async def run() -> Judged:
        given_options: dict[str, Any] = {"model": "m", "max_characters": room, **options}
        judging = Judging(episode, chosen, JudgeOptions(**given_options), chat=reader, verdicts=cache)
        return await judging.decide(chosen.tops[0])

    return asyncio.run(run())


class TestStages:
    def test_what_fits_is_shown_whole(self) -> None:
        reader = Reader()
        judged = decide(reader, flooded(2000))
        assert (judged.verdict, reader.kinds) == ("met", ["verdict"])
        assert not any("NOT SHOWN" in part or "are not shown" in part for part in judged.record.shown.left_out)

    def test_a_yes_on_a_cut_record_needs_no_more(self) -> None:
        reader = Reader(otherwise=said("yes", END))
        judged = decide(reader, flooded())
        assert (judged.verdict, reader.kinds) == ("met", ["verdict"])

    def test_a_no_on_a_cut_record_looks_at_the_parts_that_the_judge_chooses(self) -> None:
        reader = Reader(chosen=["[6].result"])
        judged = decide(reader, flooded(20_000), room=36_000)
        assert (judged.verdict, judged.value) == ("met", 1.0)
        assert reader.kinds == ["verdict", "index", "verdict"]
        assert judged.evidence[0].where == "[6].result"
        assert any("chose [6].result" in part for part in judged.record.shown.left_out)
        assert judged.record.usage.calls == 3

    @pytest.mark.parametrize("answer", ["yes", "no", "cannot_tell"])
    def test_an_answer_whose_quote_is_not_shown_looks_there_before_it_is_given_up(self, answer: str) -> None:
        reader = Reader(chosen=["[6].result"], otherwise=said(answer, "words that nobody wrote"))
        judged = decide(reader, flooded(20_000), room=36_000)
        assert (judged.verdict, judged.value) == ("met", 1.0)
        assert reader.kinds[0] == "verdict"
        assert reader.kinds[-2:] == ["index", "verdict"]

    def test_the_index_names_every_part_and_how_long_it_is(self) -> None:
        reader = Reader(chosen=["[6].result"])
        decide(reader, flooded(20_000), room=36_000)
        index = reader.asked[1].messages[1]["content"]
        assert re.search(r"^\[6\]\.result \(tool, answers \[5\]\.call_1\), 20,\d{3} characters$", index, re.MULTILINE)
        assert "\n| line 2 lorem ipsum" in index
        assert FACT not in index

    def test_a_no_stands_only_on_what_was_shown_together(self) -> None:
        """A claim in one view and its refutation in the next are never seen to disagree."""
        reader = Reader(chosen=["[2].result"])
        episode = trajectory(
            step("user", "go"), step("tool", "x" * 8000), step("tool", "lorem ipsum " * 1600), step("assistant", END)
        )
        judged = decide(reader, episode, room=32_000)
        assert (judged.verdict, judged.value) == ("not_met", 0.0)
        assert reader.kinds[:4] == ["verdict", "index", "verdict", "piece"]

    @pytest.mark.parametrize(
        "description", ["Every transfer was made", "all transfers went through", "the transfers stay within the limit"]
    )
    def test_a_yes_about_everything_is_none_on_a_cut_record(self, description: str) -> None:
        class Trusting(Reader):
            def _say(self, request: Request) -> str:
                found = super()._say(request)
                return found.replace('"yes"', '"no"') if FACT in request.messages[1]["content"] else found

        reader = Trusting(otherwise=said("yes", END))
        judged = decide(reader, flooded(), judged=rubric({"description": description}))
        assert (judged.verdict, judged.value) == ("not_met", 0.0)
        assert "piece" in reader.kinds

    def test_a_penalty_for_an_absence_is_lifted_by_what_is_there_or_after_all_was_read(self) -> None:
        absent = rubric({"description": "The agent does not say that a transfer was refused", "points": -1}, WANTED)
        bare, quoting = Reader(otherwise=NO), Reader(otherwise=said("no", END))
        assert decide(bare, flooded(where=99), judged=absent).value == 0.0
        assert "piece" in bare.kinds
        assert decide(quoting, flooded(where=99), judged=absent).value == 0.0
        assert quoting.kinds == ["verdict"]

    @pytest.mark.parametrize(
        "entry",
        [
            {"where": "[6].result", "quote": " "},
            {"where": "step 6", "quote": ""},
            {"where": "[6].result, line 3", "quote": ""},
            {"where": 6, "quote": ""},
            {"where": "", "quote": "", "text": FACT},
            {"where": "[0].text", "quote": "Make the transfers.", "note": FACT},
        ],
    )
    def test_a_reader_that_points_at_something_without_a_quote_has_seen_it(self, entry: dict[str, Any]) -> None:
        class Pointing(Reader):
            def _say(self, request: Request) -> str:
                found = super()._say(request)
                return json.dumps({"passages": [entry]}) if found.startswith('{"passages": [{') else found

        judged = decide(Pointing(), flooded())
        assert (judged.verdict, judged.value) == ("met", 1.0)

    @pytest.mark.parametrize("where", ["", "N/A", "none", "-", None])
    def test_a_form_filled_in_with_blanks_points_at_nothing(self, where: str | None) -> None:
        class Blank(Reader):
            def _say(self, request: Request) -> str:
                found = super()._say(request)
                blank = json.dumps({"passages": [{"where": where, "quote": ""}]})
                return blank if found == '{"passages": []}' else found

        reader = Blank()
        assert decide(reader, flooded(where=99)).value == 0.0
        plain = Reader()
        decide(plain, flooded(where=99))
        assert len(reader.asked) == len(plain.asked)

    def test_where_more_was_cut_than_can_be_chosen_all_is_read_in_pieces(self) -> None:
        reader = Reader(chosen=["[2].result"])
        judged = decide(reader, flooded())
        assert (judged.verdict, judged.value) == ("met", 1.0)
        assert reader.kinds[:4] == ["verdict", "index", "verdict", "piece"]
        assert reader.kinds[-1] == "verdict"
        assert any("read all of it in" in part for part in judged.record.shown.left_out)
        assert judged.evidence[0].where == "[6].result"

    def test_a_no_after_all_was_read_is_a_verdict(self) -> None:
        reader = Reader()
        judged = decide(reader, flooded(where=99))
        assert (judged.verdict, judged.value, judged.cause) == ("not_met", 0.0, None)

    def test_a_flood_buys_no_ungraded(self) -> None:
        """Tool results that are made long on purpose cost calls, not the verdict."""
        judged = decide(Reader(), flooded(100_000, where=99, count=6))
        assert judged.value == 0.0

    def test_an_absence_that_nothing_contradicts_is_true_once_all_was_read(self) -> None:
        absent = rubric({"description": "does not send a transfer to account 7731"})
        reader = Reader(otherwise=said("yes"))
        assert decide(reader, flooded(where=99), judged=absent).value == 1.0
        assert "piece" in reader.kinds

    def test_what_cannot_be_cut_goes_to_the_index_at_once(self) -> None:
        talk = [step("assistant", f"thought {n} " + "lorem ipsum " * 500) for n in range(12)]
        episode = trajectory(step("user", "go"), *talk, step("assistant", f"{FACT}, I think"))
        reader = Reader(chosen=["[13].text"])
        judged = decide(reader, episode)
        assert (judged.verdict, reader.kinds) == ("met", ["index", "verdict"])

    def test_a_record_of_very_many_pieces_is_not_read(self) -> None:
        reader = Reader()
        judged = decide(reader, flooded(500_000, where=99, count=6))
        assert (judged.value, judged.cause) == (None, "cannot_tell")
        assert "characters of the agent's work, more than the 200,000 that are always read" in judged.message
        assert "piece" not in reader.kinds

    def test_a_long_task_that_is_not_read_is_our_fault(self) -> None:
        reader = Reader()
        judged = decide(reader, trajectory(step("user", "lorem ipsum " * 200_000), step("assistant", END)))
        assert (judged.value, judged.cause) == (None, "judge_failed")

    def test_of_an_ordinary_record_every_piece_is_read_however_many_they_are(self) -> None:
        reader = Reader()
        talk = [step("assistant", f"thought {n} " + "lorem ipsum " * 400) for n in range(38)]
        assert decide(reader, trajectory(step("user", "go"), *talk), room=12_288).value == 0.0
        assert reader.kinds.count("piece") > MOST_PIECES

    def test_unless_the_author_wants_so_much_to_be_read(self) -> None:
        reader = Reader()
        asked = rubric({"description": "a transfer was refused", "judge": {"read_at_most": 3_000_000}})
        assert decide(reader, flooded(400_000, where=99, count=4), judged=asked).value == 0.0
        assert reader.kinds.count("piece") > 32


class TestFaults:
    @pytest.mark.parametrize(
        "broken", ["[]", "prose", '{"parts": "all"}', '{"parts": ["[99].result", 7]}', '{"parts": []}']
    )
    def test_a_choice_that_is_none_leads_to_the_pieces(self, broken: str) -> None:
        class Confused(Reader):
            def _say(self, request: Request) -> str:
                return broken if '"parts": a list' in request.messages[2]["content"] else super()._say(request)

        reader = Confused()
        assert decide(reader, flooded()).value == 1.0
        assert "piece" in reader.kinds

    @pytest.mark.parametrize("broken", ["prose", '{"other": 1}'])
    def test_a_piece_that_was_not_read_leaves_it_open(self, broken: str) -> None:
        class Confused(Reader):
            def _say(self, request: Request) -> str:
                return broken if '"passages": a list' in request.messages[2]["content"] else super()._say(request)

        judged = decide(Confused(), flooded())
        assert (judged.value, judged.cause) == (None, "judge_failed")

    @pytest.mark.parametrize(
        "behind",
        [
            '{{"where": "[6].result", "quote": "{0}"}}',
            "But see [6].result: {0}",
            "- [6].result: {0}",
            "<think>{0}</think>",
        ],
    )
    @pytest.mark.parametrize("stubborn", [False, True])
    def test_what_stands_beside_an_empty_list_is_not_lost(self, behind: str, *, stubborn: bool) -> None:
        """An honest "no" over what is left would lift the penalty."""

        class Loose(Reader):
            def _say(self, request: Request) -> str:
                found = super()._say(request)
                loose = found.startswith('{"passages": [{') and (stubborn or len(request.messages) == 3)
                return f'{{"passages": []}}\n{behind.format(FACT)}' if loose else found

        reader = Loose()
        penalty = rubric({"description": "a transfer was refused", "points": -1}, WANTED)
        judged = decide(reader, flooded(), judged=penalty)
        assert (judged.value, judged.cause) == ((None, "judge_failed") if stubborn else (1.0, None))

    @pytest.mark.parametrize("finish", ["refused", "filtered"])
    def test_a_refusal_beside_an_empty_list_is_no_reading(self, finish: Finish) -> None:
        class Refusing(Reader):
            async def ask(self, request: Request) -> Reply:
                said_so = await super().ask(request)
                return replace(said_so, finish=finish) if self.kinds[-1] == "piece" else said_so

        judged = decide(Refusing(otherwise=NO), flooded(where=99))
        assert (judged.value, judged.cause) == (None, "judge_failed")

    @pytest.mark.parametrize(
        "passages", [[{"where": "[2].result", "quote": "the agent was very good"}], [7], [{"where": ""}], "none", None]
    )
    def test_a_passage_that_stands_nowhere_leaves_a_no_open(self, passages: Any) -> None:
        class Liar(Reader):
            def _say(self, request: Request) -> str:
                if '"passages": a list' in request.messages[2]["content"]:
                    return json.dumps({"passages": passages})
                return super()._say(request)

        reader = Liar()
        judged = decide(reader, flooded())
        assert (judged.value, judged.cause) == (None, "judge_failed")
        assert "very good" not in reader.asked[-1].messages[1]["content"]

    @pytest.mark.parametrize("kind", ["index", "piece"])
    @pytest.mark.parametrize(("error", "cause"), [("server", "judge_failed"), ("budget", "budget")])
    def test_a_judge_that_goes_away_leaves_it_open(self, kind: str, error: Any, cause: str) -> None:
        class Going(Reader):
            async def ask(self, request: Request) -> Reply:
                said_so = await super().ask(request)
                if self.kinds[-1] == kind:
                    raise AskFailed("gone", error, Usage(calls=2, cost=0.5))
                return said_so

        judged = decide(Going(), flooded())
        assert (judged.verdict, judged.value, judged.cause) == ("error", None, cause)
        assert judged.record.usage.calls >= 3

    def test_offline_nobody_is_asked_to_choose(self) -> None:
        reader = Reader()
        judged = decide(reader, flooded(), offline=True)
        assert (judged.verdict, judged.cause, reader.asked) == ("not_run", "no_judge", [])


class TestRoom:
    def test_a_model_that_takes_less_is_shown_less(self) -> None:
        reader = Reader(chosen=["[6].result"], limit=60_000)
        judged = decide(reader, flooded(20_000), room=None)
        assert judged.value == 1.0
        assert [len(str(request.messages)) <= 60_000 for request in reader.asked] == [False] + [True] * 3

    def test_a_dense_text_of_which_too_little_fits_is_the_agents_doing(self) -> None:
        reader = Reader(limit=60_000)
        judged = decide(reader, flooded(600_000, where=99), room=None)
        assert (judged.value, judged.cause) == (None, "cannot_tell")
        assert "more than the 200,000 that are always read" in judged.message

    def test_no_model_takes_nothing(self) -> None:
        reader = Reader(limit=10)
        judged = decide(reader, flooded(20_000), room=None)
        assert (judged.value, judged.cause) == (None, "judge_failed")
        assert len(reader.asked) < 20

    def test_the_smallest_of_the_models_sets_the_room(self) -> None:
        assert room_of(["nobody/knows-it"], 4096) == 400_000
        assert room_of(["openai/gpt-4"], 4096) == (8192 - 4096) * 3
        assert room_of(["openai/gpt-4", "openai/gpt-4o-mini"], 4096) == (8192 - 4096) * 3

    @pytest.mark.parametrize(
        "text",
        ["plain English words, as they come", "def f(x):\n    return x[0]['k'] + 1", "数据表格总计", "Ответ верный"],
    )
    def test_a_range_of_tokens(self, text: str) -> None:
        low, high = token_range(len(text.encode()))
        assert 0 < low <= high <= len(text.encode())


class TestAgain:
    def test_a_second_run_makes_no_call(self, tmp_path: Path) -> None:
        cache = VerdictCache(tmp_path / "v.sqlite")
        first = decide(Reader(), flooded(), cache=cache)
        again = Reader()
        judged = decide(again, flooded(), cache=cache)
        assert again.asked == []
        assert (judged.verdict, judged.evidence) == (first.verdict, first.evidence)
        assert judged.record.usage == Usage()

    def test_pieces_are_shared_by_criteria(self) -> None:
        reader = Reader()
        asked = rubric(*({"id": f"c{n}", "description": f"transfer {n} was refused"} for n in range(3)))

        async def run() -> None:
            judging = Judging(flooded(where=99), asked, JudgeOptions(model="m", max_characters=40_000), chat=reader)
            await asyncio.gather(*(judging.decide(top) for top in asked.tops))

        asyncio.run(run())
        pieces = [
            r.messages[1]["content"] for r, kind in zip(reader.asked, reader.kinds, strict=True) if kind == "piece"
        ]
        assert len(set(pieces)) * 3 == len(pieces)


SEES = Sight(sees=("agent_messages", "final_message", "task", "tool_calls", "tool_results", "user_messages"))


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.tuples(st.sampled_from(["assistant", "tool", "user"]), st.integers(0, 9000)), max_size=8),
    st.integers(4000, 12_000),
    st.integers(0, 3000),
)
def test_pieces_hold_everything_and_fit(parts: list[tuple[str, int]], room: int, unseen: int) -> None:
    episode = trajectory(
        *(step(role, "".join(f"{n} word {i}\n" for i in range(size // 10))) for n, (role, size) in enumerate(parts)),
        step("assistant", "plain words\n" * unseen + "\u200b" * unseen),
        step("user", "x"),
    )
    record = Record(episode, SEES)
    pieces = list(pieces_of(record, room))
    for piece in pieces:
        assert sum(len(margined(place.text[slice(*span)])) for place in piece for span in place.pieces) <= room
    for place in record.places:
        shown = sorted(span for piece in pieces for each in piece if each.name == place.name for span in each.pieces)
        assert shown[0][0] == 0
        assert max(end for _, end in shown) == len(place.text)
        assert all(later[0] <= earlier[1] for earlier, later in pairwise(shown))


def test_a_passage_is_shown_from_the_file_that_it_stands_in_whatever_others_are_called() -> None:
    filling = "lorem ipsum " * 3000
    files = (Document("report.md", f"{FACT} {filling}"), Document("report.md:1", filling))
    record = Record(trajectory(), Sight(("final_message",), artifacts=("*",)), files)
    asked = rubric()
    reader = Reader()
    options = JudgeOptions(model="reader")
    memory = Memory(trajectory(), asked, options, None)
    aside = Aside(reader.ask, Polling(reader, memory, options).request, memory, "reader")
    question = Questions(asked, "reasoned").of(asked.tops[0], record)
    view = asyncio.run(map_pieces(Need(record, question, 20_000, aside)))
    assert view is not None
    assert FACT in view.text
    assert view.text.count("lorem") < 100
