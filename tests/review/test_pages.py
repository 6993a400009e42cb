from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, get_args

import pytest

from rubricgrade.loading import load_rubric
from rubricgrade.review.records import Cause
from rubricgrade.review.transcript import PAGE
from rubricgrade.review.web.settling import CAUSES
from tests.review.acts import item_of
from tests.review.client import SECRET, browser, tags_of, text_of
from tests.review.made import Made, Said, steps, write_made_grade, write_run


def test_a_whole_review_without_script(run: Path) -> None:
    of = browser(run)
    assert of.client.get("/review").headers["location"].startswith("/review/")
    path = of.path_of("two", "polite")
    page = of.get(path)
    assert "It is short but fine" not in page
    of.decide("two", "polite", "not_met", quotes="No.\nnever said", why="no greeting")
    page = text_of(of.get(path))
    assert "It is short but fine" in page
    assert "not found" in page
    assert "no greeting" in page
    of.post(path, 422, act="decide", verdict="met")
    of.decide("two", "polite", "met", why="a single word can be polite")
    of.post(path, act="undo")
    opinion = of.desk.opinion(item_of(of.desk, "two", "polite"), "anna")
    assert opinion.final is not None
    assert opinion.final.verdict == "not_met"


def test_evidence_is_marked_where_it_stands(run: Path) -> None:
    of = browser(run)
    of.decide("one", "polite", "met", quotes="arrives tomorrow")
    page = of.get(of.path_of("one", "polite"))
    marks = re.findall(r'<mark class="(\w+)"[^>]* id="([\w-]+)">(.*?)</mark>', page)
    assert marks == [("own", "own1", "arrives tomorrow"), ("judge", "q1", "Thank you for asking")]
    assert 'href="#q1"' in page


def test_a_part_for_script_holds_the_panel_and_marked_steps_only(run: Path) -> None:
    of = browser(run)
    part = of.post(of.path_of("one", "polite"), 200, part=True, act="decide", verdict="met", loaded="0")
    assert "<html" not in part
    assert '<article class="step assistant" id="step-1" hx-swap-oob="true">' in part
    assert 'id="step-0"' not in part
    part = of.post(of.path_of("one", "complete"), 200, part=True, act="decide", verdict="met")
    assert 'hx-swap-oob="true"' not in part, "nothing of the transcript is on the page"
    part = of.post(of.path_of("one", "leaks"), 422, part=True, act="decide", verdict="nonsense")
    assert 'role="alert"' in part


def test_people_only_criteria(run: Path) -> None:
    of = browser(run)
    path = of.path_of("one", "approved")
    assert "Save, and see" not in text_of(of.get(path))
    of.decide("one", "approved", "met")
    assert "people decide this" in text_of(of.get(path))


def test_the_trajectory_page_shows_a_sum_once_all_is_decided(run: Path) -> None:
    of = browser(run)
    for criterion in ("polite", "complete", "leaks", "tone", "approved"):
        of.decide("one", criterion, {"leaks": "not_met", "tone": "warm"}.get(criterion, "met"))
    paths = set(re.findall(r"/trajectory/[0-9a-f]+", of.get("/")))
    pages = {path: text_of(of.get(path)) for path in paths}
    shown = [page for page in pages.values() if "→" in page]
    assert len(shown) == 1
    assert "2 + 3 + 1 + 1 = 7 of 7 → 1" in shown[0]


def test_a_criterions_page_counts_the_votes_of_each_model(run: Path) -> None:
    of = browser(run)
    assert "stub/judge-1 no" not in text_of(of.get("/criterion/complete"))
    for episode in ("one", "two"):
        of.decide(episode, "complete", "met")
    page = text_of(of.get("/criterion/complete"))
    assert re.search(r"stub/judge-1 ?no ?1 ?stub/judge-1 ?yes ?\d", page)
    assert "Of 1 verdict by several votes, 1 has votes that differ." in page
    of.decide("one", "polite", "met")
    assert "several votes" not in text_of(of.get("/criterion/polite"))


