from __future__ import annotations

import io
import re
import unicodedata

from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text

from rubricgrade.report.items import item_lines
from rubricgrade.report.lines import write
from rubricgrade.report.terminal import line_of
from rubricgrade.report.visible import visible
from rubricgrade.result import Evidence, Isolation, JudgeRecord, Shown, Subject, Vote
from tests.report.made import HASH, criterion, gate, grade, shown

ALLOWED = re.compile(r"[\n\x20-\x7e]*\Z")


def judged(**more: object) -> JudgeRecord:
    return JudgeRecord.model_validate({"model": "small-model", "prompt": HASH, "prompt_version": "judge@1", **more})


def test_a_criterion_shows_points_verdict_reasoning_and_where_each_quote_was_found() -> None:
    evidence = (
        Evidence(quote="Total is 48.2L", where="mis.xlsx:3", span=(0, 14), verified="verified"),
        Evidence(quote="Totals are 48.2L", where="[4].text", span=(0, 14), verified="near"),
        Evidence(quote="never said", verified="not_found"),
    )
    item = criterion("total", 3, 1, reasoning="It is there.", evidence=evidence, judge=judged())
    page = shown(grade(1.0, criteria=(item,)))
    assert "3/3" in page
    assert "total: about total" in page
    assert "met; by model small-model" in page
    assert "It is there." in page
    assert '"Total is 48.2L" [verified] mis.xlsx:3' in page
    assert '"Totals are 48.2L" [near, not word for word] [4].text' in page
    assert '"never said" [NOT FOUND]' in page


def test_it_says_who_decided() -> None:
    votes = (Vote(answer="yes", model="m"), Vote(answer="no", model="m"), Vote(answer="yes", model="m"))
    page = shown(
        grade(
            1.0,
            gates=(gate("sent", 1),),
            criteria=(
                criterion("voted", 1, 1, judge=judged(votes=votes)),
                criterion("recorded", 1, 1, judge=judged(recorded_by="hand: A. Author")),
                criterion("cached", 1, 1, judge=judged(votes=(Vote(answer="yes", model="m", cached=True),))),
                criterion("reviewed", 1, None, by="human", cause="needs_review"),
            ),
        )
    )
    assert "by code (python, 40 ms)" in page
    assert "by model small-model, votes: 2 yes, 1 no" in page
    assert "verdict recorded by hand: A. Author" in page
    assert "by model small-model, from the cache" in page
    assert "not_run (needs_review); by a reviewer" in page


def test_open_items_are_listed_with_their_cause() -> None:
    made = grade(
        None,
        cause="judge_failed",
        causes=("judge_failed",),
        bounds=(0.25, 1),
        criteria=(
            criterion("a", 3, None, verdict="error", cause="judge_failed", fault="grader", message="503 five times"),
            criterion("b", 1, 1),
        ),
    )
    page = shown(made)
    assert "?/3" in page
    assert "a: judge_failed, 503 five times" in page
    assert "? + 1 of 4" in page
    assert "ungraded, score 0.25 to 1" in page
    assert line_of(made).plain == "     -  ungraded  episode-1  judge_failed, 1 open, score 0.25 to 1"


def test_groups_show_their_parts_below_them() -> None:
    parts = (criterion("first", 2, 1), criterion("second", 1, 0))
    page = shown(grade(1.0, criteria=(criterion("group", 4, 1, by="criteria", parts=parts),)))
    assert "  4/4    group" in page
    assert "      2/2    first" in page
    assert "      0/1    second" in page


def test_the_isolation_in_force_is_shown() -> None:
    isolation = Isolation(
        provider="bubblewrap", kernel_uid=62777, memory="cgroup2", processes="rlimit", seccomp=True, network="none"
    )
    page = " ".join(shown(grade(1.0, isolation=isolation)).split())
    assert "bubblewrap, kernel uid 62777, memory limit by cgroup2, process limit by rlimit" in page
    assert "system-call filter on, network none" in page
    assert "sandbox: none was used" in shown(grade(1.0))


