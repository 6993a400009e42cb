"""Images that lie as files beside an ATIF file: their bytes go into the trajectory. URLs are never fetched."""

from __future__ import annotations

import base64
from pathlib import Path

from rubricgrade.errors import TrajectoryError
from rubricgrade.readers.draft import Draft
from rubricgrade.readers.episode import inside
from rubricgrade.readers.media import image_of
from rubricgrade.trajectory import Image, Part

MOST_BYTES = 20 << 20


def add_images(draft: Draft, first: int, file: Path | None) -> None:
    """Give images of the steps from `first` on their bytes; one that can't be had stays a name, with a warning.

    Args:
        draft: The episode so far.
        first: The step to begin with.
        file: The ATIF file; None when it came from no file, and nothing on disk is looked at.
    """
    if file is None:
        return
    for index in range(first, len(draft.steps)):
        step = draft.steps[index]
        content = tuple(_found(draft, part, index, file.parent) for part in step.content)
        if content != step.content:
            draft.steps[index] = step.model_copy(update={"content": content})


def _found(draft: Draft, part: Part, index: int, folder: Path) -> Part:
    if not isinstance(part, Image) or not part.url or ":" in part.url or part.url.startswith("/"):
        return part
    place, name = f"step {index}", part.url[:200]
    try:
        file = inside(folder, part.url)
        data = file.read_bytes() if file is not None and file.is_file() and file.stat().st_size <= MOST_BYTES else b""
    except (TrajectoryError, OSError) as error:
        draft.warn(place, f"image {name!r} was not read: {error}", "image")
        return part
    if not data:
        draft.warn(place, f"image {name!r} is not there, or larger than {MOST_BYTES >> 20} MiB", "image")
        return part
    return image_of(base64.b64encode(data).decode(), part.media_type) or part
