"""What the client makes of a server's answers, whatever they are."""

from __future__ import annotations

import asyncio
import json
import pickle
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from rubricgrade import RewardClient, load_trajectories
from rubricgrade.client import RewardServerError
from rubricgrade.errors import InputError, RubricError, TrajectoryError
from rubricgrade.loading import parse_rubric
from rubricgrade.readers import read_trajectory
from rubricgrade.readers.jsontext import parse
from rubricgrade.result import Grade, Subject
from rubricgrade.rewards.packing import REQUEST, packed_episode
from rubricgrade.rewards.unfinished import unfinished
from tests.chat.scripted import ScriptedServer, Wire
from tests.chat.test_in_step import http
from tests.readers.made import SAMPLES
from tests.readers.test_samples import EXPECTED
from tests.server.conftest import messages

EPISODE = read_trajectory(messages())
GRADE = unfinished(EPISODE, Subject(id="r", hash="sha256:0"), "stopped", "for a test")
RUBRIC = parse_rubric("id: mine\ntitle: t\ncriteria: [{id: a, points: 1, description: d, judge: {}}]\n")
GOOD = Wire(GRADE.to_json().encode())
FAULT = b'{"error": {"code": "%s", "message": "m", "faults": [{"message": "wrong", "file": "f", "line": 3}]}}'


@pytest.fixture
def far() -> Iterator[ScriptedServer]:
    server = ScriptedServer()
    yield server
    server.close()


def client(far: ScriptedServer, **options: Any) -> RewardClient:
    given: dict[str, Any] = {"timeout": 60, **options}
    return RewardClient(far.origin, **given)


def test_a_grade_comes_back_as_it_was(far: ScriptedServer) -> None:
    far.script = [GOOD]
    assert client(far, token="secret").grade(EPISODE, "r", vars={"a": 1}, ungated=True) == GRADE
    (seen,) = far.seen
    assert seen.path == "/grade"
    assert seen.headers["authorization"] == "Bearer secret"
    assert (seen.body["rubric"], seen.body["vars"], seen.body["ungated"]) == ("r", {"a": 1}, True)
    assert 50 < seen.body["timeout"] < 60
    assert read_trajectory(seen.body["trajectory"]) == EPISODE


