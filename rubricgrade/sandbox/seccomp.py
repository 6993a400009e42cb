"""The system-call filter of a sandbox: a small assembler for classic BPF and the list of what is refused.

A deny-list over calls that reach other processes, the kernel's rarely tested corners, or memory that no limit counts.
Namespaces, capabilities and the file system do the main work; this closes what they leave open.
"""

from __future__ import annotations

import functools
import platform
import struct
from typing import Final

REFUSED: Final = {
    # name: (number on x86_64, number on aarch64); None where the call does not exist
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "process_mrelease": (448, 448),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "bpf": (321, 280),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "userfaultfd": (323, 282),
    "perf_event_open": (298, 241),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "open_by_handle_at": (304, 265),
    "name_to_handle_at": (303, 264),
    "unshare": (272, 97),
    "setns": (308, 268),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "syslog": (103, 116),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "fanotify_init": (300, 262),
    "lookup_dcookie": (212, 18),
    "uselib": (134, None),
    "modify_ldt": (154, None),
    "iopl": (172, None),
    "ioperm": (173, None),
    "move_pages": (279, 239),
    "migrate_pages": (256, 238),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "vhangup": (153, 58),
    "open_tree_attr": (467, 467),
}
"""Calls that fail with EPERM."""

UNCOUNTED_MEMORY: Final = {
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "msgget": (68, 186),
    "semget": (64, 190),
    "mq_open": (240, 180),
}
"""Calls that hold memory which neither a resource limit nor a process's own size shows."""

INSPECTED: Final = {
    "clone": (56, 220),
    "clone3": (435, 435),
    "socket": (41, 198),
    "socketpair": (53, 199),
    "ioctl": (16, 29),
    "prctl": (157, 167),
}
"""Calls that are decided by their arguments (clone3 hides its own from a filter, so that libc must fall back)."""

AUDIT_ARCH: Final = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
X32_BIT: Final = 0x40000000
FAMILIES: Final = (1, 2, 10, 16)
"""Socket families that a network namespace confines: UNIX, INET, INET6, NETLINK. Not VSOCK: it reaches the host."""
NEW_NAMESPACES: Final = 0x7E020000
"""All CLONE_NEW* flags that clone takes."""
TERMINAL_INPUT: Final = (0x5412, 0x541C)
"""ioctl TIOCSTI and TIOCLINUX: put words into the mouth of a terminal."""
SUBREAPER: Final = 36
"""prctl PR_SET_CHILD_SUBREAPER: a command must not let go of its children before its time limit."""

_ALLOW = 0x7FFF0000
_EPERM, _ENOSYS, _EAFNOSUPPORT = (0x00050000 | number for number in (1, 38, 97))
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCH, _FIRST_ARGUMENT = 0, 4, 16


def _instruction(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("=HBBI", code, yes, no, value)


def _argument(index: int) -> int:
    """Offset of the low half of an argument (both architectures are little-endian)."""
    return _FIRST_ARGUMENT + 8 * index


def _when(number: int, *body: bytes) -> list[bytes]:
    """Run `body` (which must end with a return) for one call."""
    return [_instruction(_EQUAL, number, 0, len(body)), *body]


@functools.cache
def program(*, count_memory: bool, machine: str | None = None) -> bytes:
    """The filter, ready for the kernel.

    Args:
        count_memory: Whether a memory control group counts everything, so that memfd and SysV memory may be allowed.
        machine: ``x86_64`` or ``aarch64``; default: this one.

    Raises:
        ValueError: The machine is another one.
    """
    machine = machine or platform.machine()
    if machine not in AUDIT_ARCH:
        raise ValueError(f"no system-call table for {machine}")
    column = list(AUDIT_ARCH).index(machine)
    clone, clone3, socket, socketpair, ioctl, prctl = (numbers[column] for numbers in INSPECTED.values())
    code = [
        _instruction(_LOAD, _ARCH),
        _instruction(_EQUAL, AUDIT_ARCH[machine], 1, 0),
        _instruction(_RETURN, _ENOSYS),  # 32-bit calls go by other numbers
        _instruction(_LOAD, _NUMBER),
        _instruction(_AT_LEAST, X32_BIT, 0, 1),
        _instruction(_RETURN, _ENOSYS),
        *_when(clone3, _instruction(_RETURN, _ENOSYS)),
        *_when(
            clone,
            _instruction(_LOAD, _argument(0)),
            _instruction(_ANY_BIT, NEW_NAMESPACES, 0, 1),
            _instruction(_RETURN, _EPERM),
            _instruction(_RETURN, _ALLOW),
        ),
        *_when(
            ioctl,
            _instruction(_LOAD, _argument(1)),
            *(
                _instruction(_EQUAL, request, len(TERMINAL_INPUT) - index, 0)
                for index, request in enumerate(TERMINAL_INPUT)
            ),
            _instruction(_RETURN, _ALLOW),
            _instruction(_RETURN, _EPERM),
        ),
        *_when(
            prctl,
            _instruction(_LOAD, _argument(0)),
            _instruction(_EQUAL, SUBREAPER, 0, 3),
            _instruction(_LOAD, _argument(1)),
            _instruction(_EQUAL, 0, 0, 1),
            _instruction(_RETURN, _EPERM),
            _instruction(_RETURN, _ALLOW),
        ),
    ]
    for number in (socket, socketpair):
        code += _when(
            number,
            _instruction(_LOAD, _argument(0)),
            *(_instruction(_EQUAL, family, len(FAMILIES) - index, 0) for index, family in enumerate(FAMILIES)),
            _instruction(_RETURN, _EAFNOSUPPORT),
            _instruction(_RETURN, _ALLOW),
        )
    refused = [numbers[column] for numbers in (REFUSED | ({} if count_memory else UNCOUNTED_MEMORY)).values()]
    for number in refused:
        if number is not None:
            code += _when(number, _instruction(_RETURN, _EPERM))
    code.append(_instruction(_RETURN, _ALLOW))
    return b"".join(code)
