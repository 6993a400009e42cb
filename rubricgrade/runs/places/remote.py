"""A run in a store without append and without locks, reached by fsspec.

``trajectories/<task>/<sample>.jsonl`` holds one line, created only if it is not there: whoever creates it has made the
attempt. Its files were put before into a folder that nobody else uses and that the line names.
"""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from pydantic import ValidationError

from rubricgrade import tree
from rubricgrade.errors import Fault, InputError, StoreError
from rubricgrade.misfits import first_misfit
from rubricgrade.result import Grade
from rubricgrade.runs.lines import Line, jsonl_of
from rubricgrade.runs.places.filesystem import FileSystem, opened, shown, store_errors
from rubricgrade.store.grades import FOLDER, NAME, grade_stem, parse_grade

PARTS = "trajectories"
PACKED = ".tar.zst"
WORLD = "world"
FILES = ("trajectory.json", "workspace.tar.zst", WORLD + PACKED)
"""What is fetched of an attempt: never a name that only the store's listing knows."""


@dataclass(frozen=True, slots=True)
class RemotePlace:
    """See `contract.Place`.

    Attributes:
        files: The store.
        root: Its path in there.
        url: Fit to be shown.
    """

    files: FileSystem = field(repr=False)
    root: str = field(repr=False)
    url: str
    _known: dict[str, Line] = field(default_factory=dict[str, Line], repr=False, compare=False)

    @classmethod
    def of(cls, url: str) -> Self:
        """The place of a URL. Nothing is contacted.

        Raises:
            InputError: The URL can't be used.
            MissingExtraError: What it needs is not installed.
        """
        files, root = opened(url)
        root = root.rstrip("/")
        if not root.strip("/"):
            raise InputError(Fault("names no folder: a run needs one of its own", shown(url)))
        return cls(files, root, shown(url).rstrip("/"))

    def __str__(self) -> str:
        return self.url

    @property
    def name(self) -> str:
        """See `contract.Place`."""
        return self.root.rpartition("/")[2]

    def below(self, path: str) -> Self:
        """See `contract.Place`."""
        return self if path == "." else type(self)(self.files, f"{self.root}/{path}", f"{self.url}/{path}")

    def read(self, name: str) -> bytes | None:
        """See `contract.Place`."""
        try:
            with store_errors(f"can't read {self.url}/{name}", but=(FileNotFoundError,)):
                return self.files.cat_file(f"{self.root}/{name}")
        except FileNotFoundError:
            return None

    def write(self, name: str, data: bytes) -> None:
        """See `contract.Place`."""
        with store_errors(f"can't write {self.url}/{name}"):
            self.files.pipe_file(f"{self.root}/{name}", data)

    def lines(self) -> list[Line]:
        """See `contract.Place`; in the order of tasks and samples. A line never changes, so each is fetched once."""
        with store_errors(f"can't read {self.url}/{PARTS}"):
            new = [path for path in self._found(PARTS) if path.endswith(".jsonl") and path not in self._known]
            fetched = self._fetched(new)
        for path, data in fetched.items():
            if _is_whole(data):
                self._known[path] = _line(data, path)
        return sorted(self._known.values(), key=lambda line: line.key)

    def has(self, task: str, sample: int) -> bool:
        """See `contract.Place`."""
        return _is_whole(self.read(_part(task, sample)))

    @contextmanager
    def claim(self, task: str, sample: int) -> Generator[RemoteClaim | None]:
        """See `contract.Place`. Two machines may make the same attempt at once; the first line counts."""
        with tempfile.TemporaryDirectory(prefix="rubricgrade-attempt-") as scratch:
            yield RemoteClaim(self, Path(scratch), _part(task, sample))

    @contextmanager
    def episode(self) -> Generator[Path]:
        """See `contract.Place`."""
        with tempfile.TemporaryDirectory(prefix="rubricgrade-episode-") as scratch:
            folder = Path(scratch)
            with store_errors(f"can't read {self.url}"):
                for name in FILES:
                    self._fetch(name, folder / name)
            packed = folder / (WORLD + PACKED)
            if packed.exists():
                tree.unpack(packed, folder / WORLD)
                packed.unlink()
            yield folder

    def write_grade(self, grade: Grade) -> str:
        """See `contract.Place`. Numbers go on over all grades of an attempt, so that the highest is the current one."""
        stem, data = grade_stem(grade), grade.to_json().encode()
        with store_errors(f"can't write a grade into {self.url}/{FOLDER}"):
            number = max(map(_number, self._found(FOLDER)), default=0)
            while True:
                number += 1
                name = f"{FOLDER}/{stem}-{number}.json"
                try:
                    self.files.pipe_file(f"{self.root}/{name}", data, mode="create")
                except FileExistsError:
                    continue
                return f"{self.url}/{name}"

    def grades(self, paths: Sequence[str]) -> list[Grade | None]:
        """See `contract.Place`: one listing, then all files at once."""
        latest: dict[str, str] = {}
        with store_errors(f"can't read grades in {self.url}"):
            for path in self._found(""):
                folder = path.rpartition(f"/{FOLDER}/")[0]
                if _number(path) and _order(path) > _order(latest.get(folder, "")):
                    latest[folder] = path
            homes = [self.below(path).root for path in paths]
            fetched = self._fetched([latest[home] for home in homes if home in latest])
        return [parse_grade(fetched[latest[home]], latest[home]) if home in latest else None for home in homes]

    def history(self, path: str) -> list[Grade]:
        """See `contract.Place`."""
        home = self.below(path)
        with store_errors(f"can't read grades in {home.url}"):
            files = sorted(filter(_number, self.files.find(f"{home.root}/{FOLDER}")), key=_order)
            fetched = self._fetched(files)
        return [parse_grade(fetched[file], file) for file in files]

    def graded(self) -> list[str]:
        """See `contract.Place`: in a run the attempts that have a line, elsewhere the folders with grades."""
        if self.read("run.json") is not None:
            return [line.home for line in self.lines()]
        with store_errors(f"can't read {self.url}"):
            homes = {path.rpartition(f"/{FOLDER}/")[0] for path in self._found("") if _number(path)}
        return sorted(home.removeprefix(self.root).lstrip("/") or "." for home in homes)

    def check_writable(self) -> None:
        """See `contract.Place`: only that it can be reached; a store says no more without being written to."""
        try:
            with store_errors(f"can't reach {self.url}"):
                self.files.find(f"{self.root}/{FOLDER}")
        except StoreError as error:
            raise InputError(str(error)) from error

    def _found(self, path: str) -> list[str]:
        return self.files.find(f"{self.root}/{path}".rstrip("/"))

    def _fetched(self, paths: Sequence[str]) -> dict[str, bytes]:
        whole = [None] * len(paths)
        return dict(zip(paths, self.files.cat_ranges(paths, whole, whole, on_error="raise"), strict=True))

    def _fetch(self, name: str, to: Path) -> None:
        try:
            self.files.get_file(f"{self.root}/{name}", str(to))
        except FileNotFoundError:
            to.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class RemoteClaim:
    """See `contract.Claim`: the files are made here and put there when they are complete."""

    run: RemotePlace
    folder: Path
    part: str

    def keep(self, line: Line) -> Line | None:
        """See `contract.Claim`."""
        line = line.model_copy(update={"folder": f"{line.sample}-{secrets.token_hex(8)}"})
        home = self.run.below(line.home)
        with store_errors(f"can't write {home.url}"):
            put = list(self._put(home))
            if self._commit(line):
                return line
            for path in put:
                self.run.files.rm_file(path)
        return None

    def _put(self, home: RemotePlace) -> Iterator[str]:
        for file in sorted(self.folder.iterdir()):
            if file.name == FOLDER:
                for grade in sorted(file.iterdir()):
                    yield self._put_file(grade, f"{home.root}/{FOLDER}/{grade.name}")
            elif file.is_dir():
                # A store has no empty folders, and not every name.
                packed = self.folder / (file.name + PACKED)
                tree.pack(file, packed)
                yield self._put_file(packed, f"{home.root}/{packed.name}")
            else:
                yield self._put_file(file, f"{home.root}/{file.name}")

    def _put_file(self, file: Path, path: str) -> str:
        self.run.files.put_file(str(file), path)
        return path

    def _commit(self, line: Line) -> bool:
        """Create the line; whether it was us."""
        path, data = f"{self.run.root}/{self.part}", jsonl_of([line])
        try:
            self.run.files.pipe_file(path, data, mode="create")
        except FileExistsError:
            if _is_whole(self.run.read(self.part)):
                return False
            # On a store that does not write whole files only: what a killed writer has left of a line.
            self.run.files.pipe_file(path, data)
        return True


def _part(task: str, sample: int) -> str:
    return f"{PARTS}/{task}/{sample}.jsonl"


def _is_whole(data: bytes | None) -> bool:
    return data is not None and data.endswith(b"\n")


def _line(data: bytes, path: str) -> Line:
    try:
        return Line.model_validate_json(data)
    except ValidationError as error:
        raise StoreError(f"{path}:1: is no line of a run: {first_misfit(error)}") from None


def _number(path: str) -> int:
    """The number of a grade's file; 0 for any other file."""
    folder, _, name = path.rpartition("/")
    match = NAME.match(name)
    return int(match["number"]) if match and folder.endswith(f"/{FOLDER}") else 0


def _order(path: str) -> tuple[int, str]:
    return _number(path), path
