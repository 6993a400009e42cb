"""Copies of what somebody sent: a link stays a link, none leads out of what was sent, and none is written through."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path, PurePosixPath

from rubricgrade.errors import Fault, InputError

DEPTH = 100
"""Folders in folders; more is no task."""
ENTRIES = 200_000
"""Files, folders and links in all: links to folders of links multiply without being a circle."""
HOPS = 40
"""Links that lead to links; the kernel follows no more."""
JUNK = "__pycache__"

Skip = Callable[[PurePosixPath], bool]
"""Whether something is left out, by its path below the copied folder."""


def links_out(top: Path, names: Iterable[str] = (".",)) -> Iterator[Fault]:
    """A fault for every link that leads out of a folder.

    Args:
        top: The folder. It may itself be a link: that is its owner's choice.
        names: What is looked at in it.
    """
    for name in names:
        place = top / name
        found = [place] if place != top and place.is_symlink() else []
        for at, folders, files in os.walk(place) if not found else ():
            found += [Path(at, each) for each in (*folders, *files) if Path(at, each).is_symlink()]
        for link in sorted(found):
            if not _stays(link, top):
                yield _out(link, top)


def copied(
    source: Path, to: Path, *, within: Path | None = None, skip: Skip = lambda _: False, whole: bool = False
) -> None:
    """Copy a folder, or one file, also into a folder that is there. What another copy has put there is never followed.

    Args:
        source: The folder or the file; as a path it is trusted.
        to: Where its content goes. Its own path is the caller's to check.
        within: What no link may lead out of; default: `source`.
        skip: What to leave out.
        whole: Copy what a link leads to in its place, for those who take no links.

    Raises:
        InputError: A link leads out, or in a circle; something is no file, folder or link, or collides with another.
    """
    if source.is_file():
        _file(source, to)
        return
    _Copying(within or source, skip, whole).folder(source, to, PurePosixPath(), ())


def is_junk(path: PurePosixPath) -> bool:
    """Whether something is left behind by running a task, and no part of it."""
    return path.name == JUNK


class _Copying:
    """One pass over a folder."""

    def __init__(self, top: Path, skip: Skip, whole: bool) -> None:
        self.top = top
        self.skip = skip
        self.whole = whole
        self.left = ENTRIES

    def folder(self, source: Path, to: Path, path: PurePosixPath, above: tuple[Path, ...]) -> None:
        real = source.resolve()
        if real in above or len(above) > DEPTH:
            raise InputError(Fault(f"leads in a circle, or is more than {DEPTH} folders deep", str(source)))
        if above and (to.is_symlink() or (to.exists() and not to.is_dir())):
            raise _collides(source)
        to.mkdir(parents=not above, exist_ok=True)
        for each in sorted(source.iterdir()):
            if not self.skip(path / each.name):
                self.item(each, to / each.name, path / each.name, (*above, real))
        shutil.copystat(source, to)

    def item(self, source: Path, to: Path, path: PurePosixPath, above: tuple[Path, ...]) -> None:
        self.left -= 1
        if self.left < 0:
            raise InputError(Fault(f"holds more than {ENTRIES} files, folders and links", str(self.top)))
        if source.is_symlink():
            if not _stays(source, self.top):
                raise InputError(_out(source, self.top))
            if not self.whole:
                _cleared(source, to)
                to.symlink_to(source.readlink())
                return
        kind = stat.S_IFMT(source.stat().st_mode) if source.exists() else 0
        if kind == stat.S_IFDIR:
            self.folder(source, to, path, above)
        elif kind == stat.S_IFREG:
            _file(source, to)
        else:
            raise InputError(Fault("is no file, folder or link that can be copied", str(source)))


def _file(source: Path, to: Path) -> None:
    _cleared(source, to)
    shutil.copy2(source, to)


def _cleared(source: Path, to: Path) -> None:
    """Remove what another copy has put there: to open it would write wherever a link leads."""
    if to.is_dir() and not to.is_symlink():
        raise _collides(source)
    to.unlink(missing_ok=True)


def _stays(link: Path, top: Path) -> bool:
    """Whether a link stays in a folder on its whole way, so that it does so too in a copy of any name."""
    base = top.resolve()
    at, hops = link.parent.resolve(), 0
    pending = [link.name]
    while pending:
        name = pending.pop()
        if name == "..":
            at = at.parent
            if not at.is_relative_to(base):
                return False
        elif (at / name).is_symlink():
            text = str((at / name).readlink())
            hops += 1
            if text.startswith("/") or hops > HOPS:
                return False
            pending += reversed(text.split("/"))
        else:
            at /= name
    return at.is_relative_to(base)


def _out(link: Path, top: Path) -> Fault:
    message = f"is a link to {str(link.readlink())!r}, which leads out of {top.name}/: put the file itself there"
    return Fault(message, str(link))


def _collides(source: Path) -> InputError:
    return InputError(Fault("can't be copied to where something of another kind is", str(source)))
