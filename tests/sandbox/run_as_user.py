"""Run tests as an ordinary user that exists only for this: `python tests/sandbox/run_as_user.py [pytest arguments]`.

Started by root, it enters a private mount namespace, adds the user there, opens the way to the interpreter and the
checkout for him (they may lie in root's home), drops root for good, and runs pytest. Nothing of the host is changed.
Started by an ordinary user, it just runs pytest.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

UID = 61234
INSIDE = "RUN_AS_USER_INSIDE"
CHECKOUT = Path(__file__).resolve().parents[2]


def pytest_arguments() -> list[str]:
    return [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        *(sys.argv[1:] or ["tests/sandbox", "tests/test_tree.py"]),
    ]


def mount(*arguments: str | Path) -> None:
    subprocess.run(["mount", *map(str, arguments)], check=True)


def closed_ancestor(path: Path) -> Path | None:
    """The topmost folder on the way to `path` that others may not pass."""
    return next((above for above in reversed(path.parents) if not above.stat().st_mode & 0o001), None)


def open_the_way(paths: list[Path], held: Path) -> None:
    """Replace each closed folder by an open one that shows nothing but the paths, at their own places."""
    closed = {path: above for path in paths if (above := closed_ancestor(path))}
    for index, path in enumerate(closed):
        (held / str(index)).mkdir()
        mount("--bind", path, held / str(index))
    for above in dict.fromkeys(closed.values()):
        mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", above)
    for index, path in enumerate(closed):
        path.mkdir(parents=True)
        mount("--bind", held / str(index), path)


def add_user(folder: Path) -> None:
    for name, line in (("passwd", f"tester:x:{UID}:{UID}::{folder}:/bin/sh\n"), ("group", f"tester:x:{UID}:\n")):
        (folder / name).write_text(Path("/etc", name).read_text() + line)
        mount("--bind", folder / name, f"/etc/{name}")


def main() -> int:
    if os.geteuid() != 0:
        return subprocess.run(pytest_arguments(), cwd=CHECKOUT, check=False).returncode
    if INSIDE not in os.environ:
        home = Path(tempfile.mkdtemp(prefix="tester-", dir="/var/tmp"))
        home.chmod(0o755)
        try:
            command = ["unshare", "--mount", "--propagation", "private", sys.executable, *sys.argv]
            return subprocess.run(command, env=os.environ | {INSIDE: str(home)}, cwd=CHECKOUT, check=False).returncode
        finally:
            shutil.rmtree(home)
    home = Path(os.environ.pop(INSIDE))
    add_user(home)
    (home / "held").mkdir()
    (home / "tmp").mkdir()
    attacks = os.environ.get("RUBRICGRADE_ATTACKS", "")
    needed = [sys.base_prefix, sys.prefix, CHECKOUT, *([attacks] if attacks else [])]
    open_the_way(list(dict.fromkeys(Path(path).resolve() for path in needed)), home / "held")
    for path in (home, home / "tmp"):
        os.chown(path, UID, UID)
    environment = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in os.environ}
    environment |= {
        name: value for name, value in os.environ.items() if name.startswith(("SANDBOX_TEST_", "RUBRICGRADE_"))
    }
    environment |= {"HOME": str(home), "USER": "tester", "TMPDIR": str(home / "tmp"), "PYTHONDONTWRITEBYTECODE": "1"}
    environment["HYPOTHESIS_STORAGE_DIRECTORY"] = str(home / "hypothesis")
    os.setgroups([])
    os.setresgid(UID, UID, UID)
    os.setresuid(UID, UID, UID)
    os.chdir(CHECKOUT)
    return os.execve(sys.executable, pytest_arguments(), environment)


if __name__ == "__main__":
    sys.exit(main())
