"""Loading: a file's documents are recognised, read one by one, named apart, and told where their files lie."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, cast

from rubricgrade import digest
from rubricgrade.errors import Fault, TrajectoryError
from rubricgrade.readers import native
from rubricgrade.readers.episode import located, trajectory_file
from rubricgrade.readers.formats import FORMATS, Format
from rubricgrade.readers.inspect_log import read_zip
from rubricgrade.readers.shapes import as_list, as_object
from rubricgrade.readers.source import ZIP_MAGIC, Document, Source, read_bytes, read_documents, stem
from rubricgrade.trajectory import Trajectory
from rubricgrade.trajectory import Warning as Remark

LINES_LOOKED_AT = 200
FAULTS_SHOWN = 20
MESSAGES = "rubricgrade.from_messages(messages) makes a trajectory of messages"


def load_trajectory(
    path: str | PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 - the word for it
    strict: bool = True,
) -> Trajectory:
    """Load the one episode that a file or an episode's folder holds.

    Args:
        path: A file of any known format, or a folder with a ``trajectory.json``.
        format: The format's name, instead of recognising it by its content.
        strict: As in `load_trajectories`.

    Returns:
        The trajectory, with its workspace and world when they lie beside a ``trajectory.json``.

    Raises:
        TrajectoryError: It can't be read, or holds several episodes.
    """
    trajectories = load_trajectories(path, format=format, strict=strict)
    if len(trajectories) > 1:
        what = f"holds {len(trajectories)} episodes, and one is wanted"
        message = f"{what}: put it into a file of its own (in Python load_trajectories reads all)"
        raise TrajectoryError(Fault(message, str(path), code="TR006"))
    return trajectories[0]


def load_trajectories(
    path: str | PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 - the word for it
    strict: bool = True,
) -> list[Trajectory]:
    """Load every episode that a file holds, at least one.

    Args:
        path: A file of any known format (JSON, JSONL, an Inspect log), or an episode's folder.
        format: The format's name, instead of recognising it by its content.
        strict: Whether anything unreadable is an error. If not, what can be read is given, and each trajectory has a
            warning that says what could not.

    Returns:
        In the order of the file, with ids that differ.

    Raises:
        TrajectoryError: With every fault of the file: line, place in it, reason.
    """
    file = trajectory_file(_path(path))
    data = read_bytes(file)
    source = read_zip(file, data) if data.startswith(ZIP_MAGIC) else read_documents(file, data)
    trajectories = _read(source, format)
    if not trajectories and not source.faults:
        source.fault("holds no episodes", code="TR002")
    if source.faults and (strict or not trajectories):
        raise TrajectoryError(source.faults + _orphans(trajectories, str(file)))
    if len(trajectories) == 1:
        trajectories = [located(trajectories[0], file, source.documents[0].value)]
    return _told(_distinct(trajectories), source.faults)


def _path(given: object) -> Path:
    if not isinstance(given, str | PathLike):
        raise TrajectoryError(f"a path is wanted, not {type(given).__name__}; {MESSAGES}")
    return Path(cast("str | PathLike[str]", given))


def read_trajectory(
    value: Any,
    *,
    file: str = "trajectory",
    format: str | None = None,  # noqa: A002 - the word for it
    notes: tuple[str, ...] = (),
) -> Trajectory:
    """Read the one episode that a JSON value holds which came from no file; nothing on disk is looked at.

    Args:
        value: As `jsontext.parse` gives it.
        file: What to call it in messages.
        format: The format's name, instead of recognising it by its content.
        notes: What was changed while parsing.

    Raises:
        TrajectoryError: With every fault, or it holds several episodes.
    """
    source = Source(Path(file))
    name = "episode" if native.matches(value) else f"episode-{digest.of_value(value).removeprefix('sha256:')[:12]}"
    source.documents.append(Document(value, name, notes=notes))
    trajectories = _read(source, format)
    if len(trajectories) != 1 and not source.faults:
        source.fault(f"holds {len(trajectories)} episodes, not one", code="TR006")
    if source.faults:
        raise TrajectoryError(source.faults)
    return trajectories[0]


def _read(source: Source, name: str | None) -> list[Trajectory]:
    """The episodes of all documents; faults go to the source."""
    wanted = _wanted(name)
    if source.lines and (together := _line_format(source.documents, wanted)) is not None:
        notes = tuple(f"line {one.line}: {note}" for one in source.documents for note in one.notes)
        whole = Document(None, stem(source.file), file=source.file, notes=notes)
        return _gather(source, whole, lambda: together(source.documents))
    trajectories: list[Trajectory] = []
    for document in source.documents:
        for part in _episodes(document, wanted):
            found = _format_of(part.value, wanted)
            if found is None or found.read is None:
                source.fault(_unknown(part, name), line=part.line, code="TR002")
                continue
            read = found.read
            trajectories += _gather(source, part, lambda read=read, part=part: read(part))
    return trajectories


def _gather(source: Source, document: Document, read: Callable[[], list[Trajectory]]) -> list[Trajectory]:
    """Read one document; its faults get the file's name and line, its warnings their place."""
    try:
        trajectories = read()
    except TrajectoryError as error:
        prefix = f"{document.path}: " if document.path else ""
        for fault in error.faults:
            source.fault(prefix + fault.message, line=fault.line or document.line, code=fault.code)
        return []
    notes = tuple(Remark(place=document.where, message=note, code="json") for note in document.notes)
    return [
        trajectory.model_copy(
            update={"warnings": tuple(_placed(remark, document.where) for remark in trajectory.warnings) + notes}
        )
        for trajectory in trajectories
    ]


