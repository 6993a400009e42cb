"""What every sandbox of this environment shows read-only: /usr, a made-up /etc, Python with our packages, pid 1.

Python appears as a virtual environment at /opt/env, composed anew: it points at the interpreter at its own path (an
interpreter that was moved loads the wrong libraries), and at the packages of the running environment, whatever its
path on the host. PATH begins with /opt/env/bin, so `python3` is the running interpreter with its packages, and the
scripts that they installed work too.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import py_compile
import secrets
import shutil
import site
import sys
import sysconfig
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import rubricgrade
from rubricgrade import tree

ENV = "/opt/env"
PID1 = f"import sys; sys.path.insert(0, {ENV!r}); import pid1.serving; pid1.serving.main(int(sys.argv[1]))"
HOME = "/tmp/home"  # noqa: S108  # a path inside
KEEP = 7 * 24 * 3600.0
"""Seconds after its last use in which an interior of another version may be needed again."""
ROOT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""PATH in a template that brings its own root file system."""
MADE = "made"
"""The file of a prepared folder that says when its folders were filled."""
HOLLOW = "files of the sandbox were removed while a command ran in it, maybe by a cleaner of temporary files"
"""What is said of a sandbox whose interior is not whole any more."""
SCRIPT_SIZE = 1 << 16
"""Bytes of the largest file in the scripts folder that is taken for a script."""

ETC = {
    "passwd": "root:x:0:0:root:/root:/usr/sbin/nologin\n"
    f"agent:x:1000:1000:agent:{HOME}:/bin/sh\n"
    "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
    "group": "root:x:0:\nagent:x:1000:\nnogroup:x:65534:\n",
    "hosts": "127.0.0.1 localhost sandbox\n::1 localhost\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
    "hostname": "sandbox\n",
    "resolv.conf": "",
}
"""Files of /etc that are the same on every host."""

ETC_COPIED = ("ld.so.cache", "alternatives", "fonts", "mime.types", "magic")
"""What the programs of /usr need of the host's /etc, and nothing else of it."""


@dataclass(frozen=True, slots=True)
class Interior:
    """A prepared interior.

    Attributes:
        base: The folder that holds what was made for it.
        binds: (host path, path inside) of folders to bind read-only, in this order.
        links: (target, path inside) of symbolic links, such as /bin.
        python: The interpreter, inside and outside.
        path: PATH of every process.
        stamps: Times of last change of the folders that were made for it, by path; none if it is an image's.
    """

    base: Path
    binds: tuple[tuple[Path, str], ...]
    links: tuple[tuple[str, str], ...]
    python: str
    path: str
    stamps: Mapping[Path, int] = field(default_factory=dict[Path, int])

    def is_whole(self) -> bool:
        """Whether nothing was removed from it since it was made, as cleaners of temporary files do."""
        return not self.stamps or _stamps(self.base) == self.stamps


def _stamps(base: Path) -> dict[Path, int] | None:
    """When something was last put into, or taken from, the folders that the processes inside can't do without."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    env = base / "env"
    folders = (base / "etc", env, env / "bin", env / "pid1", env / "lib" / version / "site-packages")
    try:
        return {folder: folder.stat().st_mtime_ns for folder in folders}
    except OSError:
        return None


def _scripts() -> Path | None:
    """The folder of installed scripts, when the running environment is one that /usr and the interpreter don't hold."""
    return Path(sysconfig.get_path("scripts")) if sys.prefix != sys.base_prefix else None


def _packages() -> list[Path]:
    """Folders of installed packages that neither /usr nor the interpreter's own folder brings along."""
    folders: list[Path] = []
    if sys.prefix != sys.base_prefix:
        folders += [Path(sysconfig.get_path(name)) for name in ("purelib", "platlib")]
    if site.ENABLE_USER_SITE:
        folders.append(Path(site.getusersitepackages()))
    return [folder for folder in dict.fromkeys(folders) if folder.is_dir()]


def _interpreter() -> Path:
    """The interpreter itself, behind every link and virtual environment."""
    return Path(getattr(sys, "_base_executable", sys.executable)).resolve()


def _include_system_packages() -> bool:
    """Whether packages installed beside the interpreter are importable in the running environment."""
    config = Path(sys.prefix, "pyvenv.cfg")
    if sys.prefix == sys.base_prefix or not config.exists():
        return True
    return "include-system-site-packages = true" in config.read_text().lower()


def _pid1() -> list[Path]:
    """The modules of pid 1."""
    return sorted(Path(__file__).with_name("pid1").glob("*.py"))


def _fingerprint() -> str:
    """Changes whenever a prepared folder would come out differently."""
    stamp = hashlib.sha256(repr((sys.version, sys.prefix, sys.base_prefix, rubricgrade.__file__)).encode())
    watched = [Path(__file__), *_pid1(), *(Path("/etc", name) for name in ETC_COPIED)]
    watched += [folder for folder in (_scripts(), *_packages()) if folder]
    for path in watched:
        if path.exists():
            stamp.update(f"{path} {path.stat().st_mtime_ns}".encode())
    return stamp.hexdigest()[:16]


