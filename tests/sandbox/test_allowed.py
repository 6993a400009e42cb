"""Which hosts a list allows, and which addresses count as public."""

from __future__ import annotations

import ipaddress

import pytest

from rubricgrade.sandbox.allowed import Allowed, is_public


@pytest.mark.parametrize(
    ("entry", "host", "port", "named"),
    [
        ("pypi.org", "pypi.org", 443, True),
        ("pypi.org", "PyPI.org.", 80, True),
        ("pypi.org", "pypi.org", 8080, False),
        ("pypi.org", "files.pypi.org", 443, False),
        ("pypi.org", "evil-pypi.org", 443, False),
        ("pypi.org:8443", "pypi.org", 8443, True),
        ("pypi.org:8443", "pypi.org", 443, False),
        ("10.0.0.5:8000", "10.0.0.5", 8000, True),
        ("10.0.0.5:8000", "10.0.0.50", 8000, False),
        ("[::1]:8000", "0:0:0:0:0:0:0:1", 8000, True),
        ("[2001:DB8::1]", "2001:db8::1", 443, True),
    ],
)
def test_a_list_allows_what_stands_in_it_and_nothing_else(entry: str, host: str, port: int, named: bool) -> None:
    assert Allowed.parse([entry]).names(host, port) is named


@pytest.mark.parametrize(
    "entry",
    [
        "", "https://pypi.org", "pypi.org/simple", "*.pypi.org", "*", "pypi.org:0", "pypi.org:65536", "pypi.org:x", "a b",
        "::1", "a\n", "-a.test", "user@pypi.org", "[pypi.org]:80",
    ],
)  # fmt: skip
def test_what_is_no_host_is_refused(entry: str) -> None:
    with pytest.raises(ValueError, match="is no HOST"):
        Allowed.parse([entry])


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.216.34", True),
        ("2606:2800:220:1::1", True),
        ("127.0.0.1", False),
        ("10.1.2.3", False),
        ("172.16.0.1", False),
        ("192.168.1.1", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("0.0.0.0", False),
        ("255.255.255.255", False),
        ("224.0.0.1", False),
        ("::1", False),
        ("::", False),
        ("fe80::1", False),
        ("fc00::1", False),
        ("ff02::1", False),
        ("::ffff:127.0.0.1", False),
        ("::ffff:93.184.216.34", True),
        ("64:ff9b::7f00:1", False),
        ("64:ff9b::5db8:d822", True),
        ("2002:7f00:1::", False),
    ],
)
def test_only_public_addresses_count_as_public(address: str, public: bool) -> None:
    assert is_public(ipaddress.ip_address(address)) is public


def test_an_address_that_is_not_public_must_stand_in_the_list_itself() -> None:
    allowed = Allowed.parse(["inner.test:8000", "10.0.0.5:8000"])
    assert allowed.reaches("10.0.0.5", 8000)
    assert not allowed.reaches("10.0.0.5", 8001)
    assert not allowed.reaches("10.0.0.6", 8000)
    assert not allowed.reaches("fe80::1%eth0", 8000)
    assert allowed.reaches("93.184.216.34", 8000)
