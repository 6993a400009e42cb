"""What can go wrong with one attempt: `Fault`, and how an HTTP status and an error text become one.

Error texts come from servers: they are cut, stripped of control characters and of everything that looks like a key.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Literal, cast

from rubricgrade.chat.contract import Kind
from rubricgrade.chat.tokens import Tokens

Part = Literal["schema", "temperature", "max_tokens", "cache_key"]
"""A part of a request that some models refuse and that it can do without (`max_tokens` has a second name)."""

RETRIED: frozenset[Kind] = frozenset({"rate_limited", "server", "timeout", "unreachable", "unreadable"})

DETAIL = 300
"""Characters of a server's own error text that are shown."""

_READ = 4000
"""Characters of it that are looked at."""

_TOO_LONG = re.compile(
    r"context[ _-]?(length|window|size|limit)|maximum (context|input|prompt) (length|tokens)|(prompt|input) is too long"
    r"|exceeds? the (available|maximum|model'?s?) context|too many (input )?tokens|max_model_len|input token count",
    re.IGNORECASE,
)
_FILTERED = re.compile(r"content[ _-]?(management[ _-]?)?(filter|policy)|responsible ?ai", re.IGNORECASE)
_NO_QUOTA = re.compile(r"insufficient_quota|exceeded your current quota|billing|credit balance", re.IGNORECASE)
# Providers name their billing pages in answers to calls that are merely too quick, too.
_QUICK = re.compile(r"rate.?limit|per.?(?:second|minute|hour|day)\b|\b[RT]P[SMHD]\b", re.IGNORECASE)
_WAIT = re.compile(
    r"\bretry_?delay\W{1,8}(?P<delay>\d{1,9}(?:\.\d{1,9})?)s"
    r"|\b(?:try again|retry) (?:in|after) (?:(?P<hours>\d{1,9})h)?(?:(?P<minutes>\d{1,9})m(?!s))?"
    r"(?:(?P<number>\d{1,9}(?:\.\d{1,9})?) ?(?P<unit>ms|s\b|sec))?",
    re.IGNORECASE,
)
_PARTS: tuple[tuple[Part, re.Pattern[str]], ...] = (
    ("max_tokens", re.compile(r"max_tokens.*max_completion_tokens", re.DOTALL)),
    ("temperature", re.compile(r"temperature")),
    ("cache_key", re.compile(r"prompt_cache_key")),
    (
        "schema",
        re.compile(r"response_?format|json_?schema|structured.?output|output_(format|config)|grammar", re.IGNORECASE),
    ),
)
_KEY_LIKE = re.compile(r"\b(?:sk|pk|gsk|xai|hf|key|bearer)[-_ ][\w\-.*]{8,}", re.IGNORECASE)
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL")


class Fault(Exception):
    """One attempt failed.

    Attributes:
        kind: As in `AskFailed.kind`.
        detail: What happened, fit to be shown.
        after: Seconds before which the server wants no other attempt; None when it named none.
        refuses: The part of the request that the model does not take, if that is the fault.
        filtered: The provider's content filter stopped the prompt.
        maybe_billed: The attempt may have cost something, because a model may have worked on it.
        sent: Whether a request went out at all.
        tokens: What it took, if the server said so.
    """

    def __init__(
        self,
        kind: Kind,
        detail: str,
        *,
        after: float | None = None,
        refuses: Part | None = None,
        filtered: bool = False,
        maybe_billed: bool = False,
        sent: bool = True,
    ) -> None:
        super().__init__(detail)
        self.kind: Kind = kind
        self.detail = detail
        self.after = after
        self.refuses: Part | None = refuses
        self.filtered = filtered
        self.maybe_billed = maybe_billed
        self.sent = sent
        self.tokens: Tokens | None = None

    @property
    def retried(self) -> bool:
        """Whether another attempt may succeed."""
        return self.kind in RETRIED


def from_status(status: int, text: str, headers: Mapping[str, str], *, key: str | None = None) -> Fault:
    """The fault that an HTTP answer stands for.

    Args:
        status: The HTTP status, not 200.
        text: The server's error text, as long as it may be.
        headers: The answer's headers, in lower case or in a case-insensitive mapping.
        key: The API key that was sent, so that an echo of it is struck out.
    """
    text = text[:_READ]
    detail = f"HTTP {status}: {shown(_message(text), key)}"
    if 200 <= status < 300:  # noqa: PLR2004 - a status class
        # No content, a part of one, or what a proxy made of it.
        return Fault("unreadable", f"a success that is no whole reply: {detail}", maybe_billed=True)
    refused = status in (400, 413, 415, 422) or status == 500  # noqa: PLR2004 - llama.cpp and gateways say 500 for these
    if refused and _TOO_LONG.search(text):
        return Fault("too_long", detail)
    if refused and _FILTERED.search(text):
        return Fault("bad_request", detail, filtered=True)
    kind = _kind_of(status, text)
    if kind == "bad_request":
        return Fault(kind, detail, refuses=refused_part(text))
    after = retry_after(headers)
    if after is None and kind == "rate_limited":
        after = _told_wait(text)
    return Fault(kind, detail, after=after, maybe_billed=kind == "timeout")