def _write_etc(folder: Path) -> None:
    folder.mkdir()
    for name, text in ETC.items():
        (folder / name).write_text(text)
    for name in ETC_COPIED:
        source = Path("/etc", name)
        if source.is_dir():
            shutil.copytree(source, folder / name, symlinks=True, ignore_dangling_symlinks=True)
        elif source.is_file():
            shutil.copyfile(source, folder / name)
    (folder / "ssl" / "certs").mkdir(parents=True)


def _write_scripts(folder: Path, python: Path) -> None:
    """Links to the interpreter, and the installed scripts with their first line pointing at the place inside."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    names = ("python", "python3", f"python{version}")
    folder.mkdir()
    for name in names:
        (folder / name).symlink_to(python)
    scripts = _scripts()
    for source in sorted(scripts.iterdir()) if scripts else ():
        if source.name in names or not source.is_file() or not os.access(source, os.X_OK):
            continue
        data = source.read_bytes() if source.stat().st_size <= SCRIPT_SIZE else b""
        if data.startswith(b"#!"):
            (folder / source.name).write_bytes(
                data.replace(os.fsencode(f"{scripts}/python"), f"{ENV}/bin/python".encode())
            )
            (folder / source.name).chmod(0o755)
        else:
            (folder / source.name).symlink_to(f"{ENV}/native/{source.name}")


def _write_env(folder: Path, python: Path, packages: list[Path]) -> None:
    folder.mkdir()
    _write_scripts(folder / "bin", python)
    system = str(_include_system_packages()).lower()
    (folder / "pyvenv.cfg").write_text(f"home = {python.parent}\ninclude-system-site-packages = {system}\n")
    library = folder / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    library.mkdir(parents=True)
    places = [f"{ENV}/own", *(f"{ENV}/packages/{index}" for index in range(len(packages)))]
    (library / "env.pth").write_text("".join(f"import site; site.addsitedir({place!r})\n" for place in places))
    (folder / "native").mkdir()
    (folder / "own" / "rubricgrade").mkdir(parents=True)
    for index in range(len(packages)):
        (folder / "packages" / str(index)).mkdir(parents=True)
    (folder / "pid1").mkdir()
    for source in _pid1():
        py_compile.compile(str(source), str(folder / "pid1" / f"{source.stem}.pyc"), dfile=source.stem, doraise=True)


def _system_links() -> tuple[list[tuple[Path, str]], list[tuple[str, str]]]:
    """/bin and its like: links into /usr on most systems, folders of their own on some."""
    binds: list[tuple[Path, str]] = []
    links: list[tuple[str, str]] = []
    for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        path = Path("/", name)
        if path.is_symlink():
            links.append((f"usr/{name}", str(path)))
        elif path.is_dir():
            binds.append((path, str(path)))
    return binds, links


def _is_as_made(base: Path) -> bool:
    """Whether it is there, with all that was put into it."""
    try:
        made = json.loads((base / MADE).read_text())
    except (OSError, ValueError):
        return False
    return made == [*(_stamps(base) or {}).values()]


def _make(folder: Path, python: Path, packages: list[Path]) -> Path:
    folder.mkdir(mode=0o755)
    _write_etc(folder / "etc")
    _write_env(folder / "env", python, packages)
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():  # readable by the sandbox's user whatever our umask is
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
    (folder / MADE).write_text(json.dumps([*(_stamps(folder) or {}).values()]))
    return folder


@contextmanager
def _alone(folder: Path) -> Generator[None]:
    """Keep all other processes out that ask for the same folder."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def prepare(state: Path) -> Interior:
    """Make the shared interior below the state folder, or find the one that is there."""
    python, packages, scripts = _interpreter(), _packages(), _scripts()
    base = state / f"base-{_fingerprint()}"
    with _alone(state):
        if not _is_as_made(base):
            tree.remove(base)
            _make(state / f"n-{secrets.token_hex(8)}", python, packages).rename(base)
        stamps = _stamps(base) or {}
        for other in state.glob("base-*"):
            if other != base and time.time() - other.stat().st_mtime > KEEP:
                tree.remove(other)
    binds, links = _system_links()
    binds = [(Path("/usr"), "/usr"), *binds, (base / "etc", "/etc")]
    prefix = Path(sys.base_prefix).resolve()
    if not prefix.is_relative_to("/usr"):
        binds.append((prefix, str(prefix)))
    binds.append((base / "env", ENV))
    if scripts:
        binds.append((scripts, f"{ENV}/native"))
    binds += [(folder, f"{ENV}/packages/{index}") for index, folder in enumerate(packages)]
    own = Path(rubricgrade.__file__ or "").resolve().parent
    if own.parent not in packages:
        binds.append((own, f"{ENV}/own/rubricgrade"))
    path = dict.fromkeys((f"{ENV}/bin", str(python.parent), "/usr/local/bin", "/usr/bin", "/bin"))
    return Interior(base, tuple(binds), tuple(links), str(python), ":".join(path), stamps)
