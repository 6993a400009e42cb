"""What lies at a path: a task, a rubric, a run. Told by names and by how a file begins, not by reading all of it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

HEAD = 1 << 16
READ = 64 << 20
LOOKED_AT = 20
"""Files of a folder that is none of ours."""

SCHEMA = re.compile(rb'"schema"\s*:\s*"rubricgrade\.([a-z-]+)/')
EMPTY = "an empty file"
ARCHIVES = ((b"PK\x03\x04", 0), (b"\x1f\x8b", 0), (b"\x28\xb5\x2f\xfd", 0), (b"7z\xbc\xaf", 0), (b"ustar", 257))
UTF16 = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of thing that the program reads.

    Attributes:
        one: With its article: ``a task``.
        many: ``tasks``.
        form: What it is on disk.
        verb: A command that takes it, with ``{}`` for its path.
        fits: Whether a path is one.
    """

    one: str
    many: str
    form: str
    verb: str
    fits: Callable[[Path], bool]


@dataclass(frozen=True, slots=True)
class Lying:
    """What lies at a path.

    Attributes:
        what: For people: ``a folder of 3 tasks``.
        kind: Its kind, or that of what lies in it; None for nothing that the program reads.
        inside: The things of that kind which lie in it, if it is none itself.
    """

    what: str
    kind: Kind | None = None
    inside: tuple[Path, ...] = ()


def _has(*names: str) -> Callable[[Path], bool]:
    return lambda path: any((path / name).is_file() for name in names)


def _is_rubric(path: Path) -> bool:
    if path.is_dir():
        return (path / "rubric.yaml").is_file()
    if schema_of(path):
        return False
    begun = re.search(rb"^(gates|criteria)\s*:", head(path), re.MULTILINE)
    return begun is not None or bool({"gates", "criteria"} & first_object(path))


def _is_graded(path: Path) -> bool:
    from rubricgrade.store.grades import grade_files, graded_folders

    return path.is_dir() and any(any(grade_files(folder)) for folder in graded_folders(path))


def _is_delivery(path: Path) -> bool:
    return schema_of(path / "manifest.json") == "delivery"


def _is_episode(path: Path) -> bool:
    """An episode's folder, or a file that a reader of trajectories understands."""
    if path.is_dir():
        return _has("trajectory.json", "agent/trajectory.json")(path)
    if schema_of(path) == "trajectory":
        return True
    if not first_object(path) or path.stat().st_size > READ:
        return False
    from rubricgrade.errors import TrajectoryError
    from rubricgrade.readers import load_trajectories

    try:
        load_trajectories(path, strict=False)
    except TrajectoryError:
        return False
    return True


def _begins_with(*keys: str, schema: str | None = None) -> Callable[[Path], bool]:
    return lambda path: path.is_file() and (schema_of(path) == schema or {*keys} <= first_object(path))


TASK = Kind("a task", "tasks", "a folder with a task.toml", "task check {}", _has("task.toml"))
RUN = Kind("a run", "runs", "a folder with a run.json", "score {}", _has("run.json"))
DELIVERY = Kind("a delivery", "deliveries", "a folder with a manifest.json", "deliver verify {}", _is_delivery)
TEMPLATE = Kind(
    "a sandbox template", "sandbox templates", "a folder with a sandbox.yaml, or a name", "sandbox build {}",
    _has("sandbox.yaml"),
)  # fmt: skip
RUBRIC = Kind(
    "a rubric", "rubrics", "a YAML file, the folder of a rubric.yaml, or a ready one's name", "lint {}", _is_rubric
)
GRADE = Kind(
    "a grade",
    "grades",
    "a file in an episode's grades/",
    "show {}",
    _begins_with("rubric", "status", "score", schema="grade"),
)
LINES = Kind(
    "the lines of a run", "lines of runs", "trajectories.jsonl in a run's folder", "grade RUBRIC {}",
    _begins_with("run", "task", "sample", "reward"),
)  # fmt: skip
VENDOR = Kind("a vendor's task", "vendor's tasks", "a folder with a task.yaml", "task import {} DIR", _has("task.yaml"))
ROWS = Kind(
    "rows of SWE-bench", "rows of SWE-bench", "JSON or JSON lines", "task import {} DIR",
    _begins_with("instance_id", "problem_statement"),
)  # fmt: skip
LABELS = Kind(
    "a file of labels", "labels", "JSON lines, see docs/judge.md", "agreement RUN --labels {}",
    _begins_with("trajectory", "criterion", "verdict", schema="label"),
)  # fmt: skip
VERDICTS = Kind(
    "a file of recorded verdicts", "recorded verdicts", "JSON lines", "grade RUBRIC TRAJECTORY --verdicts {}",
    _begins_with("question", "answer", schema="verdict"),
)  # fmt: skip
EPISODE = Kind(
    "a trajectory", "trajectories", "a file, or the folder of a trajectory.json", "grade RUBRIC {}", _is_episode
)
GRADED = Kind(
    "graded episodes", "graded episodes", "a folder of what `grade` or `run` has graded", "show {}", _is_graded
)

