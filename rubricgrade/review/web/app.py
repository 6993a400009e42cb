"""The app: all pages behind the gate, and what becomes of errors."""

from __future__ import annotations

from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

from rubricgrade.errors import InputError, RubricgradeError
from rubricgrade.review.desk import Desk
from rubricgrade.review.web import measuring, overview, reviewing, settling, taking_out, trajectories
from rubricgrade.review.web.front import Front, fault, message
from rubricgrade.review.web.security import Gate

STATIC = Path(__file__).parent / "static"


def make_app(front: Front) -> Starlette:
    """The review app as an ASGI application."""
    app = Starlette(
        routes=[
            *overview.ROUTES,
            *reviewing.ROUTES,
            *trajectories.ROUTES,
            *settling.ROUTES,
            *measuring.ROUTES,
            *taking_out.ROUTES,
            Mount("/static", StaticFiles(directory=STATIC)),
        ],
        middleware=[Middleware(Gate, access=front.access), Middleware(_Glance, desk=front.desk)],
        exception_handlers={HTTPException: _not_served, RubricgradeError: _failed},
    )
    app.state.front = front
    return app


class _Glance:
    """Lets every request see the records as they are when it comes, each read once."""

    def __init__(self, app: ASGIApp, desk: Desk) -> None:
        self._app = app
        self._desk = desk

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._desk.glance():
            await self._app(scope, receive, send)


async def _not_served(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    detail = error.detail if isinstance(error, HTTPException) else ""
    title = "Not found" if status == 404 else "Not done"  # noqa: PLR2004 - HTTP's own number
    return message(request, status, title, [detail])


async def _failed(request: Request, error: Exception) -> Response:
    """What can't be read or written: said on the page, so that a reviewer can go on elsewhere."""
    known = error if isinstance(error, RubricgradeError) else RubricgradeError(str(error))
    return fault(request, known, 422 if isinstance(known, InputError) else 500)
