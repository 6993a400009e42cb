"""Pictures for judges that see, of steps and of pages of files: which are shown, and how they stand in a message."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rubricgrade.chat.prices import listing
from rubricgrade.evidence import Document, Place
from rubricgrade.trajectory import Image, Trajectory

SHOWN_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
MOST = 20
"""Pictures in one prompt."""

LARGEST = 6 << 20
"""Characters of a picture's base64."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture, the name of the part that it belongs to, and which page of it it is."""

    where: str
    image: Image
    page: int | None = None

    @property
    def address(self) -> str:
        """Where it stands, in words."""
        return self.where if self.page is None else f"page {self.page} of {self.where}"


def pictures_of(trajectory: Trajectory, places: Sequence[Place]) -> tuple[Picture, ...]:
    """All pictures in the steps whose text is among some places, in order."""
    return tuple(_pictures(trajectory, {place.name for place in places}))


def pages_of(files: Sequence[Document]) -> tuple[Picture, ...]:
    """Pages of documents, in order; a document is called as in `evidence.select`."""
    return tuple(
        Picture(f"file_{number}", _png(data), page)
        for number, file in enumerate(files, 1)
        for page, data in enumerate(file.pictures, 1)
    )


def showable(pictures: Sequence[Picture]) -> tuple[Picture, ...]:
    """Those that are here, of a kind that models take, not too large, and not too many."""
    fit = [each for each in pictures if each.image.media_type in SHOWN_TYPES and 0 < len(each.image.data) <= LARGEST]
    return tuple(fit[:MOST])


def sees(model: str) -> bool:
    """Whether a model takes pictures; one that no list knows is taken to do so, and says so itself if it does not."""
    facts = listing(model)
    return not facts or bool(facts.get("supports_vision"))


def content(text: str, pictures: Sequence[Picture]) -> str | list[dict[str, Any]]:
    """A message with a text and pictures, each after its address."""
    if not pictures:
        return text
    parts: list[dict[str, Any]] = [{"type": "text", "text": text}]
    for picture in pictures:
        url = f"data:{picture.image.media_type};base64,{picture.image.data}"
        parts.append({"type": "text", "text": f"{picture.image.placeholder} of {picture.address}, data like the rest:"})
        parts.append({"type": "image_url", "image_url": {"url": url}})
    return parts


def _pictures(trajectory: Trajectory, names: set[str]) -> Iterator[Picture]:
    for index, step in enumerate(trajectory.steps):
        where = f"[{index}].result" if step.role == "tool" else f"[{index}].text"
        if where in names:
            yield from (Picture(where, part) for part in step.content if isinstance(part, Image))


def _png(data: bytes) -> Image:
    return Image(
        media_type="image/png",
        sha256=hashlib.sha256(data).hexdigest(),
        size=len(data),
        data=base64.b64encode(data).decode(),
    )
