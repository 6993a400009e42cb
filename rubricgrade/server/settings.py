"""What a reward server is started with: its rubrics and judge, where it listens, whom it lets in, and its limits."""

from __future__ import annotations

import ipaddress
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rubricgrade.errors import Fault, InputError
from rubricgrade.judge.options import JudgeOptions

SHORTEST_TOKEN = 16


@dataclass(frozen=True, slots=True)
class Limits:
    """How much the server takes on.

    Attributes:
        concurrency: Episodes in work at a time.
        queue: Episodes that may wait besides; more are refused with 429.
        timeout: Seconds from the arrival of a request to its answer, waiting included; a request may ask for less.
        read_timeout: Seconds in which the whole body of a request has to arrive.
        body: Bytes of one request.
        held: Bytes of all requests together that are being read or not yet answered, with what they unpack to; more are
            refused with 429.
        unpacked: Bytes of one workspace or world, unpacked.
        drain: Seconds that a stopping server gives to what it has taken.
        alarm_above: Share of ungraded episodes above which the server calls itself degraded; None never does.
        alarm_window: Seconds that the share is taken over.

    Raises:
        InputError: A limit can't be used.
    """

    concurrency: int = 8
    queue: int = 1024
    timeout: float = 170.0
    read_timeout: float = 30.0
    body: int = 64 << 20
    held: int = 2 << 30
    unpacked: int = 1 << 30
    drain: float = 60.0
    alarm_above: float | None = 0.2
    alarm_window: float = 300.0

    def __post_init__(self) -> None:
        if faults := list(self._faults()):
            raise InputError(faults)

    def _faults(self) -> Iterator[Fault]:
        for name in ("concurrency", "body", "held", "unpacked"):
            if getattr(self, name) < 1:
                yield Fault(f"{name} must be at least 1, not {getattr(self, name)!r}")
        for name in ("timeout", "read_timeout", "alarm_window"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0):
                yield Fault(f"{name} must be more than 0 seconds, not {value!r}")
        if self.queue < 0:
            yield Fault(f"queue must be at least 0, not {self.queue!r}")
        if not (math.isfinite(self.drain) and self.drain >= 0):
            yield Fault(f"drain must be at least 0 seconds, not {self.drain!r}")
        if self.alarm_above is not None and not 0 <= self.alarm_above < 1:
            yield Fault(f"alarm_above must be a share from 0 to below 1, not {self.alarm_above!r}")


@dataclass(frozen=True, slots=True)
class Settings:
    """All of it.

    Attributes:
        rubrics: The rubrics that requests may name, by the names that they name them by.
        judge: Who judges; one client, one cache and one budget for all requests.
        host: The address to listen on.
        port: The port; 0 for any free one.
        token: What a request has to bear; only on loopback may there be none. Never printed.
        template: What the agent's code runs in; None for what each trajectory names, else the base.
        inline: Whether a request may bring its own rubric.
        ungraded_reward: What OpenRLHF, which has no "no score", gets for an episode that could not be graded; None
            leaves its route out.
        output: A folder: every episode's trajectory and grade are kept in ``<trajectory id>/`` there; None keeps none.
        limits: How much it takes on.

    Raises:
        InputError: They can't be used together.
    """

    rubrics: Mapping[str, Path]
    judge: JudgeOptions = field(default_factory=JudgeOptions)
    host: str = "127.0.0.1"
    port: int = 8000
    token: str | None = field(default=None, repr=False)
    template: str | None = None
    inline: bool = False
    ungraded_reward: float | None = None
    output: Path | None = None
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        if faults := list(self._faults()):
            raise InputError(faults)

    def _faults(self) -> Iterator[Fault]:
        if not self.rubrics and not self.inline:
            yield Fault("no rubric is named, and none may come in a request: there is nothing to grade with")
        for name in self.rubrics:
            if not name or not name.isprintable() or {"/", "?", "#", "%"} & {*name}:
                yield Fault(
                    f"{name!r} is no name for a rubric: it becomes a part of a URL, without '/', '?', '#' or '%'"
                )
        if self.token is None and not is_loopback(self.host):
            yield Fault(f"{self.host} can be reached by others, so a token is required; on 127.0.0.1 there may be none")
        if self.token is not None and (len(self.token) < SHORTEST_TOKEN or not self.token.isascii()):
            yield Fault(f"the token must have at least {SHORTEST_TOKEN} characters, all ASCII")
        if self.ungraded_reward is not None and not math.isfinite(self.ungraded_reward):
            yield Fault(f"the reward of what is ungraded must be a finite number, not {self.ungraded_reward!r}")


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address. A name other than ``localhost`` may lead anywhere."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
