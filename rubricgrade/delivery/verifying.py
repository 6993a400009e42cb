"""`verify`: the receiving side of a delivery. What must hold, found out from the folder and, if there is one, the key.

What can be counted from the folder is counted again and not believed (`recounting`), and nothing outside of it is read.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from pydantic import ValidationError

from rubricgrade import digest, tree
from rubricgrade.delivery import sealing
from rubricgrade.delivery.making import hashes, item_of
from rubricgrade.delivery.records import (
    GROUPS,
    HELDOUT,
    HIDDEN,
    MANIFEST,
    REPORT,
    SEALED,
    TASKS,
    Delivered,
    Manifest,
    Problem,
    Report,
)
from rubricgrade.delivery.recounting import recounted
from rubricgrade.delivery.shingles import sketch
from rubricgrade.delivery.splitting import groups
from rubricgrade.delivery.twins import crossing
from rubricgrade.episode.task import Task
from rubricgrade.errors import Fault, InputError
from rubricgrade.judge.options import JudgeOptions
from rubricgrade.misfits import first_misfit
from rubricgrade.plural import count
from rubricgrade.runs.proving import check_task
from rubricgrade.sandbox import Provider


@dataclass(frozen=True, slots=True)
class _Opened:
    """A delivery with its held-out tasks made whole as far as that is possible."""

    folder: Path
    manifest: Manifest
    tasks: Mapping[str, Task]

    def place(self, name: str) -> Path:
        """Where a task lies: whole, if it could be opened, else what an agent may see of it."""
        if name in self.tasks:
            return self.tasks[name].folder
        return self.folder / where(self.manifest, name)


async def verify(
    folder: Path,
    *,
    key: Path | None = None,
    apart: Path | None = None,
    prove: bool = True,
    judge: JudgeOptions | None = None,
    provider: Provider | None = None,
) -> AsyncIterator[Problem]:
    """Check a delivery: files, records, split, sealing, and, if asked for, every task by running it.

    Args:
        folder: The delivery.
        key: The file with its key; without it held-out tasks are checked as far as they can be seen.
        apart: Where the hidden files of held-out tasks lie, if they travelled so.
        prove: Also run each task's reference and no-op, as `check_task` does.
        judge: Decides judged criteria when proving.
        provider: Where sandboxes come from.

    Raises:
        InputError: It is no delivery, or the key can't be read.
    """
    manifest = read_manifest(folder)
    if links := [*_links(folder)]:
        by_link = any((folder / name).is_symlink() for name in (TASKS, HELDOUT, GROUPS, REPORT))
        for problem in (*links, *_bytes(folder, manifest), *(() if by_link else _records(folder, manifest))):
            yield problem
        return  # what is read of a task over a link is not the delivery
    secret = sealing.read_key(key) if key else None
    for problem in (*_bytes(folder, manifest), *_records(folder, manifest), *_unsealed(folder, manifest)):
        yield problem
    with TemporaryDirectory() as scratch:
        place = Path(scratch)
        tasks: dict[str, Task] = {}
        for name, facts in manifest.tasks.items():
            path = where(manifest, name)
            try:
                source: Path | Problem = folder / path
                if facts.side == "heldout":
                    source = _whole(folder / path, facts, secret, apart, place / name)
                if isinstance(source, Problem):
                    yield source
                else:
                    tasks[name] = Task.load(source)
            except InputError as error:
                yield Problem(path, f"is no usable task: {error}")
        there = _Opened(folder, manifest, tasks)
        for problem in (*_split(there), *recounted(folder, manifest, tasks)):
            yield problem
        if prove:
            async for problem in _proved(there, judge, provider):
                yield problem


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a delivery.

    Raises:
        InputError: There is none, or it can't be read.
    """
    file = folder / MANIFEST
    try:
        return Manifest.model_validate_json(file.read_bytes())
    except OSError as error:
        raise InputError(Fault(f"is no delivery: {MANIFEST} can't be read ({error.strerror})", str(folder))) from None
    except ValidationError as error:
        raise InputError(Fault(f"can't be used: {first_misfit(error)}", str(file))) from None


