"""Which tasks are left out, and why: by a run's calibration, and by what was found in other ways."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from rubricgrade.delivery.records import Reason, Removed
from rubricgrade.errors import Fault, InputError
from rubricgrade.quality import QualityReport
from rubricgrade.redteam import TaskReport
from rubricgrade.runs.calibration import BROKEN, FILE, Calibrated, Calibration
from rubricgrade.runs.places import Where, place_of

_Report = TypeVar("_Report", bound=BaseModel)

PASSES = "the reference solution passes"
SPLIT = "votes of the judge split"
AGAIN = "was graded"


def decided(run: Where) -> Iterator[Removed]:
    """What a run's ``calibration.json`` speaks against; nothing when the run was not calibrated.

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
        raise InputError(Fault(f"is no calibration: {error.errors()[0]['msg']}", f"{place}/{FILE}")) from None
    for task in made.tasks:
        reason = _reason(task)
        if reason is not None:
            yield Removed(task=task.task, reason=reason, why="; ".join(task.reasons))


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
        lines = file.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(Fault(f"can't be read: {error}", str(file))) from None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            found.append(Removed.model_validate(json.loads(line)))
        except ValueError as error:
            told = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
            faults.append(Fault(f"names no task with a reason and a why: {told}", str(file), number))
    if faults:
        raise InputError(faults)
    return found


def hackable(file: Path) -> list[Removed]:
    """The tasks that a red team's report calls hackable.

    Args:
        file: What ``rubricgrade redteam --json`` has printed.

    Raises:
        InputError: It is no such report.
    """
    reports = _reports(file, TaskReport, "rubricgrade redteam")
    return [
        Removed(
            task=report.task,
            reason="hackable",
            why="; ".join(f"{each.attack} earns {_number(each.reward)}: {each.title}" for each in report.earned),
        )
        for report in reports
        if report.hackable
    ]


def _number(reward: float | None) -> str:
    return "no score, which is no zero" if reward is None else f"{reward:.4g}"


def doubted(file: Path) -> list[Removed]:
    """The tasks that something speaks against, each with the kind of doubt that counts most as its reason.

    Args:
        file: What ``rubricgrade task quality --json`` has printed.

    Raises:
        InputError: It is no such report.
    """
    return [
        Removed(
            task=report.task,
            reason=report.kinds[0],
            why="; ".join(f"{each.kind}: {each.what}" for each in report.doubts),
        )
        for report in _reports(file, QualityReport, "rubricgrade task quality")
        if report.doubts
    ]


def _reports(file: Path, kind: type[_Report], verb: str) -> list[_Report]:
    """What a verb printed about each task."""
    try:
        value = json.loads(file.read_bytes())
        return [kind.model_validate(each) for each in value["tasks"]]
    except OSError as error:
        raise InputError(Fault(f"can't be read: {error.strerror or error}", str(file))) from None
    except (ValueError, KeyError, TypeError) as error:
        told = str(error)
        if isinstance(error, ValidationError):
            first = error.errors(include_url=False)[0]
            told = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        raise InputError(Fault(f"is not what `{verb} --json` prints: {told}", str(file))) from None
