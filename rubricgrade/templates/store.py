"""Where built templates lie: a private folder of the user's, an entry per hash. What is in it is never changed.

An entry appears by a rename, so that it is there whole or not at all. Every hash has a lock file: whoever builds or
removes holds it alone, whoever has forks holds it together with others.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import secrets
import stat
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rubricgrade import tree
from rubricgrade.errors import StoreError
from rubricgrade.misfits import first_misfit
from rubricgrade.sandbox import Layer, Limits, Template

MANIFEST = "template.json"
PAUSE = 0.05
"""Seconds between two tries to get a lock that somebody else holds."""


class StoredLayer(BaseModel):
    """A layer of a built template.

    Attributes:
        folder: Relative to its entry.
        target: Where it appears.
        mode: As in `sandbox.Layer`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    folder: str
    target: str
    mode: Literal["read", "overlay"]


class Built(BaseModel):
    """What a store knows about a template: the text of its ``template.json``.

    Attributes:
        name: For people.
        description: For people.
        digest: Its hash, which names its entry.
        base: What decided the base; see `identity`.
        image: The container image that it lies on, if it does.
        layers: Lowest first.
        env: Environment of every process.
        workdir: Where processes start.
        limits: Of each fork.
        network: Of each fork.
        allow: Hosts that each fork may reach through a proxy.
        upper: Where a fork's changes live.
        owner: Kernel user who can change a fork's copy of the layers; None for the store's own user.
        built: When, as ISO 8601.
        notes: What somebody should know who relies on it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", validate_by_name=True, serialize_by_alias=True)

    schema_: Literal["rubricgrade.template/1"] = Field(default="rubricgrade.template/1", alias="schema")
    name: str
    description: str = ""
    digest: str
    base: dict[str, Any]
    image: str = ""
    layers: tuple[StoredLayer, ...] = ()
    env: dict[str, str] = {}
    workdir: str
    limits: dict[str, int | float]
    network: Literal["none", "host"] = "none"
    allow: tuple[str, ...] = ()
    upper: Literal["memory", "disk"] = "memory"
    owner: int | None = None
    built: str = ""
    notes: tuple[str, ...] = ()

    def template(self, entry: Path) -> Template:
        """The template that it describes, with its layers in an entry's folder."""
        return Template(
            name=self.name,
            digest=self.digest,
            layers=tuple(Layer(entry / layer.folder, layer.target, layer.mode) for layer in self.layers),
            env=dict(self.env),
            workdir=self.workdir,
            limits=Limits(**self.limits),  # type: ignore[arg-type]
            network=self.network,
            allow=self.allow,
            upper=self.upper,
            image=self.image,
        )


def default_folder() -> Path:
    """The user's own store: ``$RUBRICGRADE_TEMPLATES``, else below ``$XDG_CACHE_HOME`` or ``~/.cache``.

    Raises:
        StoreError: The user has no home.
    """
    if named := os.environ.get("RUBRICGRADE_TEMPLATES"):
        return Path(named)
    cache = os.environ.get("XDG_CACHE_HOME", "")
    try:
        base = Path(cache) if Path(cache).is_absolute() else Path.home() / ".cache"
    except RuntimeError as error:
        raise StoreError(f"no folder for templates: {error}; set RUBRICGRADE_TEMPLATES") from error
    return base / "rubricgrade" / "templates"


