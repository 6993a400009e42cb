"""What every page needs: the desk, who is reading, and how a page is drawn and sent."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast
from urllib.parse import quote, urlencode

from jinja2 import Environment
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from rubricgrade import digest
from rubricgrade.errors import RubricgradeError, StoreError
from rubricgrade.review.desk import Desk
from rubricgrade.review.episodes import Episode
from rubricgrade.review.items import Item
from rubricgrade.review.records import REVIEWER
from rubricgrade.review.web.drawing import safe
from rubricgrade.review.web.forms import Form, read_form
from rubricgrade.review.web.security import Access

SEAT = "rubricgrade_reviewer"
KEYS = "rubricgrade_keys"
YEAR = 365 * 24 * 3600

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Front:
    """What the pages share.

    Attributes:
        desk: What is reviewed.
        draw: Draws templates.
        access: Who may come in.
        reviewer: Who reads, unless the browser says otherwise.
        redact: Whether secrets and personal data are hidden.
        cache: The verdict cache that keeps what judges were sent; None for the user's own.
    """

    desk: Desk
    draw: Environment
    access: Access
    reviewer: str
    redact: bool = False
    cache: Path | None = None


def front_of(request: Request) -> Front:
    """What the pages share."""
    return cast("Front", request.app.state.front)


def desk_of(request: Request) -> Desk:
    """What is reviewed."""
    return front_of(request).desk


def reviewer_of(request: Request) -> str:
    """Who is reading."""
    chosen = request.cookies.get(SEAT, "")
    return chosen if REVIEWER.match(chosen) else front_of(request).reviewer


def item_of(request: Request) -> Item:
    """The item that an address names. Raises `HTTPException` if there is none."""
    return _found(desk_of(request).items.get(request.path_params["item"]), "item")


def episode_id(episode: Episode) -> str:
    """An episode's name in addresses: 12 hex digits."""
    return digest.of_value(episode.key)[7:19]


def episode_of(request: Request) -> Episode:
    """The episode that an address names. Raises `HTTPException` if there is none."""
    wanted = request.path_params["episode"]
    episodes = desk_of(request).episodes.values()
    return _found(next((each for each in episodes if episode_id(each) == wanted), None), "episode")


def asks_for_part(request: Request) -> bool:
    """Whether a script of ours asks, which puts a part into a page that is there."""
    return request.headers.get("hx-request") == "true"


async def form_of(request: Request) -> Form:
    """The form that was sent. Raises `HTTPException` if it is none of ours."""
    return await read_form(request, front_of(request).access.secret)


def page(request: Request, template: str, status: int = 200, **context: Any) -> Response:
    """A page, or a part of one."""
    try:
        done = progress(desk_of(request), reviewer_of(request))
    except StoreError:
        done = None  # the queue can't be read; the pages that need it say so
    return _drawn(request, template, status, done, context)


def message(request: Request, status: int, title: str, lines: list[str]) -> Response:
    """A page that says what is wrong and what to do. It reads no files: they may be what is wrong."""
    return _drawn(request, "message.html", status, None, {"title": title, "lines": lines})


def fault(request: Request, error: RubricgradeError, status: int = 422) -> Response:
    """The page for an error of ours."""
    return message(request, status, "That did not work", str(error).splitlines())


def to(path: str) -> Response:
    """Go on to another page, with a request that can be repeated."""
    return RedirectResponse(path, 303)


def address(*parts: str, **query: str | int | None) -> Any:
    """An address of ours, safe in an attribute. Parts are ids, which need no quoting."""
    path = "/" + "/".join(quote(part, safe="") for part in parts)
    asked = urlencode({name: value for name, value in query.items() if value not in (None, "")})
    return safe(f"{path}?{asked}" if asked else path)


def progress(desk: Desk, reviewer: str) -> tuple[int, int]:
    """How many items of the queue a reviewer has dealt with, and how many there are."""
    listed = [item for item, _ in desk.queue(reviewer)]
    return sum(desk.dealt_with(item, reviewer) for item in listed), len(listed)


def _drawn(
    request: Request, template: str, status: int, done: tuple[int, int] | None, context: dict[str, Any]
) -> Response:
    front = front_of(request)
    text = front.draw.get_template(template).render(
        reviewer=reviewer_of(request),
        run=front.desk.top.resolve().name,
        keys=request.cookies.get(KEYS, "on"),
        here=safe(request.url.path),
        form_token=safe(front.access.secret),
        blind=front.desk.blind,
        redact=front.redact,
        address=address,
        progress=done,
        damaged=front.desk.damaged(),
        **context,
    )
    return HTMLResponse(text.encode(errors="replace"), status)


def _found(value: T | None, what: str) -> T:
    if value is None:
        raise HTTPException(404, f"there is no such {what} here")
    return value
