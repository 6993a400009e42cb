"""A server over time: deadlines, clients that go away, too much work, an alarm, and its end."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from rubricgrade import RewardClient
from rubricgrade.readers import read_trajectory
from tests.chat.scripted import ScriptedServer
from tests.server.archives import archive
from tests.server.conftest import judge_says, messages
from tests.server.running import Answer, Running, heard

KEY = {"OPENAI_API_KEY": "k"}


def asked(*more: str, **fields: Any) -> dict[str, Any]:
    return {"rubric": "judged", "trajectory": messages(*more), **fields}


def half_sent(connection: socket.socket) -> None:
    """Begin a request whose body does not come."""
    connection.sendall(b"POST /grade HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n")
    connection.sendall(b"content-length: 1000\r\n\r\n{")


def until(true: Any) -> None:
    """Wait for something that comes by itself."""
    ends = time.monotonic() + 30
    while not true():
        assert time.monotonic() < ends
        time.sleep(0.02)


@pytest.fixture
def own_judge() -> Iterator[ScriptedServer]:
    server = ScriptedServer()
    server.script = [judge_says]
    yield server
    server.close()


@pytest.fixture
def own(rubrics: Path, own_judge: ScriptedServer) -> tuple[str, ...]:
    """Arguments of a server that asks a judge of its own."""
    judge = ("--judge", "openai/some-judge", "--judge-api-base", own_judge.base, "--no-cache")
    return ("--rubrics", str(rubrics), *judge)


def test_one_deadline_holds_for_all_of_a_batch(server: Running) -> None:
    episodes = [{"trajectory": messages(text)} for text in ("at once", "this one HANGS", "also at once")]
    answer = server.post("/grade/batch", {"rubric": "judged", "episodes": episodes, "timeout": 6})
    assert answer.status == 200
    grades = answer.json["grades"]
    assert [grade["cause"] for grade in grades] == [None, "timeout", None]
    assert [grade["score"] for grade in grades] == [1.0, None, 1.0]
    assert grades[1]["bounds"] == [0.0, 1.0]
    assert grades[1]["rubric"] == grades[0]["rubric"]
    until(lambda: server.metric("in_flight") == 0)


def test_a_request_can_not_ask_for_more_time_than_the_server_gives(own: tuple[str, ...]) -> None:
    with Running((*own, "--timeout", "0.5"), KEY) as running:
        answer = running.post("/grade", asked("HANGS", timeout=1000))
        assert (answer.json["cause"], answer.json["score"]) == ("timeout", None)
        row = {"query": ["2+2? HANGS"], "prompts": ["2+2?"], "labels": ['{"rubric": "judged"}']}
        assert running.post("/openrlhf", row).status == 404
        assert running.metric('ungraded_total{cause="timeout"}') == 1


def test_a_client_that_goes_away_frees_its_place(server: Running) -> None:
    gone = server.metric('refused_total{reason="client_gone"}')
    body = json.dumps(asked("HANGS")).encode()
    with server.connect() as connection:
        connection.sendall(b"POST /grade HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n")
        connection.sendall(b"content-length: %d\r\n\r\n%s" % (len(body), body))
        until(lambda: server.metric("in_flight") == 1)
    until(lambda: server.metric("in_flight") == 0)
    assert server.metric('refused_total{reason="client_gone"}') == gone + 1
    with server.connect() as connection:
        half_sent(connection)
    until(lambda: server.metric('refused_total{reason="client_gone"}') == gone + 2)


def test_too_much_is_refused_and_what_was_taken_is_answered(own: tuple[str, ...]) -> None:
    with Running((*own, "--concurrency", "2", "--queue", "2"), KEY) as running, ThreadPoolExecutor(8) as pool:
        taken = [pool.submit(running.post, "/grade", asked("HANGS", str(number), timeout=6)) for number in range(4)]
        until(lambda: running.metric("in_flight") + running.metric("waiting") == 4)
        assert running.metric("in_flight") == 2
        refused = running.post("/grade", asked())
        assert (refused.status, refused.error) == (429, "busy")
        assert int(refused.headers["retry-after"]) >= 1
        too_many = {"rubric": "judged", "episodes": [{"trajectory": messages()}] * 5}
        assert [each.result().json["cause"] for each in taken] == ["timeout"] * 4
        assert running.post("/grade/batch", too_many).error == "too_many"
        assert running.metric('refused_total{reason="busy"}') == 1


def test_the_client_comes_back_when_it_is_told_to(own: tuple[str, ...]) -> None:
    with Running((*own, "--concurrency", "2", "--queue", "0"), KEY) as running:
        client = RewardClient(running.url, timeout=60)
        episodes = [read_trajectory(messages("SLOW", str(number))) for number in range(6)]
        assert [grade.score for grade in client.grade_all(episodes, "judged")] == [1.0] * 6
        assert running.metric('refused_total{reason="busy"}') > 0


def test_requests_that_wait_take_bounded_room(own: tuple[str, ...]) -> None:
    with Running((*own, "--max-held", "1"), KEY) as running, ThreadPoolExecutor(2) as pool:
        large = asked("HANGS", "x" * 700_000, timeout=6)
        first = pool.submit(running.post, "/grade", large)
        until(lambda: running.metric("held_bytes") > 700_000)
        second = running.post("/grade", large)
        assert (second.status, second.error) == (429, "busy")
        assert first.result().status == 200
        until(lambda: running.metric("held_bytes") == 0)
        never = running.post("/grade", asked(workspace=archive("zeros", bytes(2 << 20))))
        assert (never.status, never.error) == (413, "too_large")


def test_a_request_that_is_being_read_has_its_place(own: tuple[str, ...]) -> None:
    with Running((*own, "--concurrency", "1", "--queue", "0"), KEY) as running:
        with running.connect() as connection:
            half_sent(connection)
            until(lambda: running.metric("reading") == 1)
            assert running.post("/grade", asked()).error == "busy"
        until(lambda: running.metric("reading") == 0)
        assert running.post("/grade", asked()).json["score"] == 1.0


def test_the_deadline_holds_for_reading_too(own: tuple[str, ...]) -> None:
    with Running((*own, "--timeout", "0.2", "--allow-rubric-in-request"), KEY) as running:
        with running.connect() as connection:
            half_sent(connection)
            answer = heard(connection)
            assert (answer.status, answer.error) == (408, "too_slow")
        # It takes long to find out that this is no rubric.
        rubric = {"yaml": f"id: r\ncriteria: [{'a,' * 100_000}]"}
        late = running.post("/grade", asked(rubric=rubric))
        assert (late.status, late.error) == (503, "late")
        assert int(late.headers["retry-after"]) >= 1
        # What was at it ends, what it held is given back, and nothing else suffered.
        until(lambda: running.metric("held_bytes") == 0)
        assert running.post("/grade", asked(timeout=60)).json["cause"] in (None, "timeout")
        assert running.stop() == 0


def test_a_host_whose_rows_are_read_too_slowly_gets_no_number_for_them(tmp_path: Path) -> None:
    criteria = [{"id": f"c{n}", "description": "{{ vars.x }}", "points": 1, "judge": {}} for n in range(500)]
    (tmp_path / "rubric.yaml").write_text(json.dumps({"id": "wide", "vars": {"x": ""}, "criteria": criteria}))
    with Running(("--rubric", str(tmp_path), "--timeout", "0.5", "--ungraded-reward", "-7")) as running:
        # The rubric is loaded for each row, with its value.
        labels = [json.dumps({"x": str(number)}) for number in range(200)]
        answer = running.post("/openrlhf", {"query": ["2+2? 4"] * 200, "prompts": ["2+2?"] * 200, "labels": labels})
        assert (answer.status, answer.json["rewards"]) == (200, [-7] * 200)
        assert running.metric('ungraded_total{cause="timeout"}') == 200
        many = running.post("/openrlhf", {"query": ["a"] * 1100, "prompts": ["a"] * 1100})
        assert (many.status, many.error) == (422, "too_many")


def test_an_alarm_goes_on_and_off(rubrics: Path) -> None:
    with Running(("--rubric", str(rubrics / "judged"), "--alarm-above", "0.5", "--alarm-window", "5")) as running:
        assert running.get("/health").json["status"] == "ok"
        episodes = [{"trajectory": messages(str(number))} for number in range(20)]
        running.post("/grade/batch", {"episodes": episodes})
        health = running.get("/health")
        assert (health.status, health.json) == (503, {"status": "degraded", "ungraded_share": 1.0})
        assert running.metric("alarm") == 1
        assert running.metric('grades_total{rubric="judged",status="ungraded"}') == 20
        assert running.post("/grade", asked()).json["cause"] == "no_judge"  # it still answers
        until(lambda: running.get("/health").status == 200)
        assert running.metric("alarm") == 0
    assert "alarm on: 20 of the latest 20 episodes ungraded" in "".join(running.log)


def test_what_judging_took_is_counted(own: tuple[str, ...]) -> None:
    with Running(own, KEY) as running:
        running.post("/grade", asked())
        assert running.metric("judge_calls_total") == 1
        assert running.metric('judge_tokens_total{kind="input"}') == 100
        assert running.metric("seconds_count") == 1
        assert running.metric("unknown_cost_total") == 1  # nobody knows the price of this model


def test_kept_grades_lie_beside_their_trajectories(own: tuple[str, ...], tmp_path: Path) -> None:
    with Running((*own, "-o", str(tmp_path)), KEY) as running:
        found = running.post("/grade", asked()).json
    folder = tmp_path / found["trajectory"]["id"]
    (kept,) = (folder / "grades").glob("*.json")
    assert json.loads(kept.read_text())["score"] == 1.0
    assert (folder / "trajectory.json").is_file()


def test_stopping_loses_nothing_that_was_taken(own: tuple[str, ...]) -> None:
    with Running((*own, "--concurrency", "4"), KEY) as running, ThreadPoolExecutor(20) as pool:
        sent = [pool.submit(running.post, "/grade", asked("SLOW", str(number))) for number in range(20)]
        until(lambda: sum(map(running.metric, ("in_flight", "waiting", "seconds_count"))) == 20)
        assert running.stop() == 0
        assert [each.result().json["score"] for each in sent] == [1.0] * 20
        with pytest.raises(ConnectionError):
            running.connect()


def test_what_is_not_done_when_it_has_to_end_is_answered_as_ungraded(own: tuple[str, ...]) -> None:
    with Running((*own, "--concurrency", "2", "--drain", "0.5"), KEY) as running, ThreadPoolExecutor(8) as pool:
        sent = [pool.submit(running.post, "/grade", asked("HANGS", str(number))) for number in range(6)]
        until(lambda: running.metric("in_flight") + running.metric("waiting") == 6)
        assert running.stop() == 0
        answers: list[Answer] = [each.result() for each in sent]
    assert {each.status for each in answers} == {200}
    assert {(each.json["status"], each.json["cause"], each.json["score"]) for each in answers} == {
        ("ungraded", "stopped", None)
    }


def test_a_second_signal_ends_the_wait(own: tuple[str, ...]) -> None:
    with Running((*own, "--drain", "600"), KEY) as running, ThreadPoolExecutor(1) as pool:
        sent = pool.submit(running.post, "/grade", asked("HANGS"))
        until(lambda: running.metric("in_flight") == 1)
        running.process.terminate()
        until(lambda: any("a second signal" in line for line in running.log))
        assert running.stop() == 0
        assert sent.result().json["cause"] == "stopped"


def test_a_stopping_server_takes_nothing_more(own: tuple[str, ...]) -> None:
    with Running(own, KEY) as running, ThreadPoolExecutor(1) as pool, running.connect() as connection:
        body = json.dumps(asked()).encode()
        connection.sendall(b"POST /grade HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n")
        connection.sendall(b"content-length: %d\r\n\r\n%s" % (len(body), body[:10]))
        sent = pool.submit(running.post, "/grade", asked("SLOW"))
        until(lambda: running.metric("in_flight") == 1)
        running.process.terminate()
        until(lambda: any("stopping" in line for line in running.log))
        connection.sendall(body[10:])
        answer = heard(connection)
        assert (answer.status, answer.error) == (503, "stopping")
        assert sent.result().json["score"] == 1.0
        assert running.ended() == 0


def test_the_client_finds_a_server_that_starts_later(rubrics: Path) -> None:
    with Running(("--rubrics", str(rubrics))) as first:
        port = first.port
    client = RewardClient(f"http://127.0.0.1:{port}", timeout=60)
    found: list[Any] = []
    waiting = threading.Thread(
        target=lambda: found.append(asyncio.run(client.agrade(read_trajectory(messages()), "judged")))
    )
    waiting.start()
    with Running(("--rubrics", str(rubrics), "--port", str(port))):
        waiting.join()
    assert found[0].cause == "no_judge"
