from __future__ import annotations

import json
from pathlib import Path

import pytest

from rubricgrade.errors import InputError, StoreError
from rubricgrade.review import acting
from rubricgrade.review.records import add_records, file_of, read_records, record_files, reviewer_name
from tests.review.acts import decide, item_of
from tests.review.made import desk_of


def test_a_verdict_and_the_sight_of_the_judges_are_written_together(run: Path) -> None:
    decide(desk_of(run), "one", "polite", "not_met", why="too curt", quotes=("Thank you for asking", "never said"))
    decided, revealed = read_records(file_of(run / "one", "anna"))
    assert decided.kind == "decided"
    assert decided.blind
    assert [one.verified for one in decided.evidence] == ["verified", "not_found"]
    assert revealed.kind == "revealed"


def test_grades_are_never_touched(run: Path) -> None:
    before = {path: path.read_bytes() for path in run.rglob("grades/*.json")}
    desk = desk_of(run)
    decide(desk, "one", "polite", "not_met")
    acting.adjudicate(desk, item_of(desk, "one", "polite"), "anna", "not_met", cause="judge_wrong", why="it is curt")
    assert before
    assert {path: path.read_bytes() for path in run.rglob("grades/*.json")} == before


def test_records_are_only_added_to_and_an_act_is_undone_by_a_later_one(run: Path) -> None:
    desk = desk_of(run)
    file = file_of(run / "one", "anna")
    decide(desk, "one", "polite", "not_met")
    before = file.read_bytes()
    item = item_of(desk, "one", "polite")
    acting.undo(desk, item, "anna")
    assert file.read_bytes().startswith(before)
    opinion = desk.opinion(item, "anna")
    assert (opinion.first, opinion.final) == (None, None)
    assert opinion.seen, "what was seen can't be unseen"
    decide(desk, "one", "polite", "met")
    final = desk.opinion(item, "anna").final
    assert final is not None
    assert not final.blind
    acting.undo(desk, item, "anna")
    with pytest.raises(InputError, match="nothing to undo"):
        acting.undo(desk, item, "anna")


def test_a_change_after_the_judges_verdict_needs_a_reason_and_keeps_the_first(run: Path) -> None:
    desk = desk_of(run)
    decide(desk, "one", "polite", "not_met")
    with pytest.raises(InputError, match="say why"):
        decide(desk, "one", "polite", "met")
    decide(desk, "one", "polite", "met", why="I overlooked the greeting")
    opinion = desk.opinion(item_of(desk, "one", "polite"), "anna")
    assert opinion.first is not None
    assert opinion.final is not None
    assert (opinion.first.verdict, opinion.final.verdict) == ("not_met", "met")


def test_what_is_decided_after_a_look_is_not_blind(run: Path) -> None:
    desk = desk_of(run)
    item = item_of(desk, "one", "polite")
    assert not desk.open_to(item, "anna")
    acting.reveal(desk, item, "anna")
    assert desk.open_to(item, "anna")
    assert not desk.open_to(item, "ben"), "one reviewer's look opens nothing for another"
    decide(desk, "one", "polite", "met")
    assert desk.opinion(item, "anna").first is None


def test_skips_and_flags_need_words(run: Path) -> None:
    desk = desk_of(run)
    item = item_of(desk, "one", "polite")
    for act in (acting.skip, acting.flag):
        with pytest.raises(InputError):
            act(desk, item, "anna", "  ")
    acting.skip(desk, item, "anna", "I know the customer")
    acting.flag(desk, item, "anna", "polite to whom?")
    opinion = desk.opinion(item, "anna")
    assert opinion.skipped is not None
    assert [one.why for one in opinion.unclear] == ["polite to whom?"]
    assert not desk.open_to(item, "anna"), "neither shows the judge's verdict"
    decide(desk, "one", "polite", "met")
    assert desk.opinion(item, "anna").skipped is None


def test_only_verdicts_of_the_criterion_are_taken(run: Path) -> None:
    desk = desk_of(run)
    for criterion, verdict in (("polite", "warm"), ("tone", "met"), ("polite", "yes"), ("polite", "")):
        with pytest.raises(InputError, match="choose one of the answers"):
            decide(desk, "one", criterion, verdict)
    decide(desk, "one", "tone", "neutral")
    assert [path.name for path in record_files(run / "one")] == ["anna.jsonl"]


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", "a\\b", "-a", "a\n", "ä", "a" * 61, "a b"])
def test_a_reviewers_name_can_leave_no_folder(name: str) -> None:
    with pytest.raises(InputError, match="no reviewer's name"):
        reviewer_name(name)


