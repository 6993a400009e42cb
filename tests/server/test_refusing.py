"""What a server does not take: it says so at once, says why, and goes on."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.server.archives import archive
from tests.server.conftest import messages
from tests.server.running import JSON, Running, heard

TOKEN = "a-token-of-some-length"


@pytest.fixture(autouse=True)
def well(server: Running) -> Iterator[None]:
    """Whatever was sent, the server goes on, and holds nothing of it."""
    yield
    assert server.post("/grade", {"rubric": "judged", "trajectory": messages()}).status == 200
    assert server.metric("waiting") == server.metric("in_flight") == server.metric("held_bytes") == 0


def test_json_that_is_none_is_named_with_its_place(server: Running) -> None:
    answer = server.post("/grade", b'{"rubric": "judged",\n "trajectory": [}')
    assert (answer.status, answer.error) == (400, "bad_request")
    (fault,) = answer.json["error"]["faults"]
    assert (fault["file"], fault["line"], fault["column"]) == ("body", 2, 17)


def test_a_key_that_stands_twice_is_named_with_its_place(server: Running) -> None:
    answer = server.post("/grade", b'{"rubric": "judged",\n "rubric": "gated", "trajectory": []}')
    assert (answer.status, answer.error) == (400, "bad_request")
    (fault,) = answer.json["error"]["faults"]
    assert (fault["file"], fault["line"], fault["column"]) == ("body", 2, 2)
    assert fault["message"] == "has the key 'rubric' twice in one object"


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"\xff\xfe", b"[" * 100_000, b'{"trajectory": ' + b"[" * 5000, b'{"a": ' + b"9" * 5000 + b"}"],
    ids=["empty", "list", "no text", "deep list", "deep trajectory", "long number"],
)
def test_bodies_that_are_no_object(server: Running, body: bytes) -> None:
    assert server.post("/grade", body).error == "bad_request"


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_another_content_type(server: Running, kind: str) -> None:
    answer = server.post("/grade", {"trajectory": messages()}, {"content-type": kind})
    assert (answer.status, answer.error) == (415, "wrong_type")


def test_a_compressed_body(server: Running) -> None:
    answer = server.post("/grade", b"x", {**JSON, "content-encoding": "gzip"})
    assert (answer.status, answer.error) == (415, "wrong_type")


@pytest.mark.parametrize(
    ("asked", "place"),
    [
        ({"trajectory": messages(), "rubrik": "judged"}, "rubrik"),
        ({"rubric": "judged"}, "trajectory"),
        ({"rubric": "judged", "trajectory": messages(), "timeout": -1}, "timeout"),
        ({"rubric": "judged", "trajectory": messages(), "timeout": "5"}, "timeout"),
        ({"rubric": "judged", "trajectory": messages(), "workspace": "!!"}, "workspace"),
        ({"rubric": {}, "trajectory": messages()}, "rubric"),
    ],
)
def test_a_request_of_another_shape_names_the_key(server: Running, asked: Any, place: str) -> None:
    answer = server.post("/grade", asked)
    assert (answer.status, answer.error) == (400, "bad_request")
    assert place in answer.json["error"]["message"]


def test_a_trajectory_that_is_none(server: Running) -> None:
    for trajectory in (None, [], "text", {"schema": "rubricgrade.trajectory/9"}, {"what": "ever"}):
        answer = server.post("/grade", {"rubric": "judged", "trajectory": trajectory})
        assert (answer.status, answer.error) == (422, "trajectory_invalid"), trajectory


def test_all_faults_of_a_batch_are_named_and_nothing_is_spent(server: Running) -> None:
    before = server.metric("judge_calls_total")
    episodes = [{"trajectory": messages()}, {"trajectory": []}, {"trajectory": {}}]
    answer = server.post("/grade/batch", {"rubric": "judged", "episodes": episodes})
    assert answer.error == "trajectory_invalid"
    files = [fault["file"] for fault in answer.json["error"]["faults"]]
    assert files == ["episodes[1].trajectory", "episodes[2].trajectory"]
    assert server.metric("judge_calls_total") == before


@pytest.mark.parametrize(
    "workspace",
    [
        base64.b64encode(b"no archive").decode(),
        archive("../outside", b"x"),
        archive("/etc/outside", b"x"),
        archive("bomb", bytes(16 << 20)),
    ],
    ids=["no archive", "leads out", "absolute", "bomb"],
)
def test_hostile_archives(server: Running, workspace: str) -> None:
    answer = server.post("/grade", {"rubric": "checked", "trajectory": messages(), "workspace": workspace})
    assert (answer.status, answer.error) == (400, "bad_request")
    assert "workspace" in answer.json["error"]["message"]


def test_a_link_in_a_workspace_leads_nowhere(server: Running) -> None:
    asked = {"rubric": "checked", "trajectory": messages(), "workspace": archive("report.md", link="/etc/passwd")}
    answer = server.post("/grade", asked)
    assert answer.json["score"] in (0.0, None)
    assert b"root:" not in answer.body


@pytest.mark.parametrize("name", ["nowhere", "../judged", "judged/rubric.yaml", ""])
def test_a_rubric_that_is_not_there(server: Running, name: str) -> None:
    answer = server.post("/grade", {"rubric": name, "trajectory": messages()})
    assert (answer.status, answer.error) == (404, "unknown_rubric")


def test_an_unknown_var(server: Running) -> None:
    answer = server.post("/grade", {"rubric": "checked", "trajectory": messages(), "vars": {"fiel": "x"}})
    assert (answer.status, answer.error) == (422, "rubric_invalid")


def test_a_body_that_says_it_is_too_large_is_not_read(server: Running) -> None:
    with server.connect() as connection:
        connection.sendall(b"POST /grade HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n")
        connection.sendall(b"content-length: 1000000000\r\n\r\n{")
        answer = heard(connection)
        assert (answer.status, answer.error) == (413, "too_large")
        assert connection.recv(1) == b""


def test_a_body_that_grows_too_large_is_cut_off(server: Running) -> None:
    with server.connect() as connection:
        connection.sendall(b"POST /grade HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n")
        connection.sendall(b"transfer-encoding: chunked\r\n\r\n")
        for _ in range(17):
            connection.sendall(b"10000\r\n" + b" " * 0x10000 + b"\r\n")
        answer = heard(connection)
    assert (answer.status, answer.error) == (413, "too_large")


def test_a_body_that_drips_is_not_waited_for(server: Running) -> None:
    with server.connect() as connection:
        connection.sendall(b"POST /grade HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n")
        connection.sendall(b"content-length: 1000\r\n\r\n{")
        answer = heard(connection)
        assert (answer.status, answer.error) == (408, "too_slow")
        assert connection.recv(1) == b""


@pytest.mark.parametrize(
    "body", [b"--cut\r\n", b"", b"--cut--\r\n", b"--cut\r\ncontent-disposition: form-data\r\n\r\nx"]
)
def test_forms_that_are_none(server: Running, body: bytes) -> None:
    answer = server.post("/grade", body, {"content-type": "multipart/form-data; boundary=cut"})
    assert answer.status == 400


def test_a_form_with_a_file_that_is_not_known(server: Running) -> None:
    parts = {"request": json.dumps({"rubric": "judged", "trajectory": messages()}), "wrkspace": "x"}
    body = "".join(
        f'--cut\r\ncontent-disposition: form-data; name="{name}"; filename="f"\r\n\r\n{text}\r\n'
        for name, text in parts.items()
    )
    answer = server.post("/grade", f"{body}--cut--\r\n".encode(), {"content-type": "multipart/form-data; boundary=cut"})
    assert "wrkspace" in answer.json["error"]["message"]


def test_a_web_page_can_not_reach_it(server: Running) -> None:
    assert server.get("/health", {"host": "evil.test"}).status == 400
    assert server.get("/health", {"host": f"evil.test:{server.port}"}).status == 400
    assert server.get("/health", {"host": f"localhost:{server.port}"}).status == 200
    assert server.get("/health", {"origin": "http://evil.test"}).error == "no_browsers"


def test_other_paths_and_methods(server: Running) -> None:
    assert server.get("/nowhere").error == "not_found"
    assert server.get("/grade").error == "method_not_allowed"


@pytest.fixture(scope="module")
def guarded(rubrics: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One that asks for a token and takes no rubrics."""
    file = tmp_path_factory.mktemp("token") / "token"
    file.write_text(TOKEN + "\n")
    with Running(("--rubric", str(rubrics / "judged"), "--host", "0.0.0.0", "--token-file", str(file))) as running:
        yield running


