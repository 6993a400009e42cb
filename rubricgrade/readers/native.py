"""Our own file format: ``rubricgrade.trajectory/1``, read strictly and written atomically."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from rubricgrade.errors import Fault, StoreError, TrajectoryError
from rubricgrade.misfits import misfits
from rubricgrade.readers.shapes import as_object
from rubricgrade.readers.source import Document
from rubricgrade.trajectory import SCHEMA, Trajectory, Value

FAMILY = SCHEMA.rsplit("/", 1)[0] + "/"
PLACES = ("workspace", "world")


def matches(value: Any) -> bool:
    """Whether it names our schema, of any version."""
    schema = (as_object(value) or {}).get("schema")
    return isinstance(schema, str) and schema.startswith(FAMILY)


def read(document: Document) -> list[Trajectory]:
    """The trajectory in a document of our own.

    Raises:
        TrajectoryError: It has another version, or does not fit the schema; every misfit is named.
    """
    fields = dict(as_object(document.value) or {})
    schema = fields.pop("schema", None)
    if schema != SCHEMA:
        raise TrajectoryError(Fault(f"schema: is {schema!r}; this version reads {SCHEMA!r}", code="TR002"))
    for name in PLACES:
        fields.pop(name, None)
    try:
        return [Trajectory.model_validate_json(json.dumps(fields), strict=True)]
    except ValidationError as error:
        raise TrajectoryError([Fault(told, code="TR003") for told in misfits(error, data=fields)]) from None


def places_of(value: Any) -> dict[str, Any]:
    """What a document of our own says about where its workspace and its world lie, relative to itself."""
    fields = as_object(value) or {}
    return {name: fields[name] for name in PLACES if fields.get(name) is not None} if matches(value) else {}


def write_trajectory(trajectory: Trajectory, path: Path | str) -> Path:
    """Write a trajectory as JSON, whole or not at all. Reading it gives an equal one.

    A workspace or a world that lies in the file's folder under another name than the usual one is named in the file.

    Args:
        trajectory: What to write.
        path: The file, or a folder that gets a ``trajectory.json``. Missing folders are made.

    Returns:
        The file.

    Raises:
        StoreError: It can't be written.
    """
    file = Path(path)
    if file.is_dir():
        file = file / "trajectory.json"
    fields = {**native_document(trajectory), **_named_places(trajectory, file.parent)}
    text = json.dumps(fields, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        replace_file(file, text.encode())
    except OSError as error:
        raise StoreError(f"{file}: can't be written: {error.strerror or error}") from error
    return file


def native_document(trajectory: Trajectory) -> dict[str, Any]:
    """A trajectory as a JSON object of our own format, without its places. Reading it gives an equal one."""
    return {"schema": SCHEMA, **_plain(trajectory)}


def trajectory_schema() -> dict[str, Any]:
    """JSON Schema of our own file format."""
    schema = Trajectory.model_json_schema()
    place = {"type": "string", "description": "Path relative to the file, inside its folder."}
    schema["properties"] = {
        "schema": {"const": SCHEMA},
        **schema["properties"],
        **dict.fromkeys(PLACES, place),
    }
    schema["required"] = ["schema", *schema["required"]]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _plain(value: Value) -> dict[str, Any]:
    """The fields of a value that differ from their default, and its type."""
    plain: dict[str, Any] = {}
    for name, field in type(value).model_fields.items():
        item = getattr(value, name)
        if name == "type" or field.is_required() or item != field.get_default(call_default_factory=True):
            plain[name] = _plain_item(item)
    return plain


def _plain_item(item: Any) -> Any:
    match item:
        case Value():
            return _plain(item)
        case tuple():
            return [_plain_item(element) for element in item]  # pyright: ignore[reportUnknownVariableType] - of any field
        case _:
            return item


def _named_places(trajectory: Trajectory, folder: Path) -> dict[str, str]:
    folder = folder.absolute()
    usual = {folder / "workspace", folder / "workspace.tar.zst", folder / "world"}
    known = {"workspace": trajectory.workspace, "world": trajectory.world}
    places = {name: place.absolute() for name, place in known.items() if place is not None}
    return {
        name: place.relative_to(folder).as_posix()
        for name, place in places.items()
        if place not in usual and place.is_relative_to(folder)
    }


def replace_file(file: Path, data: bytes) -> None:
    """Write a file beside it and rename, so that a reader sees the old one or the new one, whole."""
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        Path(name).chmod(0o644)
        Path(name).replace(file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
