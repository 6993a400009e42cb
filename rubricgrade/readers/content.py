"""Message content to parts: text, lists of parts in every provider's spelling, structured values, reasoning apart."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from rubricgrade.readers.media import image_at, image_of, taken_out, without_binary
from rubricgrade.readers.shapes import as_list, as_object, as_text, compact, without_nulls
from rubricgrade.trajectory import Image, Other, Part, Text

TEXT_TYPES = {"text", "input_text", "output_text", "refusal", "summary_text", "reasoning_text"}
IMAGE_TYPES = {"image", "image_url", "image-url", "input_image"}
# Types of parts that are an image if they say so.
MEDIA_TYPES = {"file", "blob", "uri", "binary"}
HOLDERS = ("image_url", "source", "image", "data", "url", "uri")
MEDIA_NAMES = ("media_type", "mediaType", "mimeType", "mime_type")
REASONING_TYPES = {"thinking", "reasoning", "redacted_thinking"}
# How a part travels, not what it says.
TRANSPORT = {"cache_control", "cache_prompt"}
THINK = re.compile(r"\s*<(think|thinking)>(.*?)(?:</\1>\s*|\Z)", re.DOTALL)


@dataclass(slots=True)
class Content:
    """What a message's content came to.

    Attributes:
        parts: What is shown.
        reasoning: Private reasoning found in it, in order.
        extra: Fields of parts that have no place in a part, by the part's number (from 1).
        notes: What could not be kept as it was.
    """

    parts: list[Part] = field(default_factory=list[Part])
    reasoning: list[str] = field(default_factory=list[str])
    extra: dict[str, Any] = field(default_factory=dict[str, Any])
    notes: list[str] = field(default_factory=list[str])

    @property
    def thoughts(self) -> str | None:
        """Its reasoning as one text; the same text given twice counts once."""
        distinct = dict.fromkeys(text.strip() for text in self.reasoning if text.strip())
        return "\n\n".join(distinct) or None

    def add_text(self, text: str) -> None:
        """Add text, with inline images taken out of it."""
        if not text:
            return
        text, images = taken_out(text)
        self.parts.append(Text(text=text))
        self.parts.extend(images)

    def add(self, part: Any) -> None:
        """Add one element of a content list, whatever it is."""
        block = as_object(part)
        if block is None:
            self.add_text(part if isinstance(part, str) else compact(part))
            return
        kind = as_text(block.get("type"))
        fields = {key: value for key, value in block.items() if key != "type" and key not in TRANSPORT}
        if kind in TEXT_TYPES or (kind is None and isinstance(block.get("text"), str)):
            text = fields.pop("text", None) or fields.pop("refusal", None) or fields.pop("content", None) or ""
            if not isinstance(text, str):
                self.notes.append("the text of a part is none; it is kept as JSON")
            self.add_text(text if isinstance(text, str) else compact(text))
        elif kind in REASONING_TYPES:
            self._add_reasoning(fields)
        elif kind in IMAGE_TYPES | MEDIA_TYPES and (image := self._image(fields, kind)) is not None:
            self.parts.append(image)
        else:
            self.parts.append(Other(kind=kind or "value", value=self.slim(block)))
            return
        if rest := without_nulls(fields):
            self.extra[str(len(self.parts))] = self.slim(rest)

    def slim(self, value: Any) -> Any:
        """A JSON value without binary data; images in it become parts after those that are there."""
        images: list[Image] = []
        slim, cut = without_binary(value, images)
        self.parts.extend(images)
        if cut:
            self.notes.append("binary data that is no image was left out; its size and hash are kept")
        return slim

    def split_thinking(self) -> None:
        """Move an inline ``<think>`` block at the start of the first text to the reasoning."""
        first = self.parts[0] if self.parts else None
        found = THINK.match(first.text) if isinstance(first, Text) else None
        if found is None or not isinstance(first, Text):
            return
        self.reasoning.append(found[2])
        if not found[0].rstrip().endswith(f"</{found[1]}>"):
            self.notes.append(f"<{found[1]}> is not closed; all of the text was taken as reasoning")
        rest = first.text[found.end() :]
        self.parts[:1] = [Text(text=rest)] if rest else []

    def _add_reasoning(self, fields: dict[str, Any]) -> None:
        """Take the reasoning of a block in its readable form; ciphers are not kept."""
        for name in ("thinking", "reasoning", "text", "summary", "content"):
            value = fields.pop(name, None)
            pieces = [value] if isinstance(value, str) else as_list(value) or []
            texts = [
                piece if isinstance(piece, str) else as_text((as_object(piece) or {}).get("text")) for piece in pieces
            ]
            self.reasoning.extend(text for text in texts if text)
        ciphers = {"data", "signature", "encrypted_content", "providerOptions", "providerMetadata"} & fields.keys()
        for name in ciphers:
            if fields.pop(name) and name in {"data", "encrypted_content"}:
                self.notes.append("encrypted reasoning was left out")

    def _image(self, fields: dict[str, Any], kind: str) -> Image | None:
        """The image in any spelling: ``image_url``, ``source``, ``image``, ``data``; None if this is no image.

        Args:
            fields: The part's fields; what was read is taken out.
            kind: Its type; some types are of an image even without a media type.
        """
        known = kind in IMAGE_TYPES or fields.get("modality") == "image"
        holders = (*HOLDERS, "content") if kind in MEDIA_TYPES else HOLDERS
        holder = next((fields[name] for name in holders if fields.get(name)), None)
        inner = as_object(holder)
        media = next(
            (text for where in (inner or {}, fields) for name in MEDIA_NAMES if (text := as_text(where.get(name)))),
            None,
        )
        if not media.startswith("image") if media else not known:
            return None
        place = holder if isinstance(holder, str) else None
        if inner is not None:
            place = next((text for name in ("url", "data", "path") if (text := as_text(inner.get(name)))), None)
        if place is None:
            return None
        remote = place.startswith(("http:", "https:", "file:", "/")) or (inner is not None and "path" in inner)
        for name in (*holders, *MEDIA_NAMES, "modality"):
            fields.pop(name, None)
        if detail := as_text((inner or {}).get("detail")):
            fields["detail"] = detail
        image = None if remote else image_of(place, media)
        if image is None and not remote and (place.startswith("data:") or len(place) > 1000):  # noqa: PLR2004 - longer than a file name
            self.notes.append("image data could not be decoded; it was left out")
            place = ""
        return image or image_at(place, media)


def content_of(value: Any) -> Content:
    """The content of a message: null, text, a list of parts, one part, or a structured value (kept as compact JSON)."""
    content = Content()
    entries = as_list(value)
    block = as_object(value)
    if value is None:
        return content
    if isinstance(value, str):
        content.add_text(value)
    elif entries is not None and all(is_part(entry) for entry in entries):
        for entry in entries:
            content.add(entry)
    elif block is not None and is_part(block):
        content.add(block)
    else:
        images = Content()
        content.add_text(compact(images.slim(value)))
        content.parts.extend(images.parts)
        content.notes.extend(images.notes)
    return content


def said(value: Any) -> Content:
    """The content of a message that somebody wrote: what is neither text nor parts is noted. Tools may give any."""
    content = content_of(value)
    if value is not None and not is_part(value) and not all(is_part(each) for each in as_list(value) or [None]):
        content.notes.append("is neither text nor a list of parts; it is kept as JSON")
    return content


def is_part(value: Any) -> bool:
    """Whether an element of a list is a part of content, rather than of a structured value."""
    block = as_object(value)
    return isinstance(value, str) or (block is not None and isinstance(block.get("type"), str))
