"""Secrets and personal data in text, found by patterns, so that a screen or an export need not show them.

Found: private keys, tokens of well-known services, JSON web tokens, passwords in addresses and assignments, e-mail
addresses, telephone numbers, payment cards, IBANs, US social security numbers. Not found: names of people, postal and
IP addresses, dates of birth, secrets of other shapes, and whatever is in a picture.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

AROUND = 10_000
"""Characters before and behind a piece of text that are looked at too, so that nothing is missed at its ends."""


@dataclass(frozen=True, slots=True)
class Found:
    """Something to hide.

    Attributes:
        start: In the text.
        end: In the text.
        kind: What it is, for the reader.
    """

    start: int
    end: int
    kind: str


def _luhn(text: str) -> bool:
    """Whether a payment card's digits have the right check digit (Luhn; ISO/IEC 7812)."""
    digits = [int(character) for character in text if character.isdecimal()]
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def _iban(text: str) -> bool:
    """Whether an account number has the right check digits (ISO 13616: remainder 1 by 97)."""
    compact = text.replace(" ", "")
    moved = compact[4:] + compact[:4]
    return int("".join(str(int(character, 36)) for character in moved)) % 97 == 1


def _always(_: str) -> bool:
    return True


# Every repetition has a bound: the text may be made to be slow. The group `it`, if there is one, is what is hidden.
_PRIVATE_KEY = r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[^-]{0,8000}(?:-----END [A-Z ]{0,30}PRIVATE KEY-----)?"
_JWT = r"\beyJ[\w-]{8,2000}\.[\w-]{8,4000}\.[\w-]{0,2000}"
_ISSUED = (
    r"\b(?:(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,300}|gh[pousr]_[A-Za-z0-9]{30,255}|github_pat_\w{30,255}"
    r"|glpat-[\w-]{20,100}|xox[abeprs]-[\w-]{10,255}|(?:AKIA|ASIA)[0-9A-Z]{16}|AIza[\w-]{35}"
    r"|hf_[A-Za-z0-9]{30,100}|npm_[A-Za-z0-9]{36}|pypi-[\w-]{50,400})"
)
_HEADER = r"(?i:\b(?:bearer|basic)\s{1,5}(?P<it>[A-Za-z0-9._~+/-]{16,2000}={0,2}))"
_IN_ADDRESS = r"://[^/\s:@]{1,100}:(?P<it>[^/\s@]{1,200})@"
_ASSIGNED = (
    r"(?i:(?:password|passwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key)"
    r"[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?P<it>[^\s\"',;(){}\[\]<>]{6,500}))"
)
_MAIL = r"(?<![\w.%+-])[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8}"
_CARD = r"(?<![\w.])\d(?:[ -]?\d){12,18}(?!\w)"
_ACCOUNT = r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b"
_SECURITY_NUMBER = r"(?<![\w-])\d{3}-\d{2}-\d{4}(?![\w-])"
_TELEPHONE = (
    r"(?<![\w+.])\+\d{1,3}[ .-]?(?:\(\d{1,4}\)[ .-]?)?\d(?:[ .-]?\d){6,12}(?!\w)"
    r"|(?<![\w.])\(\d{3}\)[ -]?\d{3}-\d{4}(?!\w)|(?<![\w-])\d{3}[-.]\d{3}[-.]\d{4}(?![\w-])"
)
_KINDS: tuple[tuple[str, str, Callable[[str], bool]], ...] = (
    ("private key", _PRIVATE_KEY, _always),
    ("token", _JWT, _always),
    ("token", _ISSUED, _always),
    ("token", _HEADER, _always),
    ("password", _IN_ADDRESS, _always),
    ("secret", _ASSIGNED, _always),
    ("e-mail", _MAIL, _always),
    ("card number", _CARD, _luhn),
    ("account number", _ACCOUNT, _iban),
    ("social security number", _SECURITY_NUMBER, _always),
    ("telephone", _TELEPHONE, _always),
)
_PATTERNS = tuple((kind, re.compile(pattern), right) for kind, pattern, right in _KINDS)


def found_in(text: str, start: int = 0, end: int | None = None) -> list[Found]:
    """What is to be hidden in a piece of a text, in order; none overlaps another.

    Args:
        text: All of it.
        start: Where the piece begins.
        end: Where it ends; None is the text's end.
    """
    end = len(text) if end is None else end
    first, last = max(start - AROUND, 0), min(end + AROUND, len(text))
    kept: list[Found] = []
    done = 0
    for one in sorted(_all(text, first, last), key=lambda one: (one.start, -one.end)):
        if one.end > start and one.start < end and one.end > done:
            kept.append(Found(max(one.start, done), one.end, one.kind))
            done = one.end
    return kept


def redacted(text: str) -> str:
    """The text with everything hidden, each as ``[e-mail hidden]``."""
    parts: list[str] = []
    done = 0
    for one in found_in(text):
        parts += [text[done : one.start], f"[{one.kind} hidden]"]
        done = one.end
    return "".join([*parts, text[done:]])


def _all(text: str, first: int, last: int) -> Iterator[Found]:
    for kind, pattern, right in _PATTERNS:
        for match in pattern.finditer(text, first, last):
            start, end = match.span("it" if "it" in pattern.groupindex else 0)
            if right(text[start:end]):
                yield Found(start, end, kind)
