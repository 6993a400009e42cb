from __future__ import annotations

import os
from pathlib import Path

import pytest

from rubricgrade.checks.inside.artifacts import Folder, glob_regex
from rubricgrade.checks.inside.finding import BadArtifact, Unusable


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    root = tmp_path / "root"
    (root / "sub" / "deep").mkdir(parents=True)
    (root / "a.txt").write_text("a")
    (root / "sub" / "b.csv").write_text("b")
    (root / "sub" / "deep" / "c.csv").write_text("c")
    (tmp_path / "secret").write_text("secret")
    return Folder(str(root))


def test_a_regular_file_is_read(folder: Folder) -> None:
    assert folder.data("sub/b.csv") == b"b"
    assert folder.data("./sub//b.csv") == b"b"
    assert folder.size("a.txt") == 1
    assert folder.size("sub") is None
    assert folder.has("sub")
    assert folder.has("a.txt")


def test_a_link_is_never_followed(folder: Folder) -> None:
    root = Path(folder.root)
    (root / "link").symlink_to("../secret")
    (root / "inner").symlink_to("a.txt")
    (root / "folder").symlink_to("..")
    for path in ("link", "inner", "folder/secret"):
        with pytest.raises(BadArtifact, match=path):
            folder.data(path)
        assert folder.size(path) is None
        assert not folder.has(path)
    assert folder.find("**") == ["a.txt", "sub/b.csv", "sub/deep/c.csv"]


def test_a_link_that_was_taken_out_is_named(folder: Folder) -> None:
    with pytest.raises(BadArtifact, match="symbolic link to '/sealed/answer'"):
        Folder(folder.root, {"answer": "is a symbolic link to '/sealed/answer'"}).data("answer")


def test_what_is_no_file_is_not_opened_for_ever(folder: Folder) -> None:
    os.mkfifo(Path(folder.root, "pipe"))
    with pytest.raises(BadArtifact, match="no regular file"):
        folder.data("pipe")
    with pytest.raises(BadArtifact, match="no regular file"):
        folder.data("sub")
    assert folder.size("pipe") is None


def test_a_missing_file_is_missing(folder: Folder) -> None:
    with pytest.raises(BadArtifact, match=r"nothing\.txt: is missing"):
        folder.data("nothing.txt")
    with pytest.raises(BadArtifact):
        folder.data("a.txt/below")
    assert folder.size("nothing.txt") is None


def test_a_large_or_sparse_file_is_not_read(folder: Folder) -> None:
    with Path(folder.root, "sparse").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(BadArtifact, match="1,099,511,627,776 bytes"):
        folder.data("sparse")
    with pytest.raises(BadArtifact, match="more than the 0"):
        folder.data("sub/b.csv", limit=0)


@pytest.mark.parametrize("path", ["/etc/passwd", "../secret", "sub/../../secret", "", ".", "a\0b"])
def test_a_path_that_leaves_the_folder_is_none(folder: Folder, path: str) -> None:
    with pytest.raises(Unusable):
        folder.data(path)


def test_globs(folder: Folder) -> None:
    assert folder.find("*.csv") == []
    assert folder.find("sub/*.csv") == ["sub/b.csv"]
    assert folder.find("**/*.csv") == ["sub/b.csv", "sub/deep/c.csv"]
    assert folder.find("sub/**") == ["sub/b.csv", "sub/deep/c.csv"]
    assert folder.find("[ab].tx?") == ["a.txt"]
    assert folder.find("[!a].txt") == []


@pytest.mark.parametrize(
    ("pattern", "path", "met"),
    [
        ("a+b(1).txt", "a+b(1).txt", True), ("a.txt", "aXtxt", False), ("*", "a/b", False), ("**", "a\nb/c", True),
        ("a[.txt", "a[.txt", True), ("**/x", "x", True), ("a/**/x", "a/x", True), ("a/**/x", "ab/x", False),
        ("[a-c]1", "b1", True), ("[]]", "]", True),
    ],
)  # fmt: skip
def test_a_glob_means_whole_paths(pattern: str, path: str, met: bool) -> None:
    assert bool(glob_regex(pattern).fullmatch(path)) is met
