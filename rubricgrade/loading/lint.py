"""What is allowed in a rubric and often a mistake, with its place: the rules lie in modules of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from os import PathLike

from rubricgrade.errors import Fault, RubricError
from rubricgrade.loading.document import Document, Place, read_document
from rubricgrade.loading.example_rules import examples
from rubricgrade.loading.points_rules import group, network, points, ungated
from rubricgrade.loading.rubric import load_rubric, rubric_file
from rubricgrade.loading.wording_rules import wording
from rubricgrade.rubric import Rubric
from rubricgrade.rubric.rules import placed

Finding = tuple[Place, str, str]
"""The place in a rubric, a code, and what is the matter there."""

WHOLE = (points, ungated, network, examples)


def check_rubric(
    path: str | PathLike[str], *, more: Callable[[Rubric], Iterable[Finding]] | None = None
) -> list[Fault]:
    """All there is to say about a rubric file without a task: errors (``RG0..``), else warnings (other codes).

    Args:
        path: As in `load_rubric`.
        more: Finds what else to warn of in a rubric that can be used.
    """
    try:
        rubric = load_rubric(path, partial=True)
    except RubricError as error:
        return error.faults
    file = rubric_file(path)
    document = read_document(file.read_bytes(), str(file))
    found = [document.fault(place, message, code) for place, code, message in more(rubric)] if more else []
    return sorted([*_warnings(rubric, document), *found], key=lambda fault: (fault.line, fault.column))


def _warnings(rubric: Rubric, document: Document) -> Iterator[Fault]:
    for rule in WHOLE:
        for place, code, message in rule(rubric):
            yield document.fault(place, message, code)
    for one in placed(rubric):
        for code, key, message in (*wording(one, rubric.judge), *group(one)):
            yield document.fault((*one.place, key), f"{one.criterion.id!r}: {message}", code)
