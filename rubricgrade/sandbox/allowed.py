"""Which hosts a sandbox may reach through the proxy, and which addresses a name may stand for.

An address that is not public (loopback, private, link-local and the like) is only reached when it stands in the list
itself: a name that resolves to it, today or after somebody has changed what it resolves to, does not get there.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

PORTS = (80, 443)
"""What an entry without a port stands for."""
_ENTRY = re.compile(
    r"(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9](?:[A-Za-z0-9._-]{0,252}[A-Za-z0-9])?)(?::(?P<port>\d{1,5}))?"
)
_TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")
"""Where gateways show IPv4 addresses to hosts that have IPv6 only."""

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True, slots=True)
class Allowed:
    """A list of allowed hosts.

    Attributes:
        ends: (host in lower case or address in its usual form, port).
    """

    ends: frozenset[tuple[str, int]]

    @classmethod
    def parse(cls, entries: Iterable[str]) -> Self:
        """Read entries such as ``pypi.org``, ``pypi.org:443``, ``10.0.0.5:8080`` or ``[::1]:8080``.

        Raises:
            ValueError: One is none of these; says which.
        """
        return cls(frozenset(end for entry in entries for end in ends_of(entry)))

    def names(self, host: str, port: int) -> bool:
        """Whether a host may be asked for by this name or address."""
        return (plain(host), port) in self.ends

    def reaches(self, address: str, port: int) -> bool:
        """Whether a connection may go to an address that a name of the list was resolved to."""
        return is_public(ipaddress.ip_address(address.partition("%")[0])) or self.names(address, port)


def ends_of(entry: str) -> list[tuple[str, int]]:
    """What one entry of a list allows, with its ports.

    Raises:
        ValueError: It is no host, with or without a port.
    """
    found = _ENTRY.fullmatch(entry)
    port = int(found["port"]) if found and found["port"] else None
    if not found or (port is not None and not 0 < port < 1 << 16):
        raise ValueError(f"{entry!r} is no HOST, HOST:PORT or [IPv6-ADDRESS]:PORT (without http://, path or *)")
    return [(plain(found["host"]), each) for each in ((port,) if port else PORTS)]


def plain(host: str) -> str:
    """One form for all spellings of a name or of an address."""
    text = host.lower().removesuffix(".").removeprefix("[").removesuffix("]")
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        return text


def is_public(address: Address) -> bool:
    """Whether an address lies in the public internet, looking through the forms that carry another one in them."""
    if isinstance(address, ipaddress.IPv6Address):
        carried = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
        if address in _TRANSLATED:
            carried.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
        for each in carried:
            if each is not None and not is_public(each):
                return False
        if address.ipv4_mapped:
            return True
    return address.is_global and not address.is_multicast
