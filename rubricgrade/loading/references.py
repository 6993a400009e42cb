"""Which files a rubric names, and where it names them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rubricgrade.loading.document import Place
from rubricgrade.rubric import Check, Rubric
from rubricgrade.rubric.check import Cases, Comparator, Pytest, Python
from rubricgrade.rubric.files import Table
from rubricgrade.rubric.judge import Judge
from rubricgrade.rubric.rules import placed


@dataclass(frozen=True, slots=True)
class Reference:
    """A file that a rubric names.

    Attributes:
        place: The key that names it.
        path: As written: relative to the rubric.
        use: What it must hold: a function's name, cases, a table, or nothing in particular.
        given: What a function is called with.
    """

    place: Place
    path: str
    use: str | Cases | Table | None = None
    given: tuple[str, ...] = ("case",)


def references(rubric: Rubric) -> list[Reference]:
    """Every sealed file that checks, judges and `for_each` name, in the order of the file."""
    return list(_references(rubric))


def example_trajectories(rubric: Rubric) -> list[Reference]:
    """Trajectories that examples name. They test the rubric and decide nothing, so they are not sealed."""
    whole = [
        Reference(("examples", index, "trajectory"), example.trajectory)
        for index, example in enumerate(rubric.examples)
    ]
    return whole + [
        Reference((*one.place, "examples", index, "trajectory"), example.trajectory)
        for one in placed(rubric)
        for index, example in enumerate(one.criterion.examples)
        if example.trajectory is not None
    ]


def _references(rubric: Rubric) -> Iterator[Reference]:
    yield from _judge(rubric.judge, ("judge",))
    for name, check in rubric.checks.items():
        yield from _check(check, ("checks", name))
    for index, gate in enumerate(rubric.gates):
        if isinstance(gate.check, Check):
            yield from _check(gate.check, ("gates", index, "check"))
    for one in placed(rubric):
        criterion, place = one.criterion, one.place
        if isinstance(criterion.check, Check):
            yield from _check(criterion.check, (*place, "check"))
        if criterion.judge is not None:
            yield from _judge(criterion.judge, (*place, "judge"))
        if criterion.for_each is not None and criterion.for_each.python is not None:
            file, _, function = criterion.for_each.python.rpartition(":")
            yield Reference((*place, "for_each", "python"), file, function)


def _judge(judge: Judge, place: Place) -> Iterator[Reference]:
    for index, path in enumerate(judge.reference_files):
        yield Reference((*place, "reference_files", index), path)


def _check(check: Check, place: Place) -> Iterator[Reference]:
    match check.spec:
        case Python() as spec:
            yield Reference((*place, "python", "function"), spec.file, spec.name)
        case Cases() as spec:
            yield Reference((*place, "cases", "file"), spec.file, spec)
            if isinstance(spec.compare, Comparator):
                comparator = spec.compare.python
                called = ("found", "expected")
                yield Reference((*place, "cases", "compare", "python"), comparator.file, comparator.name, called)
        case Pytest() as spec:
            for index, path in enumerate(spec.files):
                yield Reference((*place, "pytest", "files", index), path)
            if spec.config is not None:
                yield Reference((*place, "pytest", "config"), spec.config)
        case Table() as spec:
            yield Reference((*place, "table", "expected"), spec.expected, spec)
        case Check() as inner:
            yield from _check(inner, (*place, "not"))
        case _:
            pass
