from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import HTTPCookieProcessor, build_opener, urlopen

import pytest

from tests.cli.program import run as program
from tests.review.acts import decide
from tests.review.made import Made, desk_of, steps, write_run
from tests.review.serving import served


def test_it_serves_on_this_machine(run: Path) -> None:
    with served(run, "--reviewer", "anna") as address:
        assert address.startswith("http://127.0.0.1:")
        with urlopen(address) as response:
            page = response.read().decode()
            assert "server" not in response.headers
        assert "replies" in page
        assert ">anna<" in page


def test_elsewhere_it_needs_a_token(run: Path) -> None:
    with served(run, "--host", "0.0.0.0", "--reviewer", "anna") as address:
        port = re.search(r":(\d+)/", address)
        assert port is not None
        here = f"http://127.0.0.1:{port[1]}/"
        with pytest.raises(HTTPError) as refused:
            urlopen(here)
        assert refused.value.code == 401
        refused.value.close()
        with build_opener(HTTPCookieProcessor()).open(here + address.partition("/?")[2].join(["?", ""])) as response:
            assert "replies" in response.read().decode()


def test_a_queue_is_drawn_and_a_port_that_is_taken_is_said(run: Path) -> None:
    with served(run, "--reviewer", "anna", "--draw", "2", "--mix", "0/100/0") as address:
        pass
    with served(run, "--reviewer", "anna") as address:
        (draw,) = (run / "review-queue.jsonl").read_text().splitlines()
        assert json.loads(draw)["mix"] == "0/100/0"
        port = re.search(r":(\d+)/", address)
        assert port is not None
        done = program("review", run, "--reviewer", "anna", "--port", port[1])
        assert done.code == 2
        assert "can't listen" in done.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--reviewer", "../x"], "no reviewer's name"),
        (["--mix", "1/2/3"], "add up to 100"),
        (["--gold", "none.jsonl"], "can't read labels"),
        (["--rubric", "none.yaml"], "no such rubric"),
    ],
)
def test_bad_options(run: Path, options: list[str], said: str) -> None:
    done = program("review", run, *options)
    assert done.code == 2
    assert said in done.err


def test_folders_that_can_not_be_reviewed(run: Path, tmp_path: Path) -> None:
    assert "no such folder" in program("review", tmp_path / "none").err
    (tmp_path / "empty").mkdir()
    assert "is an empty folder, not graded episodes" in program("review", tmp_path / "empty").err
    (run / "rubric.yaml").rename(tmp_path / "elsewhere.yaml")
    done = program("review", run, "--reviewer", "anna")
    assert done.code == 2
    assert "the rubric 'replies'" in done.err
    assert "--rubric FILE" in done.err
    with served(run, "--rubric", str(tmp_path / "elsewhere.yaml"), "--reviewer", "anna") as address:
        assert address


def test_a_changed_rubric_is_said(run: Path) -> None:
    rubric = run / "rubric.yaml"
    rubric.write_text(rubric.read_text().replace("points: 3", "points: 4"))
    assert "it has changed since; grade again" in program("review", run, "--rubric", rubric).err


def test_grades_that_lie_apart_from_their_trajectories(run: Path, tmp_path: Path) -> None:
    apart = tmp_path / "apart"
    shutil.copytree(run, apart, ignore=shutil.ignore_patterns("trajectory.json"))
    with served(apart, "--episodes", str(run), "--reviewer", "anna") as address, urlopen(address + "queue") as response:
        item = re.search(r"/review/\w+", response.read().decode())
        assert item is not None
        with urlopen(address.rstrip("/") + item[0]) as page:
            assert re.search("parcel|pay later", page.read().decode())


def test_known_answers_check_reviewers(run: Path, tmp_path: Path) -> None:
    gold = tmp_path / "gold.jsonl"
    gold.write_text(json.dumps({"trajectory": "one", "criterion": "polite", "verdict": "met", "by": "gold"}) + "\n")
    decide(desk_of(run), "one", "polite", "not_met")
    with served(run, "--gold", str(gold), "--reviewer", "anna") as address, urlopen(address + "agreement") as response:
        assert "anna: 0 of 1 right" in response.read().decode()
    gold.write_text(json.dumps({"trajectory": "one", "criterion": "polite", "verdict": "warm", "by": "gold"}) + "\n")
    assert "is no verdict on polite" in program("review", run, "--gold", gold).err


def test_the_extra_is_named_where_it_is_missing(run: Path) -> None:
    blocked = "import sys; sys.modules['starlette'] = None; from rubricgrade.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", blocked, "review", str(run), "--reviewer", "anna"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "pip install 'rubricgrade[review]'" in done.stderr


def test_records_of_two_servers_come_together(run: Path) -> None:
    with served(run, "--reviewer", "anna") as address:
        decide(desk_of(run), "one", "polite", "met", by="ben")
        decide(desk_of(run), "one", "polite", "met", by="anna")
        with urlopen(address + "agreement") as response:
            assert 'data-figure="n">1<' in response.read().decode()


def test_several_runs_are_told_apart(tmp_path: Path) -> None:
    for name in ("july", "august"):
        write_run(tmp_path / "runs" / name, {"one": Made(steps("a", "b"))})
        (tmp_path / "runs" / name / "run.json").write_text(
            json.dumps(
                {
                    "schema": "rubricgrade.run/1",
                    "run": name,
                    "agent": "nop",
                    "model": "",
                    "samples": 1,
                    "tasks": {},
                    "limits": {},
                }
            )
        )
    done = program(
        "review",
        tmp_path / "runs",
        "--rubric",
        tmp_path / "runs" / "july" / "rubric.yaml",
        "--labels-out",
        tmp_path / "x",
    )
    assert done.code == 0, done.err
    from rubricgrade.review.desk import Desk
    from rubricgrade.review.episodes import find_episodes
    from tests.review.client import Browser, text_of

    desk = Desk(
        tmp_path / "runs", find_episodes(tmp_path / "runs", rubrics=[tmp_path / "runs" / "july" / "rubric.yaml"])
    )
    page = text_of(Browser(desk).get("/"))
    assert "july" in page
    assert "august" in page
    assert {episode.run for episode in desk.episodes.values()} == {"july", "august"}
