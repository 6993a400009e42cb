"""``run.json``: what a run is made of, by content, so that it goes on with the same things that it began with."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rubricgrade.episode.limits import Limits
from rubricgrade.episode.site import template_hash
from rubricgrade.episode.stage import Agent
from rubricgrade.episode.task import Task
from rubricgrade.errors import Fault, InputError
from rubricgrade.misfits import first_misfit
from rubricgrade.runs.places import Where, place_of
from rubricgrade.version import __version__

FILE = "run.json"
SCHEMA = "rubricgrade.run/1"


class TaskFacts(BaseModel):
    """A task of a run.

    Attributes:
        path: Where it lay.
        hash: Of all that decides an episode and its grade.
        template: Of its sandbox template.
        rubric: Of its rubric.
        category: For reports.
        pass_mark: From which score an attempt counts as solved, above 0.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: str
    hash: str
    template: str
    rubric: str
    category: str = ""
    pass_mark: Annotated[float, Field(gt=0, le=1)] = 1.0


class Manifest(BaseModel):
    """What a run is made of.

    Attributes:
        run: Its name.
        agent: The agent's name with its settings.
        model: The agent's model.
        samples: Attempts per task.
        tasks: By id.
        limits: Of an episode.
        network: Whether tasks that ask for the internet get it.
        judge: The judge's model, if one was named.
        created: ISO 8601, UTC.
        versions: Of this package and of Python.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", serialize_by_alias=True)

    schema_: Literal["rubricgrade.run/1"] = Field(default=SCHEMA, alias="schema")
    run: str
    agent: str
    model: str
    samples: int
    tasks: dict[str, TaskFacts]
    limits: Limits
    network: bool = False
    judge: str | None = None
    created: str = ""
    versions: dict[str, str] = {}


def manifest_of(
    run: str,
    tasks: tuple[Task, ...],
    agent: Agent,
    *,
    samples: int,
    limits: Limits,
    network: bool = False,
    judge: str | None = None,
) -> Manifest:
    """The manifest of a run that is about to begin."""
    facts = {
        task.id: TaskFacts(
            path=str(task.folder),
            hash=task.hash,
            template=template_hash(task, network=network),
            rubric=task.rubric.hash,
            category=task.category,
            pass_mark=task.settings.pass_mark,
        )
        for task in tasks
    }
    return Manifest(
        run=run,
        agent=agent.name,
        model=agent.model,
        samples=samples,
        tasks=facts,
        limits=limits,
        network=network,
        judge=judge,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        versions={"rubricgrade": __version__, "python": platform.python_version()},
    )


def read_manifest(where: Where) -> Manifest:
    """The manifest of a run.

    Raises:
        InputError: There is none, or it can't be used.
        StoreError: It can't be read.
    """
    place = place_of(where)
    data = place.read(FILE)
    if data is None:
        raise InputError(Fault(f"is no run: there is no {FILE}", str(place)))
    try:
        return Manifest.model_validate_json(data)
    except ValidationError as error:
        raise InputError(Fault(f"can't be used: {first_misfit(error)}", f"{place}/{FILE}")) from None


def enter(where: Where, wanted: Manifest) -> Manifest:
    """Begin a run at a place, or go on with the one that is there.

    More attempts per task, and other limits of time and cost, may be asked of a run that goes on; anything else would
    mix two runs in one.

    Returns:
        The manifest in force.

    Raises:
        InputError: The run that is there is another one; says in what.
        StoreError: The place can't be read or written.
    """
    place = place_of(where)
    if place.read(FILE) is not None:
        there = read_manifest(place)
        if faults := _differences(there, wanted, f"{place}/{FILE}"):
            raise InputError(faults)
        wanted = there.model_copy(update={"samples": max(there.samples, wanted.samples), "limits": wanted.limits})
    place.write(FILE, (wanted.model_dump_json(indent=1) + "\n").encode())
    return wanted


def _differences(there: Manifest, wanted: Manifest, file: str) -> list[Fault]:
    faults: list[Fault] = []
    if there.agent != wanted.agent:
        faults.append(Fault(f"this run's agent is {there.agent!r}, not {wanted.agent!r}", file))
    if there.network != wanted.network:
        faults.append(Fault(f"this run has {'a' if there.network else 'no'} network", file))
    faults += [
        Fault(f"task {name} is only in {'this run' if name in there.tasks else 'what is asked now'}", file)
        for name in sorted(there.tasks.keys() ^ wanted.tasks.keys())
    ]
    both = sorted(there.tasks.keys() & wanted.tasks.keys())
    faults += [
        Fault(f"task {name} has changed since this run began", file)
        for name in both
        if there.tasks[name].hash != wanted.tasks[name].hash
    ]
    if faults:
        faults.append(Fault("begin another run in another folder, or put back what it was made of", file))
    return faults
