"""Folders left by somebody hostile: nothing outside is read, nothing hangs, and the way back is exact."""

from __future__ import annotations

import io
import os
import socket
import stat
import tarfile
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from rubricgrade import tree
from rubricgrade.tree import Budget, Entry

SECRET = "root:secret"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "shadow").write_text(SECRET)
    return folder


@pytest.fixture
def hostile(tmp_path: Path, outside: Path) -> Path:
    root = tmp_path / "left"
    root.mkdir()
    (root / "plain").write_text("hello")
    (root / "tool").write_text("#!/bin/sh\n")
    (root / "tool").chmod(0o4755)
    (root / "shadow").symlink_to(outside / "shadow")
    (root / "up").symlink_to(outside)
    (root / "dangling").symlink_to("nowhere")
    (root / "sub").mkdir()
    (root / "sub" / "line\nbreak").write_text("n")
    Path(os.fsdecode(os.fsencode(root) + b"/bad-\xff\xfe")).write_text("b")
    os.mkfifo(root / "fifo")
    with (root / "sparse").open("wb") as file:
        file.truncate(10 << 40)
    with socket.socket(socket.AF_UNIX) as server:
        here = Path.cwd()
        os.chdir(root)  # the name of a socket is short
        server.bind("socket")
        os.chdir(here)
    return root


def test_walk_lists_what_is_there_and_what_it_left_out(hostile: Path, outside: Path) -> None:
    listing = tree.walk(hostile)
    kinds = {entry.path: entry.kind for entry in listing.entries}
    assert kinds == {
        os.fsdecode(b"bad-\xff\xfe"): "file",
        "dangling": "link",
        "plain": "file",
        "shadow": "link",
        "sub": "folder",
        "sub/line\nbreak": "file",
        "tool": "file",
        "up": "link",
    }
    assert [entry.path for entry in listing.entries] == sorted(kinds, key=os.fsencode)
    assert next(entry.target for entry in listing.entries if entry.path == "up") == str(outside)
    reasons = {item.path: item.reason for item in listing.skipped}
    assert reasons["fifo"] == "FIFO"
    assert reasons["socket"] == "socket"
    assert "too large" in reasons["sparse"]


def test_setuid_is_not_in_a_mode(hostile: Path) -> None:
    assert next(entry.mode for entry in tree.walk(hostile).entries if entry.path == "tool") == 0o755


@pytest.mark.parametrize(
    ("budget", "path", "reason"),
    [
        (Budget(entries=3), ".", "more than 3 entries"),
        (Budget(total=15), "b", "budget"),
        (Budget(file=5), "a", "too large"),
        (Budget(depth=1), "d/e", "deeper"),
    ],
)
def test_budgets(tmp_path: Path, budget: Budget, path: str, reason: str) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(bytes(10))
    (tmp_path / "c").touch()
    (tmp_path / "d" / "e").mkdir(parents=True)
    if budget.entries == 3:
        (tmp_path / "0").touch()
    skipped = {item.path: item.reason for item in tree.walk(tmp_path, budget).skipped}
    assert reason in skipped[path]


def test_a_folder_closed_to_its_reader_is_listed_as_such(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0)
    listing = tree.walk(tmp_path)
    if os.geteuid() == 0:
        assert listing.entries[0].kind == "folder"
    else:
        assert "unreadable" in listing.skipped[0].reason


def test_digest_sees_content_names_kinds_and_the_executable_bit_only(tmp_path: Path) -> None:
    def made(name: str) -> Path:
        root = tmp_path / name
        (root / "d").mkdir(parents=True)
        (root / "d" / "f").write_text("x")
        (root / "l").symlink_to("d")
        return root

    first, second = made("one"), made("two")
    os.utime(second / "d" / "f", (0, 0))
    (second / "d" / "f").chmod(0o600)
    before = tree.digest(first)
    assert before.startswith("sha256:")
    assert before == tree.digest(second)
    (second / "d" / "f").chmod(0o700)
    assert before != tree.digest(second)
    for change in (
        lambda root: (root / "d" / "f").write_text("y"),
        lambda root: (root / "d" / "f").rename(root / "d" / "g"),
        lambda root: ((root / "l").unlink(), (root / "l").symlink_to("elsewhere")),
        lambda root: os.mkfifo(root / "fifo"),
    ):
        root = made(f"changed-{change.__code__.co_firstlineno}")
        change(root)
        assert tree.digest(root) != before


