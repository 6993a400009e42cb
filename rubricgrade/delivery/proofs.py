"""What was tried on tasks before they are delivered, and whether it was tried on them as they are now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from rubricgrade.delivery.records import Proof, ProofKind, Removed

KINDS: tuple[ProofKind, ...] = get_args(ProofKind)


@dataclass(frozen=True, slots=True)
class Tried:
    """What was found about one version of a task.

    Attributes:
        task: Its id.
        hash: Of the version that was tried.
        kind: How it was tried.
        against: What speaks against delivering it; None if nothing does.
        open: Something could not be decided.
    """

    task: str
    hash: str
    kind: ProofKind
    against: Removed | None = None
    open: bool = False


def spoken_against(hashes: Mapping[str, str], tried: Iterable[Tried]) -> Iterator[Removed]:
    """What speaks against tasks as they are now. What was found about another version is no word about this one.

    Args:
        hashes: Of the tasks as they are, by id.
        tried: What was found.
    """
    for one in tried:
        if one.against is not None and hashes.get(one.task) == one.hash:
            yield one.against


def proofs_of(hashes: Mapping[str, str], tried: Sequence[Tried]) -> Iterator[Proof]:
    """What was tried on tasks, a proof for each way in which any task at all was.

    Args:
        hashes: Of the tasks that are delivered, by id.
        tried: What was found.
    """
    for kind in KINDS:
        versions: dict[str, list[Tried]] = {}
        for one in tried:
            if one.kind == kind:
                versions.setdefault(one.task, []).append(one)
        if versions:
            yield _proof(kind, hashes, versions)


def _proof(kind: ProofKind, hashes: Mapping[str, str], versions: Mapping[str, Sequence[Tried]]) -> Proof:
    now = {name: [one for one in versions.get(name, ()) if one.hash == hashes[name]] for name in sorted(hashes)}
    undecided = tuple(name for name, found in now.items() if any(one.open for one in found))
    stale = tuple(name for name, found in now.items() if not found and name in versions)
    untried = tuple(name for name in now if name not in versions)
    holds = len(now) - len(undecided) - len(stale) - len(untried)
    return Proof(kind=kind, holds=holds, open=undecided, stale=stale, untried=untried)
