"""Near twins: pairs of tasks that are nearly the same task. Candidates by MinHash and LSH, each then measured exactly.

MinHash estimates Jaccard likeness (Broder 1997); LSH over its bands finds the pairs that may reach a likeness without
looking at all pairs, so that the cost grows with the tasks and the pairs found, not with their square. What is reported
is never an estimate.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

from rubricgrade.delivery.shingles import Sketch, jaccard
from rubricgrade.errors import MissingExtraError

THRESHOLD = 0.35
"""Likeness from which two tasks are twins. Of 250 functions and texts of the standard library, 99 % of unrelated pairs
stay under 0.11, and a text with three words of ten exchanged keeps about 0.45."""
BANDS = {"instruction": (128, 3), "solution": (64, 6)}
"""Bands and rows of each field. A pair whose instructions alone reach 0.35 is found with probability
1 - (1 - 0.35^3)^128 = 0.996; where they don't, the solutions have to be alike for more than 0.5."""
PERMUTATIONS = 384
SEED = 7
ENOUGH = 12
"""Shingles from which on a solution is compared: `return a + b` says nothing about which task it solves."""
WEIGHTS = {"instruction": 0.45, "solution": 0.45, "files": 0.1}
"""Of the mean over all fields. Files count little: many different tasks start from one repository (group by it)."""

Field = Literal["instruction", "mean", "embedding"]
_Likeness = tuple[float, Field]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two tasks that are alike.

    Attributes:
        one: A task's id; the smaller of both.
        two: The other's.
        likeness: 0 to 1.
        by: In what they are most alike.
    """

    one: str
    two: str
    likeness: float
    by: Field


def likeness(one: Sketch, two: Sketch) -> tuple[float, Field]:
    """How alike two tasks are, 0 to 1, and in what: the instruction alone, or the mean over all fields by `WEIGHTS`.

    The mean leaves out a field that is empty, or a solution that is tiny, in either task. A solution never speaks
    alone: two short programs can have one shape and nothing to do with each other.
    """
    return _measured(one, two, jaccard)


def _measured(one: Sketch, two: Sketch, measure: Callable[[frozenset[int], frozenset[int]], float]) -> _Likeness:
    instruction = jaccard(one.instruction, two.instruction)
    parts = [(WEIGHTS["instruction"], instruction)]
    if min(len(one.solution), len(two.solution)) >= ENOUGH:
        parts.append((WEIGHTS["solution"], measure(one.solution, two.solution)))
    if one.files and two.files:
        parts.append((WEIGHTS["files"], measure(one.files, two.files)))
    mean = sum(weight * value for weight, value in parts) / sum(weight for weight, _ in parts)
    return max((instruction, "instruction"), (mean, "mean"))


def _of_sizes(one: frozenset[int], two: frozenset[int]) -> float:
    """The most that the likeness of two sets can be: sets of unlike sizes can't be alike. Cheap."""
    return min(len(one), len(two)) / max(len(one), len(two))


def near_twins(sketches: Sequence[Sketch], threshold: float = THRESHOLD) -> Iterator[Pair]:
    """Pairs whose likeness reaches a threshold, at most one for each two tasks that are not yet linked through others.

    The pairs link every group of twins; a pair inside a group that is linked already is not looked at again, so that
    a family of a hundred variants costs a hundred comparisons.

    Args:
        sketches: One for each task, with different ids.
        threshold: 0 to 1.

    Raises:
        MissingExtraError: datasketch is not installed.
    """
    known = {each.task: each for each in sketches}
    linked = Links(known)
    for one, two in _candidates(sketches):
        if linked.joined(one, two):
            continue
        value, by = likeness(known[one], known[two])
        if value >= threshold:
            linked.join(one, two)
            yield Pair(min(one, two), max(one, two), value, by)


def crossing(ones: Iterable[Sketch], others: Iterable[Sketch], threshold: float = THRESHOLD) -> Iterator[Pair]:
    """Every pair across two sets whose likeness reaches a threshold. Exact: each pair is measured."""
    for one, two in product(tuple(ones), tuple(others)):
        if _measured(one, two, _of_sizes)[0] < threshold:
            continue
        value, by = likeness(one, two)
        if value >= threshold:
            yield Pair(min(one.task, two.task), max(one.task, two.task), value, by)


class Links:
    """Which tasks are linked, directly or through others (union-find)."""

    def __init__(self, names: Iterable[str]) -> None:
        self._up = {name: name for name in names}

    def root(self, name: str) -> str:
        """The one that stands for all that `name` is linked with."""
        while self._up[name] != name:
            self._up[name] = self._up[self._up[name]]
            name = self._up[name]
        return name

    def join(self, one: str, two: str) -> None:
        """Link two, and with them all that they are linked with."""
        low, high = sorted((self.root(one), self.root(two)))
        self._up[high] = low

    def joined(self, one: str, two: str) -> bool:
        """Whether two are linked."""
        return self.root(one) == self.root(two)

    def groups(self) -> list[tuple[str, ...]]:
        """All groups, each sorted, in the order of their first members."""
        members: dict[str, list[str]] = {}
        for name in sorted(self._up):
            members.setdefault(self.root(name), []).append(name)
        return [tuple(each) for each in members.values()]


def _candidates(sketches: Sequence[Sketch]) -> Iterator[tuple[str, str]]:
    """Pairs that share a band in their instruction or their solution; each once."""
    datasketch = _library()
    seen: set[tuple[str, str]] = set()
    for field, shape in BANDS.items():
        filled = [each for each in sketches if getattr(each, field)]
        index = datasketch.MinHashLSH(num_perm=PERMUTATIONS, params=shape)
        for each, minhash in zip(filled, _minhashes(datasketch, [getattr(e, field) for e in filled]), strict=True):
            for other in sorted(index.query(minhash)):
                pair = (other, each.task)
                if pair not in seen and pair[::-1] not in seen:
                    seen.add(pair)
                    yield pair
            index.insert(each.task, minhash)


def _minhashes(datasketch: Any, sets: Sequence[frozenset[int]]) -> Any:
    # The shingles are hashes already; MinHash wants 32 bits of each.
    return datasketch.MinHash.bulk(
        [[shingle & 0xFFFFFFFF for shingle in sorted(each)] for each in sets],
        num_perm=PERMUTATIONS,
        seed=SEED,
        hashfunc=int,
    )


def _library() -> Any:
    try:
        return importlib.import_module("datasketch")
    except ImportError as error:
        raise MissingExtraError("finding near twins", "delivery") from error
