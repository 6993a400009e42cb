"""The system-call filter, run by a small interpreter of BPF: the only way to test the other architecture too."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubricgrade.sandbox.seccomp import AUDIT_ARCH, FAMILIES, INSPECTED, REFUSED, UNCOUNTED_MEMORY, X32_BIT, program

ALLOW, ERRNO = 0x7FFF0000, 0x00050000
EPERM, ENOSYS, EAFNOSUPPORT = 1, 38, 97
MACHINES = list(AUDIT_ARCH)


def decide(code: bytes, arch: int, number: int, *arguments: int) -> int:
    """What the kernel would do with a call."""
    data = struct.pack("=IIQ6Q", number, arch, 0, *(arguments + (0,) * 6)[:6])
    accumulator, at = 0, 0
    while True:
        operation, yes, no, value = struct.unpack_from("=HBBI", code, at * 8)
        at += 1
        if operation == 0x20:
            (accumulator,) = struct.unpack_from("=I", data, value)
        elif operation == 0x06:
            return value
        else:
            holds = {0x15: accumulator == value, 0x35: accumulator >= value, 0x45: bool(accumulator & value)}[operation]
            at += yes if holds else no


def number_of(name: str, machine: str) -> int | None:
    return (REFUSED | UNCOUNTED_MEMORY | INSPECTED)[name][MACHINES.index(machine)]


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("count_memory", [True, False])
def test_every_listed_call_is_decided(machine: str, count_memory: bool) -> None:
    code, arch = program(count_memory=count_memory, machine=machine), AUDIT_ARCH[machine]
    for name in REFUSED | UNCOUNTED_MEMORY:
        number = number_of(name, machine)
        if number is not None:
            allowed = name in UNCOUNTED_MEMORY and count_memory
            assert decide(code, arch, number) == (ALLOW if allowed else ERRNO | EPERM), name


@pytest.mark.parametrize("machine", MACHINES)
def test_decisions_by_argument(machine: str) -> None:
    code, arch = program(count_memory=True, machine=machine), AUDIT_ARCH[machine]

    def call(name: str, *arguments: int) -> int:
        number = number_of(name, machine)
        assert number is not None
        return decide(code, arch, number, *arguments)

    for family in range(50):
        expected = ALLOW if family in FAMILIES else ERRNO | EAFNOSUPPORT
        assert call("socket", family, 1) == call("socketpair", family, 1) == expected
    assert call("clone", 0x00010F00 | 17) == ALLOW  # a thread
    for bit in (17, 25, 26, 27, 28, 29, 30):
        assert call("clone", 1 << bit) == ERRNO | EPERM
    assert call("clone3") == ERRNO | ENOSYS
    assert call("ioctl", 0, 0x5412) == call("ioctl", 0, 0x541C) == ERRNO | EPERM
    # Only the low half is compared by the kernel's terminals, so the upper one must not help.
    assert call("ioctl", 0, 0x5412 | 1 << 32) == ERRNO | EPERM
    assert call("ioctl", 0, 0x5413) == ALLOW
    assert call("prctl", 36, 0) == ERRNO | EPERM
    assert call("prctl", 36, 1) == call("prctl", 15, 0) == ALLOW


@pytest.mark.parametrize("machine", MACHINES)
def test_other_calling_conventions_do_not_exist(machine: str) -> None:
    code = program(count_memory=True, machine=machine)
    for other in (0x40000003, 0x40000028, *(arch for name, arch in AUDIT_ARCH.items() if name != machine)):
        assert decide(code, other, 0) == ERRNO | ENOSYS
    assert decide(code, AUDIT_ARCH[machine], X32_BIT | 101) == ERRNO | ENOSYS


@given(st.integers(0, X32_BIT - 1), st.lists(st.integers(0, (1 << 64) - 1), max_size=6))
def test_what_is_not_listed_is_allowed_and_every_path_ends(number: int, arguments: list[int]) -> None:
    for machine in MACHINES:
        listed = {number_of(name, machine) for name in REFUSED | UNCOUNTED_MEMORY | INSPECTED}
        verdict = decide(program(count_memory=False, machine=machine), AUDIT_ARCH[machine], number, *arguments)
        assert verdict == ALLOW or number in listed


def test_another_machine_is_an_error() -> None:
    with pytest.raises(ValueError, match="riscv64"):
        program(count_memory=True, machine="riscv64")
