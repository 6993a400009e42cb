"""Votes that went through a file count for no more than they did before, and a grade says which file was believed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rubricgrade.chat.contract import AskFailed, Request
from rubricgrade.evidence import Document
from rubricgrade.judge import Judged
from rubricgrade.store.recorded import Verdict, read_verdicts, write_verdicts
from rubricgrade.store.verdicts import VerdictCache
from rubricgrade.trajectory import Trajectory
from tests.judge.scripted import Answer, ask_once, rubric, said, step, trajectory

FACT = "the transfer to account 7731 was refused"
YES, NO, DOUBT = said("yes", FACT), said("no"), said("cannot_tell")
LONG = trajectory(
    step("user", "go"), step("tool", f"{'lorem ' * 9000}\n{FACT}\n{'ipsum ' * 9000}"), step("assistant", "Done.")
)
TWO = trajectory(
    step("user", "go"),
    step("tool", "dolor " * 10_000),
    step("tool", f"{'lorem ' * 2500}\n{FACT}\n{'ipsum ' * 2500}"),
    step("assistant", "Done."),
)
SHORT = trajectory(step("user", "go"), step("tool", FACT), step("assistant", "Done."))
FILES = rubric({"judge": {"artifacts": ["*.md"], "if_cannot_tell": "worst"}})
HALF: dict[str, Any] = {"documents": (Document("a.md", "text", digest="sha256:1", complete=False),), "judged": FILES}
WHOLE: dict[str, Any] = {"documents": (Document("a.md", "text", digest="sha256:1"),), "judged": FILES}
Change = Callable[[Verdict], Verdict]


def reader(*, parts: str = "[]", passages: str | AskFailed = "[]", verdicts: str = NO) -> Callable[[Request], str]:
    """A judge that chooses and collects what it is told to."""

    def answer(request: Request) -> str:
        asked = request.messages[2]["content"]
        if '"parts": a list' in asked:
            return f'{{"reasoning": "these", "parts": {parts}}}'
        if '"passages": a list' in asked:
            if isinstance(passages, AskFailed):
                raise passages
            return f'{{"passages": {passages}}}'
        return YES if f"| {FACT}" in request.messages[1]["content"] else verdicts

    return answer


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "v.jsonl"


def exported(file: Path, answers: Any, change: Change | None = None, **asked: Any) -> Judged:
    """Ask, and write what the cache has then to a file; as it was judged when asked."""
    cache = VerdictCache(file.with_suffix(".sqlite"))
    judged, _ = ask_once(answers, cache=cache, **asked)
    cache.export(file)
    cache.close()
    if change is not None:
        write_verdicts(file, map(change, read_verdicts(file)))
    return judged


def recorded(file: Path, **asked: Any) -> Judged:
    """The verdict of the file alone, as if its judge had never been named."""
    judged, chat = ask_once(NO, verdicts=(file,), offline=True, model=None, **asked)
    assert chat.asked == []
    return judged


def unmarked(verdict: Verdict) -> Verdict:
    return verdict.model_copy(update={"view": "", "cut": False, "of": 0})


def by_hand(verdict: Verdict) -> Verdict:
    return unmarked(verdict).model_copy(update={"recorded_by": "hand: Ada", "key": None})


class TestBlindness:
    def test_a_no_on_a_cut_record_counts_no_more_once_it_is_recorded(self, file: Path) -> None:
        failing = reader(passages=AskFailed("down", "server"))
        assert exported(file, failing, episode=LONG, max_characters=40_000).value is None
        judged = recorded(file, episode=LONG)
        assert (judged.verdict, judged.value, judged.cause) == ("cannot_tell", None, "judge_failed")
        assert judged.record.recorded_by == "m"
        assert any("may have been" in each for each in judged.record.shown.left_out)

    @pytest.mark.parametrize("room", [40_000, None])
    def test_nor_does_one_that_does_not_say_what_was_shown(self, room: int | None, file: Path) -> None:
        exported(file, reader(passages=AskFailed("down", "server")), unmarked, episode=LONG, max_characters=40_000)
        judged = recorded(file, episode=LONG, max_characters=room)
        # With room for all of it, and no mark, nobody can know that it was ever cut.
        assert judged.value == (None if room else 0.0)

    def test_the_room_is_that_of_the_model_which_is_named(self, file: Path) -> None:
        def small(verdict: Verdict) -> Verdict:
            return unmarked(verdict).model_copy(update={"recorded_by": "openai/gpt-4"})

        exported(file, NO, small, episode=LONG)
        assert recorded(file, episode=LONG).cause == "judge_failed"

    def test_a_person_reads_the_whole_record(self, file: Path) -> None:
        failing = reader(passages=AskFailed("down", "server"))
        exported(file, failing, by_hand, episode=LONG, max_characters=40_000)
        judged = recorded(file, episode=LONG, max_characters=40_000)
        assert (judged.verdict, judged.value, judged.record.recorded_by) == ("not_met", 0.0, "hand: Ada")

    @pytest.mark.parametrize("name", ["ann", "hand", "by hand: Ada", "Hand: Ada", "openai/gpt-4o, hand: Ada"])
    def test_nobody_else_is_a_person(self, name: str, file: Path) -> None:
        def signed(verdict: Verdict) -> Verdict:
            return by_hand(verdict).model_copy(update={"recorded_by": name})

        exported(file, NO, signed, **HALF)
        judged = recorded(file, **HALF)
        assert (judged.value, judged.cause) == (None, "judge_failed")
        assert judged.message.endswith("are by 'hand: NAME'")

    def test_what_was_missing_then_does_not_come_back_by_recording(self, file: Path) -> None:
        assert exported(file, NO, **HALF).cause == "judge_failed"
        for now in (HALF, WHOLE):
            judged = recorded(file, **now)
            assert (judged.value, judged.cause) == (None, "judge_failed")

    def test_what_counted_counts(self, file: Path) -> None:
        assert exported(file, NO, episode=SHORT).value == 0.0
        assert recorded(file, episode=SHORT).value == 0.0

    @pytest.mark.parametrize(("parts", "value", "views"), [("[2]", 1.0, "retrieved"), ("[]", 0.0, "mapped")])
    def test_the_last_view_decides_as_it_did(self, parts: str, value: float, views: str, file: Path) -> None:
        chosen = reader(parts='["[2].result"]' if parts == "[2]" else "[]")
        first = exported(file, chosen, episode=TWO, max_characters=54_000)
        assert {verdict.view for verdict in read_verdicts(file)} == {"trimmed", views}
        assert first.value == value
        judged = recorded(file, episode=TWO)
        assert (judged.verdict, judged.value, judged.cause) == (first.verdict, first.value, first.cause)


class TestFailedVotes:
    @pytest.mark.parametrize("answers", [[YES, AskFailed("down", "server")], [AskFailed("down", "server"), YES]])
    def test_one_of_three_is_no_majority_once_it_is_recorded(self, answers: list[Answer], file: Path) -> None:
        script = [answers[0], answers[1], AskFailed("down", "server")]
        assert exported(file, script, votes=3, episode=SHORT).value is None
        judged = recorded(file, episode=SHORT)
        assert (judged.value, judged.cause) == (None, "judge_failed")
        assert "of 3 votes that were cast together only 1 are recorded" in judged.message

    @pytest.mark.parametrize("votes", [3, "adaptive"])
    def test_what_was_a_majority_still_is(self, votes: Any, file: Path) -> None:
        assert exported(file, [YES, AskFailed("down", "server"), YES], votes=votes, episode=SHORT).value == 1.0
        assert recorded(file, episode=SHORT).value == 1.0

    def test_a_file_that_names_very_many_takes_no_memory(self, file: Path) -> None:
        exported(file, YES, lambda verdict: verdict.model_copy(update={"of": 10**15}), episode=SHORT)
        assert recorded(file, episode=SHORT).cause == "judge_failed"


class TestImported:
    def imported(self, file: Path, *, change: Change | None = None) -> VerdictCache:
        exported(file, YES, change, episode=SHORT)
        cache = VerdictCache(file.with_name("other.sqlite"))
        assert cache.load(file) == 1
        return cache

    def again(self, cache: VerdictCache, episode: Trajectory = SHORT, **options: Any) -> Judged:
        judged, chat = ask_once(NO, cache=cache, episode=episode, **options)
        assert chat.asked == []
        return judged

    def test_the_grade_says_from_where_also_when_it_was_concluded_before(self, file: Path) -> None:
        cache = self.imported(file)
        for _ in range(2):
            judged = self.again(cache)
            assert (judged.value, judged.record.model) == (1.0, "m")
            assert judged.record.recorded_by == "scripted-1, imported from v.jsonl"
            assert judged.record.votes[0].recorded_by == judged.record.recorded_by
            assert "1 of 1 vote imported from v.jsonl" in judged.record.note

    def test_what_was_asked_with_this_cache_does_not(self, file: Path) -> None:
        exported(file, YES, episode=SHORT)
        judged = self.again(VerdictCache(file.with_suffix(".sqlite")))
        assert (judged.record.recorded_by, judged.record.note) == (None, "")

    def test_exported_and_recorded_it_still_says_so_and_is_nobodys_hand(self, file: Path) -> None:
        cache = self.imported(file, change=lambda each: each.model_copy(update={"recorded_by": "hand: Ada"}))
        cache.export(file.with_name("again.jsonl"))
        judged = recorded(file.with_name("again.jsonl"), episode=SHORT)
        assert judged.record.recorded_by == "hand: Ada, imported from v.jsonl"
        assert "imported from v.jsonl" in judged.record.note
        (verdict,) = read_verdicts(file.with_name("again.jsonl"))
        assert not verdict.by_hand