def test_a_line_says_why() -> None:
    gated = grade(0.0, status="gated", gates=(gate("sent", 0), gate("ok", 1)))
    assert line_of(gated).plain == "     0  gated     episode-1  gate sent failed"
    assert "  episode-1 (minus)  gate sent failed" in line_of(gated, "minus").plain
    assert "  episode-1  gate sent failed" in line_of(gated, "episode-1").plain
    graded = grade(0.5, gates=(gate("ok", 1),), criteria=(criterion("a", 2, 0.5),))
    assert line_of(graded).plain == "   0.5  graded    episode-1  gates 1/1, 1 of 2 points"


def test_what_the_judge_did_not_see_is_said_and_the_manifest_comes_on_demand() -> None:
    record = judged(
        shown=Shown(parts={"task": 120}, left_out=("[3].result: 9000 characters",)),
        votes=(Vote(answer="yes", model="m", reply="the raw reply"),),
    )
    item = criterion("a", 1, 1, judge=record, evidence=(Evidence(quote="x" * 2000, verified="not_found"),))
    short, whole = (page_of(item, whole=flag) for flag in (False, True))
    assert "9000 characters" not in short
    assert "not shown to the judge: [3].result: 9000 characters" in " ".join(whole.split())
    page = shown(grade(1.0, criteria=(item, criterion("b", 1, 1, judge=record), criterion("c", 1, 1, judge=judged()))))
    assert "not shown to the judge (2 of 3 questions): [3].result: 9000 characters" in " ".join(page.split())
    assert "(1400 more characters)" in " ".join(short.split())
    assert "the raw reply" not in short
    assert "shown to the judge: task (120 characters)" in whole
    assert "the raw reply" in whole
    assert whole.count("x") >= 2000


def page_of(item: object, *, whole: bool) -> str:
    page = io.StringIO()
    write(item_lines(item, whole=whole), page)  # pyright: ignore[reportArgumentType] - any item
    return page.getvalue()


HOSTILE = "\x1b]0;owned\x07\x1b[2J\u202egnihton\u2066[bold red]PASS[/bold red]\r:smile: \ud800 \U000e0041"


def test_hostile_text_moves_no_cursor_and_is_no_markup() -> None:
    item = criterion(
        "a",
        1,
        1,
        description=HOSTILE,
        reasoning=HOSTILE,
        message=HOSTILE,
        evidence=(Evidence(quote=HOSTILE, where=HOSTILE, verified="not_found"),),
        judge=judged(recorded_by=HOSTILE, note=HOSTILE, shown=Shown(left_out=(HOSTILE,))),
    )
    made = grade(1.0, criteria=(item,), trajectory=Subject(id=HOSTILE, hash=HASH), warnings=(HOSTILE,))
    page = shown(made)
    assert ALLOWED.match(page)
    assert page.replace("\n", "").replace(" ", "").count(r"\u{1b}[2J\u{202e}") == 10
    assert "[boldred]PASS[/boldred]" in page.replace(" ", "").replace("\n", "")
    assert ALLOWED.match(line_of(made).plain)


@given(st.text())
def test_visible_text_has_no_hidden_character(text: str) -> None:
    for shown_ in (visible(text), visible(text, lines=True).replace("\n", "")):
        assert not {unicodedata.category(character) for character in shown_} & {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}


def test_plain_text_in_any_script_stays_as_it_is() -> None:
    for text in ("Grüße", "日本", "עברית", "हिन्दी", "✅"):
        assert visible(text) == text


def test_nothing_is_wider_than_eighty_columns() -> None:
    item = criterion("a", 1, 1, description="word " * 60, reasoning="日本" * 100 + "x" * 300)
    page = shown(grade(1.0, criteria=(item,)))
    widths = [Text(line).cell_len for line in page.splitlines()]
    assert max(widths) <= 80
    assert not any(line.endswith(" ") for line in page.splitlines())
