"""Folders as one portable file, ``workspace.tar.zst``: the same bytes for the same content, read as hostile.

A tar in PAX format under Zstandard. Deletions, which tar does not know, and what was left out are marked in PAX headers
and not by name: an agent may make a file of any name, but it has no say in a header.
"""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from itertools import takewhile
from pathlib import Path
from typing import IO, Self, cast

import zstandard

from rubricgrade.digest import of_file
from rubricgrade.tree.entries import Budget, Entry, Listing, Skipped
from rubricgrade.tree.making import Builder
from rubricgrade.tree.visiting import CHUNK, DEFAULT, chunks, digest, listing, visit, walk

DELETED = "RUBRICGRADE.deleted"
OPAQUE = "RUBRICGRADE.opaque"
SKIPPED = "RUBRICGRADE.skipped"
SKIPPED_FOLDER = "RUBRICGRADE.skipped-folder"
LEVEL = 3
"""Zstandard's own default: stronger levels cost more time than they save room here."""
HEADER_SIZE = 1 << 16
"""Bytes of one PAX header: a path and a link text of the longest kind fit many times."""
OVERHEAD = 12 << 10
"""Bytes of the unpacked stream that one entry may take beside its content: its headers, with a path and a link text."""

_TAKEN = (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.XHDTYPE)


class _Content(io.RawIOBase):
    """An open file as exactly so many bytes."""

    def __init__(self, handle: int, size: int) -> None:
        self._chunks = chunks(handle, size)
        self._rest = b""

    def read(self, size: int = -1) -> bytes:
        if not self._rest:
            self._rest = next(self._chunks, b"")
        data, self._rest = self._rest[:size], self._rest[size:]
        return data


class _Bounded:
    """A stream that refuses to unpack to more than it may."""

    def __init__(self, stream: zstandard.ZstdDecompressionReader, limit: int) -> None:
        self._stream = stream
        self._left = limit

    def read(self, size: int) -> bytes:
        data = self._stream.read(min(size, self._left + 1))
        self._left -= len(data)
        if self._left < 0:
            raise ValueError("the archive unpacks to more than the budget allows")
        return data