def test_read_follows_no_link_and_does_not_leave(hostile: Path) -> None:
    assert tree.read(hostile, "plain") == b"hello"
    assert tree.read(hostile, "sub/line\nbreak") == b"n"
    for path in ("shadow", "up/shadow", "fifo", "sub", "missing", "plain/x", "socket"):
        with pytest.raises(FileNotFoundError):
            tree.read(hostile, path)
    for path in ("../outside/shadow", "/etc/passwd", "", "sub/../../outside/shadow", "a\0b"):
        with pytest.raises(ValueError, match="path"):
            tree.read(hostile, path)
    with pytest.raises(ValueError, match="at most 4"):
        tree.read(hostile, "plain", limit=4)
    with pytest.raises(ValueError, match="at most"):
        tree.read(hostile, "sparse")


def test_a_copy_is_clean_and_private(hostile: Path, tmp_path: Path) -> None:
    listing = tree.copy(hostile, tmp_path / "copy")
    copied = tmp_path / "copy"
    assert (copied / "shadow").is_symlink()
    assert stat.S_IMODE((copied / "tool").stat().st_mode) == 0o755
    assert sorted(os.fsencode(path.name) for path in copied.iterdir()) == sorted(
        os.fsencode(entry.path) for entry in listing.entries if "/" not in entry.path
    )
    assert {item.path for item in listing.skipped} == {"fifo", "sparse", "socket"}
    (copied / "plain").write_text("changed")
    assert (hostile / "plain").read_text() == "hello"
    with pytest.raises(FileExistsError):
        tree.copy(hostile, copied)


def test_a_copy_keeps_holes(tmp_path: Path) -> None:
    (tmp_path / "from").mkdir()
    with (tmp_path / "from" / "f").open("wb") as file:
        file.truncate(64 << 20)
        file.seek(32 << 20)
        file.write(b"middle")
    tree.copy(tmp_path / "from", tmp_path / "to")
    status = (tmp_path / "to" / "f").stat()
    assert status.st_size == 64 << 20
    assert status.st_blocks * 512 < 8 << 20
    assert tree.digest(tmp_path / "from") == tree.digest(tmp_path / "to")


def test_an_archive_brings_back_the_same_folder_by_the_same_bytes(hostile: Path, tmp_path: Path) -> None:
    one, two = tmp_path / "1.tar.zst", tmp_path / "2.tar.zst"
    packed = tree.pack(hostile, one)
    tree.pack(hostile, two)
    assert one.read_bytes() == two.read_bytes()
    unpacked = tree.unpack(one, tmp_path / "back")
    assert unpacked.entries == packed.entries
    tree.copy(hostile, tmp_path / "copy")
    assert tree.digest(tmp_path / "back") == tree.digest(tmp_path / "copy")
    assert sorted(path.name for path in tmp_path.glob(".*")) == []


@pytest.mark.skipif(not hasattr(os, "mknod"), reason="needs mknod")
def test_deletions_travel_in_headers_and_not_in_names(tmp_path: Path) -> None:
    upper = tmp_path / "upper"
    (upper / "d").mkdir(parents=True)
    (upper / ".wh.fake").write_text("a file of that name")
    os.mknod(upper / "gone", stat.S_IFCHR, os.makedev(0, 0))
    os.setxattr(upper / "d", "user.overlay.opaque", b"y")
    listing = tree.pack(upper, tmp_path / "a.tar.zst", layer=True)
    assert [(entry.path, entry.kind, entry.opaque) for entry in listing.entries] == [
        (".wh.fake", "file", False),
        ("d", "folder", True),
        ("gone", "deleted", False),
    ]
    assert tree.unpack(tmp_path / "a.tar.zst", tmp_path / "layer", layer=True).entries == listing.entries
    assert tree.walk(tmp_path / "layer", layer=True).entries == listing.entries
    tree.unpack(tmp_path / "a.tar.zst", tmp_path / "plain")
    assert sorted(path.name for path in (tmp_path / "plain").iterdir()) == [".wh.fake", "d"]


