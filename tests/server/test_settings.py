"""Settings that can't be used together are all named at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rubricgrade.errors import InputError
from rubricgrade.server.settings import Limits, Settings, is_loopback

RUBRICS = {"r": Path("r")}
TOKEN = "a-token-of-some-length"


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost"])
def test_loopback_needs_no_token(host: str) -> None:
    assert is_loopback(host)
    assert Settings(RUBRICS, host=host).token is None


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.7", "example.test", "localhost.example.test", "", "127.1"])
def test_any_other_address_does(host: str) -> None:
    with pytest.raises(InputError, match="a token is required"):
        Settings(RUBRICS, host=host)
    assert Settings(RUBRICS, host=host, token=TOKEN).host == host


def test_the_token_is_never_printed() -> None:
    assert TOKEN not in repr(Settings(RUBRICS, token=TOKEN))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"rubrics": {}}, "nothing to grade with"),
        ({"rubrics": {"a/b": Path("r")}}, "no name for a rubric"),
        ({"rubrics": {"": Path("r")}}, "no name for a rubric"),
        ({"token": "short"}, "at least 16 characters"),
        ({"token": "ü" * 20}, "all ASCII"),
        ({"ungraded_reward": float("nan")}, "finite number"),
    ],
)
def test_what_can_not_be_used(given: dict[str, Any], said: str) -> None:
    settings: dict[str, Any] = {"rubrics": RUBRICS, **given}
    with pytest.raises(InputError, match=said):
        Settings(**settings)


@pytest.mark.parametrize(
    "name", ["concurrency", "body", "held", "unpacked", "timeout", "read_timeout", "alarm_window", "queue", "drain"]
)
def test_a_limit_that_is_none(name: str) -> None:
    bad: dict[str, Any] = {name: -1}
    with pytest.raises(InputError, match=name):
        Limits(**bad)


def test_all_limits_are_named_at_once() -> None:
    with pytest.raises(InputError) as caught:
        Limits(concurrency=0, timeout=float("inf"), alarm_above=1.0)
    assert len(caught.value.faults) == 3