def test_the_token_comes_from_the_environment(far: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUBRICGRADE_SERVER_TOKEN", "from-outside")
    far.script = [GOOD]
    client(far).grade(EPISODE, "r")
    assert far.seen[0].headers["authorization"] == "Bearer from-outside"


@pytest.mark.parametrize(
    "answer",
    [
        Wire(b"later", 429, {"retry-after": "0"}),
        Wire(b"later", 503, {"retry-after": "0"}),
        Wire(b"<html>bad gateway", 502),
        Wire(b"cut", 200, {"content-length": "1000"}, reset_after=3),
        Wire(b"no http at all\r\n\r\n", raw=True),
    ],
    ids=["busy", "stopping", "gateway", "cut", "noise"],
)
def test_it_comes_again(far: ScriptedServer, answer: Wire) -> None:
    far.script = [answer, answer, GOOD]
    assert client(far).grade(EPISODE, "r") == GRADE
    assert len(far.seen) == 3


def test_it_waits_as_long_as_it_is_told_to(far: ScriptedServer) -> None:
    far.script = [Wire(b"later", 429, {"retry-after": "1"}), GOOD]
    client(far).grade(EPISODE, "r")
    assert far.seen[1].at - far.seen[0].at >= 1


@pytest.mark.parametrize("answer", [Wire(b"", hang=True), Wire(b"no", 429, {"retry-after": "60"}), Wire(b"no", 502)])
def test_no_answer_in_time_is_ungraded_and_no_number(far: ScriptedServer, answer: Wire) -> None:
    far.script = [answer]
    found = client(far).grade(EPISODE, "r", timeout=0.7)
    assert (found.status, found.score, found.cause, found.bounds) == ("ungraded", None, "timeout", (0.0, 1.0))
    assert found.trajectory.hash == EPISODE.hash


def test_who_waits_long_is_told_once_for_what(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("rubricgrade.client.LONGEST", 0.3)
    found = RewardClient("http://127.0.0.1:1").grade_all([EPISODE, EPISODE], "r", timeout=1.5)
    assert {grade.cause for grade in found} == {"timeout"}
    (told,) = caplog.messages
    assert told.startswith("http://127.0.0.1:1 can't be reached")
    assert "asking again for up to 1 s" in told


def test_nobody_there_is_ungraded_and_says_so() -> None:
    found = RewardClient("http://127.0.0.1:1").grade(EPISODE, "r", timeout=0.5)
    assert (found.score, found.cause) == (None, "timeout")
    assert "can't be reached" in found.warnings[-1]


def test_a_defect_of_the_server_is_ungraded(far: ScriptedServer) -> None:
    far.script = [Wire(FAULT % b"fault", 500)]
    found = client(far).grade(EPISODE, "r")
    assert (found.score, found.cause) == (None, "fault")


@pytest.mark.parametrize(
    ("code", "kind"),
    [(b"trajectory_invalid", TrajectoryError), (b"rubric_invalid", RubricError), (b"bad_request", InputError)],
)
def test_bad_input_is_raised_with_its_faults(far: ScriptedServer, code: bytes, kind: type[InputError]) -> None:
    far.script = [Wire(FAULT % code, 422)]
    with pytest.raises(kind, match="f:3: wrong") as caught:
        client(far).grade_all([EPISODE, EPISODE], "r")
    assert type(caught.value) is kind


@pytest.mark.parametrize(
    "answer",
    [
        Wire(b"{}"),
        Wire(b'{"score": 1.0}'),
        Wire(b"[1]"),
        Wire(GRADE.to_json().encode().replace(b'"score": null', b'"score": 7')),
        Wire(GRADE.to_json().encode().replace(b'"score": null', b'"score": 1.0')),
        Wire(b"who are you", 401),
        Wire(b'{"error": 3}', 404),
    ],
)
def test_what_is_no_grade_is_never_taken_for_one(far: ScriptedServer, answer: Wire) -> None:
    far.script = [answer]
    with pytest.raises(RewardServerError):
        client(far).grade(EPISODE, "r")


def test_requests_at_a_time_are_bounded(far: ScriptedServer) -> None:
    far.script = [Wire(GOOD.body, delay=0.05)]
    assert client(far, concurrency=3).grade_all([EPISODE] * 12, "r") == [GRADE] * 12
    assert far.peak == 3


@pytest.mark.parametrize(
    "given",
    [
        {"url": "10.0.0.7:8000"},
        {"url": "http://"},
        {"url": "file:///etc/passwd"},
        {"url": "http://a", "timeout": 0},
        {"url": "http://a", "concurrency": 0},
    ],
)
def test_what_can_not_be_used(given: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        RewardClient(**given)


def test_client_and_error_can_be_pickled(far: ScriptedServer) -> None:
    far.script = [GOOD]
    assert pickle.loads(pickle.dumps(client(far))).grade(EPISODE, "r") == GRADE
    again = pickle.loads(pickle.dumps(RewardServerError("no", 401)))
    assert (str(again), again.status) == ("no", 401)


def of_another(**wrong: Any) -> Wire:
    return Wire(GRADE.model_copy(update=wrong).to_json().encode())


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (of_another(trajectory=Subject(id="blue", hash="sha256:1")), "the grade of another trajectory ('blue')"),
        (of_another(trajectory=Subject(id=EPISODE.id, hash="sha256:1")), "the grade of another trajectory"),
        (of_another(rubric=Subject(id="mine", hash="sha256:1")), "the grade of another rubric ('mine')"),
        (
            replace(of_another(rubric=Subject(id=RUBRIC.id, hash=RUBRIC.hash)), headers={REQUEST: "0"}),
            "another request",
        ),
    ],
)
def test_the_grade_of_another_request_is_a_fault_and_no_number(far: ScriptedServer, answer: Wire, told: str) -> None:
    far.script = [answer]
    found = client(far).grade(EPISODE, RUBRIC)
    assert (found.status, found.score, found.cause) == ("ungraded", None, "fault")
    assert (found.trajectory.hash, found.rubric.hash) == (EPISODE.hash, RUBRIC.hash)
    assert told in found.warnings[-1]


def test_a_grade_of_the_rubric_that_was_sent_is_taken(far: ScriptedServer) -> None:
    answer = GRADE.model_copy(update={"rubric": Subject(id=RUBRIC.id, hash=RUBRIC.hash)})
    far.script = [lambda seen: Wire(answer.to_json().encode(), headers={REQUEST: seen.headers[REQUEST]})]
    assert client(far).grade_all([EPISODE, EPISODE], RUBRIC) == [answer, answer]
    assert len({seen.headers[REQUEST] for seen in far.seen}) == 2


def test_a_late_answer_to_one_request_is_not_that_to_the_next(far: ScriptedServer) -> None:
    late = GRADE.model_copy(update={"warnings": ("late",)})
    far.script = [replace(GOOD, afterwards=http(Wire(late.to_json().encode()))), GOOD]
    asked = client(far)

    async def run() -> Grade:
        await asked.agrade(EPISODE, "r")
        await asyncio.to_thread(far.wait_for_unasked, 1)
        await asyncio.sleep(0.01)  # what was sent on this machine is there: one look at the sockets takes it in
        return await asked.agrade(EPISODE, "r")

    assert asyncio.run(run()) == GRADE
    assert far.connections == 2


def test_a_redirect_is_not_followed(far: ScriptedServer) -> None:
    far.script = [Wire(b"there", 307, {"location": f"{far.origin}/elsewhere"}), GOOD]
    with pytest.raises(RewardServerError, match="answered 307"):
        client(far).grade(EPISODE, "r")
    assert len(far.seen) == 1


@pytest.mark.parametrize("sample", EXPECTED)
def test_an_honest_server_reads_the_trajectory_that_was_sent(sample: str) -> None:
    for trajectory in load_trajectories(SAMPLES / sample):
        sent, notes = parse(json.dumps(packed_episode(trajectory)["trajectory"]))
        assert read_trajectory(sent, notes=notes).hash == trajectory.hash
