"""Ready rubrics and sandbox templates: beside the package in a checkout, inside it in an installed wheel."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

Kind = Literal["rubrics", "sandboxes"]

PACKAGE = Path(__file__).resolve().parent


def find(kind: Kind, name: str) -> Path | None:
    """The folder of a ready rubric or template; None if there is none of this name."""
    return next((folder for folder in ready(kind) if folder.name == name), None)


def ready(kind: Kind) -> list[Path]:
    """The folders of all ready rubrics or templates, by name."""
    shelf = PACKAGE / "shipped" / kind
    if not shelf.is_dir():
        shelf = PACKAGE.parent / kind
    return sorted(folder for folder in shelf.iterdir() if folder.is_dir()) if shelf.is_dir() else []
