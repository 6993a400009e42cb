from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from rubricgrade.review.web.forms import LARGEST
from rubricgrade.review.web.security import Access, is_loopback
from tests.review.client import ADDRESS, SECRET, Browser, browser, tags_of
from tests.review.made import Made, Said, desk_of, steps, write_run

HOSTILE = [
    "<script>document.title = 'owned'</script>",
    "</script></textarea></div><img src=x onerror=alert(1)>",
    "![image](http://evil.test/a.png) [click](javascript:alert(1))",
    "\x1b[31mred\x1b[0m \x1b]8;;http://evil.test\x07link\x1b]8;;\x07",
    "user\u202etxt.exe \u2066isolated\u2069 \u200binvisible \u0000 nul",
    "\u05d0\u05d1\u05d2 right to left",
    "{{ 7 * 7 }} {% raw %} ${7*7}",
    "half a pair \ud83d and \udc00",
    "\r\x08\x08\x08overwritten",
    '" onmouseover="alert(1)" x="',
    "x" * 300_000,
]


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    talk = [{"role": "user", "content": [{"type": "text", "text": "do it"}]}]
    talk += [{"role": "assistant", "content": [{"type": "text", "text": text}]} for text in HOSTILE]
    calls = [{"id": "a", "name": "<b>bash</b>", "arguments": {"<i>": "</div><script>1</script>"}}]
    made: list[Any] = [*talk, {"role": "assistant", "content": [], "calls": calls}]
    reasoning = "\n".join(text for text in HOSTILE[:-1] if "pair" not in text)
    said = {"polite": Said("met", reasoning, [HOSTILE[0], HOSTILE[4], HOSTILE[9]]), "complete": Said("<script>", "")}
    return write_run(tmp_path / "run <b>", {"one": Made(made, said)})


def test_what_others_wrote_is_shown_and_not_obeyed(hostile: Path) -> None:
    of = browser(hostile)
    own = {tag for tag, _ in tags_of(browser(hostile).get("/seat"))}
    paths = [of.path_of("one", "polite"), of.path_of("one", "complete")]
    of.decide("one", "polite", "not_met", why="<script>mine</script>\u202e", quotes=HOSTILE[0])
    of.decide("one", "complete", "met")
    trajectory = next(
        value for _, a in tags_of(of.get("/")) if (value := a.get("href") or "").startswith("/trajectory/")
    )
    for path in (*paths, trajectory, "/", "/queue", "/criterion/polite", "/adjudicate", f"{paths[0]}?find=<script>"):
        page = of.get(path)
        for tag, attributes in tags_of(page):
            assert tag not in {"img", "iframe", "style", "object", "b-"} | ({"i"} - own), (path, tag)
            assert not any(name.startswith("on") for name in attributes), (path, attributes)
            if tag == "script":
                assert (attributes.get("src") or "").startswith("/static/")
            for name in ("href", "src", "action", "hx-get", "hx-post"):
                assert (attributes.get(name) or "/").startswith(("/", "#", "?", "data:,")), (path, attributes)
        for character in "\x1b\x00\x08\u202e\u2066\u200b":
            assert character not in page, path
    page = of.get(paths[0])
    assert "\\u{1b}[31mred" in page
    assert "\\u{202e}txt.exe" in page
    assert "{{ 7 * 7 }}" in page
    assert "\u05d0\u05d1\u05d2" in page, "letters are letters"
    assert "half a pair \ufffd" in page


