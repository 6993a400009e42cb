"""Forms that were sent: read with a limit, and only if they hold the token that stands in our own pages."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qs

from starlette.exceptions import HTTPException
from starlette.requests import Request

LARGEST = 256 * 1024
"""Bytes of a form."""

FIELD = "form_token"
KIND = "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True)
class Form:
    """What was sent."""

    fields: Mapping[str, list[str]]

    def text(self, name: str) -> str:
        """A field's text, with plain line ends; empty if it was not sent.

        Sent several times, the last counts: the button that was pressed stands behind the choices.
        """
        return self.fields.get(name, [""])[-1].replace("\r\n", "\n")

    def number(self, name: str, default: int, most: int) -> int:
        """A field as a whole number from 0 to `most`; `default` if it is none."""
        text = self.text(name).strip()
        return min(int(text), most) if text.isascii() and text.isdecimal() and len(text) < 10 else default  # noqa: PLR2004 - digits of any number that is meant


async def read_form(request: Request, secret: str) -> Form:
    """The form of a request.

    Raises:
        HTTPException: It is too large, of another kind, or not from a page of ours.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip() != KIND:
        raise HTTPException(415, "a form is expected")
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > LARGEST:
            raise HTTPException(413, f"a form of more than {LARGEST:,} bytes is not read")
    try:
        fields = parse_qs(body.decode(), keep_blank_values=True, max_num_fields=200, errors="replace")
    except (UnicodeDecodeError, ValueError):
        raise HTTPException(400, "the form can't be read") from None
    form = Form(fields)
    if not hmac.compare_digest(form.text(FIELD).encode(), secret.encode()):
        raise HTTPException(
            403, "the form is not from this server, or the server was started anew: load the page again"
        )
    return form
