"""A mail as a judge reads it: every header and every part, for each of them says something to whoever gets it."""

from __future__ import annotations

import re
from collections.abc import Callable
from email import message_from_bytes, policy
from email.errors import HeaderParseError
from email.header import decode_header, make_header
from email.message import Message
from typing import NamedTuple, cast

TECHNICAL = {"mime-version", "content-type", "content-transfer-encoding", "content-disposition"}
"""Headers that say how a part is packed, and nothing to anybody."""
_NO_TEXT = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f]")


class Extracted(NamedTuple):
    """What is in a file, as text.

    Attributes:
        text: The text.
        note: How it was made, or why there is none.
        whole: Whether all that the file says is in it.
    """

    text: str
    note: str = ""
    whole: bool = True


Reader = Callable[[bytes, str], Extracted]
"""Makes text of an attachment, given its bytes and its name."""


def mail_text(data: bytes, read: Reader) -> Extracted:
    """All of a mail as text.

    Nothing is refused: a header that can be read in two ways stands as it came. A mail with defects is followed by its
    source, for the parser drops lines of such a one, and counts as not whole, as others may read it otherwise.
    """
    reading = _Reading(read)
    reading.mail(message_from_bytes(data, policy=policy.compat32))
    if reading.defects:
        reading.parts += ["[the mail's source]", data.decode("utf-8", "replace")]
        reading.notes += [f"is no well-formed mail: {', '.join(dict.fromkeys(reading.defects))}"]
    return Extracted("\n\n".join(reading.parts), "; ".join(dict.fromkeys(reading.notes)), not reading.notes)


class _Reading:
    """The parts of one mail, in order, and notes on what is missing."""

    def __init__(self, read: Reader) -> None:
        self._read = read
        self._attachments = 0
        self.parts: list[str] = []
        self.notes: list[str] = []
        self.defects: list[str] = []

    def mail(self, message: Message) -> None:
        first = [self._line(line)] if (line := message.get_unixfrom()) else []
        headers = [(name, value) for name, value in message.raw_items() if name.lower() not in TECHNICAL]
        self.parts.append("\n".join([*first, *(f"{name}: {self._line(value)}" for name, value in headers)]))
        self._part(message)

    def _part(self, part: Message) -> None:
        payload = part.get_payload()
        if not isinstance(payload, list):
            self._leaf(part)
        elif part.get_content_maintype() == "message":
            for inner in cast("list[Message]", payload):
                self.parts.append("[a mail inside]")
                self.mail(inner)
        else:
            self._aside(part.preamble)
            for inner in cast("list[Message]", payload):
                self._part(inner)
            self._aside(part.epilogue)
        self.defects += [type(defect).__name__ for defect in part.defects]

    def _leaf(self, part: Message) -> None:
        raw = cast("bytes", part.get_payload(decode=True) or b"")
        kind, name = part.get_content_type(), self._name(part)
        texts = _decoded(part, raw) if kind.startswith(("text/", "multipart/")) else []
        if name is None and texts:
            self.parts += ([] if kind == "text/plain" else [f"[{kind}]"]) + texts
            return
        if name is None and kind.startswith("text/"):
            found = self._read(raw, "body.txt")
            self.parts.append(f"[{kind}]")
        else:
            self._attachments += 1
            self.parts.append(f"[attachment {name or f'attachment-{self._attachments}'}, {len(raw):,} bytes]")
            found = self._read(raw, name or "attachment")
            if not found.whole and texts:
                found = Extracted("\n\n".join(texts))
        self.parts.append(found.text or f"({found.note})")
        if found.text and found.note:
            self.parts.append(f"({found.note})")
        if not found.whole:
            self.notes.append(f"in an attachment: {found.note.removeprefix('in an attachment: ')}")

    def _name(self, part: Message) -> str | None:
        """The file name of an attachment; None for what is no attachment."""
        try:
            name = part.get_filename()
        except (LookupError, TypeError, ValueError):
            said = "; ".join(str(value) for key, value in part.raw_items() if key.lower().startswith("content-"))
            self.notes.append("the name of an attachment can't be read")
            return self._line(said)
        if name is not None:
            return self._line(str(name))
        said = str(part.get("content-disposition", "")).strip().lower()
        return "" if said.startswith("attachment") else None

    def _aside(self, text: str | None) -> None:
        if text and text.strip():
            self.parts += ["[outside of the parts]", _plain(text)]

    def _line(self, value: object) -> str:
        """A header's value in one line, its encoded words decoded."""
        said = _plain(str(value))
        if "\ufffd" in said:
            self.notes.append("a header can't be decoded; it is shown with U+FFFD")
        try:
            said = str(make_header(decode_header(said)))
        except (HeaderParseError, LookupError, ValueError):
            self.notes.append("a header can't be decoded")
        return " ".join(said.split())


def _plain(text: str) -> str:
    """Text of the parser, in which bytes beyond ASCII are surrogates, as what UTF-8 makes of them."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _decoded(part: Message, raw: bytes) -> list[str]:
    """A text in the charset that its part names and in UTF-8, if these differ: programs disagree on odd charsets."""
    try:
        charset = part.get_content_charset("utf-8")
    except (LookupError, TypeError, ValueError):
        charset = "utf-8"
    found: list[str] = []
    for name in (charset, "utf-8"):
        try:
            text = raw.decode(name)
        except (LookupError, ValueError):
            continue
        if not _NO_TEXT.search(text):
            found.append(text)
    return list(dict.fromkeys(found))
