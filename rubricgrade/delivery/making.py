"""`deliver`: tasks in, a delivery's folder out, whole or not at all."""

from __future__ import annotations

import os
import platform
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rubricgrade import digest, tree
from rubricgrade.delivery import sealing
from rubricgrade.delivery.figures import part
from rubricgrade.delivery.graded import Graded, write_graded
from rubricgrade.delivery.proofs import Tried, proofs_of, spoken_against
from rubricgrade.delivery.records import (
    GROUPS,
    HELDOUT,
    MANIFEST,
    REPORT,
    TASKS,
    Delivered,
    Manifest,
    Provenance,
    Removed,
    Report,
    Sealing,
    Side,
    Splitting,
)
from rubricgrade.delivery.removing import calibrated
from rubricgrade.delivery.shingles import Sketch, sketch
from rubricgrade.delivery.splitting import Item, Split, split
from rubricgrade.delivery.twins import THRESHOLD, Pair, crossing, near_twins
from rubricgrade.delivery.writing import card_of, charts_of, report_of
from rubricgrade.episode.copying import copied, is_junk
from rubricgrade.episode.exporting import export_task
from rubricgrade.episode.task import Task
from rubricgrade.errors import Fault, InputError, StoreError
from rubricgrade.plural import count
from rubricgrade.runs.manifest import read_manifest
from rubricgrade.runs.parquet import pyarrow
from rubricgrade.runs.places import Where
from rubricgrade.runs.standing import Attempt, attempts_of
from rubricgrade.version import __version__

Likeness = Callable[[Sequence[Task]], Iterable[Pair]]
"""Another way to find near twins, beside the shingles: such as one by embeddings."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What a delivery is made by.

    Attributes:
        heldout: The fraction to hold out, 0 to below 1.
        seed: Of the split.
        threshold: Likeness from which two tasks are near twins.
        group_by: Names of metadata; tasks that share a value are never parted.
        key: Where the held-out tasks' key is written; it must lie outside of the delivery.
        apart: A folder for the held-out tasks' hidden files, in place of a key.
        license: An SPDX expression, or the name of the contract.
        provenance: Who made the tasks, from what, and who has reviewed them.
        graded: Which graded trajectories are added.
        embeddings: The name of the model behind `alike`.
        alike: Finds near twins besides.
    """

    heldout: float = 0.0
    seed: int = 0
    threshold: float = THRESHOLD
    group_by: tuple[str, ...] = ()
    key: Path | None = None
    apart: Path | None = None
    license: str = ""
    provenance: Provenance = field(default_factory=Provenance)
    graded: Graded = field(default_factory=Graded)
    embeddings: str | None = None
    alike: Likeness | None = None


