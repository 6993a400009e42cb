"""A new task directory: written to its end, or not there."""

from __future__ import annotations

import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from rubricgrade.errors import Fault, InputError


@contextmanager
def begun(target: Path) -> Generator[None]:
    """Make a folder for the block to fill; what fails or is interrupted there leaves nothing.

    Raises:
        InputError: Something is there already.
    """
    if target.exists():
        raise InputError(Fault("is there already", str(target)))
    try:
        target.mkdir(parents=True)
        yield
    except BaseException:
        shutil.rmtree(target, ignore_errors=True)
        raise
