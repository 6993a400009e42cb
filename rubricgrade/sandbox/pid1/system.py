"""The system calls that Python does not offer, and paths walked without trusting a link on the way."""

import _ctypes  # `ctypes` itself costs 2 ms of every fork
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_BIND, MS_REC = 1, 2, 4, 8, 32, 4096, 16384
MNT_DETACH = 2
ENOENT, EIO, EAGAIN, EISDIR, EINVAL, ENFILE, EMFILE, EROFS = 2, 5, 11, 21, 22, 23, 24, 30


class _Int(_ctypes._SimpleCData):  # noqa: SLF001  # pyright: ignore[reportMissingTypeArgument, reportPrivateUsage]  # what ctypes.c_int is, without importing ctypes
    _type_ = "i"


class _Function(_ctypes.CFuncPtr):
    _flags_ = _ctypes.FUNCFLAG_CDECL | _ctypes.FUNCFLAG_USE_ERRNO
    _restype_ = _Int


class _Char(_ctypes._SimpleCData):  # noqa: SLF001  # pyright: ignore[reportMissingTypeArgument, reportPrivateUsage]
    _type_ = "c"


_libc = _ctypes.dlopen(None, 0)  # pyright: ignore[reportArgumentType]  # None is this process, as in dlopen(3)


def libc(name: str, *arguments: int | bytes | None) -> int:
    """Call a C function that returns -1 and sets errno when it fails."""
    result = int(_Function(_ctypes.dlsym(_libc, name))(*arguments))
    if result == -1:
        number = _ctypes.get_errno()
        detail = arguments[1] if name == "mount" else b""
        raise OSError(number, f"{name}: {os.strerror(number)}", detail)
    return result


class Buffer:
    """Bytes at a fixed address, for structures that point at them, as long as this lives."""

    def __init__(self, data: bytes) -> None:
        members = {"_type_": _Char, "_length_": len(data)}
        array: Any = type("Bytes", (_ctypes.Array,), members)
        self._held = array.from_buffer_copy(data)

    def address(self) -> int:
        """Where the bytes are."""
        return _ctypes.addressof(self._held)


def mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    """Mount a file system, or change how one is mounted."""
    libc("mount", os.fsencode(source), os.fsencode(target), kind.encode(), flags, data.encode() or None)


def descend(path: str, *, make: bool) -> int:
    """Open a folder (O_PATH) from the root, following no link; `make` creates what is missing."""
    fd = os.open("/", os.O_PATH | os.O_DIRECTORY)
    for name in path.split("/"):
        if name in ("", "."):
            continue
        if name == "..":
            os.close(fd)
            raise OSError(EINVAL, "a path may not contain '..'")
        try:
            if make:
                try:
                    os.mkdir(name, 0o755, dir_fd=fd)
                except FileExistsError:
                    pass
                except OSError as error:
                    if error.errno != EROFS:  # it may well exist
                        raise
            below = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_DIRECTORY, dir_fd=fd)
        finally:
            os.close(fd)
        fd = below
    return fd


def open_file(path: str, mode: int) -> int:
    """Open a regular file for reading (`mode` < 0), or make or reopen one for writing, following no link."""
    folder, _, name = path.rstrip("/").rpartition("/")
    if name in ("", ".", ".."):
        raise OSError(EISDIR, "is a folder")
    parent = descend(folder, make=mode >= 0)
    try:
        flags = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
        flags |= os.O_RDONLY if mode < 0 else os.O_WRONLY | os.O_CREAT
        fd = os.open(name, flags, 0o600, dir_fd=parent)
    finally:
        os.close(parent)
    try:
        require_regular(fd)
        if mode >= 0:
            os.ftruncate(fd, 0)
            os.fchmod(fd, mode & 0o777)
    except BaseException:
        os.close(fd)
        raise
    return fd


def require_regular(fd: int) -> None:
    """Raise OSError for an open file that is a FIFO, a device, a folder, or of /proc.

    /proc shows every process itself, so that through us an agent would get at the memory of pid 1.
    """
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode) or status.st_dev == os.stat("/proc").st_dev:  # noqa: PTH116  # pathlib is not affordable here
        raise OSError(EINVAL, "not a regular file")


def write_text(path: str, text: str, folder: int | None = None) -> None:
    """Write to a file of /proc in one call, as these want it."""
    fd = os.open(path, os.O_WRONLY, dir_fd=folder)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)
