"""The server as an ASGI application: routes behind access checks, and every error as JSON."""

from __future__ import annotations

from http import HTTPStatus

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import Response

from rubricgrade.errors import InputError
from rubricgrade.server.access import LOOPBACK_NAMES, Access
from rubricgrade.server.refusing import Refused, answer, by_status, refused, unusable
from rubricgrade.server.routes import routes
from rubricgrade.server.service import Service
from rubricgrade.server.settings import is_loopback


def make_app(service: Service) -> Starlette:
    """The application of an open service."""
    settings = service.settings
    middleware = [Middleware(Access, settings.token)]
    if is_loopback(settings.host):
        names = {*LOOPBACK_NAMES, f"[{settings.host}]" if ":" in settings.host else settings.host}
        middleware.insert(0, Middleware(TrustedHostMiddleware, allowed_hosts=sorted(names), www_redirect=False))
    return Starlette(
        routes=routes(service),
        middleware=middleware,
        exception_handlers={Refused: refused, InputError: unusable, HTTPException: by_status, Exception: _defect},
    )


async def _defect(_request: Request, _error: Exception) -> Response:
    """The answer to a request that met a defect of ours; the framework goes on to log it."""
    message = "a defect of the server; its log has the rest"
    return answer(HTTPStatus.INTERNAL_SERVER_ERROR, "fault", message)
