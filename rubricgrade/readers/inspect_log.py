"""Inspect logs: ``.eval`` (a zip of JSON, deflated or compressed by Zstandard) and ``.json``; an episode per sample."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import zstandard

from rubricgrade.readers.content import content_of
from rubricgrade.readers.draft import Draft
from rubricgrade.readers.inspect_events import facts_of_events, without_events
from rubricgrade.readers.jsontext import NotJson, parse
from rubricgrade.readers.message import add_message, leftovers
from rubricgrade.readers.shapes import as_label, as_list, as_number, as_object, as_text, as_whole
from rubricgrade.readers.source import MOST_BYTES, Document, Source, stem
from rubricgrade.readers.usage import total, usage_of
from rubricgrade.trajectory import Text, Trajectory

ZSTANDARD = 93
LOCAL_HEADER = struct.Struct("<26xHH")
ATTACHMENTS = ("attachment://", "tc://")
# Logs of what happened inside, beside the messages; and what is read elsewhere.
BESIDE = {"messages", "input", "events", "events_data", "attachments", "output", "id", "epoch"}
OUTCOME = ("stop_reason", "time", "error")


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
    for place, message in _messages(
        draft, _attached(without_events(sample), pool), as_list(sample.get("events")) or []
    ):
        add_message(draft, message, place)
    if error := as_object(sample.get("error")):
        draft.warn("error", f"the sample failed: {as_text(error.get('message')) or 'unknown'}", "error")
    name, epoch = as_label(sample.get("id")) or document.name, as_whole(sample.get("epoch")) or 1
    spent = as_object(sample.get("model_usage")) or {}
    output = as_object(sample.get("output")) or {}
    meta = {key: value for key, value in sample.items() if key not in BESIDE}
    meta |= {key: output[key] for key in OUTCOME if output.get(key)}
    meta |= {key: about[key] for key in ("task", "run_id", "created", "task_args") if key in about}
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
    if sum(member.file_size for member in members) > MOST_BYTES:
        source.fault(f"unpacks to more than {MOST_BYTES >> 20} MiB, which is not read")
        return source
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
        ValueError: It is encrypted, packed in another way, or damaged.
    """
    if member.flag_bits & 1:
        raise ValueError("encrypted")
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


def _messages(draft: Draft, sample: dict[str, Any], events: list[Any]) -> Iterator[tuple[str, Any]]:
    """Every message with its place, and with the time and the usage that its event says."""
    messages = as_list(sample.get("messages")) or []
    given = as_list(sample.get("input"))
    if not messages and (given or as_text(sample.get("input"))):
        draft.warn("messages", "are empty; the sample's input was read", "no_messages")
        yield from ((f"input[{index}]", message) for index, message in enumerate(given or []))
        if given is None:
            yield "input", {"role": "user", "content": sample["input"]}
    told = facts_of_events(draft, messages, events)
    for index, message in enumerate(messages):
        fields = as_object(message)
        yield f"messages[{index}]", message if fields is None else {**told.get(index, {}), **fields}
    if (closing := _unsaid(sample, messages)) is not None:
        draft.warn("output", "is no message of the sample; it was added as the last one", "output")
        yield "output", closing


def _unsaid(sample: dict[str, Any], messages: list[Any]) -> dict[str, Any] | None:
    """The message of the sample's output, if the messages do not hold it."""
    output = as_object(sample.get("output")) or {}
    choice = as_object(next(iter(as_list(output.get("choices")) or []), None)) or {}
    message = as_object(choice.get("message")) or {}
    text = _text(message)
    said = [_text(fields) for fields in map(as_object, messages) if fields and fields.get("role") == "assistant"]
    return message if text and text not in said else None


def _text(message: dict[str, Any]) -> str:
    return "\n".join(part.text for part in content_of(message.get("content")).parts if isinstance(part, Text)).strip()


def _attached(value: Any, pool: dict[str, Any]) -> Any:
    """The value with each reference to an attachment replaced by the attachment."""
    if isinstance(value, str) and value.startswith(ATTACHMENTS):
        return pool.get(value.partition("://")[2], value)
    if (fields := as_object(value)) is not None:
        return {key: _attached(item, pool) for key, item in fields.items()}
    if (entries := as_list(value)) is not None:
        return [_attached(item, pool) for item in entries]
    return value


def _reward(scores: Any) -> float | None:
    """The score, when there is one scorer and it gave a number."""
    values = [as_object(score) or {} for score in (as_object(scores) or {}).values()]
    return as_number(values[0].get("value")) if len(values) == 1 else None