def archive_of(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for member, data in members:
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    path.write_bytes(zstandard.compress(raw.getvalue()))
    return path


def member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


HOSTILE_ARCHIVES = {
    "absolute": [(member("/etc/x"), b"")],
    "parent": [(member("a/../../x"), b"")],
    "through a link": [(member("l", tarfile.SYMTYPE, "/tmp"), b""), (member("l/x"), b"")],
    "twice": [(member("a"), b"1"), (member("a"), b"2")],
    "hard link": [(member("a", tarfile.LNKTYPE, "/etc/passwd"), b"")],
    "device": [(member("a", tarfile.CHRTYPE), b"")],
    "fifo": [(member("a", tarfile.FIFOTYPE), b"")],
    "file as folder": [(member("a"), b""), (member("a/b"), b"")],
    "empty name": [(member("."), b"")],
}


@pytest.mark.parametrize("name", HOSTILE_ARCHIVES)
def test_hostile_archives_are_refused(tmp_path: Path, name: str) -> None:
    archive = archive_of(tmp_path / "x.tar.zst", *HOSTILE_ARCHIVES[name])
    with pytest.raises(ValueError, match=r"."):
        tree.unpack(archive, tmp_path / "to")
    assert not (tmp_path / "x").exists()


def test_archives_over_the_budget_are_refused(tmp_path: Path) -> None:
    archive = archive_of(tmp_path / "a.tar.zst", (member("zeros"), bytes(50 << 20)))
    assert archive.stat().st_size < 1 << 20
    with pytest.raises(ValueError, match="at most"):
        tree.unpack(archive, tmp_path / "1", Budget(file=1 << 20))
    with pytest.raises(ValueError, match="more than the budget"):
        tree.unpack(archive, tmp_path / "2", Budget(total=1 << 20, entries=10))
    many = archive_of(tmp_path / "b.tar.zst", *((member(f"f{index}"), b"") for index in range(20)))
    with pytest.raises(ValueError, match="more than 10 entries"):
        tree.unpack(many, tmp_path / "3", Budget(entries=10))
    deep = archive_of(tmp_path / "c.tar.zst", (member("/".join("a" * 102)), b""))
    with pytest.raises(ValueError, match="more than 100 folders deep"):
        tree.unpack(deep, tmp_path / "4")


def test_an_overlong_header_is_not_read_into_memory(tmp_path: Path) -> None:
    long = member("a")
    long.pax_headers = {"comment": "x" * (1 << 20)}
    with pytest.raises(ValueError, match="overlong header"):
        tree.unpack(archive_of(tmp_path / "a.tar.zst", (long, b"")), tmp_path / "to")


@pytest.mark.parametrize("cut", [0.3, 0.9])
def test_a_cut_or_damaged_archive_is_refused(tmp_path: Path, cut: float) -> None:
    (tmp_path / "from").mkdir()
    for index in range(200):
        (tmp_path / "from" / f"{index}").write_bytes(os.urandom(300))
    tree.pack(tmp_path / "from", tmp_path / "a.tar.zst")
    data = (tmp_path / "a.tar.zst").read_bytes()
    (tmp_path / "cut.tar.zst").write_bytes(data[: int(len(data) * cut)])
    with pytest.raises(ValueError, match=r"."):
        tree.unpack(tmp_path / "cut.tar.zst", tmp_path / "1")
    raw = bytearray(zstandard.decompress(data, max_output_size=1 << 24))
    raw[1024 + 5] ^= 0xFF  # the second header: its checksum no longer fits
    (tmp_path / "bad.tar.zst").write_bytes(zstandard.compress(bytes(raw)))
    with pytest.raises(ValueError, match="damaged"):
        tree.unpack(tmp_path / "bad.tar.zst", tmp_path / "2")
    (tmp_path / "no.tar.zst").write_bytes(b"no archive at all")
    with pytest.raises(ValueError, match="no usable archive"):
        tree.unpack(tmp_path / "no.tar.zst", tmp_path / "3")


def test_remove_takes_what_nobody_may_enter_and_leaves_what_links_point_at(tmp_path: Path, outside: Path) -> None:
    root = tmp_path / "tree"
    (root / "work" / "work").mkdir(parents=True)
    (root / "work" / "work" / "f").touch()
    (root / "link").symlink_to(outside)
    (root / "work" / "work").chmod(0)
    (root / "work").chmod(0)
    tree.remove(root)
    assert not root.exists()
    assert (outside / "shadow").read_text() == SECRET
    tree.remove(root)


def test_remove_takes_what_is_deeper_than_any_path(tmp_path: Path) -> None:
    root = tmp_path / "deep"
    root.mkdir()
    handle = os.open(root, os.O_RDONLY)
    for _ in range(400):
        os.mkdir("d" * 20, dir_fd=handle)
        below = os.open("d" * 20, os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = below
    os.close(handle)
    assert tree.walk(root, Budget(depth=50)).skipped[0].reason == "deeper than 50 folders"
    tree.remove(root)
    assert not root.exists()


names = st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=12).filter(
    lambda name: name not in (".", "..") and len(name.encode()) < 200
)
paths = st.lists(names, min_size=1, max_size=4).map("/".join)
files = st.dictionaries(paths, st.binary(max_size=2000), max_size=12)


@settings(max_examples=40, deadline=None)
@given(files)
def test_whatever_is_packed_comes_back(tmp_path_factory: pytest.TempPathFactory, content: dict[str, bytes]) -> None:
    base = tmp_path_factory.mktemp("pack")
    (base / "from").mkdir()
    expected: dict[str, bytes] = {}
    for path, data in content.items():
        place = base / "from" / path
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
        except OSError:
            continue  # a name that is both a file and a folder
        expected[path] = data
    tree.pack(base / "from", base / "a.tar.zst")
    listing = tree.unpack(base / "a.tar.zst", base / "to")
    found = {entry.path: tree.read(base / "to", entry.path) for entry in listing.entries if entry.kind == "file"}
    assert found == expected
    assert tree.digest(base / "from") == tree.digest(base / "to")


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=3000), st.booleans())
def test_any_bytes_are_an_archive_or_a_value_error(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, compressed: bool
) -> None:
    base = tmp_path_factory.mktemp("fuzz")
    (base / "a.tar.zst").write_bytes(zstandard.compress(data) if compressed else data)
    try:
        listing = tree.unpack(base / "a.tar.zst", base / "to")
    except ValueError:
        return
    assert all(isinstance(entry, Entry) for entry in listing.entries)


