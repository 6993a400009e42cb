"""What speaks against tasks: a run's calibration, a red team, task quality, and what a person wrote down."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from rubricgrade.delivery.proofs import Tried
from rubricgrade.delivery.records import Reason, Removed
from rubricgrade.errors import Fault, InputError
from rubricgrade.misfits import first_misfit
from rubricgrade.quality import QualityReport
from rubricgrade.redteam import TaskReport
from rubricgrade.runs.calibration import BROKEN, FILE, Calibrated, Calibration
from rubricgrade.runs.manifest import read_manifest
from rubricgrade.runs.places import Where, place_of

_Report = TypeVar("_Report", bound=BaseModel)

PASSES = "the reference solution passes"
SPLIT = "votes of the judge split"
AGAIN = "was graded"


def calibrated(run: Where) -> Iterator[Tried]:
    """What a run's ``calibration.json`` says of each of its tasks; nothing when the run was not calibrated.

    A task that nobody solved is delivered if its reference passes: it is hard, not broken.

    Raises:
        InputError: The file can't be read.
    """
    place = place_of(run)
    data = place.read(FILE)
    if data is None:
        return
    try:
        made = Calibration.model_validate_json(data)
    except ValidationError as error:
        raise InputError(Fault(f"is no calibration: {first_misfit(error)}", f"{place}/{FILE}")) from None
    tasks = read_manifest(place).tasks
    for task in made.tasks:
        reason = _reason(task)
        against = None if reason is None else Removed(task=task.task, reason=reason, why="; ".join(task.reasons))
        known = tasks.get(task.task)
        yield Tried(task.task, "" if known is None else known.hash, "calibration", against)


def _reason(task: Calibrated) -> Reason | None:
    if task.decision == "drop":
        return "solved"
    broken = [reason for reason in task.reasons if reason.startswith(BROKEN)]
    if broken:
        return "flaky" if all(AGAIN in reason for reason in broken) else "broken"
    if any(reason.startswith(SPLIT) for reason in task.reasons):
        return "ambiguous"
    if task.decision == "keep" or PASSES in task.reasons:
        return None
    return "undecided"


def read_removed(file: Path) -> list[Removed]:
    """Read tasks to leave out, one JSON object a line: ``{"task": ..., "reason": ..., "why": ...}``.

    Raises:
        InputError: With the line of each fault.
    """
    found: list[Removed] = []
    faults: list[Fault] = []
    try:
        lines = file.read_bytes().splitlines()
    except OSError as error:
        raise InputError(Fault(f"can't be read: {error}", str(file))) from None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            found.append(Removed.model_validate(json.loads(line)))
        except ValueError as error:
            told = first_misfit(error) if isinstance(error, ValidationError) else str(error)
            faults.append(Fault(f"names no task with a reason and a why: {told}", str(file), number))
    if faults:
        raise InputError(faults)
    return found


def attacked(file: Path) -> list[Tried]:
    """What a red team's report says of each task; against those that it calls hackable.

    Args:
        file: What ``rubricgrade redteam --json`` has printed.

    Raises:
        InputError: It is no such report.
    """
    return [
        Tried(
            report.task,
            report.hash,
            "redteam",
            Removed(
                task=report.task,
                reason="hackable",
                why="; ".join(f"{each.attack} earns {_number(each.reward)}: {each.title}" for each in report.earned),
            )
            if report.hackable
            else None,
            open=bool(report.open_items) or any(each.outcome in ("open", "failed") for each in report.attacks),
        )
        for report in _reports(file, TaskReport, "rubricgrade redteam")
    ]


def _number(reward: float | None) -> str:
    return "no score, which is no zero" if reward is None else f"{reward:.4g}"


def examined(file: Path) -> list[Tried]:
    """What a report on task quality says of each task; the kind of doubt that counts most is the reason.

    Args:
        file: What ``rubricgrade task quality --json`` has printed.

    Raises:
        InputError: It is no such report.
    """
    return [
        Tried(
            report.task,
            report.hash,
            "quality",
            Removed(
                task=report.task,
                reason=report.kinds[0],
                why="; ".join(f"{each.kind}: {each.what}" for each in report.doubts),
            )
            if report.doubts
            else None,
            open=bool(report.undecided),
        )
        for report in _reports(file, QualityReport, "rubricgrade task quality")
    ]


def _reports(file: Path, kind: type[_Report], verb: str) -> list[_Report]:
    """What a verb printed about each task."""
    try:
        value = json.loads(file.read_bytes())
        return [kind.model_validate(each) for each in value["tasks"]]
    except OSError as error:
        raise InputError(Fault(f"can't be read: {error.strerror or error}", str(file))) from None
    except (ValueError, KeyError, TypeError) as error:
        told = first_misfit(error) if isinstance(error, ValidationError) else str(error)
        raise InputError(Fault(f"is not what `{verb} --json` prints: {told}", str(file))) from None