def _message(text: str) -> str:
    """The message inside an error text in the usual form, else the text."""
    try:
        error: Any = json.loads(text)["error"]
        return error if isinstance(error, str) else str(error["message"])
    except (ValueError, RecursionError, KeyError, TypeError):
        return text


def _kind_of(status: int, text: str) -> Kind:
    match status:
        case 401 | 402 | 403 | 407:
            return "auth"
        case 404 | 405 | 410:
            return "not_found"
        case 413:
            return "too_long"
        case 429:
            return "auth" if _is_out_of_money(text) else "rate_limited"
        case 408 | 504 | 524:
            return "timeout"
        case 409 | 425:
            return "server"
        case _ if status >= 500:  # noqa: PLR2004 - a status class
            return "server"
        case _ if 300 <= status < 400:  # noqa: PLR2004 - a status class
            return "not_found"
        case _:
            return "bad_request"


def _is_out_of_money(text: str) -> bool:
    """Whether a refusal for "too many" calls means that no later call will be taken either."""
    if "insufficient_quota" in text:
        return True
    return _NO_QUOTA.search(text) is not None and _QUICK.search(text) is None and _told_wait(text) is None


def _told_wait(text: str) -> float | None:
    """Seconds to wait as an error text names them: "Please try again in 1m2.5s", "retryDelay": "34s"."""
    for match in _WAIT.finditer(text):
        hours, minutes, number = (float(match[name] or 0) for name in ("hours", "minutes", "number"))
        seconds = float(match["delay"] or 0) + 3600 * hours + 60 * minutes
        seconds += number / 1000 if (match["unit"] or "").lower() == "ms" else number
        if seconds:
            return seconds
    return None


def refused_part(text: str) -> Part | None:
    """Which part of a request an error text says is not taken."""
    return next((part for part, pattern in _PARTS if pattern.search(text)), None)


def from_error_object(error: Any, *, key: str | None = None) -> Fault:
    """The fault that an error object in a body stands for, when the HTTP status said that all was well."""
    fields = cast("dict[str, Any]", error) if isinstance(error, dict) else {"message": error}
    text = " ".join(str(fields[name]) for name in ("code", "type", "message") if fields.get(name) is not None)
    for status in (fields.get("code"), fields.get("status")):
        if isinstance(status, int) and 400 <= status < 600:  # noqa: PLR2004 - HTTP statuses of errors
            return from_status(status, text, {}, key=key)
    if _TOO_LONG.search(text):
        return Fault("too_long", shown(text, key))
    if re.search(r"rate.?limit|too many requests", text, re.IGNORECASE):
        return Fault("rate_limited", shown(text, key))
    return Fault("server", f"an error in place of a reply: {shown(text, key)}", maybe_billed=True)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait by ``retry-after-ms`` or ``Retry-After`` (seconds or an HTTP date, by the server's own clock)."""
    waits = (_seconds(headers.get("retry-after-ms", ""), 1000), _retry_after(headers))
    return next((wait for wait in waits if wait is not None), None)


def _retry_after(headers: Mapping[str, str]) -> float | None:
    value = headers.get("retry-after", "").strip()
    if not value[:1].isalpha():
        return _seconds(value)
    try:
        now = parsedate_to_datetime(headers["date"]) if "date" in headers else datetime.now(UTC)
        return max(0.0, (parsedate_to_datetime(value) - now).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return None


def _seconds(number: str, of_one: int = 1) -> float | None:
    """A number of seconds, or of parts of one; None if it is no number."""
    try:
        seconds = float(number) / of_one
    except ValueError:
        return None
    return max(0.0, seconds) if not math.isnan(seconds) else None


def shown(text: str, key: str | None = None) -> str:
    """A server's text as it may be shown: short, on one line, without keys."""
    text = text[:_READ]
    secrets = [value for name, value in os.environ.items() if _SECRET_NAME.search(name.upper())]
    for secret in (key or "", *secrets):
        if len(secret) >= 8:  # noqa: PLR2004 - a shorter one would strike out ordinary words
            text = text.replace(secret, "[key]")
    text = _KEY_LIKE.sub("[key]", text)
    text = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
    return text if len(text) <= DETAIL else text[: DETAIL - 1] + "…"
