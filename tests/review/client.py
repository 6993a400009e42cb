"""The app as a browser without script sees it: pages are fetched, forms are filled in and sent."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from rubricgrade.review.desk import Desk
from rubricgrade.review.web.app import make_app
from rubricgrade.review.web.drawing import environment
from rubricgrade.review.web.front import Front
from rubricgrade.review.web.security import Access
from tests.review.made import desk_of

ADDRESS = "http://127.0.0.1:7860"
SECRET = "in every form"


class Browser:
    """One reviewer's browser."""

    def __init__(self, desk: Desk, reviewer: str = "anna", *, access: Access | None = None, **front: Any) -> None:
        self.desk = desk
        access = access or Access(secret=SECRET)
        made = Front(desk, environment(redact=bool(front.get("redact"))), access, reviewer, **front)
        self.client = TestClient(make_app(made), base_url=ADDRESS, follow_redirects=False)

    def get(self, path: str, status: int = 200, **headers: str) -> str:
        response = self.client.get(path, headers=headers)
        assert response.status_code == status, response.text
        return response.text

    def post(self, path: str, status: int = 303, *, part: bool = False, **fields: Any) -> str:
        """Send a form as a page of ours does."""
        headers = {"origin": ADDRESS} | ({"hx-request": "true"} if part else {})
        response = self.client.post(path, data={"form_token": SECRET, **fields}, headers=headers)
        assert response.status_code == status, response.text
        return response.text

    def path_of(self, episode: str, criterion: str) -> str:
        (item,) = [i for i in self.desk.items.values() if (i.episode, i.criterion) == (episode, criterion)]
        return f"/review/{item.id}"

    def decide(self, episode: str, criterion: str, verdict: str, status: int = 303, **fields: Any) -> str:
        return self.post(self.path_of(episode, criterion), status, act="decide", verdict=verdict, **fields)


def browser(run: Path, reviewer: str = "anna", *, blind: bool = True, **front: Any) -> Browser:
    return Browser(desk_of(run, blind=blind), reviewer, **front)


class _Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.parts.append(data)


def text_of(page: str) -> str:
    """What a reader sees, white space joined."""
    parser = _Text()
    parser.feed(page)
    return re.sub(r"\s+", " ", "".join(parser.parts))


def tags_of(page: str) -> list[tuple[str, dict[str, str | None]]]:
    parser = _Text()
    parser.feed(page)
    return parser.tags
