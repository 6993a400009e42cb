"""What every request must pass: a known host, the same origin, a token where the network can reach us, and our headers.

A server on one's own machine can be attacked by any page that its user visits: by a name that is bound to another
address after it was looked up (hence hosts), and by forms that post to it (hence origins, and a token in every form).
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    # With `no-referrer` browsers would send no origin with forms, which is what tells ours from others'.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
COOKIE = "rubricgrade_token"
LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class Access:
    """Who may come in.

    Attributes:
        hosts: Names that the server is called by, besides addresses and ``localhost``.
        token: What must be shown once; empty if nothing is needed.
        secret: Stands in every form of ours.
    """

    hosts: Sequence[str] = ()
    token: str = ""
    secret: str = field(default_factory=lambda: secrets.token_urlsafe(24))


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches a server that is bound to a host."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Gate:
    """Lets requests through that pass, and puts our headers on every answer.

    Args:
        app: What is behind.
        access: Who may come in.
    """

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        refusal = self._refusal(scope)
        await (refusal or self._app)(scope, receive, with_headers)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if not self._known(host):
            return PlainTextResponse("This server is not called by that name.", 421)
        if scope["method"] not in ("GET", "HEAD") and not _same_origin(headers, scope["scheme"], host):
            return PlainTextResponse("This request comes from another site.", 403)
        return self._stranger(scope, headers) if self._access.token else None

    def _known(self, host: str) -> bool:
        """An address can't be bound to another one behind our back; a name can."""
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        if name in (*LOOPBACK, *self._access.hosts):
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True

    def _stranger(self, scope: Scope, headers: Headers) -> Response | None:
        shown = QueryParams(scope["query_string"]).get("token")
        if shown is not None and _equal(shown, self._access.token):
            response = RedirectResponse(scope["path"], 303)
            response.set_cookie(COOKIE, self._access.token, httponly=True, samesite="strict")
            return response
        try:
            kept = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
        except CookieError:
            kept = None
        if kept is not None and _equal(kept.value, self._access.token):
            return None
        return PlainTextResponse("Open the address with the token that was printed when this server started.", 401)


def _same_origin(headers: Headers, scheme: str, host: str) -> bool:
    """Whether our own page sent the request. Browsers name the origin of every form."""
    return headers.get("origin", "") == f"{scheme}://{host}"


def _equal(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(), other.encode())