def deliver(
    tasks: Sequence[Task],
    out: Path,
    terms: Terms | None = None,
    *,
    run: Where | None = None,
    removed: Iterable[Removed] = (),
    tried: Iterable[Tried] = (),
) -> Manifest:
    """Write a delivery.

    Args:
        tasks: With different ids.
        out: The folder to make.
        terms: How.
        run: A run over the tasks, for the report's figures and, if it was calibrated, for what to leave out.
        removed: Tasks to leave out besides, with reasons: what a person has found.
        tried: What a red team and others have found; what is about a task's earlier version is told, and not counted.

    Raises:
        InputError: The folder is there; no task is left; two have one id; no task has the metadata that they are
            grouped by; a key or a run can't be used.
        StoreError: It can't be written.
        MissingExtraError: What it needs is not installed.
    """
    terms = terms or Terms()
    _refuse(tasks, out, terms)
    if terms.graded.form == "parquet":
        pyarrow()
    hashes_now = {task.id: task.hash for task in tasks}
    attempts = attempts_of(run) if run else []
    found = [*tried, *(calibrated(run) if run else ()), *_played(attempts)]
    gone = {each.task: each for each in (*removed, *spoken_against(hashes_now, found))}
    left = [task for task in sorted(tasks, key=lambda each: each.id) if task.id not in gone]
    if not left:
        raise InputError(Fault(f"no task would be left of {count(len(tasks), 'task')}", str(out)))
    parts, pairs = _parted(left, terms)
    attempts = [one for one in attempts if one.line.task_hash == hashes_now.get(one.line.task)]
    making = out.with_name(f".{out.name}.{os.getpid()}.partial")
    try:
        making.mkdir(parents=True)
        manifest = _filled(making, left, parts, terms, _provenance(terms.provenance, run))
        listed = tuple(gone[name] for name in sorted(gone.keys() & {task.id for task in tasks}))
        manifest = manifest.model_copy(update={"name": out.name, "removed": listed})
        report = _report(manifest, attempts, listed, pairs, found)
        _write_report(making, manifest, report)
        if run:
            write_graded(making, [one for one in attempts if one.line.task in {*parts.train}], terms.graded)
        manifest = manifest.model_copy(update={"files": hashes(making)})
        (making / MANIFEST).write_text(manifest.model_dump_json(indent=1) + "\n")
        making.rename(out)
    except OSError as error:
        raise StoreError(f"can't write {out}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(making, ignore_errors=True)
    return manifest


def hashes(folder: Path) -> dict[str, str]:
    """The hash of every file of a delivery but its manifest, by path, sorted."""
    files = [entry for entry in tree.walk(folder).entries if entry.kind == "file" and entry.path != MANIFEST]
    return {entry.path: digest.of_file(folder / entry.path) for entry in files}


def item_of(task: Task, group_by: Sequence[str]) -> Item:
    """A task as it is split: its category, difficulty and labels."""
    labels = {name: str(task.metadata[name]) for name in group_by if name in task.metadata}
    return Item(task.id, task.category, str(task.metadata.get("difficulty", "")), labels)


def _refuse(tasks: Sequence[Task], out: Path, terms: Terms) -> None:
    faults = [Fault("is there already", str(out))] if out.exists() else []
    names = [task.id for task in tasks]
    faults += [
        Fault(f"two tasks are named {name!r}", str(out)) for name in sorted({n for n in names if names.count(n) > 1})
    ]
    faults += _unknown_labels(tasks, terms.group_by)
    if terms.heldout and not (terms.key or terms.apart):
        faults.append(Fault("held-out tasks need a file for their key, or a folder for their hidden files", str(out)))
    faults += [
        Fault("must lie outside of the delivery that it opens", str(place))
        for place in (terms.key, terms.apart)
        if place and place.resolve().is_relative_to(out.resolve())
    ]
    if terms.apart and terms.apart.exists():
        faults.append(Fault("is there already", str(terms.apart)))
    if faults:
        raise InputError(faults)


def _unknown_labels(tasks: Sequence[Task], group_by: Sequence[str]) -> list[Fault]:
    """A name that no task has would group nothing, and look as if it had."""
    known = sorted({name for task in tasks for name in task.metadata})
    there = f"they have {', '.join(known)}" if known else "they have none"
    return [
        Fault(f"to group by {name!r}: no task has this in the metadata of its task.toml; {there}")
        for name in group_by
        if name not in known
    ]


def _parted(tasks: Sequence[Task], terms: Terms) -> tuple[Split, list[Pair]]:
    """The split, made again with every pair that is found across it, until there is none."""
    sketches = [sketch(task.id, task.folder) for task in tasks]
    pairs = [*near_twins(sketches, terms.threshold), *(terms.alike(tasks) if terms.alike else ())]
    items = [item_of(task, terms.group_by) for task in tasks]
    while True:
        parts = split(items, [(pair.one, pair.two) for pair in pairs], fraction=terms.heldout, seed=terms.seed)
        across = list(_across(sketches, parts, terms.threshold))
        if not across:
            return parts, pairs
        pairs += across


def _across(sketches: Sequence[Sketch], parts: Split, threshold: float) -> Iterator[Pair]:
    held = {*parts.heldout}
    yield from crossing(
        [each for each in sketches if each.task in held],
        [each for each in sketches if each.task not in held],
        threshold,
    )


def _filled(making: Path, tasks: Sequence[Task], parts: Split, terms: Terms, source: Provenance) -> Manifest:
    """Write the task folders and the groups."""
    group_of = {task: group[0] for group in parts.groups for task in group}
    held = {*parts.heldout}
    key = sealing.new_key() if held and terms.key else None
    made: dict[str, Delivered] = {}
    for task in tasks:
        side: Side = "heldout" if task.id in held else "train"
        folder = making / (HELDOUT if side == "heldout" else TASKS) / task.id
        _copy(task, folder)
        sealed = None
        if side == "heldout":
            sealed = sealing.seal(folder, key) if key else sealing.put_apart(folder, _apart(terms) / task.id)
        item = item_of(task, terms.group_by)
        made[task.id] = Delivered(
            side=side,
            category=item.category,
            difficulty=item.difficulty,
            group=group_of[task.id],
            labels=dict(item.labels),
            hash=task.hash,
            sealed=sealed,
        )
    if key and terms.key:
        sealing.write_key(key, terms.key)
    lines = [
        digest.canonical({"task": name, "group": each.group, "side": each.side, "labels": each.labels})
        for name, each in made.items()
    ]
    (making / GROUPS).write_bytes(b"\n".join([*lines, b""]))
    kind: Sealing = "encrypted" if key else "apart" if held else "none"
    return Manifest(
        name=making.name,
        license=terms.license,
        provenance=source,
        split=Splitting(
            fraction=terms.heldout,
            seed=terms.seed,
            threshold=terms.threshold,
            labels=terms.group_by,
            embeddings=terms.embeddings,
            sealing=kind,
        ),
        tasks=made,
    )


def _apart(terms: Terms) -> Path:
    if terms.apart is None:
        raise InputError("held-out tasks need a file for their key, or a folder for their hidden files")
    return terms.apart


def _copy(task: Task, folder: Path) -> None:
    """As Harbor takes it, with the task's own tools, which Harbor leaves alone. A delivery holds no links."""
    folder.parent.mkdir(exist_ok=True)
    export_task(task, folder, whole=True)
    if task.settings.outside is not None:
        copied(task.folder / "tools", folder / "tools", within=task.folder, skip=is_junk, whole=True)


def _played(attempts: Sequence[Attempt]) -> Iterator[Tried]:
    """Each version of a task that a run has played; it is open if the grader failed on all attempts at it."""
    graded: dict[tuple[str, str], bool] = {}
    for one in attempts:
        version = (one.line.task, one.line.task_hash)
        graded[version] = graded.get(version, False) or one.reward is not None
    for (task, version), known in graded.items():
        yield Tried(task, version, "attempts", open=not known)


def _provenance(given: Provenance, run: Where | None) -> Provenance:
    versions = {"rubricgrade": __version__, "python": platform.python_version()}
    if run is None:
        return given.model_copy(update={"versions": versions})
    facts = read_manifest(run)
    return given.model_copy(update={"versions": versions, "run": facts.run, "agent": facts.agent, "model": facts.model})


def _report(
    manifest: Manifest,
    attempts: Sequence[Attempt],
    removed: tuple[Removed, ...],
    pairs: Sequence[Pair],
    tried: Sequence[Tried],
) -> Report:
    sides: dict[Side, dict[str, Delivered]] = {}
    for name, each in manifest.tasks.items():
        sides.setdefault(each.side, {})[name] = each
    return Report(
        parts={side: part(tasks, attempts) for side, tasks in sorted(sides.items(), reverse=True)},
        proofs=tuple(proofs_of({name: each.hash for name, each in manifest.tasks.items()}, tried)),
        removed=removed,
        twins=tuple((pair.one, pair.two, round(pair.likeness, 4)) for pair in pairs),
        largest=max(Counter(each.group for each in manifest.tasks.values()).values()),
    )


def _write_report(making: Path, manifest: Manifest, report: Report) -> None:
    (making / REPORT).write_text(report.model_dump_json(indent=1) + "\n")
    charts = charts_of(report)
    (making / "charts").mkdir()
    for name, svg in charts.items():
        (making / "charts" / name).write_text(svg)
    (making / "report.md").write_text(report_of(manifest, report, charts))
    (making / "README.md").write_text(card_of(manifest, report))