def test_adjudication(run: Path) -> None:
    anna = browser(run)
    anna.decide("two", "complete", "met", why="it does answer")
    listing = text_of(anna.get("/adjudicate"))
    assert "every question is answered" in listing
    path = anna.path_of("two", "complete").replace("/review/", "/adjudicate/")
    page = anna.get(path)
    assert "it does answer" in page
    assert "It does not say how." in page
    assert "anna" not in page.split("<main")[1], "opinions have no names"
    assert "stub" not in page
    anna.post(path, 422, verdict="met", cause="judge_wrong", why="")
    anna.post(path, 422, verdict="met", cause="nobody", why="because")
    anna.post(path, verdict="not_met", cause="criterion_ambiguous", why="two questions")
    assert "two questions" in anna.get("/adjudicate")
    ben = browser(run, "ben")
    ben.get(path, 403)
    ben.post(path, 422, verdict="met", cause="other", why="x")


def test_every_cause_has_words() -> None:
    assert set(CAUSES) == set(get_args(Cause))


def test_numbers_on_the_agreement_page(run: Path) -> None:
    of = browser(run)
    of.decide("one", "polite", "met")
    of.decide("two", "polite", "not_met")
    page = of.get("/agreement")
    row = re.search(r'data-criterion="polite".*?</tr>', page, re.DOTALL)
    assert row is not None
    assert re.search(r'data-figure="n">2<', row[0])
    assert re.search(r'data-figure="accuracy">0\.50', row[0])


def test_two_versions(run: Path) -> None:
    rubric = run / "rubric.yaml"
    rubric.write_text(rubric.read_text().replace("the reply is polite", "the reply is quite polite"))
    for name in ("one", "two"):
        made = Made(
            steps(), {"polite": Said("not_met", "newly strict"), "complete": Said("not_met")}, model="stub/judge-2"
        )
        write_made_grade(run / name, load_rubric(rubric), made)
    of = browser(run)
    versions = re.findall(r'<option value="([\w-]+)"', of.get("/compare"))
    before, after = dict.fromkeys(versions)
    page = of.get(f"/compare?a={before}&b={after}")
    assert "newly strict" not in page
    assert "verdicts left out" in page
    of.decide("one", "polite", "met")
    page = of.get(f"/compare?a={before}&b={after}")
    assert "newly strict" in page
    assert "<ins>quite" in page
    assert "1 → 0 of 1" in text_of(page)
    of.post("/compare", a=before, b=after, size="50", random="50")
    queue = of.get("/queue")
    assert "flipped" in queue, "why a decided item is in it"
    assert "drawn from 8 by anna, mix 50/50/0" in text_of(queue)
    of.post("/compare", 422, a=before, b=before, size="50", random="50")
    assert "1 of 1" in text_of(page)


def test_a_queue_is_drawn_from_the_page(run: Path) -> None:
    of = browser(run)
    of.post("/queue", size="3", uncertain="60", random="40", gold="0", seed="1")
    assert "5 items drawn from 8 by anna" in text_of(of.get("/queue"))
    wrongs = ({"uncertain": "90"}, {"size": "0"}, {"random": "x"}, {"reviewers": "anna"}, {"reviewers": "anna, ../x"})
    for wrong in wrongs:
        fields: dict[str, Any] = {"size": "3", "uncertain": "60", "random": "40", "gold": "0", **wrong}
        of.post("/queue", 422, **fields)
    of.post("/queue", size="8", uncertain="60", random="40", gold="0", reviewers="ben, carl", overlap="0")
    page = text_of(of.get("/queue"))
    assert "divided among ben, carl" in page
    assert "Nothing of this queue is for anna" in page
    of.post("/seat", name="ben")
    assert "Nothing of this queue" not in text_of(of.get("/queue"))


def test_seats(run: Path) -> None:
    of = browser(run)
    of.post("/seat", name="ben")
    assert "rubricgrade_reviewer" in of.client.cookies
    of.decide("one", "polite", "met")
    assert (run / "one" / "reviews" / "ben.jsonl").is_file()
    of.post("/seat", 422, name="../ben")


def test_keys_can_be_switched_off(run: Path) -> None:
    of = browser(run)
    assert 'data-keys="on"' in of.get("/")
    of.post("/keys", keys="off", back="/queue")
    assert 'data-keys="off"' in of.get("/")
    for path in ("//evil.test", "/\\evil.test", "https://evil.test"):
        response = of.client.post(
            "/keys",
            data={"form_token": SECRET, "keys": "on", "back": path},
            headers={"origin": "http://127.0.0.1:7860"},
        )
        assert response.headers["location"] == "/"


