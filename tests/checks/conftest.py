"""Checks are run for real: in the sandboxes of the default provider, on a workspace written for the test."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from rubricgrade.checks import Bench, Outcome
from rubricgrade.rubric import Rubric
from rubricgrade.sandbox import Provider, Template, default_provider
from rubricgrade.trajectory import Call, Step, Text, Trajectory

Files = Mapping[str, str | bytes]


@dataclass(frozen=True)
class Episode:
    """What a test lets an agent have left. `prepare` does to the workspace what no plain file can express."""

    files: Files | None = field(default_factory=dict[str, "str | bytes"])
    world: Files | None = None
    steps: tuple[Step, ...] = ()
    prepare: Callable[[Path], None] | None = None
    artifacts: tuple[str, ...] = ()


@pytest.fixture(scope="session")
def provider() -> Provider:
    return default_provider()


def write(folder: Path, files: Files) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for path, data in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data.encode() if isinstance(data, str) else data)
    return folder


def message(role: str, text: str = "", *calls: Call, answers: tuple[int, int] | None = None) -> Step:
    content = (Text(text=text),) if text else ()
    return Step.model_validate({"role": role, "content": content, "calls": calls, "answers": answers})


def located(episode: Episode, folder: Path) -> Trajectory:
    steps = (message("user", "Do it."), *episode.steps)
    workspace = write(folder / "workspace", episode.files) if episode.files is not None else None
    if workspace is not None and episode.prepare is not None:
        episode.prepare(workspace)
    world = write(folder / "world", episode.world) if episode.world is not None else None
    return Trajectory(id="t", steps=steps, artifacts=episode.artifacts).located(workspace=workspace, world=world)


def rubric_of(checks: Sequence[Mapping[str, Any]], sealed: Files, **data: Any) -> Rubric:
    gates = [{"id": f"g{number}", "description": "d", "check": check} for number, check in enumerate(checks)]
    sealed_bytes = {path: text.encode() if isinstance(text, str) else text for path, text in sealed.items()}
    return Rubric.build({"id": "r", "gates": gates, **data}, sealed_bytes)


@dataclass(frozen=True)
class Ask:
    """Runs checks on an episode; each comes back as its outcome."""

    provider: Provider

    def all(
        self,
        checks: Sequence[Mapping[str, Any]],
        files: Files | None = None,
        *,
        sealed: Files | None = None,
        episode: Episode | None = None,
        template: Template | None = None,
        **data: Any,
    ) -> list[Outcome]:
        chosen = episode or Episode(files=files or {})
        rubric = rubric_of(checks, sealed or {}, **data)

        async def run() -> list[Outcome]:
            async with Bench(trajectory, rubric, self.provider, template) as bench:
                runs = [bench.run(gate.check) for gate in rubric.gates if not isinstance(gate.check, str)]
                return list(await asyncio.gather(*runs))

        with tempfile.TemporaryDirectory() as folder:
            trajectory = located(chosen, Path(folder))
            return asyncio.run(run())

    def one(self, check: Mapping[str, Any], files: Files | None = None, **settings: Any) -> Outcome:
        return self.all([check], files, **settings)[0]


@pytest.fixture(scope="session")
def ask(provider: Provider) -> Ask:
    return Ask(provider)


def cases(*items: Mapping[str, Any]) -> dict[str, str]:
    return {"cases.json": json.dumps(items)}