class _Member(tarfile.TarInfo):
    """A header that is checked before tarfile acts on it: it would buffer any length and stop quietly at damage."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        if len(buf) == tarfile.BLOCKSIZE and not buf.strip(b"\0"):
            return super().frombuf(buf, encoding, errors)  # the regular end, which tarfile handles
        try:
            member = super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError as error:
            raise ValueError(f"the archive is damaged or cut: {error}") from error
        if member.type not in _TAKEN:
            raise ValueError(f"the archive holds an entry of a kind that is not taken: {member.type!r}")
        if member.type == tarfile.XHDTYPE and member.size > HEADER_SIZE:
            raise ValueError("the archive holds an overlong header")
        return member


def _info(entry: Entry) -> tarfile.TarInfo:
    info = tarfile.TarInfo(entry.path)
    info.mode = entry.mode
    info.type = {"folder": tarfile.DIRTYPE, "link": tarfile.SYMTYPE}.get(entry.kind, tarfile.REGTYPE)
    info.size = entry.size
    info.linkname = entry.target
    info.pax_headers = {DELETED: "1"} if entry.kind == "deleted" else {OPAQUE: "1"} if entry.opaque else {}
    return info


def identity(place: Path) -> str:
    """``sha256:...`` that names what an agent left: `digest` of a folder, or that of an archive's bytes.

    Raises:
        OSError: It can't be read.
    """
    return digest(place) if place.is_dir() else of_file(place)


def pack(
    root: Path | int,
    archive: Path,
    budget: Budget = DEFAULT,
    *,
    layer: bool = False,
    left_out: Iterable[Skipped] = (),
) -> Listing:
    """Write a folder as an archive, whole or not at all.

    Args:
        root: A folder whose own path is trusted, or a handle on it.
        archive: The file to write; its folder exists.
        budget: How much is taken; the rest is listed as skipped.
        layer: It is a folder of changes of an overlay: deletions are kept.
        left_out: What was left out when the folder was made.

    Returns:
        What it holds, and what was left out, which stands first in the archive.
    """
    done: list[Entry] = []
    skipped = {item.path: item for item in (*left_out, *walk(root, budget, layer=layer).skipped)}
    making = archive.with_name(f".{archive.name}.{os.getpid()}.{os.urandom(4).hex()}")
    try:
        with (
            making.open("xb") as file,
            zstandard.ZstdCompressor(level=LEVEL, write_checksum=True).stream_writer(file, closefd=False) as stream,
            tarfile.open(
                fileobj=stream, mode="w|", format=tarfile.PAX_FORMAT, encoding="utf-8", errors="surrogateescape"
            ) as tar,
            closing(visit(root, budget, layer=layer)) as found,
        ):
            for item in skipped.values():
                tar.addfile(_mark(item))
            for item in found:
                if isinstance(item, Skipped):
                    skipped[item.path] = item
                    continue
                entry, handle = item
                tar.addfile(_info(entry), _Content(handle, entry.size) if entry.kind == "file" else None)
                done.append(entry)
        making.replace(archive)
    finally:
        making.unlink(missing_ok=True)
    return Listing(tuple(done), tuple(skipped[path] for path in sorted(skipped)))


def _mark(skipped: Skipped) -> tarfile.TarInfo:
    info = tarfile.TarInfo(skipped.path)
    info.pax_headers = {SKIPPED_FOLDER if skipped.folder else SKIPPED: skipped.reason}
    return info


def _entry(member: tarfile.TarInfo) -> Entry | Skipped:
    mode = member.mode & 0o777
    for header in (SKIPPED, SKIPPED_FOLDER):
        if header in member.pax_headers:
            return Skipped(member.name, member.pax_headers[header], folder=header == SKIPPED_FOLDER)
    if DELETED in member.pax_headers:
        return Entry(member.name, "deleted", mode=0)
    if member.isdir():
        return Entry(member.name, "folder", mode=mode, opaque=OPAQUE in member.pax_headers)
    if member.issym():
        return Entry(member.name, "link", mode=0o777, target=member.linkname)
    return Entry(member.name, "file", member.size, mode)


def _members(archive: Path, budget: Budget) -> Generator[tuple[Entry | Skipped, Iterator[bytes]]]:
    """The entries of an archive with their content, each to be read before the next; and what was left out."""
    left = budget.total
    room = budget.total + OVERHEAD * (budget.entries + 1) + CHUNK
    with (
        archive.open("rb") as file,
        zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(file) as stream,
        tarfile.open(
            fileobj=cast("IO[bytes]", _Bounded(stream, room)),  # tarfile asks for no more than read()
            mode="r|",
            tarinfo=_Member,
            encoding="utf-8",
            errors="surrogateescape",
        ) as tar,
    ):
        for number, member in enumerate(tar):
            if number >= budget.entries:
                raise ValueError(f"the archive holds more than {budget.entries} entries")
            if member.size > budget.file:
                raise ValueError(f"the archive holds a file of {member.size} bytes; at most {budget.file} are taken")
            entry = _entry(member)
            if isinstance(entry, Entry) and len(os.fsencode(entry.path)) > budget.path:
                raise ValueError(f"the archive holds a path of more than {budget.path} bytes")
            if isinstance(entry, Entry) and entry.path.count("/") > budget.depth:
                raise ValueError(f"the archive holds a path that is more than {budget.depth} folders deep")
            left -= member.size
            if left < 0:
                raise ValueError("the archive unpacks to more than the budget allows")
            content = tar.extractfile(member) if member.isreg() else None
            yield entry, iter(lambda source=content: source.read(CHUNK) if source else b"", b"")


def unpack(
    archive: Path, to: Path, budget: Budget = DEFAULT, *, owner: int | None = None, layer: bool = False
) -> Listing:
    """Restore an archive into a new folder.

    Args:
        archive: A file that `pack` has written, or one like it.
        to: The folder to make.
        budget: What it may hold; more is an error, since a part of a snapshot is none.
        owner: User and group of everything restored; default: ours.
        layer: The folder will be a layer of an overlay: deletions become its marks. Otherwise they are only listed.

    Raises:
        ValueError: It is damaged, cut, over the budget, or holds something that has no place in a snapshot. The
            folder may then be there in part; remove it.
        FileExistsError: `to` exists.
    """
    done: list[Entry | Skipped] = []
    with _usable(archive), Builder(to, owner=owner, layer=layer) as builder:
        for entry, content in _members(archive, budget):
            if isinstance(entry, Entry):
                builder.add(entry, content)
            done.append(entry)
    return listing(done)


def left_out(archive: Path, budget: Budget = DEFAULT) -> tuple[Skipped, ...]:
    """What was left out when an archive was packed.

    Raises:
        ValueError: As for `unpack`.
    """
    with _usable(archive), closing(_members(archive, budget)) as members:
        found = takewhile(lambda entry: isinstance(entry, Skipped), (entry for entry, _ in members))
        return tuple(entry for entry in found if isinstance(entry, Skipped))


@contextmanager
def _usable(archive: Path) -> Generator[None]:
    try:
        yield
    except (zstandard.ZstdError, tarfile.TarError, EOFError) as error:
        raise ValueError(f"{archive.name} is no usable archive: {error}") from error