def _placed(remark: Remark, where: str) -> Remark:
    if not where:
        return remark
    return remark.model_copy(update={"place": f"{where}: {remark.place}" if remark.place else where})


def _wanted(name: str | None) -> tuple[Format, ...]:
    if name is None:
        return FORMATS
    wanted = tuple(each for each in FORMATS if each.name == name)
    if not wanted:
        known = ", ".join(sorted({each.name for each in FORMATS}))
        raise TrajectoryError(Fault(f"there is no format {name!r}; known are {known}", code="TR002"))
    return wanted


def _line_format(
    documents: list[Document], wanted: tuple[Format, ...]
) -> Callable[[list[Document]], list[Trajectory]] | None:
    """The reader of a format that writes one event on each line, if the first lines hold such events."""
    for each in wanted:
        if each.read_lines is not None and any(each.matches(one.value) for one in documents[:LINES_LOOKED_AT]):
            return each.read_lines
    return None


def _episodes(document: Document, wanted: tuple[Format, ...]) -> list[Document]:
    """The document, or one for each episode when it holds several."""
    found = _format_of(document.value, wanted)
    if found is not None:
        return [document] if found.split is None else found.split(document)
    if (fields := as_object(document.value)) is not None:
        return _contained(document, fields, wanted)
    if not _hold_episodes(document.value, wanted):
        return [document]
    entries = [
        replace(
            document,
            value=entry,
            path=f"{document.path}[{index}]",
            name=f"{document.name}-{index}",
            notes=document.notes if index == 0 else (),
        )
        for index, entry in enumerate(as_list(document.value) or [])
    ]
    return [part for entry in entries for part in _split(entry, wanted)]


def _contained(document: Document, fields: dict[str, Any], wanted: tuple[Format, ...]) -> list[Document]:
    """The episodes of an object that is none itself but holds a list of them."""
    name = next((name for name, value in fields.items() if _hold_episodes(value, wanted)), None)
    if name is None:
        return [document]
    beside = ", ".join(sorted(str(key)[:40] for key in fields if key != name))
    notes = (*document.notes, f"left out what stands beside {name!r}: {beside}") if beside else document.notes
    return _episodes(replace(document, value=fields[name], path=f"{document.path}{name}", notes=notes), wanted)


def _hold_episodes(value: Any, wanted: tuple[Format, ...]) -> bool:
    return any(_format_of(entry, wanted) for entry in (as_list(value) or [])[:LINES_LOOKED_AT])


def _split(entry: Document, wanted: tuple[Format, ...]) -> list[Document]:
    found = _format_of(entry.value, wanted)
    return [entry] if found is None or found.split is None else found.split(entry)


def _format_of(value: Any, wanted: tuple[Format, ...]) -> Format | None:
    if len(wanted) == 1 and wanted[0].read is not None and as_list(value) is None:
        return wanted[0]
    return next((each for each in wanted if each.read is not None and each.matches(value)), None)


def _unknown(document: Document, name: str | None) -> str:
    prefix = f"{document.path}: " if document.path else ""
    if document.value in ([], {}):
        return f"{prefix}is empty: no messages; a trajectory has at least one"
    if name is not None:
        return f"{prefix}does not look like a trajectory of format {name!r}"
    known = ", ".join(dict.fromkeys(each.name for each in FORMATS))
    return f"{prefix}is JSON, but no trajectory of a known format ({known}); convert it to a list of chat messages"


def _distinct(trajectories: list[Trajectory]) -> list[Trajectory]:
    """The same trajectories with ids that differ; a renamed one says so."""
    taken = {trajectory.id for trajectory in trajectories}
    seen: set[str] = set()
    counts: dict[str, int] = {}
    result: list[Trajectory] = []
    for trajectory in trajectories:
        name = trajectory.id
        if name in seen:
            while name in taken:
                counts[trajectory.id] = counts.get(trajectory.id, 1) + 1
                name = f"{trajectory.id[:180]}-{counts[trajectory.id]}"
            taken.add(name)
            remark = Remark(place="", message=f"id {trajectory.id!r} stands twice in the file; renamed", code="id")
            changes = {"id": name, "warnings": (*trajectory.warnings, remark)}
            result.append(trajectory.model_copy(update=changes))
        else:
            result.append(trajectory)
        seen.add(name)
    return result


def _told(trajectories: list[Trajectory], faults: list[Fault]) -> list[Trajectory]:
    """The same trajectories, each with a warning for what of the file could not be read."""
    if not faults:
        return trajectories
    shown = tuple(
        Remark(place=f"line {fault.line}" if fault.line else "", message=f"not read: {fault.message}", code="not_read")
        for fault in faults[:FAULTS_SHOWN]
    )
    if len(faults) > FAULTS_SHOWN:
        more = f"{len(faults) - FAULTS_SHOWN} more faults of the file are not listed"
        shown += (Remark(place="", message=more, code="not_read"),)
    return [one.model_copy(update={"warnings": one.warnings + shown}) for one in trajectories]


def _orphans(trajectories: list[Trajectory], file: str) -> list[Fault]:
    """What else is odd in a file that can't be used as it is, so that it can be mended at one go."""
    return [
        Fault(str(remark), file, code="TR007")
        for trajectory in trajectories
        for remark in trajectory.warnings
        if remark.code == "orphan_result"
    ]
