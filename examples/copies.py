"""Bring the copies that tasks hold of other examples' files up to date: ``python examples/copies.py``.

A task's folder must be whole by itself, so what a task shares with an example of stored episodes stands in both. The
example's is the original.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
COPIES = {
    "invoicekit/rubric.yaml": "tasks/task-0417/tests/rubric.yaml",
    "invoicekit/sealed": "tasks/task-0417/tests/sealed",
    "invoicekit/environment/TASK.md": "tasks/task-0417/instruction.md",
    "invoicekit/environment/invoicekit": "tasks/task-0417/environment/files/invoicekit",
    "invoicekit/environment/tests": "tasks/task-0417/environment/files/tests",
    "travel-mis/rubric.yaml": "tasks/travel-mis/tests/rubric.yaml",
    "travel-mis/checks": "tasks/travel-mis/tests/checks",
    "travel-mis/sealed": "tasks/travel-mis/tests/sealed",
    "travel-mis/TASK.md": "tasks/travel-mis/instruction.md",
    "travel-mis/world/drive": "tasks/travel-mis/tools/drive",
    "travel-mis/world/mailbox": "tasks/travel-mis/tools/mailbox",
    "travel-mis/world/slack": "tasks/travel-mis/tools/slack",
}
"""Originals, files or whole folders, and where they are copied to."""


def main() -> None:
    """Copy what differs, remove what has no original, and say what was done."""
    for original, copy in stale():
        if original.exists():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(original, copy)
        else:
            copy.unlink()
        print(copy.relative_to(HERE))


def stale() -> Iterator[tuple[Path, Path]]:
    """Every copy that is not as its original, with the original; either may be missing."""
    for original, copy in ((HERE / name, HERE / place) for name, place in COPIES.items()):
        inside = {path.relative_to(root) for root in (original, copy) for path in _files(root)}
        for path in sorted(inside):
            if _data(original / path) != _data(copy / path):
                yield original / path, copy / path


def _files(root: Path) -> Iterator[Path]:
    """A file itself, or all in a folder but what Python makes of them."""
    yield from (path for path in (root, *root.rglob("*")) if path.is_file() and path.suffix != ".pyc")


def _data(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


if __name__ == "__main__":
    main()