KINDS = (RUN, DELIVERY, TASK, VENDOR, RUBRIC, TEMPLATE, GRADE, LINES, ROWS, LABELS, VERDICTS, EPISODE)
"""In the order in which a path is asked: what holds other things comes before them."""


def lying_at(path: Path) -> Lying:
    """What lies at a path, which is there."""
    for kind in KINDS:
        if kind.fits(path):
            return Lying(kind.one, kind)
    return _folder(path) if path.is_dir() else _file(path)


def folders_of(kind: Kind, folder: Path) -> tuple[Path, ...]:
    """The folders in a folder that are of a kind, by name."""
    return tuple(each for each in _folders_in(folder) if kind.fits(each))


def _folders_in(folder: Path) -> Iterator[Path]:
    """Not the hidden ones: those are other programs'."""
    yield from sorted(each for each in folder.iterdir() if each.is_dir() and each.name[0] not in "._")


def _folder(path: Path) -> Lying:
    for kind in KINDS:
        if inside := folders_of(kind, path):
            what = f"a folder of {len(inside)} {kind.many}" if len(inside) > 1 else f"a folder with {kind.one} in it"
            return Lying(what, kind, inside)
    if GRADED.fits(path):
        return Lying(f"a folder of {GRADED.many}", GRADED)
    files = sorted(each for each in path.iterdir() if each.is_file())[:LOOKED_AT]
    for kind in (RUBRIC, GRADE, EPISODE):
        if first := next((each for each in files if kind.fits(each)), None):
            return Lying(f"a folder with {kind.one} in it", kind, (first,))
    return Lying("a folder of other things" if any(path.iterdir()) else "an empty folder")


def _file(path: Path) -> Lying:
    begins = head(path)
    if not begins:
        return Lying(EMPTY)
    if any(begins[at:].startswith(magic) for magic, at in ARCHIVES):
        return Lying("an archive")
    if b"\0" in begins and not begins.startswith(UTF16):
        return Lying("a file that is no text")
    return Lying("")


def head(path: Path) -> bytes:
    """How a file begins; nothing for what is no file or can't be read."""
    try:
        with path.open("rb") as file:
            return file.read(HEAD)
    except OSError:
        return b""


def schema_of(path: Path) -> str:
    """Which of our formats a JSON file says that it is of: ``grade``; empty for none."""
    found = SCHEMA.search(head(path)[:2048])
    return found[1].decode() if found else ""


def first_object(path: Path) -> set[str]:
    """The keys of the object that a JSON or JSONL file begins with, or holds in a list; empty for none."""
    begins = head(path).lstrip()
    if not begins.startswith((b"{", b"[")):
        return set()
    whole = len(begins) < HEAD or path.stat().st_size > READ
    for text in (begins.split(b"\n", 1)[0], begins if whole else path.read_bytes()):
        try:
            value: Any = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, list) and value:
            value = cast("list[Any]", value)[0]
        if isinstance(value, dict):
            return {str(key) for key in cast("dict[Any, Any]", value)}
    return set()