def where(manifest: Manifest, name: str) -> str:
    """The folder of a task in its delivery."""
    return f"{HELDOUT if manifest.tasks[name].side == 'heldout' else TASKS}/{name}"


def opened(folder: Path, manifest: Manifest, key: bytes, into: Path) -> Iterator[Path]:
    """Put the held-out tasks of a delivery together, each as a whole task directory below `into`.

    Raises:
        InputError: A task can't be opened, or is not what was delivered.
    """
    held = {name: facts for name, facts in manifest.tasks.items() if facts.side == "heldout"}
    faults = [Fault(problem.message, str(folder / problem.file)) for problem in _links(folder)]
    faults += [Fault("is there already", str(into / name)) for name in held if os.path.lexists(into / name)]
    if faults:
        raise InputError(faults)
    for name, facts in held.items():
        into.mkdir(parents=True, exist_ok=True)
        whole = _whole(folder / HELDOUT / name, facts, key, None, into / name)
        if isinstance(whole, Problem):
            raise InputError(Fault(whole.message, whole.file))
        yield whole


def _bytes(folder: Path, manifest: Manifest) -> Iterator[Problem]:
    """Every file is there and is the one that was delivered, and there is no other."""
    there = hashes(folder)
    for path in sorted(manifest.files.keys() | there.keys()):
        if path not in there:
            yield Problem(path, "is missing: ask for the delivery again")
        elif path not in manifest.files:
            yield Problem(path, "was not delivered: remove it, or find out who put it there")
        elif there[path] != manifest.files[path]:
            yield Problem(path, "was changed since it was delivered: ask for it again")


def _links(folder: Path) -> Iterator[Problem]:
    """Links, and what may hide some."""
    found = tree.walk(folder)
    for entry in found.entries:
        if entry.kind == "link":
            yield Problem(entry.path, f"is a link to {entry.target!r}, which no delivery holds: remove it")
    for skipped in found.skipped:
        if skipped.folder:
            yield Problem(skipped.path, f"was not looked through: {skipped.reason}")


def _records(folder: Path, manifest: Manifest) -> Iterator[Problem]:
    """The manifest, the folders, the groups and the report speak of the same tasks."""
    for name, side in (("train", TASKS), ("heldout", HELDOUT)):
        listed = {task for task, facts in manifest.tasks.items() if facts.side == name}
        there = {path.name for path in (folder / side).iterdir()} if (folder / side).is_dir() else set[str]()
        for task in sorted(listed - there):
            yield Problem(f"{side}/{task}", "is missing, though the manifest lists it: ask for the delivery again")
        for task in sorted(there - listed):
            yield Problem(f"{side}/{task}", "is not in the manifest on this side: it was put here, or moved here")
    try:
        lines = [json.loads(line) for line in (folder / GROUPS).read_bytes().splitlines()]
        told = {line["task"]: (line["group"], line["side"]) for line in lines}
        if told != {name: (each.group, each.side) for name, each in manifest.tasks.items()}:
            yield Problem(GROUPS, "does not say what the manifest says about groups and sides")
    except (OSError, ValueError, KeyError, TypeError) as error:
        yield Problem(GROUPS, f"can't be read: {error}")
    try:
        report = Report.model_validate_json((folder / REPORT).read_bytes())
    except (OSError, ValueError) as error:
        yield Problem(REPORT, f"can't be read: {error}")
        return
    for side, part in report.parts.items():
        listed_here = sum(facts.side == side for facts in manifest.tasks.values())
        if part.tasks != listed_here:
            yield Problem(REPORT, f"counts {count(part.tasks, f'{side} task')}; there are {listed_here}")


def _unsealed(folder: Path, manifest: Manifest) -> Iterator[Problem]:
    """No hidden file of a held-out task lies open, and none of any task lies where its agent starts."""
    for name, facts in manifest.tasks.items():
        task = folder / where(manifest, name)
        if facts.side == "heldout":
            for hidden in HIDDEN:
                if (task / hidden).exists():
                    yield Problem(
                        f"{HELDOUT}/{name}/{hidden}", "lies open in a held-out task: whoever trains can read it"
                    )
        yield from _reachable(folder, task)


