"""The nodes of a cluster at work for one call. Work that was on a node that is lost is given to another."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rubricgrade.errors import RubricgradeError, SandboxLost, SandboxUnavailable
from rubricgrade.version import exact_version

TRIES = 4
"""Nodes that one piece of work may be given to: one that every node dies of is not given to all of them."""
GRACE = 10.0
"""Seconds that a node has to close what it has open."""
AT_ONCE = 10_000


@dataclass(slots=True, eq=False)
class Member:
    """An actor on one node, and how much it has to do."""

    node: str
    actor: Any
    busy: int = 0


class Crew:
    """An actor on every node.

    Args:
        ray: The module.
        make: Starts an actor on the node of an id.
        ledger: The actor that keeps the limits.
    """

    def __init__(self, ray: Any, make: Callable[[str], Any], ledger: Any) -> None:
        self._ray = ray
        self._make = make
        self._ledger = ledger
        self._members: list[Member] = []
        self._coming: dict[str, asyncio.Task[None]] = {}
        self._refused: dict[str, str | RubricgradeError] = {}

    async def gather(self) -> None:
        """Start an actor on every node that has none, and wait for them.

        Raises:
            RubricgradeError: A node can't do the work as it is asked for.
            SandboxUnavailable: There is no node that can.
        """
        self._start()
        await asyncio.gather(*self._coming.values())
        self._some()

    async def call(self, method: str, *arguments: Any, **named: Any) -> Any:
        """Have a method carried out on the node that has the least to do, and on another one if that is lost.

        Raises:
            RubricgradeError: What the method returned as its error.
            SandboxLost: Several nodes were lost at it.
            SandboxUnavailable: There is no node left.
        """
        for _ in range(TRIES):
            member = await self._free()
            member.busy += 1
            reference = getattr(member.actor, method).remote(*arguments, **named)
            try:
                result = await reference
            except asyncio.CancelledError:
                self._ray.cancel(reference)
                raise
            except (self._ray.exceptions.RayActorError, self._ray.exceptions.ObjectLostError):
                self._lose(member)
                continue
            finally:
                member.busy -= 1
            if isinstance(result, RubricgradeError):
                raise result
            return result
        raise SandboxLost(f"{TRIES} nodes of the cluster were lost while they were at the same work")

    async def disband(self) -> None:
        """End the actors; those that don't end by themselves are killed."""
        for coming in self._coming.values():
            coming.cancel()
        await asyncio.gather(*self._coming.values(), return_exceptions=True)
        ending = [asyncio.wait_for(_done(member.actor.end.remote()), GRACE) for member in self._members]
        await asyncio.gather(*ending, return_exceptions=True)
        for member in self._members:
            self._ray.kill(member.actor)
        self._members.clear()

    async def _free(self) -> Member:
        if not self._members:
            self._start()
            await asyncio.gather(*self._coming.values())
        return min(self._some(), key=lambda member: member.busy)

    def _some(self) -> list[Member]:
        if not self._members:
            for reason in self._refused.values():
                if isinstance(reason, RubricgradeError):
                    raise reason
            reasons = "; ".join(f"node {node[:8]}: {reason}" for node, reason in self._refused.items())
            raise SandboxUnavailable(f"no node of the cluster can work: {reasons or 'there is none with a CPU'}")
        return self._members

    def _start(self) -> None:
        """Begin to start an actor on every node that is alive, has a CPU, and has no actor."""
        have = {member.node for member in self._members} | self._coming.keys()
        for facts in self._ray.nodes():
            node = facts["NodeID"]
            if facts["Alive"] and facts["Resources"].get("CPU") and node not in have:
                self._coming[node] = asyncio.create_task(self._welcome(node))

    async def _welcome(self, node: str) -> None:
        try:
            actor = self._make(node)
            version = await actor.begin.remote()
        except self._ray.exceptions.RayError as error:
            # It went while it was coming, or has another Python or no rubricgrade.
            self._refused[node] = str(error).strip().splitlines()[-1]
            return
        finally:
            self._coming.pop(node, None)
        if isinstance(version, RubricgradeError):
            self._refused[node] = version
        elif version != exact_version():
            self._refused[node] = f"has rubricgrade {version}, not {exact_version()}"
        else:
            self._members.append(Member(node, actor))
            return
        self._ray.kill(actor)

    def _lose(self, member: Member) -> None:
        if member not in self._members:
            return
        self._members.remove(member)
        self._ledger.forget.remote(member.node)
        # The process may have died and not the node, and others may have joined since.
        self._start()


async def _done(reference: Any) -> None:
    with contextlib.suppress(RubricgradeError):
        await reference
