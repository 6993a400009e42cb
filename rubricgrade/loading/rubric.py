"""From a rubric's YAML to a `Rubric`: every fault at once, with file, line and column, before anything is spent."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from rubricgrade import library
from rubricgrade.errors import Fault, RubricError
from rubricgrade.loading import codes
from rubricgrade.loading.contents import content_faults
from rubricgrade.loading.document import MAX_BYTES, Document, Place, read_document
from rubricgrade.loading.mending import mended
from rubricgrade.loading.overrides import Overrides, overridden, unset
from rubricgrade.loading.prompts import prompt_faults
from rubricgrade.loading.references import example_trajectories, references
from rubricgrade.loading.sealed import missing, read_sealed
from rubricgrade.loading.shape import shape_faults
from rubricgrade.rubric import Problem, Rubric, problems

FORMAT = 1

BARE = frozenset({"judge", "human"})
"""Keys that mean their defaults with nothing behind them."""

FREE = frozenset({"vars", "with", "arguments", "equals", "where"})
"""Keys whose values are the author's own, so that null is one of them."""


def load_rubric(path: str | PathLike[str], *, vars: Overrides | None = None, partial: bool = False) -> Rubric:  # noqa: A002 - the rubric's own word
    """Read a rubric.

    Args:
        path: Its YAML file, a folder with a ``rubric.yaml``, or the name of a rubric that ships with this package.
        vars: Values for its variables, or the path of a YAML file that holds them.
        partial: Variables without a value are let pass: to look at a rubric, not to grade with it.

    Raises:
        RubricError: With every fault that was found.
    """
    try:
        file = rubric_file(path)
        if not file.is_file():
            names = ", ".join(folder.name for folder in library.ready("rubrics"))
            message = f"no such rubric: a YAML file, a folder with a rubric.yaml, or a ready one's name ({names})"
            raise RubricError(Fault(message, str(path), code=codes.FILE))
        if file.is_symlink() and not file.resolve().is_relative_to(file.parent.resolve()):
            message = "is a link that leads out of its folder; a rubric lies in its folder, as its sealed files do"
            raise RubricError(Fault(message, str(file), code=codes.FILE))
        with file.open("rb") as source:
            text = source.read(MAX_BYTES + 1)
    except OSError as error:
        raise RubricError(Fault(f"can't be read: {error.strerror}", str(path), code=codes.FILE)) from error
    return parse_rubric(text, file=str(file), folder=file.parent, vars=vars, partial=partial)


def parse_rubric(
    text: str | bytes,
    *,
    file: str = "rubric.yaml",
    folder: str | PathLike[str] | None = None,
    vars: Overrides | None = None,  # noqa: A002 - the rubric's own word
    partial: bool = False,
    examples: bool = True,
) -> Rubric:
    """Read a rubric from its text.

    Args:
        text: YAML.
        file: What to call it in messages.
        folder: Where its sealed files lie; None for a rubric that names none.
        vars: As in `load_rubric`.
        partial: As in `load_rubric`.
        examples: Whether the trajectories that its examples name must be there: they test a rubric, and grade nothing.

    Raises:
        RubricError: With every fault that was found, in the order of the text.
    """
    document = read_document(text, file)
    place = Path(folder) if folder is not None else None
    rubric, faults = _read(document, place, vars, partial=partial, examples=examples)
    if rubric is None or faults:
        raise RubricError(
            sorted(dict.fromkeys(faults), key=lambda fault: (fault.file != file, fault.line, fault.column))
        )
    return rubric


def rubric_file(path: str | PathLike[str]) -> Path:
    """The YAML file that a path or the name of a ready rubric stands for; it need not exist."""
    path = Path(path)
    if not path.exists() and path.name == str(path) and (shipped := library.find("rubrics", path.name)) is not None:
        path = shipped
    return path / "rubric.yaml" if path.is_dir() else path


def _read(
    document: Document, folder: Path | None, given: Overrides | None, *, partial: bool, examples: bool
) -> tuple[Rubric | None, list[Fault]]:
    faults = list(document.faults)
    if document.data is None:
        return None, faults or [document.fault((), "is empty", codes.SYNTAX)]
    if wrong := _format(document):
        return None, [wrong]
    faults += _nothing_behind(document)
    variables, wrong_vars = overridden(document, given)
    faults += wrong_vars
    data = document.data
    if variables:
        data = {**data, "vars": variables}
    faults += [] if partial or wrong_vars else unset(document, variables)
    rubric, shaped, replaced = _shaped(document, data)
    faults += shaped
    if rubric is None:
        return None, faults
    faults += [
        _broken_rule(document, problem)
        for problem in problems(rubric)
        if problem.other is not None or not _touches(problem.place, replaced)
    ]
    faults += prompt_faults(rubric, document)
    named = [reference for reference in references(rubric) if not _touches(reference.place, replaced)]
    sealed, unread = read_sealed(folder, named, document)
    faults += unread
    faults += content_faults(named, sealed, document)
    tests = [example for example in example_trajectories(rubric) if not _touches(example.place, replaced)]
    faults += missing(folder, tests, document) if examples else []
    return rubric.with_sealed(sealed), faults


def _format(document: Document) -> Fault | None:
    """A file of another format is not looked at any further: its keys mean something else."""
    found: Any = document.keyed.get("format", FORMAT)
    if type(found) is int and found == FORMAT:
        return None
    if type(found) is not int:
        message = f"'format' must be the number {FORMAT}"
    elif found > FORMAT:
        message = f"format {found} is newer than this program, which reads format {FORMAT}; update rubricgrade"
    else:
        message = f"there is no format {found}; the first one is {FORMAT}"
    return document.fault(("format",), message, codes.FORMAT)


def _nothing_behind(document: Document) -> list[Fault]:
    faults: list[Fault] = []
    for place in document.nulls:
        key = place[-1] if place else None
        if key in BARE or FREE.intersection(place):
            continue
        label = repr(key) if isinstance(key, str) else "this item"
        # In { } a comma ends plain text, and what follows it becomes a key.
        what = "quote the text that a comma has cut" if " " in str(key) else "give a value, or leave it out"
        message = f"{label} has nothing behind it: {what}"
        faults.append(document.fault(place, message, codes.NOTHING, at_key=True))
        document.lost.add(place)
    return faults


def _shaped(document: Document, data: Any) -> tuple[Rubric | None, list[Fault], set[Place]]:
    """The rubric as far as its shape allows, what is wrong with the shape, and what was left out for it."""
    rubric: Rubric | None = None
    by_place: dict[Place, list[Fault]] = {}
    try:
        rubric = Rubric.build(data, {})
    except ValidationError as error:
        by_place = shape_faults(document, error)
    replaced: set[Place] = set()
    if isinstance(data, dict) and (rubric is None or document.lost):
        keyed = cast("dict[str, Any]", data)
        rubric, replaced = mended(keyed, [*by_place, *document.lost])
    return rubric, [fault for faults in by_place.values() for fault in faults], replaced


def _broken_rule(document: Document, problem: Problem) -> Fault:
    if problem.other is None:
        return document.fault(problem.place, problem.message, codes.RULE)
    line = document.spots[document.known(problem.other)].line
    return document.fault(problem.place, f"{problem.message} (first on line {line})", codes.ID)


def _touches(place: Place, replaced: set[Place]) -> bool:
    return any(place[:end] in replaced for end in range(1, len(place) + 1))