class Store:
    """A store of built templates.

    Attributes:
        folder: Where it lies; made, for this user alone, when something is put in.
    """

    def __init__(self, folder: Path | None = None) -> None:
        """Name a store; nothing is touched yet.

        Args:
            folder: Default: the user's own, see `default_folder`.

        Raises:
            StoreError: There is no default.
        """
        self.folder = (default_folder() if folder is None else folder).absolute()

    def entry(self, digest: str) -> Path:
        """The folder of a template, there or not."""
        return self.folder / _hex(digest)

    def find(self, digest: str) -> Built | None:
        """What is known about a template; None if it is not here.

        Raises:
            StoreError: Its entry is damaged, or somebody else could have put it there.
        """
        file = self.entry(digest) / MANIFEST
        try:
            built = Built.model_validate_json(file.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValidationError) as error:
            told = first_misfit(error) if isinstance(error, ValidationError) else error
            raise StoreError(f"the template in {file.parent} is damaged ({told}); remove that folder") from error
        self._require_private()
        return built

    def all(self) -> list[Built]:
        """All templates, by name and then the newest first.

        Raises:
            StoreError: An entry is damaged.
        """
        found = [self.find(file.parent.name) for file in self.folder.glob(f"[0-9a-f]*/{MANIFEST}")]
        newest = sorted((each for each in found if each), key=lambda each: each.built, reverse=True)
        return sorted(newest, key=lambda each: each.name)

    @asynccontextmanager
    async def use(self, digest: str) -> AsyncGenerator[Template | None]:
        """A template that stays as long as the block runs: close all forks inside. None if it is not here.

        Raises:
            StoreError: Its entry is damaged.
        """
        if self.find(digest) is None:
            yield None
            return
        async with self._locked(digest, fcntl.LOCK_SH):
            found = self.find(digest)
            yield None if found is None else found.template(self.entry(digest))

    @asynccontextmanager
    async def making(self, digest: str) -> AsyncGenerator[Path | None]:
        """The right to make a template: an empty folder to make it in, or None when somebody has made it meanwhile.

        Call `put` inside; otherwise everything is removed again.

        Raises:
            StoreError: The store can't be written to, or is not private to this user.
        """
        self._prepare()
        # Whoever has made it meanwhile may use it already, for as long as a run takes: that is not waited for.
        async with self._locked(digest, fcntl.LOCK_EX, unless=lambda: self.find(digest) is not None) as held:
            if not held or self.find(digest) is not None:
                yield None
                return
            self._sweep(digest)
            scratch = self.folder / f".making-{_hex(digest)}-{secrets.token_hex(4)}"
            scratch.mkdir(mode=0o755)
            try:
                yield scratch
            finally:
                await asyncio.shield(asyncio.to_thread(tree.remove, scratch))

    def put(self, scratch: Path, built: Built) -> None:
        """Make what lies in a folder of `making` a template of the store."""
        text = json.dumps(built.model_dump(mode="json"), indent=2, ensure_ascii=True)
        (scratch / MANIFEST).write_text(text + "\n")
        scratch.rename(self.entry(built.digest))

    def remove(self, digest: str) -> bool:
        """Remove a template; False when somebody has forks of it."""
        lock = self._lock_file(digest)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        else:
            gone = self.folder / f".making-{_hex(digest)}-{secrets.token_hex(4)}"
            self.entry(digest).rename(gone)
            tree.remove(gone)
            return True
        finally:
            os.close(lock)

    def reap(self) -> int:
        """Remove what builders that were killed have left; returns how many folders."""
        count = 0
        for digest in {folder.name.split("-")[1] for folder in self.folder.glob(".making-*")}:
            lock = self._lock_file(digest)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                count += self._sweep(digest)
            except BlockingIOError:
                continue
            finally:
                os.close(lock)
        return count

    def _sweep(self, digest: str) -> int:
        """Remove what builders of a template have left; whoever calls holds its lock."""
        left = list(self.folder.glob(f".making-{_hex(digest)}-*"))
        for folder in left:
            tree.remove(folder)
        return len(left)

    @asynccontextmanager
    async def _locked(self, digest: str, kind: int, unless: Callable[[], bool] = lambda: False) -> AsyncGenerator[bool]:
        """A lock on a template; whether it is held, since it is not waited for once `unless` is true."""
        lock = self._lock_file(digest)
        try:
            while not (held := _got(lock, kind)) and not unless():  # noqa: ASYNC110  # another process lets go of it
                await asyncio.sleep(PAUSE)
            yield held
        finally:
            os.close(lock)

    def _lock_file(self, digest: str) -> int:
        try:
            return os.open(self.folder / f".lock-{_hex(digest)}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StoreError(f"the template store {self.folder} can't be used: {error.strerror}") from error

    def _prepare(self) -> None:
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"the template store {self.folder} can't be made: {error.strerror}") from error
        self._require_private()

    def _require_private(self) -> None:
        status = self.folder.stat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o022:
            raise StoreError(f"{self.folder} is no folder that only this user can write to; name another one")


def _got(lock: int, kind: int) -> bool:
    try:
        fcntl.flock(lock, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _hex(digest: str) -> str:
    """The name of an entry. Raises `ValueError` for what is no hash: it may come from a trajectory."""
    name = digest.removeprefix("sha256:")
    if len(name) != 64 or not set(name) <= set("0123456789abcdef"):  # noqa: PLR2004  # hex digits of SHA-256
        raise ValueError(f"not a hash: {digest[:100]!r}")
    return name


def matching(built: list[Built], wanted: str) -> Iterator[Built]:
    """The templates of this name, or whose hash begins so (at least four digits)."""
    start = wanted.removeprefix("sha256:")
    for each in built:
        if each.name == wanted or (len(start) >= 4 and _hex(each.digest).startswith(start)):  # noqa: PLR2004
            yield each
