"""Inspect logs: ``.eval`` (a zip of JSON, deflated or compressed by Zstandard) and ``.json``; an episode per sample."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import zstandard

from rubricgrade.readers.draft import Draft
from rubricgrade.readers.jsontext import NotJson, parse
from rubricgrade.readers.message import add_message, leftovers
from rubricgrade.readers.shapes import as_label, as_list, as_number, as_object, as_text, as_whole
from rubricgrade.readers.source import Document, Source, stem
from rubricgrade.readers.usage import total, usage_of
from rubricgrade.trajectory import Trajectory

ZSTANDARD = 93
MOST_BYTES = 1 << 30
LOCAL_HEADER = struct.Struct("<26xHH")
ATTACHMENT = "attachment://"
# Logs of what happened inside, beside the messages; and what is read elsewhere.
BESIDE = {"messages", "input", "events", "events_data", "attachments", "output", "store", "model_usage", "id", "epoch"}


def matches(value: Any) -> bool:
    """Whether it is a log with samples."""
    fields = as_object(value) or {}
    return isinstance(fields.get("samples"), list) and isinstance(fields.get("eval"), dict)


def split(document: Document) -> list[Document]:
    """The log as one log for each sample."""
    log = as_object(document.value) or {}
    return [
        replace(
            document,
            value={"eval": log.get("eval"), "samples": [sample]},
            name=f"{document.name}-{index}",
            path=document.path or f"samples[{index}]",
            notes=document.notes if index == 0 else (),
        )
        for index, sample in enumerate(as_list(log.get("samples")) or [])
    ]


def read(document: Document) -> list[Trajectory]:
    """The episode of a log with one sample.

    Raises:
        TrajectoryError: A message can't be read, or there is none.
    """
    log = as_object(document.value) or {}
    sample = as_object(next(iter(as_list(log.get("samples")) or []), None)) or {}
    about = as_object(log.get("eval")) or {}
    draft = Draft()
    pool = as_object(sample.get("attachments")) or {}
    for number, message in enumerate(as_list(_attached(sample.get("messages"), pool)) or []):
        add_message(draft, message, f"messages[{number}]")
    if error := as_object(sample.get("error")):
        draft.warn("error", f"the sample failed: {as_text(error.get('message')) or 'unknown'}", "error")
    name, epoch = as_label(sample.get("id")) or document.name, as_whole(sample.get("epoch")) or 1
    spent = as_object(sample.get("model_usage")) or {}
    output = as_object(sample.get("output")) or {}
    meta = {key: value for key, value in sample.items() if key not in BESIDE}
    meta |= {key: about[key] for key in ("task", "run_id") if key in about}
    return [
        draft.finish(
            id=f"{name}-epoch-{epoch}",
            task=as_text(_attached(sample.get("input"), pool)),
            task_id=name,
            sample=epoch,
            model=as_text(about.get("model")) or as_text(output.get("model")),
            reward=_reward(sample.get("scores")),
            usage=total(usage_of(usage) for usage in spent.values()) or usage_of(output.get("usage")),
            meta=leftovers(draft, meta, ""),
        )
    ]


def read_zip(file: Path, data: bytes) -> Source:
    """The log in a zip's bytes, one document for each sample. What can't be read of it is a fault of the source.

    Python reads Zstandard in a zip only since 3.14, so members are unpacked here.
    """
    source = Source(file)
    about: Any = {}
    samples: list[Document] = []
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.infolist()
    except (zipfile.BadZipFile, UnicodeDecodeError, NotImplementedError, struct.error, ValueError) as error:
        source.fault(f"is no whole zip file ({error}); an Inspect log that was cut can be mended by Inspect itself")
        return source
    names = {member.filename for member in members}
    head = "header.json" if "header.json" in names else "_journal/start.json"
    for member in members:
        sample = member.filename.startswith("samples/") and member.filename.endswith(".json")
        if not sample and member.filename != head:
            continue
        try:
            value, changed = parse(_unpacked(data, member).decode("utf-8-sig"))
        except (NotJson, ValueError, struct.error, zlib.error, zstandard.ZstdError) as error:
            source.fault(f"{member.filename[:200]}: can't be read: {error}")
            continue
        if sample:
            samples.append(Document(value, stem(file), path=member.filename, file=file, notes=changed))
        else:
            about = (as_object(value) or {}).get("eval") or {}
    source.documents = [replace(one, value={"eval": about, "samples": [one.value]}) for one in samples]
    if not samples and not source.faults:
        source.fault("is a zip file without samples; an Inspect log has its samples in samples/")
    return source


def _unpacked(data: bytes, member: zipfile.ZipInfo) -> bytes:
    """A member's bytes, checked by size and checksum.

    Raises:
        ValueError: It is encrypted, packed in another way, damaged, or larger than `MOST_BYTES`.
    """
    if member.flag_bits & 1 or member.file_size > MOST_BYTES:
        raise ValueError("encrypted, or too large")
    name, extra = LOCAL_HEADER.unpack_from(data, member.header_offset)
    start = member.header_offset + LOCAL_HEADER.size + name + extra
    packed = data[start : start + member.compress_size]
    match member.compress_type:
        case zipfile.ZIP_STORED:
            content = packed
        case zipfile.ZIP_DEFLATED:
            content = zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, member.file_size + 1)
        case _ if member.compress_type == ZSTANDARD:
            with zstandard.ZstdDecompressor().stream_reader(io.BytesIO(packed), read_across_frames=True) as stream:
                content = stream.read(member.file_size + 1)
        case other:
            raise ValueError(f"packed by method {other}, which is unknown")
    if len(content) != member.file_size or zlib.crc32(content) != member.CRC:
        raise ValueError("damaged: its size or checksum is wrong")
    return content


def _attached(value: Any, pool: dict[str, Any]) -> Any:
    """The value with each reference to an attachment replaced by the attachment."""
    if isinstance(value, str) and value.startswith(ATTACHMENT):
        return pool.get(value.removeprefix(ATTACHMENT), value)
    if (fields := as_object(value)) is not None:
        return {key: _attached(item, pool) for key, item in fields.items()}
    if (entries := as_list(value)) is not None:
        return [_attached(item, pool) for item in entries]
    return value


def _reward(scores: Any) -> float | None:
    """The score, when there is one scorer and it gave a number."""
    values = [as_object(score) or {} for score in (as_object(scores) or {}).values()]
    return as_number(values[0].get("value")) if len(values) == 1 else None