def test_a_torn_line_is_left_out_and_mended(run: Path) -> None:
    desk = desk_of(run)
    decide(desk, "one", "polite", "met")
    file = file_of(run / "one", "anna")
    whole = file.read_bytes()
    file.write_bytes(whole + b'{"schema": "rubricgrade.rev')
    assert len(read_records(file)) == 2
    decide(desk, "one", "complete", "met")
    assert file.read_bytes().startswith(whole)
    assert len(read_records(file)) == 4


def test_a_damaged_line_is_named(run: Path) -> None:
    decide(desk_of(run), "one", "polite", "met")
    file = file_of(run / "one", "anna")
    lines = file.read_text().splitlines()
    file.write_text(f"{lines[0]}\n{{}}\n{lines[1]}\n")
    with pytest.raises(StoreError, match=r"anna\.jsonl:2: is no review record"):
        read_records(file)


def test_nobody_writes_in_anothers_name(run: Path) -> None:
    decide(desk_of(run), "one", "polite", "met")
    file = file_of(run / "one", "anna")
    file.rename(file.with_name("ben.jsonl"))
    desk = desk_of(run)
    assert desk.records(desk.episodes["one"]) == {}
    with pytest.raises(StoreError, match="is a record by anna, in a file of ben"):
        desk.require_whole()


def test_links_are_not_followed(run: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    desk = desk_of(run)
    decide(desk, "one", "polite", "met")
    records = read_records(file_of(run / "one", "anna"))
    (run / "two" / "reviews").symlink_to(elsewhere)
    with pytest.raises(StoreError, match="link"):
        add_records(run / "two", records)
    (run / "two" / "reviews").unlink()
    (run / "two" / "reviews").mkdir()
    (run / "two" / "reviews" / "anna.jsonl").symlink_to(elsewhere / "target")
    with pytest.raises(StoreError):
        add_records(run / "two", records)
    assert list(elsewhere.iterdir()) == []
    assert record_files(run / "two") == []


def test_half_surrogates_in_notes_are_kept_out_of_files(run: Path) -> None:
    desk = desk_of(run)
    acting.flag(desk, item_of(desk, "one", "polite"), "anna", "odd \ud800 note")
    (line,) = file_of(run / "one", "anna").read_text("utf-8").splitlines()
    assert json.loads(line)["why"] == "odd \ufffd note"


def test_another_wording_is_another_question(run: Path) -> None:
    desk = desk_of(run)
    decide(desk, "one", "polite", "met")
    decide(desk, "one", "complete", "met")
    rubric = run / "rubric.yaml"
    rubric.write_text(
        rubric.read_text().replace("the reply is polite", "the reply is very polite").replace("points: 3", "points: 4")
    )
    from rubricgrade.loading import load_rubric
    from tests.review.made import Made, steps, write_made_grade

    for name in ("one", "two"):
        write_made_grade(run / name, load_rubric(rubric), Made(steps()))
    again = desk_of(run)
    assert again.opinion(item_of(again, "one", "polite"), "anna").final is None
    assert again.opinion(item_of(again, "one", "complete"), "anna").final is not None, (
        "points are no part of a question"
    )


def test_a_reviewer_is_one_person_however_the_name_is_written(run: Path) -> None:
    desk = desk_of(run)
    item = item_of(desk, "one", "polite")
    decide(desk, "one", "polite", "met")
    assert desk.open_to(item, "Anna"), "who has seen the judge's verdict can't be blind to it again"
    decide(desk, "one", "polite", "not_met", by="ANNA", why="it is curt")
    decide(desk, "one", "polite", "met", by="ben")
    assert {name: held.final.verdict for name, held in desk.opinions(item).items() if held.final} == {
        "anna": "not_met", "ben": "met",
    }  # fmt: skip
    assert [file.name for file in record_files(run / "one")] == ["anna.jsonl", "ben.jsonl"]


def test_of_two_files_by_one_person_the_second_is_set_aside(run: Path) -> None:
    decide(desk_of(run), "one", "polite", "met")
    file = file_of(run / "one", "anna")
    file_of(run / "one", "Anna").write_text(file.read_text().replace('"anna"', '"Anna"'))
    desk = desk_of(run)
    assert list(desk.opinions(item_of(desk, "one", "polite"))) == ["Anna"]
    (told,) = desk.damaged()
    assert "anna.jsonl: is by the same person as Anna.jsonl" in told


def test_a_record_with_a_key_that_stands_twice_is_refused(run: Path) -> None:
    decide(desk_of(run), "one", "polite", "met")
    file = file_of(run / "one", "anna")
    file.write_text(file.read_text().replace('"verdict":"met"', '"verdict":"not_met","verdict":"met"'))
    with pytest.raises(StoreError, match=r"anna\.jsonl:1: the key 'verdict' stands twice"):
        read_records(file)
