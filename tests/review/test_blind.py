"""Before a reviewer has decided, nothing that a judge said reaches his browser: what judges said makes no difference."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from rubricgrade.review.queue import Mix
from tests.review.acts import decide, item_of
from tests.review.client import Browser, browser
from tests.review.made import Made, Said, desk_of, steps, write_run

TALK = steps("Where is my parcel?", "Good morning! It left on Monday.", "Thanks", "You are welcome.")
KIND = Made(
    TALK,
    {
        "polite": Said("met", "KINDLY it greets", ["Good morning"], votes=("yes", "yes")),
        "complete": Said("met", "KINDLY it answers", ["It left on Monday"]),
        "leaks": Said("not_met", "KINDLY nothing leaks"),
        "tone": Said("warm", "KINDLY warm"),
    },
)
HARSH = Made(
    TALK,
    {
        "polite": Said(
            "not_met", "HARSHLY it is curt and this text is much longer", ["never said"], votes=("no", "yes", "no")
        ),
        "complete": Said("cannot_tell", "HARSHLY nobody knows"),
        "leaks": Said("met", "HARSHLY it leaks", ["You are welcome"]),
        "tone": Said("cold", "HARSHLY cold"),
    },
    cost=0.5,
)


@pytest.fixture
def both(tmp_path: Path) -> tuple[Path, Path]:
    """Two runs that differ in nothing but in what the judge said."""
    return (
        write_run(tmp_path / "kind" / "run", {"one": KIND, "two": KIND}),
        write_run(tmp_path / "harsh" / "run", {"one": HARSH, "two": HARSH}),
    )


def addresses(of: Browser) -> Iterator[str]:
    yield from ("/", "/queue", "/queue?state=waiting", "/seat", "/adjudicate", "/agreement", "/agreement?split=dev")
    yield from ("/compare", "/export", "/export/labels.jsonl", "/export/records.jsonl", "/criterion/polite")
    for item in of.desk.items.values():
        yield f"/review/{item.id}"
        yield f"/review/{item.id}/steps"
        yield f"/review/{item.id}?find=Monday"
        yield f"/adjudicate/{item.id}"
        yield f"/review/{item.id}/prompt"
    for path in set(re.findall(r"/trajectory/[0-9a-f]+", of.get("/"))):
        yield from (path, f"{path}/steps")


def test_every_answer_is_the_same_whatever_the_judge_said(both: tuple[Path, Path]) -> None:
    kind, harsh = (browser(run) for run in both)
    seen = 0
    for path in addresses(kind):
        one, other = kind.client.get(path), harsh.client.get(path)
        assert (one.status_code, one.headers.multi_items()) == (other.status_code, other.headers.multi_items()), path
        assert one.text == other.text, path
        assert "etag" not in one.headers
        assert not re.search("KINDLY|HARSHLY", one.text), path
        seen += 1
    assert seen > 40


def test_a_decided_item_opens_itself_and_nothing_else(both: tuple[Path, Path]) -> None:
    kind, harsh = (browser(run) for run in both)
    for of in (kind, harsh):
        of.decide("one", "polite", "met")
    opened = kind.path_of("one", "polite")
    assert "KINDLY it greets" in kind.get(opened)
    assert "HARSHLY it is curt" in harsh.get(opened)
    same = [path for path in addresses(kind) if kind.client.get(path).text == harsh.client.get(path).text]
    for item in kind.desk.items.values():
        assert (f"/review/{item.id}" in same) == (f"/review/{item.id}" != opened)
    trajectory = re.findall(r"/trajectory/[0-9a-f]+", kind.get("/"))[0]
    page = kind.get(trajectory)
    assert "KINDLY it greets" in page
    assert "KINDLY it answers" not in page
    assert "score" not in re.sub("The score, and what judges said", "", page).split("<aside")[1].split("Gates")[0]


def test_another_reviewer_stays_blind(both: tuple[Path, Path]) -> None:
    kind, harsh = (browser(run) for run in both)
    for run in both:
        desk = desk_of(run)
        for name in ("polite", "complete", "leaks"):
            decide(desk, "one", name, "met", by="ben", why="BEN says so")
    for path in addresses(kind):
        if not path.startswith("/export/"):
            one, other = kind.client.get(path), harsh.client.get(path)
            assert one.text == other.text, path
            assert "BEN says so" not in one.text, path


def test_a_draw_tells_nothing_but_what_is_in_it(both: tuple[Path, Path]) -> None:
    of = browser(both[1])
    of.desk.draw("anna", size=4, mix=Mix(50, 50, 0), seed=0)
    page = of.get("/queue")
    for word in ("uncertain", "random", "split votes", "quote not found", "no verdict"):
        assert f">{word}<" not in page
    item, drawn = next((item, drawn) for item, drawn in of.desk.queue() if item.by == "judge")
    of.decide(item.episode, item.criterion, item.answers[0].verdict)
    assert f">{drawn.reason}<" in of.get("/queue")


def test_looking_without_deciding_is_recorded_and_left_out_of_agreement(both: tuple[Path, Path]) -> None:
    of = browser(both[0])
    path = of.path_of("one", "polite")
    of.post(path, act="reveal")
    assert "KINDLY it greets" in of.get(path)
    of.decide("one", "polite", "met")
    opinion = of.desk.opinion(item_of(of.desk, "one", "polite"), "anna")
    assert opinion.seen
    assert opinion.first is None
    assert "Nothing is decided yet" in of.get("/agreement")


def test_without_blindness_everything_is_shown_and_nothing_counts(both: tuple[Path, Path]) -> None:
    of = browser(both[0], blind=False)
    assert "KINDLY it greets" in of.get(of.path_of("one", "polite"))
    assert "Not blind" in of.get("/")
    of.decide("one", "polite", "met")
    assert of.desk.opinion(item_of(of.desk, "one", "polite"), "anna").first is None
