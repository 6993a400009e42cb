"""From a template's folder to its definition: every fault of ``sandbox.yaml`` at once, with file, line and column."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path, PurePosixPath

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from rubricgrade import library
from rubricgrade.errors import Fault, TemplateError
from rubricgrade.loading import codes
from rubricgrade.loading.document import MAX_BYTES, Document, Place, read_document
from rubricgrade.misfits import needed, value_in_words
from rubricgrade.rubric.base import as_map
from rubricgrade.rubric.rules import nearest
from rubricgrade.templates.definition import Allowed, Definition, Files, Limits, Requires, RootFilesystem, Setup

FILE = "sandbox.yaml"
BASE = "'base' is host, {rootfs: FOLDER-OR-TAR} or {image: NAME}"
NETWORK = "'network' is none, host or {allow: [HOST, HOST:PORT]}"
SCRIPT_SIZE = 1 << 20
SECTIONS: dict[str, type[BaseModel]] = {
    "requires": Requires,
    "setup": Setup,
    "limits": Limits,
    "files": Files,
    "network": Allowed,
}


@dataclass(frozen=True, slots=True)
class Source:
    """A template as its author wrote it.

    Attributes:
        folder: What its relative paths are relative to.
        definition: What its ``sandbox.yaml`` says.
    """

    folder: Path
    definition: Definition

    @property
    def name(self) -> str:
        """A name for people."""
        return self.definition.name or self.folder.name

    @property
    def rootfs(self) -> Path | None:
        """The root file system that it lies on; None for another base."""
        base = self.definition.base
        return self.folder / base.rootfs if isinstance(base, RootFilesystem) else None


def load_source(path: str | PathLike[str]) -> Source:
    """Read a template's definition.

    Args:
        path: Its folder, its ``sandbox.yaml``, or the name of a template that ships with this package.

    Raises:
        TemplateError: With every fault that was found.
    """
    file = _file(Path(path))
    try:
        with file.open("rb") as opened:
            text = opened.read(MAX_BYTES + 1)
    except OSError as error:
        why = (
            "no such template (a folder with a sandbox.yaml)"
            if isinstance(error, FileNotFoundError)
            else error.strerror
        )
        raise TemplateError(Fault(f"{why}", str(path), code=codes.FILE)) from error
    document = read_document(text, str(file))
    definition, faults = _shaped(document)
    if definition is None:
        raise TemplateError(sorted(faults, key=lambda fault: (fault.line, fault.column)))
    source = Source(file.parent.resolve(), definition)
    faults += _missing(source, document)
    if faults:
        raise TemplateError(sorted(faults, key=lambda fault: (fault.line, fault.column)))
    return source


def _file(path: Path) -> Path:
    if not path.exists() and path.name == str(path) and (ready := library.find("sandboxes", path.name)) is not None:
        path = ready
    return path / FILE if path.is_dir() else path


def _shaped(document: Document) -> tuple[Definition | None, list[Fault]]:
    faults = [*document.faults, *_nothing_behind(document)]
    if document.data is None:
        return None, document.faults or [document.fault((), "is empty", codes.SYNTAX)]
    if as_map(document.data) is None:
        return None, [document.fault((), "a template is a map of keys", codes.VALUE)]
    try:
        return Definition.model_validate(document.keyed), faults
    except ValidationError as error:
        return None, [*faults, *_complaints(document, error).values()]


def _nothing_behind(document: Document) -> Iterator[Fault]:
    for place in document.nulls:
        document.lost.add(place)
        yield document.fault(
            place, f"{_label(place)} has nothing behind it: give a value, or leave it out", codes.NOTHING, at_key=True
        )


def _complaints(document: Document, error: ValidationError) -> dict[tuple[Place, str], Fault]:
    """One fault for each place and kind of trouble."""
    found: dict[tuple[Place, str], Fault] = {}
    for each in error.errors(include_url=False):
        loc, kind = each["loc"], each["type"]
        place = document.known(loc)
        if any(place[:end] in document.lost for end in range(len(place) + 1)):
            continue
        if loc[0] == "base":
            found[("base",), "base"] = document.fault(("base",), BASE, codes.VALUE)
        elif loc[-2:-1] == ("network",) and kind != "missing":
            found[place, "network"] = document.fault(place, NETWORK, codes.VALUE)
        elif kind == "extra_forbidden":
            found[place, kind] = document.fault(place, _unknown(loc), codes.UNKNOWN, at_key=True)
        elif kind == "missing":
            message = f"{_label(place)} has no {str(loc[-1])!r}"
            found[place, f"missing {loc[-1]}"] = document.fault(place, message, codes.MISSING, at_key=True)
        else:
            found[place, kind] = document.fault(place, f"{_label(place)} {_wrong(each)}", codes.VALUE)
    return found


def _unknown(loc: tuple[str | int, ...]) -> str:
    *around, key = map(str, loc)
    section = "network" if "network" in around else (around or [""])[0]
    model = SECTIONS.get(section, Definition)
    known = [field.alias or name for name, field in model.model_fields.items()]
    return f"unknown key {key!r}{nearest(key, known) or '; known here: ' + ', '.join(known)}"


def _wrong(each: ErrorDetails) -> str:
    kind, context = each["type"], each.get("ctx", {})
    if kind == "value_error":
        return str(context["error"])
    return f"must be {needed(kind, context, message=each['msg'])}, not {value_in_words(each['input'])}"


def _label(place: Place) -> str:
    names = [part for part in place if isinstance(part, str) and part != "[key]"]
    return repr(names[-1]) if names else "the template"


def _missing(source: Source, document: Document) -> Iterator[Fault]:
    """A fault for every file that the definition names and that can't be taken."""
    definition = source.definition
    for index, files in enumerate(definition.files):
        place: Place = ("files", index, "from")
        if why := _refused(source.folder, files.source):
            yield document.fault(place, f"{files.source!r} {why}", codes.FILE)
        elif files.to.startswith("/") and not (source.folder / files.source).is_dir():
            yield document.fault(
                place, f"{files.source!r} is no folder; only folders go to absolute places", codes.FILE
            )
    if definition.setup is not None:
        script, place = definition.setup.script, ("setup", "script")
        path = source.folder / script
        if why := _refused(source.folder, script):
            yield document.fault(place, f"{script!r} {why}", codes.FILE)
        elif not path.is_file() or path.stat().st_size > SCRIPT_SIZE:
            yield document.fault(place, f"{script!r} is no file of at most {SCRIPT_SIZE >> 20} MiB", codes.FILE)
    if (rootfs := source.rootfs) is not None and not (rootfs.is_dir() or rootfs.is_file()):
        yield document.fault(("base", "rootfs"), f"there is no folder or tar {str(rootfs)!r}", codes.FILE)


def _refused(folder: Path, path: str) -> str:
    """Why a named file can't be taken; empty when it can."""
    place = folder
    for part in PurePosixPath(path).parts:
        place /= part
        try:
            mode = place.lstat().st_mode
        except OSError as error:
            return f"is not there: {error.strerror}"
        if stat.S_ISLNK(mode):
            return f"goes through a symbolic link ({place.name})"
    return ""
