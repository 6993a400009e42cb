"""A run's folder that is damaged or changed while the app runs: what can't be read is said, and the rest goes on."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from rubricgrade.errors import StoreError
from rubricgrade.review.queue import FILE
from rubricgrade.store import journal
from tests.cli.program import run as program
from tests.review.acts import decide
from tests.review.client import browser, text_of
from tests.review.made import desk_of

PAGES = ("/", "/queue", "/compare", "/export", "/agreement", "/adjudicate", "/seat", "/criterion/polite")
RECORDS = "one/reviews/anna.jsonl"


@pytest.mark.parametrize("content", [b"garbage\n", b"\xff\x00\n", b'{"kind": "decided"}\n'])
def test_a_file_of_records_that_can_not_be_read_is_set_aside_and_named(run: Path, content: bytes) -> None:
    of = browser(run)
    of.decide("one", "polite", "met")
    of.decide("two", "polite", "met")
    sound = (run / RECORDS).read_bytes()
    (run / RECORDS).write_bytes(sound + content)
    for page in PAGES:
        text = text_of(of.get(page))
        assert "1 file of people's records can't be read and counts for nothing" in text
        assert "anna.jsonl:3: is no review record" in text
    of.decide("two", "complete", "met")
    of.decide("one", "complete", "met", 500)
    assert (run / RECORDS).read_bytes() == sound + content, "nothing is added to it"
    assert of.client.get("/export/labels.jsonl").status_code == 500
    assert of.client.get("/export/records.csv").status_code == 500
    labels = run.parent / "labels.jsonl"
    assert program("review", run, "--labels-out", labels).code == 3
    assert not labels.exists()
    (run / RECORDS).write_bytes(sound)
    assert "can't be read" not in of.get("/")
    assert len(of.get("/export/labels.jsonl").splitlines()) == 3


def test_a_lost_record_of_having_seen_it_does_not_make_blind_again(run: Path) -> None:
    desk = desk_of(run)
    decide(desk, "one", "polite", "met")
    with (run / RECORDS).open("a") as file:
        file.write("garbage\n")
    with pytest.raises(StoreError, match="nothing is added to a file that can't be read; mend it or move it away"):
        decide(desk, "one", "polite", "not_met")


@pytest.mark.parametrize(
    "damage",
    [
        lambda run: (run / "one" / "trajectory.json").unlink(),
        lambda run: (run / "one" / "trajectory.json").write_text("{}"),
        lambda run: shutil.rmtree(run / "one" / "grades"),
        lambda run: shutil.rmtree(run / "one"),
        lambda run: os.mkfifo(run / "two" / "reviews" / "eve.jsonl"),
        lambda run: (run / "two" / "reviews" / "eve.jsonl").mkdir(),
        lambda run: (run / "two" / "reviews" / "eve.jsonl").symlink_to("/etc/passwd"),
    ],
)
def test_whatever_becomes_of_one_episode_the_others_can_be_reviewed(
    run: Path, damage: Callable[[Path], object]
) -> None:
    of = browser(run)
    of.decide("two", "tone", "cold")
    damage(run)
    for page in ("/", "/queue", "/export", "/agreement", "/adjudicate"):
        of.get(page)
    of.decide("two", "polite", "met")
    assert of.client.get(of.path_of("one", "polite")).status_code in (200, 422, 500)


def test_a_folder_of_records_that_is_a_link_takes_none(run: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (run / "one" / "reviews").symlink_to(tmp_path / "elsewhere")
    of = browser(run)
    assert "never followed" in of.decide("one", "polite", "met", 500)
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize("damage", [lambda file: file.write_text("{}\n"), lambda file: file.mkdir(), os.mkfifo])
def test_a_queue_that_can_not_be_read_stops_what_needs_it_and_nothing_else(
    run: Path, damage: Callable[[Path], object]
) -> None:
    of = browser(run)
    damage(run / FILE)
    for page in ("/", "/export", "/adjudicate", "/compare", "/seat"):
        of.get(page)
    for page in ("/queue", "/review", "/agreement"):
        broken = of.client.get(page)
        assert (broken.status_code, FILE in broken.text) == (500, True)


@pytest.mark.parametrize("put", [Path.mkdir, os.mkfifo])
def test_what_is_no_file_is_neither_read_nor_waited_for(tmp_path: Path, put: Callable[[Path], object]) -> None:
    place = tmp_path / "lines.jsonl"
    put(place)
    with pytest.raises(StoreError, match=r"lines\.jsonl"):
        journal.whole_lines(place)
    with pytest.raises(StoreError, match=r"lines\.jsonl"), journal.opened(place):
        pass


def test_two_reviewers_at_once_each_see_what_the_other_wrote(run: Path) -> None:
    anna, ben = browser(run), browser(run, reviewer="ben")
    anna.decide("one", "polite", "met")
    ben.decide("one", "polite", "not_met")
    assert "every question" not in text_of(anna.get("/adjudicate"))
    assert "the reply is polite" in text_of(anna.get("/adjudicate"))
    assert "the reply is polite" in text_of(ben.get("/adjudicate"))
