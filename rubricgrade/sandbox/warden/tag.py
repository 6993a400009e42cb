"""The name of a sandbox that somebody else keeps: enough to tell later whether anyone still needs it.

It is made of letters, digits and hyphens only and short enough for a host name, since not everybody has labels.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import re
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Self

_COUNT = itertools.count()
_FORM = re.compile(
    r"rubricgrade-(?P<label>[0-9a-f]{6})-(?P<boot>[0-9a-f]{8})-(?P<pid>[0-9a-f]+)-(?P<began>[0-9a-f]+)"
    r"-(?P<made>[0-9a-f]+)-(?P<lifetime>[0-9a-f]+)-[0-9a-f]+"
)


@dataclass(frozen=True, slots=True)
class Tag:
    """Who made a sandbox, when, and for how long.

    Attributes:
        label: The first digits of the hash of the caller's label.
        boot: The first digits of the id of the running system.
        pid: The owner.
        began: When the owner was started, by the system's clock, so that its number can't be another's.
        made: Seconds since 1970.
        lifetime: Seconds.
    """

    label: str
    boot: str
    pid: int
    began: int
    made: int
    lifetime: int

    @classmethod
    def read(cls, text: str) -> Self | None:
        """The tag in a name; None for a name that is not ours."""
        found = _FORM.fullmatch(text)
        if not found:
            return None
        numbers = (int(found[name], 16) for name in ("pid", "began", "made", "lifetime"))
        return cls(found["label"], found["boot"], *numbers)

    def unwanted(self, *, label: str | None, older_than: float, here: bool) -> bool:
        """Whether a sandbox may be removed: its owner is dead, or its time is over.

        Args:
            label: Only those of this label.
            older_than: Only those made at least so many seconds ago.
            here: It lies on this machine, so that an owner from before the last start is dead.
        """
        age = time.time() - self.made
        if age < older_than or (label is not None and self.label != label_hash(label)):
            return False
        if self.boot != boot():
            return here or age > self.lifetime
        return began(self.pid) != self.began


def label_hash(label: str) -> str:
    """What of a label is kept."""
    return hashlib.sha256(label.encode()).hexdigest()[:6]


def boot() -> str:
    """The running system: another one after each start, and on every machine."""
    where = Path("/proc/sys/kernel/random/boot_id")
    text = where.read_text() if sys.platform == "linux" else f"{os.uname().nodename}"
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def began(pid: int) -> int:
    """When a process was started; 0 when there is none, or this system does not say."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    except OSError:
        return 0


def new_tag(label: str, lifetime: float) -> str:
    """A name for one more sandbox of this process, as `Tag.read` understands it."""
    pid = os.getpid()
    numbers = (pid, began(pid), int(time.time()), int(lifetime), next(_COUNT))
    return "-".join(("rubricgrade", label_hash(label), boot(), *(f"{number:x}" for number in numbers)))
