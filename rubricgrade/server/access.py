"""Who is let in: by the bearer token, and on loopback by the Host header, before anything of the body is read."""

from __future__ import annotations

import base64
import hmac
from http import HTTPStatus

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from rubricgrade.server.refusing import CLOSE, answer

OPEN = frozenset({"/health", "/ready"})
"""What needs no token: probes have none, and learn no more than whether the server is well."""

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")
"""Names by which this machine calls itself. A web page that had its own name point here would come under another."""


class Access:
    """Turns away requests without the token, and those that a browser sends for a web page.

    No page has any business here. A page could make a browser of this machine send a form to a server on loopback that
    asks for no token; browsers then say where the page came from.
    """

    def __init__(self, app: ASGIApp, token: str | None) -> None:
        self._app = app
        self._token = None if token is None else token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Turn a request away, or let it through."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if "origin" in headers:
            refusal = answer(HTTPStatus.FORBIDDEN, "no_browsers", "requests of web pages are not taken", headers=CLOSE)
        elif scope["path"] not in OPEN and not self._bears_token(headers.get("authorization", "")):
            close = {**CLOSE, "www-authenticate": "Bearer"}
            refusal = answer(
                HTTPStatus.UNAUTHORIZED, "unauthorized", "the bearer token is missing or wrong", headers=close
            )
        else:
            refusal = self._app
        await refusal(scope, receive, send)

    def _bears_token(self, given: str) -> bool:
        # In constant time: the time that an answer takes must not tell how much of a guess was right.
        return self._token is None or hmac.compare_digest(_token_in(given), self._token)


def _token_in(authorization: str) -> bytes:
    """The token in a header: a bearer's, or the password of one who can give his credentials only in a URL."""
    scheme, _, value = authorization.partition(" ")
    match scheme.lower():
        case "bearer":
            return value.strip().encode()
        case "basic":
            try:
                return base64.b64decode(value, validate=True).partition(b":")[2]
            except ValueError:
                return b""
        case _:
            return b""
