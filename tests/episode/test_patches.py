"""Patches that come from anybody: what they make of a folder, and those that are refused."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from rubricgrade.episode.dialects.patches import LARGEST, patched, plain_file
from rubricgrade.errors import InputError
from tests.episode.making import write

ADDED = "--- /dev/null\n+++ b/{0}\n@@ -0,0 +1 @@\n+x = 1\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = write(tmp_path / "files", {"a.py": "a = 1\n", "old.py": "b = 2\n", "sub/c.py": "c = 3\n"})
    (made / "link").symlink_to("sub")
    (made / "out").symlink_to(tmp_path)
    return made


def git_diff(tmp_path: Path, before: dict[str, bytes], after: dict[str, bytes]) -> str:
    sides = [write(tmp_path / "diff" / side, files) for side, files in (("a", before), ("b", after))]
    done = subprocess.run(
        ["git", "diff", "--no-index", "--binary", "--no-prefix", *(side.name for side in sides)],
        cwd=tmp_path / "diff", capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.stdout


def test_what_a_patch_changes(folder: Path, tmp_path: Path) -> None:
    patch = ADDED.format("sub/new.py")
    patch += "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-a = 1\n+a = 2\n"
    patch += "--- a/old.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-b = 2\n"
    patch += "diff --git a/sub/c.py b/sub/d.py\nsimilarity index 100%\nrename from sub/c.py\nrename to sub/d.py\n"
    assert patched(folder, patch, "p") == {
        "a.py": b"a = 2\n", "old.py": None, "sub/c.py": None, "sub/d.py": b"c = 3\n", "sub/new.py": b"x = 1\n",
    }  # fmt: skip
    assert (folder / "a.py").read_text() == "a = 1\n"
    assert patched(folder, " \n", "p") == {}


def test_a_binary_file_is_made(folder: Path, tmp_path: Path) -> None:
    data = bytes(range(256)) * 3
    patch = git_diff(tmp_path, {"x": b"x"}, {"x": b"x", "d.bin": data})
    assert patched(folder, patch, "p") == {"d.bin": data}


def test_a_large_file_out_of_a_small_patch_is_not_made(folder: Path, tmp_path: Path) -> None:
    patch = git_diff(tmp_path, {"x": b"x"}, {"x": b"x", "d.bin": bytes(LARGEST + 1)})
    assert len(patch) < LARGEST / 100
    with pytest.raises(InputError, match="does not apply"):
        patched(folder, patch, "p")


@pytest.mark.parametrize(
    ("patch", "told"),
    [
        (ADDED.format("../up.py"), "does not apply"),
        (ADDED.format("sub/../../up.py"), "does not apply"),
        (ADDED.format(".git/hooks/post-checkout"), "does not apply"),
        (ADDED.format("out/up.py"), "does not apply"),
        (ADDED.format("link/up.py"), "does not apply"),
        ("diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc\n\\ No newline at end of file\n", "symbolic link"),
        ("diff --git a/a.py b/a.py\nold mode 100644\nnew mode 120000\n", "symbolic link"),
        ("diff --git a/s b/s\nnew file mode 160000\nindex 0000000..1111111\n--- /dev/null\n+++ b/s\n@@ -0,0 +1 @@\n+Subproject commit 1\n", "submodule"),
        ('diff --git "a/x\\ny.py" "b/x\\ny.py"\nnew file mode 100644\n--- /dev/null\n+++ "b/x\\ny.py"\n@@ -0,0 +1 @@\n+x = 1\n', "which is no path"),
        ("diff --git a/i.png b/i.png\nnew file mode 100644\nindex 0000000..1111111\nBinary files /dev/null and b/i.png differ\n", "does not apply"),
        ("--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-other\n+a = 2\n", "does not apply"),
        ("no patch at all\n", "does not apply"),
        ("x" * (LARGEST + 1), "has more than"),
    ],
    ids=lambda value: value[:40].strip(),
)  # fmt: skip
def test_a_patch_that_is_refused(folder: Path, tmp_path: Path, patch: str, told: str) -> None:
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InputError, match=told) as raised:
        patched(folder, patch, "row: test_patch")
    assert str(raised.value).startswith("row: test_patch: ")
    assert sorted(tmp_path.rglob("*")) == before


def test_an_absolute_path_stays_inside(folder: Path, tmp_path: Path) -> None:
    inside = f"{tmp_path}/up.py".removeprefix("/")
    assert patched(folder, f"--- /dev/null\n+++ {tmp_path}/up.py\n@@ -0,0 +1 @@\n+x = 1\n", "p") == {inside: b"x = 1\n"}
    assert not (tmp_path / "up.py").exists()


def test_no_settings_of_the_user_nor_a_repository_around_it_count(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, {"home/.gitconfig": "[apply]\n\twhitespace = error\n", "tmp/x": ""})
    subprocess.run(["git", "init", "-q", str(tmp_path / "tmp")], check=True)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "home" / ".gitconfig"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)
    assert patched(folder, ADDED.format("new.py").replace("x = 1", "x = 1 "), "p") == {"new.py": b"x = 1 \n"}


def test_a_file_is_not_read_over_a_link(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s")
    (folder / "file").symlink_to("a.py")
    assert plain_file(folder, "sub/c.py") == b"c = 3\n"
    for path in ("out/secret", "link/c.py", "file", "../secret", "sub", "gone"):
        assert plain_file(folder, path) is None
