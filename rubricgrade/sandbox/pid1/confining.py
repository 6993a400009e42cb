"""Finishes the file system and gives up every right, before any other program has run in the sandbox."""

import os
import sys

from .system import (
    MNT_DETACH,
    MS_BIND,
    MS_NODEV,
    MS_NOEXEC,
    MS_NOSUID,
    MS_RDONLY,
    MS_REC,
    MS_REMOUNT,
    Buffer,
    descend,
    libc,
    mount,
    write_text,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from rubricgrade.sandbox.wire import Config, Space

CLONE_NEWUSER = 0x10000000
PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 4, 22, 24, 38
PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 47, 4
SECCOMP_MODE_FILTER = 2
CAPABILITY_VERSION_3 = 0x20080522
SYS_CAPSET = {"x86_64": 126, "aarch64": 91}
SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}


def make_upper(space: "Space") -> int:
    """Make the folder that will hold the changes of one writable place, and return a handle on it."""
    upper = space["upper"]
    if not space["disk"]:
        mount("tmpfs", upper, "tmpfs", MS_NOSUID | MS_NODEV, space["data"])
        os.mkdir(f"{upper}/u", 0o755)  # noqa: PTH102  # pathlib is not affordable here
        os.mkdir(f"{upper}/w", 0o755)  # noqa: PTH102  # pathlib is not affordable here
        os.chown(f"{upper}/u", space["owner"], space["owner"])
        os.chmod(f"{upper}/u", space["mode"])  # noqa: PTH101  # pathlib is not affordable here
    return os.open(f"{upper}/u", os.O_RDONLY | os.O_DIRECTORY)


def mount_space(space: "Space", root: str) -> None:
    """Mount one writable place: the folder of its changes, over its lower layers if there are any."""
    upper = space["upper"]
    at = descend(root + space["target"], make=True)
    place = f"/proc/self/fd/{at}"
    if space["lowers"]:
        options = f"lowerdir={':'.join(space['lowers'])},upperdir={upper}/u,workdir={upper}/w"
        options += ",userxattr,index=off,metacopy=off,redirect_dir=nofollow"
        mount("overlay", place, "overlay", MS_NOSUID | MS_NODEV, options)
    else:
        mount(f"{upper}/u", place, "", MS_BIND)
    os.close(at)


def mount_reading(source: str, target: str) -> None:
    """Show a folder, which bubblewrap has bound read-only already, at its place."""
    at = descend(target, make=True)
    mount(source, f"/proc/self/fd/{at}", "", MS_BIND | MS_REC)
    os.close(at)


def show(path: str, root: str) -> None:
    """Show a folder of ours at the same place below a root file system."""
    at = descend(root + path, make=True)
    mount(path, f"/proc/self/fd/{at}", "", MS_BIND | MS_REC)
    os.close(at)


def enter(root: str) -> None:
    """Make a folder the root for good. The one before, with all that bubblewrap has bound there, is gone."""
    os.chdir(root)
    libc("syscall", SYS_PIVOT_ROOT[os.uname().machine], b".", b".")
    libc("umount2", b".", MNT_DETACH)
    os.chdir("/")


def close_proc(hidden: list[str], frozen: str) -> None:
    """Hide what /proc tells about the host, and make its switches read-only."""
    for path in hidden:
        if os.path.exists(path):  # noqa: PTH110  # pathlib is not affordable here
            mount("/dev/null", path, "", MS_BIND)
    mount(frozen, frozen, "", MS_BIND | MS_REC)
    mount("none", frozen, "", MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC)


def give_up_rights(uid: int, outer_uid: int, switches: int, seccomp: bytes) -> None:
    """Become an ordinary user of a nested user namespace with no capability, no way to gain one, and a filter.

    The mounts belong to the outer user namespace, so that even a capability regained in the nested one (which nothing
    gives) would not reach them. `switches` is a handle on /proc/sys as it was before it was made read-only.
    """
    if outer_uid:
        os.setgroups([])
        os.setresgid(outer_uid, outer_uid, outer_uid)
        os.setresuid(outer_uid, outer_uid, outer_uid)
    libc("unshare", CLONE_NEWUSER)
    libc("prctl", PR_SET_DUMPABLE, 1, 0, 0, 0)  # without it /proc/self belongs to a user who is not mapped here
    write_text("/proc/self/setgroups", "deny")
    write_text("/proc/self/uid_map", f"{uid} {outer_uid} 1")
    write_text("/proc/self/gid_map", f"{uid} {outer_uid} 1")
    write_text("user/max_user_namespaces", "0", switches)
    os.close(switches)
    with open("/proc/sys/kernel/cap_last_cap", "rb") as file:  # noqa: PTH123  # pathlib is not affordable here
        last = int(file.read())
    for capability in range(last + 1):
        libc("prctl", PR_CAPBSET_DROP, capability, 0, 0, 0)
    libc("prctl", PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    libc(
        "syscall", SYS_CAPSET[os.uname().machine], CAPABILITY_VERSION_3.to_bytes(4, sys.byteorder) + bytes(4), bytes(24)
    )
    libc("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    libc("prctl", PR_SET_DUMPABLE, 0, 0, 0, 0)  # nobody in here may trace pid 1 or read its memory
    if seccomp:
        program = Buffer(seccomp)
        address = program.address()
        header = (len(seccomp) // 8).to_bytes(2, sys.byteorder) + bytes(6) + address.to_bytes(8, sys.byteorder)
        libc("prctl", PR_SET_SECCOMP, SECCOMP_MODE_FILTER, header, 0, 0)


def confine(config: "Config", seed: "Callable[[tuple[int, ...]], None]") -> list[int]:
    """Finish the file system and give up every right. Returns the folders of changes of the writable places.

    Args:
        config: What to do.
        seed: Has the host fill the folders of changes, when it wants to.
    """
    uppers = [make_upper(space) for space in config["spaces"]]
    if config["seed"]:
        seed(tuple(uppers))
    spaces = {space["target"]: space for space in config["spaces"]}
    layers = {target: source for source, target in config["layers"]}
    root = config["root"]
    if root:
        mount_space(spaces.pop("/"), root)
        show("/dev", root)
    for target in sorted({*spaces, *layers}, key=lambda path: path.count("/")):  # a mount must not hide a deeper one
        if target in spaces:
            mount_space(spaces[target], root)
        else:
            mount_reading(layers[target], root + target)
    switches = os.open("/proc/sys", os.O_PATH | os.O_DIRECTORY)
    close_proc(config["hidden"], config["frozen"])
    for path in config["spent"]:
        libc("umount2", path.encode(), MNT_DETACH)
    if root:
        show("/proc", root)
        enter(root)
    for path in config["folders"]:
        at = descend(path, make=True)
        os.chown(f"/proc/self/fd/{at}", config["outer_uid"], config["outer_uid"])
        os.close(at)
    give_up_rights(config["uid"], config["outer_uid"], switches, config["seccomp"])
    return uppers
