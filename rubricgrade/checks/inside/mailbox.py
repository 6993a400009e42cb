"""Mails of the world's outbox, read from `.eml` files whose content the agent chose."""

from __future__ import annotations

from dataclasses import dataclass
from email import message_from_bytes, policy
from email.errors import ObsoleteHeaderDefect, UndecodableBytesDefect
from email.headerregistry import AddressHeader, BaseHeader
from email.message import EmailMessage
from typing import cast

from rubricgrade.checks.inside import readers
from rubricgrade.checks.inside.finding import BadArtifact

HARMLESS = (ObsoleteHeaderDefect, UndecodableBytesDefect)
"""Defects of a header that leave no doubt about its addresses."""


@dataclass(frozen=True, slots=True)
class Mail:
    """One mail.

    Attributes:
        sender: The address, in lower case, without the name.
        to: Addresses of the same form.
        cc: The same.
        bcc: The same.
        subject: Decoded.
        body: The plain text part, else the HTML one as it is.
        attachments: (file name, bytes) of each.
        path: Where it lies in the world.
    """

    sender: str
    to: tuple[str, ...]
    cc: tuple[str, ...]
    bcc: tuple[str, ...]
    subject: str
    body: str
    attachments: tuple[tuple[str, bytes], ...]
    path: str

    @property
    def recipients(self) -> tuple[str, ...]:
        """Everybody who got it."""
        return self.to + self.cc + self.bcc


def read_mail(data: bytes, path: str) -> Mail:
    """A mail from the bytes of an `.eml` file. Raises `BadArtifact` when it is none."""
    try:
        message = message_from_bytes(data, policy=policy.default)
        senders = _addresses(message, "from", path)
        return Mail(
            sender=senders[0] if senders else "",
            to=_addresses(message, "to", path),
            cc=_addresses(message, "cc", path),
            bcc=_addresses(message, "bcc", path),
            subject=str(message.get("subject", "")),
            body=_body(message, path),
            attachments=tuple(_attachment(part, index) for index, part in enumerate(message.iter_attachments(), 1)),
            path=path,
        )
    except BadArtifact:
        raise
    except Exception as error:  # noqa: BLE001 - the standard parser raises many kinds on malformed headers
        raise BadArtifact(path, f"is no readable mail: {type(error).__name__}: {error}") from None


def _addresses(message: EmailMessage, name: str, path: str) -> tuple[str, ...]:
    """The addresses of a header. What stands in it and is none could be one to whoever sends it: that is unreadable."""
    found: list[str] = []
    for value in message.get_all(name, []):
        defects, addresses = cast("BaseHeader", value).defects, cast("AddressHeader", value).addresses
        strange = [defect for defect in defects if not isinstance(defect, HARMLESS)]
        bare = [address for address in addresses if address.username and not address.domain]
        # A name without a domain is a defect too, but a plain one.
        if len(strange) > len(bare):
            raise BadArtifact(path, f"has a header {name.title()} that can't be read in one way only: {strange[0]}")
        found += [address.addr_spec.lower() for address in addresses]
    return tuple(found)


def _body(message: EmailMessage, path: str) -> str:
    """The text in the charset that the mail names; where that is none or does not fit, as in any other file."""
    part = message.get_body(preferencelist=("plain", "html"))
    if part is None:
        return ""
    raw = cast("bytes", part.get_payload(decode=True) or b"")
    try:
        return readers.plain(raw.decode(part.get_content_charset("utf-8")), path)
    except (LookupError, UnicodeDecodeError):
        return readers.text(raw, path)


def _attachment(part: EmailMessage, index: int) -> tuple[str, bytes]:
    name = part.get_filename() or f"attachment-{index}"
    if part.is_multipart():
        return name, b"\n".join(inner.as_bytes() for inner in cast("list[EmailMessage]", part.get_payload()))
    return name, cast("bytes", part.get_payload(decode=True) or b"")