def test_the_token_is_asked_for_everywhere_but_at_the_probes(guarded: Running) -> None:
    asked = {"trajectory": messages()}
    in_url, wrong_in_url = (base64.b64encode(f"x:{word}".encode()).decode() for word in (TOKEN, "wrong"))
    for authorization in (
        "",
        "Bearer",
        "Bearer wrong",
        f"Basic {TOKEN}",
        f"Basic {wrong_in_url}",
        TOKEN,
        "Basic =",
        "\xff",
    ):
        given = {"authorization": authorization}
        answer = guarded.post("/grade", asked, {**JSON, **given})
        assert (answer.status, answer.error) == (401, "unauthorized")
        assert guarded.get("/metrics", given).status == 401
    right = {"authorization": f"Bearer {TOKEN}"}
    assert guarded.get("/metrics", {"authorization": f"Basic {in_url}"}).status == 200
    assert guarded.post("/grade", asked, {**JSON, **right}).json["cause"] == "no_judge"
    assert guarded.get("/metrics", right).status == 200
    assert guarded.get("/health").status == guarded.get("/ready").status == 200
    assert TOKEN not in Path(f"/proc/{guarded.process.pid}/cmdline").read_text()


def test_rubrics_of_requests_have_to_be_allowed(guarded: Running) -> None:
    asked = {"rubric": {"yaml": "id: r"}, "trajectory": messages()}
    answer = guarded.post("/grade", asked, {**JSON, "authorization": f"Bearer {TOKEN}"})
    assert (answer.status, answer.error) == (403, "no_inline_rubrics")


def test_openrlhf_has_no_route_without_a_number_for_ungraded(guarded: Running) -> None:
    answer = guarded.post("/openrlhf", {}, {**JSON, "authorization": f"Bearer {TOKEN}"})
    assert answer.error == "not_found"


def test_a_rubric_of_a_request_does_not_choose_who_judges(rubrics: Path) -> None:
    rubric = {
        "id": "r",
        "judge": {"model": "local:/etc/passwd"},
        "criteria": [{"id": "c", "description": "d", "points": 1, "judge": {}}],
    }
    with Running(("--rubric", str(rubrics / "judged"), "--allow-rubric-in-request")) as running:
        answer = running.post("/grade", {"rubric": {"yaml": json.dumps(rubric)}, "trajectory": messages()})
    assert (answer.status, answer.error) == (422, "rubric_invalid")
    assert "can't choose the judge" in answer.json["error"]["message"]
