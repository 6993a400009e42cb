"""Whether the folders that a sandbox is laid on still hold what they held when it was opened.

An overlay shows at once what somebody removes below it: a template that is deleted, temporary files that are cleaned
away. What runs there then finds that files are missing which it was given.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

MOST_FOLDERS, MOST_NAMES = 256, 4096
"""Of one sandbox, those nearest to the tops: more would cost every command too much."""


@dataclass(frozen=True, slots=True)
class _Folder:
    path: str
    changed: int
    names: frozenset[str]


class Ground:
    """What the layers of one sandbox held when it was opened."""

    def __init__(self, layers: Iterable[Path]) -> None:
        """Look at some folders of ours. What can't be read is left out."""
        self._folders: list[_Folder] = []
        left = MOST_NAMES
        waiting = deque(str(layer) for layer in layers)
        while waiting and len(self._folders) < MOST_FOLDERS and left > 0:
            path = waiting.popleft()
            try:
                changed = os.lstat(path).st_mtime_ns
                with os.scandir(path) as items:
                    found = [(item.name, item.is_dir(follow_symlinks=False)) for item in islice(items, left)]
            except OSError:
                continue
            left -= len(found)
            self._folders.append(_Folder(path, changed, frozenset(name for name, _ in found)))
            waiting.extend(f"{path}/{name}" for name, is_folder in found if is_folder)

    def lost(self) -> set[str]:
        """Paths of what was removed since then."""
        return {path for folder in self._folders for path in _lost(folder)}


class Removals:
    """What was removed below the sandboxes of one provider, and has not come back."""

    def __init__(self) -> None:
        self._paths: set[str] = set()

    def note(self, paths: set[str]) -> None:
        """Keep in mind what was found to be missing."""
        self._paths |= paths

    def below(self, layers: Iterable[Path]) -> str:
        """Something of these layers that was there for an earlier sandbox and is missing; empty if nothing is."""
        if not self._paths:
            return ""
        self._paths = {path for path in self._paths if not os.path.lexists(path)}
        tops = [f"{layer}/" for layer in layers]
        return next((path for path in sorted(self._paths) if f"{path}/".startswith(tuple(tops))), "")


def _lost(folder: _Folder) -> list[str]:
    try:
        if os.lstat(folder.path).st_mtime_ns == folder.changed:
            return []
        return [f"{folder.path}/{name}" for name in folder.names.difference(os.listdir(folder.path))]  # noqa: PTH208  # names, not paths
    except OSError:
        return [folder.path]