def test_what_is_left_out_is_told_by_the_archive(hostile: Path, tmp_path: Path) -> None:
    archive = tmp_path / "a.tar.zst"
    packed = tree.pack(hostile, archive)
    assert {item.path for item in packed.skipped} >= {"fifo", "socket"}
    assert set(tree.left_out(archive)) == set(packed.skipped)
    restored = tree.unpack(archive, tmp_path / "restored")
    assert set(restored.skipped) == set(packed.skipped)
    assert not (tmp_path / "restored" / "fifo").exists()


def test_an_archive_of_a_whole_folder_leaves_nothing_out(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a").write_text("x")
    tree.pack(tmp_path / "folder", tmp_path / "a.tar.zst")
    assert tree.left_out(tmp_path / "a.tar.zst") == ()
    (tmp_path / "b.tar.zst").write_bytes(b"nonsense")
    with pytest.raises(ValueError, match="no usable archive"):
        tree.left_out(tmp_path / "b.tar.zst")


def test_a_path_that_no_call_takes_is_left_out_with_all_below(tmp_path: Path) -> None:
    handle = os.open(tmp_path, os.O_RDONLY)
    for _ in range(25):
        os.mkdir("x" * 250, dir_fd=handle)
        inner = os.open("x" * 250, os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = inner
    os.symlink("/", "link", dir_fd=handle)
    os.close(handle)
    listing = tree.walk(tmp_path)
    assert max(len(entry.path) for entry in listing.entries) <= Budget().path
    assert [(item.folder, "path of more than" in item.reason) for item in listing.skipped] == [(True, True)]
