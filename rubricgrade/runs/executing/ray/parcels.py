"""What travels to a node and back: files and JSON, never an object of somebody else's class."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rubricgrade import tree
from rubricgrade.episode.limits import End
from rubricgrade.episode.playing import Timing
from rubricgrade.episode.task import Task
from rubricgrade.errors import StoreError
from rubricgrade.readers import load_trajectory, write_trajectory
from rubricgrade.rubric import Rubric
from rubricgrade.trajectory import Trajectory

ARCHIVE = "workspace.tar.zst"


@dataclass(frozen=True, slots=True)
class TaskParcel:
    """A task's folder, packed."""

    id: str
    hash: str
    folder: bytes

    @classmethod
    def of(cls, task: Task) -> TaskParcel:
        """Pack a task."""
        return cls(task.id, task.hash, packed(task.folder))

    def open(self, scratch: Path) -> Task:
        """Unpack it below a folder.

        Raises:
            StoreError: It is not the task that was packed.
        """
        unpacked(self.folder, scratch / self.id)
        task = Task.load(scratch / self.id)
        _same(f"task {self.id}", task.hash, self.hash)
        return task


@dataclass(frozen=True, slots=True)
class RubricParcel:
    """A rubric as JSON, with the bytes of its sealed files."""

    hash: str
    text: str
    sealed: Mapping[str, bytes]

    @classmethod
    def of(cls, rubric: Rubric) -> RubricParcel:
        """Pack a rubric."""
        return cls(rubric.hash, rubric.model_dump_json(exclude_unset=True), dict(rubric.sealed))

    def open(self) -> Rubric:
        """Unpack it.

        Raises:
            StoreError: It is not the rubric that was packed.
        """
        rubric = Rubric.build(json.loads(self.text), self.sealed)
        _same(f"rubric {rubric.id}", rubric.hash, self.hash)
        return rubric


@dataclass(frozen=True, slots=True)
class TrajectoryParcel:
    """A trajectory as JSON; its workspace, as an archive or a packed folder; its world, packed."""

    text: bytes
    archive: bytes | None
    workspace: bytes | None
    world: bytes | None

    @classmethod
    def of(cls, trajectory: Trajectory) -> TrajectoryParcel:
        """Pack a trajectory."""
        with tempfile.TemporaryDirectory() as scratch:
            text = write_trajectory(trajectory.located(), scratch).read_bytes()
        workspace, world = trajectory.workspace, trajectory.world
        is_folder = workspace is not None and workspace.is_dir()
        return cls(
            text,
            archive=None if workspace is None or is_folder else workspace.read_bytes(),
            workspace=packed(workspace) if workspace is not None and is_folder else None,
            world=None if world is None else packed(world),
        )

    def open(self, scratch: Path) -> Trajectory:
        """Unpack it into a folder that is empty; its files lie there."""
        (scratch / "trajectory.json").write_bytes(self.text)
        if self.archive is not None:
            (scratch / ARCHIVE).write_bytes(self.archive)
        for name, folder in (("workspace", self.workspace), ("world", self.world)):
            if folder is not None:
                unpacked(folder, scratch / name)
        return load_trajectory(scratch)


@dataclass(frozen=True, slots=True)
class Played:
    """An episode: its trajectory with what it left, its grade as JSON, how it ended and how long it took."""

    trajectory: TrajectoryParcel
    grade: str
    end: End
    timing: Timing


@dataclass(frozen=True, slots=True)
class Graded:
    """A grade as JSON, and the questions that nobody could be asked, each told once."""

    grade: str
    unanswered: tuple[str, ...]


def packed(folder: Path) -> bytes:
    """A folder as one archive."""
    with tempfile.TemporaryDirectory() as scratch:
        archive = Path(scratch) / "packed"
        tree.pack(folder, archive)
        return archive.read_bytes()


def unpacked(data: bytes, folder: Path) -> None:
    """Lay what was packed out in a folder, which must not exist."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        archive = Path(scratch) / "packed"
        archive.write_bytes(data)
        tree.unpack(archive, folder)


def _same(what: str, found: str, wanted: str) -> None:
    if found != wanted:
        raise StoreError(f"{what} is not the same on the node: {found}, not {wanted}; have one version of rubricgrade")
