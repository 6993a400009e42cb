"""The files of a delivery as values: the manifest, the report, the groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from rubricgrade.episode.harbor import NAME
from rubricgrade.runs.standing import Standing
from rubricgrade.tree.visiting import parts_of

MANIFEST = "manifest.json"
REPORT = "report.json"
GROUPS = "groups.jsonl"
TASKS = "tasks"
HELDOUT = "heldout"
SEALED = "sealed.bin"
HIDDEN = ("tests", "solution", "tools")
"""Folders of a task that nobody may see who trains on the others: how it is graded, solved, and what its tools know."""

Side = Literal["train", "heldout"]
Sealing = Literal["none", "encrypted", "apart"]
ProofKind = Literal["attempts", "calibration", "redteam", "quality"]
Reason = Literal["solved", "broken", "flaky", "ambiguous", "hackable", "unsolved", "leaking", "duplicate", "undecided"]


def _task_id(text: str) -> str:
    if not NAME.match(text):
        raise ValueError(f"{text!r} is no name for a task: letters, digits, '.', '_' and '-'")
    return text


def _path(text: str) -> str:
    if text != "/".join(parts_of(text)):
        raise ValueError(f"{text!r} is no path of a file in the delivery")
    return text


TaskId = Annotated[str, AfterValidator(_task_id)]
"""Becomes a folder's name where a delivery is received, so that it must be a mere name."""
FilePath = Annotated[str, AfterValidator(_path)]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", serialize_by_alias=True)


class Removed(_Record):
    """A task that was not delivered.

    Attributes:
        task: Its id.
        reason: In one word.
        why: What was found, for a person to decide.
    """

    task: str
    reason: Reason
    why: str


class Delivered(_Record):
    """A task of a delivery.

    Attributes:
        side: Trained on, or held out.
        category: Of the mix.
        difficulty: Likewise.
        group: The first task of those that must stay together.
        labels: What it shares with others of its group.
        hash: Of all that decides an episode and its grade.
        sealed: SHA-256 of a held-out task's sealed files as an archive, before it was encrypted.
    """

    side: Side
    category: str = ""
    difficulty: str = ""
    group: TaskId
    labels: dict[str, str] = {}
    hash: str
    sealed: str | None = None


class Splitting(_Record):
    """How the split was made, so that it can be made again.

    Attributes:
        fraction: Asked to be held out.
        seed: Of the draw.
        threshold: Likeness from which two tasks are near twins, 0 to 1.
        labels: Metadata that tasks were grouped by.
        embeddings: The model whose embeddings were compared besides; None without.
        sealing: What became of the held-out tasks' hidden files.
    """

    fraction: float
    seed: int
    threshold: float
    labels: tuple[str, ...] = ()
    embeddings: str | None = None
    sealing: Sealing = "none"


class Provenance(_Record):
    """Where a delivery comes from.

    Attributes:
        vendor: Who made it.
        source: What the tasks were made from, in words.
        reviewed: Who looked at them.
        run: The run of the report's figures; None without one.
        agent: That run's agent.
        model: Its model.
        versions: Of the software.
    """

    vendor: str = ""
    source: str = ""
    reviewed: str = ""
    run: str | None = None
    agent: str | None = None
    model: str | None = None
    versions: dict[str, str] = {}


class Manifest(_Record):
    """``manifest.json``.

    Attributes:
        name: The delivery's folder, when it was made.
        license: An SPDX expression, or the name of the contract.
        provenance: Where it comes from.
        split: How it was split.
        tasks: By id.
        removed: What was asked for and is not delivered, and why.
        files: ``sha256:...`` by path, of every file but this one.
    """

    schema_: Literal["rubricgrade.delivery/1"] = Field(default="rubricgrade.delivery/1", alias="schema")
    name: str
    license: str = ""
    provenance: Provenance = Provenance()
    split: Splitting
    tasks: dict[TaskId, Delivered]
    removed: tuple[Removed, ...] = ()
    files: dict[FilePath, str] = {}


class Band(_Record):
    """Tasks by how often they were solved.

    Attributes:
        name: Such as ``25% to 50%``.
        tasks: How many.
    """

    name: str
    tasks: int


class Part(_Record):
    """One side of a delivery in numbers; everything is counted from a run's attempts.

    Attributes:
        tasks: How many.
        categories: Tasks by category.
        difficulties: Tasks by difficulty.
        bands: Tasks by solved rate; those without a graded attempt are in none.
        baseline: By category, then over all.
    """

    tasks: int
    categories: dict[str, int]
    difficulties: dict[str, int]
    bands: tuple[Band, ...] = ()
    baseline: tuple[Standing, ...] = ()


class Proof(_Record):
    """What was tried on the delivered tasks in one way. Each of them is counted or named once.

    Attributes:
        kind: A run's attempts, its calibration, a red team's report, or one on task quality.
        holds: How many were tried as they are delivered, and nothing speaks against them.
        open: Tried, but not everything could be decided.
        stale: Only tried as they were before they changed, which says nothing about them now and is counted nowhere.
        untried: Not in it.
    """

    kind: ProofKind
    holds: int
    open: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()
    untried: tuple[str, ...] = ()


class Report(_Record):
    """``report.json``.

    Attributes:
        parts: By side.
        proofs: What was tried on the tasks before they were delivered.
        removed: What was not delivered, and why.
        twins: Pairs of near twins that were kept together: ids and likeness.
        largest: Tasks in the largest group.
    """

    schema_: Literal["rubricgrade.delivery-report/1"] = Field(default="rubricgrade.delivery-report/1", alias="schema")
    parts: dict[Side, Part]
    proofs: tuple[Proof, ...] = ()
    removed: tuple[Removed, ...] = ()
    twins: tuple[tuple[str, str, float], ...] = ()
    largest: int = 1


@dataclass(frozen=True, slots=True)
class Problem:
    """Something about a delivery that does not hold.

    Attributes:
        file: What it is about, as a path in the delivery.
        message: What was found and what to do.
        open: It could not be found out, for lack of a key, a judge or a package: no fault, and no all-clear.
    """

    file: str
    message: str
    open: bool = False