def _reachable(folder: Path, task: Path) -> Iterator[Problem]:
    hidden = {
        digest.of_file(task / "tests" / entry.path): entry.path
        for entry in _files(task / "tests")
        if entry.size >= _TELLING
    }
    for entry in _files(task / "environment"):
        file = task / "environment" / entry.path
        if entry.size >= _TELLING and (same := hidden.get(digest.of_file(file))):
            path = str(file.relative_to(folder))
            yield Problem(path, f"is the sealed file tests/{same}, where the agent can read it: take it out")


_TELLING = 16
"""Bytes from which on equal files are no accident."""


def _files(folder: Path) -> list[tree.Entry]:
    return [entry for entry in tree.walk(folder).entries if entry.kind == "file"] if folder.is_dir() else []


def _whole(source: Path, facts: Delivered, key: bytes | None, apart: Path | None, to: Path) -> Path | Problem:
    """A held-out task put together again, in a place of ours."""
    path = f"{HELDOUT}/{source.name}"
    if not source.is_dir():
        return Problem(path, "can't be checked: it is not there")
    if not (source / SEALED).is_file() and apart is None:
        return Problem(path, "its hidden files travelled apart: say where they lie with --apart", open=True)
    if (source / SEALED).is_file() and key is None:
        return Problem(f"{path}/{SEALED}", "can't be opened without the key: give it with --key", open=True)
    with TemporaryDirectory() as place:
        if key is not None and (source / SEALED).is_file():
            hidden = Path(place) / "hidden"
            found = sealing.unseal(source, key, hidden)
        elif apart is not None and (apart / source.name).is_dir():
            hidden = apart / source.name
            found = tree.digest(hidden)
        else:
            return Problem(path, f"has no hidden files in {apart}")
        if found != facts.sealed:
            return Problem(path, "its hidden files are not those that were delivered: ask for them again")
        if links := [*_links(hidden)]:
            return Problem(path, f"its hidden file {links[0].file} {links[0].message}")
        tree.copy(source, to)
        for name in HIDDEN:
            if (to / name).exists():
                tree.remove(to / name)
            if (hidden / name).is_dir():
                tree.copy(hidden / name, to / name)
        return to


def _split(there: _Opened) -> Iterator[Problem]:
    """No group and no pair of near twins is on both sides, and the split is by what the manifest says."""
    facts, rules = there.manifest.tasks, there.manifest.split
    items = [item_of(task, rules.labels) for task in there.tasks.values()]
    for group in groups(items):
        sides = {name: facts[name].side for name in group}
        if len({*sides.values()}) > 1:
            one, two = (next(name for name, side in sides.items() if side == each) for each in ("train", "heldout"))
            yield Problem(MANIFEST, f"{one} and {two} share a label ({', '.join(rules.labels)}) across the split")
    for name, each in facts.items():
        if each.group in facts and facts[each.group].side != each.side:
            yield Problem(MANIFEST, f"{name} and {each.group} are one group, and on two sides")
    seen = [name for name in facts if (there.place(name) / "instruction.md").is_file()]
    sketches = {name: sketch(name, there.place(name)) for name in seen}
    train = [each for name, each in sketches.items() if facts[name].side == "train"]
    held = [each for name, each in sketches.items() if facts[name].side == "heldout"]
    for pair in crossing(held, train, rules.threshold):
        yield Problem(
            MANIFEST, f"{pair.one} and {pair.two} are near twins ({pair.likeness:.2f} by {pair.by}) across the split"
        )


async def _proved(there: _Opened, judge: JudgeOptions | None, provider: Provider | None) -> AsyncIterator[Problem]:
    for name, task in there.tasks.items():
        path = where(there.manifest, name)
        try:
            async for finding in check_task(task, judge=judge, provider=provider):
                if not finding.holds:
                    yield Problem(path, f"{finding.what}: {finding.message}", open=finding.holds is None)
        except InputError as error:
            yield Problem(path, f"can't be proved: {error}")