def test_labels_are_taken_out_and_read_in(run: Path, tmp_path: Path) -> None:
    of = browser(run)
    of.decide("one", "polite", "met", why="ask jane@example.com")
    text = of.get("/export/labels.jsonl")
    assert [json.loads(line)["verdict"] for line in text.splitlines()] == ["met"]
    assert "jane@" not in of.get("/export/labels.jsonl?redact=1")
    other = browser(write_run(tmp_path / "other", {"one": Made(steps("a", "b"))}))
    other.post("/export", 200, labels=text)
    assert other.get("/export/labels.jsonl") == text
    table = of.get("/export/labels.csv")
    assert table.startswith("trajectory,criterion,verdict,by,why\n")
    other.post("/export", 200, labels=table)
    assert other.get("/export/labels.csv") == table
    assert of.client.get("/export/labels.xlsx").status_code == 404
    assert "line 1" in other.post("/export", 422, labels=text.replace('"polite"', '"nothing"'))


def test_every_control_has_a_name_and_every_key_a_control(run: Path) -> None:
    of = browser(run)
    pages = [of.get(path) for path in ("/", "/queue", "/export", "/seat", of.path_of("one", "polite"))]
    of.decide("one", "polite", "not_met")
    pages.append(of.get(of.path_of("one", "polite")))
    keys: set[str] = set()
    for page in pages:
        tags = tags_of(page)
        labelled = {attributes.get("for") for tag, attributes in tags if tag == "label"}
        keys |= {value for _, attributes in tags if (value := attributes.get("data-key"))}
        for tag, attributes in tags:
            if tag == "textarea":
                assert attributes.get("id") in labelled, attributes
        ids = [attributes["id"] for _, attributes in tags if "id" in attributes]
        assert len(ids) == len(set(ids))
        assert not any(name.startswith("on") or name == "style" for _, attributes in tags for name in attributes)
    assert keys >= {"1", "2", "0", "e", "c", "ctrl+enter", "s", "f", "a", "k", "d", "j", "u", "?", "/", "Enter"}


def test_long_transcripts_come_in_pages(tmp_path: Path) -> None:
    many = steps(*(f"this is step {number}, " + "x" * 5000 for number in range(2 * PAGE // 5000)))
    made = Made(many, {"polite": Said("met", quotes=[f"this is step {len(many) - 1}"])})
    of = browser(write_run(tmp_path / "long", {"one": made}))
    path = of.path_of("one", "polite")
    page = of.get(path)
    assert "step 0, x" in page
    assert f"step {len(many) - 1}, x" not in page
    assert "page=1" in page
    part = of.get(f"{path}/steps?page=2")
    assert "<html" not in part
    assert f"step {len(many) - 1}, x" in of.get(f"{path}?at=step-{len(many) - 1}")
    of.decide("one", "polite", "met")
    target = re.search(r'class="to-quote" href="([^"]+)"', of.get(path))
    assert target is not None
    assert "at=at-" in target[1]
    assert '<mark class="judge"' in of.get(target[1].replace("&amp;", "&"))
    assert of.get(f"{path}?page=999") == of.get(path)


@pytest.mark.parametrize(
    "path", ["/review/000000000000", "/trajectory/x", "/criterion/none", "/nothing", "/static/../app.py"]
)
def test_what_is_not_there(run: Path, path: str) -> None:
    assert "Not found" in browser(run).get(path, 404)


def test_a_changed_trajectory_is_said(run: Path) -> None:
    file = run / "one" / "trajectory.json"
    file.write_text(file.read_text().replace("Monday", "Tuesday"))
    of = browser(run)
    assert "has changed since" in of.get(of.path_of("one", "polite"), 422)
    assert of.get(of.path_of("two", "polite"))


def test_a_graded_folder_without_its_trajectory(run: Path) -> None:
    (run / "one" / "trajectory.json").unlink()
    of = browser(run)
    assert "trajectory" in of.get(of.path_of("one", "polite"), 422)