def test_every_answer_has_our_headers(run: Path) -> None:
    of = browser(run)
    for path, status in (("/", 200), ("/static/app.css", 200), ("/nothing", 404), ("/review", 303)):
        response = of.client.get(path)
        assert response.status_code == status
        policy = response.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["cache-control"] == "no-store"
    refused = of.client.get("/", headers={"host": "evil.test"})
    assert refused.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "host", ["127.0.0.1:7860", "localhost:1", "[::1]:7860", "192.168.1.5:7860", "review.example:80"]
)
def test_known_hosts(run: Path, host: str) -> None:
    of = Browser(desk_of(run), access=Access(hosts=("review.example",), secret=SECRET))
    assert of.client.get("/", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.test", "localhost.evil.test", "127.0.0.1.evil.test:7860", "[::1", "", "127.0.0.1@evil.test:1"]
)
def test_unknown_hosts(run: Path, host: str) -> None:
    response = browser(run).client.get("/", headers={"host": host})
    assert response.status_code == 421
    assert "replies" not in response.text


@pytest.mark.parametrize(
    "origin",
    ["http://evil.test", "null", "http://127.0.0.1:7861", "https://127.0.0.1:7860", "", "http://localhost:7860"],
)
def test_forms_of_other_sites_are_refused(run: Path, origin: str) -> None:
    of = browser(run)
    data = {"form_token": SECRET, "act": "decide", "verdict": "met"}
    assert of.client.post(of.path_of("one", "polite"), data=data, headers={"origin": origin}).status_code == 403
    assert of.client.post(of.path_of("one", "polite"), data=data).status_code == 403
    assert not (run / "one" / "reviews").exists()


def test_forms_without_our_token_are_refused(run: Path) -> None:
    of = browser(run)
    for path in (of.path_of("one", "polite"), "/seat", "/keys", "/queue", "/export"):
        for token in ({"act": "undo"}, {"form_token": "guess"}, {"form_token": "\xe9"}):
            response = of.client.post(path, data=token, headers={"origin": ADDRESS})
            assert response.status_code == 403, path
    assert SECRET in of.get("/seat")


def test_forms_of_other_kinds_and_sizes_are_refused(run: Path) -> None:
    of = browser(run)
    path = of.path_of("one", "polite")
    assert of.client.post(path, json={"form_token": SECRET}, headers={"origin": ADDRESS}).status_code == 415
    big = {"form_token": SECRET, "act": "unclear", "why": "x" * LARGEST}
    assert of.client.post(path, data=big, headers={"origin": ADDRESS}).status_code == 413
    many = "&".join(f"a{number}=1" for number in range(1000))
    kind = {"origin": ADDRESS, "content-type": "application/x-www-form-urlencoded"}
    assert of.client.post(path, content=many, headers=kind).status_code == 400
    assert of.client.post(path, content=b"\xff\xfe", headers=kind).status_code in (400, 403)
    of.post(path, 400, act="format")
    for method in ("PUT", "DELETE", "PATCH"):
        assert of.client.request(method, path, headers={"origin": ADDRESS}).status_code == 405


def test_a_token_is_shown_once_and_kept_in_a_cookie(run: Path) -> None:
    of = Browser(desk_of(run), access=Access(token="open sesame", secret=SECRET))
    for path in ("/", "/static/app.css", "/export/labels.jsonl", "/?token=wrong", "/?token="):
        response = of.client.get(path)
        assert response.status_code == 401, path
    response = of.client.get("/queue?token=open+sesame")
    assert (response.status_code, response.headers["location"]) == (303, "/queue")
    assert "httponly" in response.headers["set-cookie"].lower()
    assert "samesite=strict" in response.headers["set-cookie"].lower()
    assert of.client.get("/queue").status_code == 200
    forged = TestClient(of.client.app, base_url=ADDRESS, cookies={"rubricgrade_token": "guess"})
    assert forged.get("/").status_code == 401


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static/..%2fapp.py",
        "/static//etc/passwd",
        "/trajectory/..%2f..%2fetc",
        "/review/%2e%2e",
    ],
)
def test_no_path_leaves_its_folder(run: Path, path: str) -> None:
    response = browser(run).client.get(path)
    assert response.status_code == 404
    assert "import" not in response.text


def test_links_in_a_run_lead_nowhere(run: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    write_run(secret, {"hidden": Made(steps("a secret", "of another run"))})
    (run / "linked").symlink_to(secret / "hidden")
    assert "linked" not in browser(run).get("/")
    trajectory = run / "one" / "trajectory.json"
    trajectory.unlink()
    trajectory.symlink_to(secret / "hidden" / "trajectory.json")
    of = browser(run)
    assert "symbolic link" in of.get(of.path_of("one", "polite"), 422)


def test_secrets_are_hidden_everywhere_when_asked(tmp_path: Path) -> None:
    mail = "jane.doe@example.com"
    talk = steps(f"I am {mail}", f"Thank you, {mail}, it left.")
    made = Made(talk, {"polite": Said("met", f"It thanks {mail}", [f"Thank you, {mail}"])})
    run = write_run(tmp_path / "run", {"one": made})
    of = browser(run, redact=True)
    of.decide("one", "polite", "not_met", why=f"I know {mail}", quotes=mail)
    trajectory = next(
        value for _, a in tags_of(of.get("/")) if (value := a.get("href") or "").startswith("/trajectory/")
    )
    dispute = of.path_of("one", "polite").replace("/review/", "/adjudicate/")
    for path in (
        of.path_of("one", "polite"),
        trajectory,
        dispute,
        "/adjudicate",
        "/export/labels.jsonl",
        "/export/records.jsonl",
    ):
        page = of.get(path)
        assert "jane.doe" not in page, path
    assert "[e-mail hidden]" in of.get(of.path_of("one", "polite"))
    assert json.loads(of.get("/export/labels.jsonl"))["why"] == "I know [e-mail hidden]"


@pytest.mark.parametrize(
    ("host", "alone"),
    [
        ("127.0.0.1", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("10.0.0.1", False),
        ("example.com", False),
    ],
)
def test_loopback(host: str, alone: bool) -> None:
    assert is_loopback(host) == alone
