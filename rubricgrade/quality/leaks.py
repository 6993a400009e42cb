"""What an agent can get hold of instead of solving: answers on the disk, in git, and in visible tests."""

from __future__ import annotations

import ast
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from rubricgrade.episode.environment import prepared
from rubricgrade.episode.task import Task
from rubricgrade.errors import RubricError
from rubricgrade.judge.options import JudgeOptions
from rubricgrade.loading.data import read_data
from rubricgrade.quality.programs import Run, run_of, shown_at
from rubricgrade.quality.records import Doubt, Found, Undecided
from rubricgrade.redteam import ATTACKS, AttackResult, red_team
from rubricgrade.redteam.attack import telling
from rubricgrade.redteam.examples import Example, as_call, asked, compared, examples
from rubricgrade.redteam.placing import places_of
from rubricgrade.redteam.seeing import look
from rubricgrade.report.visible import one_line
from rubricgrade.rubric import Criterion, Gate
from rubricgrade.rubric.check import Cases, Pytest
from rubricgrade.sandbox import Provider

SEARCHES = frozenset({"copy-answers", "search-disk", "search-history"})
"""Attacks that only look for an answer: what they earn lay where the agent could take it."""
MOSTLY = 0.5
"""Share of a check's hidden inputs that may not be visible: some overlap is no secret, half of it is the answer."""
SHOWN = 5
"""Inputs that the evidence names."""
LONGEST = 200
"""Characters of an input there."""


@dataclass(frozen=True, slots=True)
class Hidden:
    """An input of a sealed check.

    Attributes:
        function: The function that is called.
        arguments: As `asked` writes them.
        where: The sealed file and the number of the case, or its line.
    """

    function: str
    arguments: str
    where: str


async def found_by_searching(task: Task, judge: JudgeOptions, provider: Provider) -> AsyncIterator[Found]:
    """Let the red team's searches for an answer loose on a task.

    Raises:
        InputError: The task can't be played.
        SandboxError: There are no sandboxes.
    """
    attacks = [attack for attack in ATTACKS if attack.id in SEARCHES]
    report = await red_team(task, attacks=attacks, judge=judge, provider=provider)
    for result in report.attacks:
        for each in _found(result):
            yield each


async def given_away(task: Task, provider: Provider) -> AsyncIterator[Found]:
    """Checks most of whose hidden inputs stand in visible tests, the instruction or notes.

    Raises:
        InputError: The environment can't be made.
        SandboxError: There are no sandboxes.
    """
    if not any(True for item in _items(task) for _ in (*hidden_inputs(task, item), *hidden_runs(task, item))):
        return
    async with prepared(task, provider) as template:
        seen = await look(template, provider, label=f"quality {task.id}")
    told = telling(task.instruction, seen.files)
    visible = {
        (each.function, each.arguments): f"{path}:{each.line}" for path, text in told.items() for each in examples(text)
    }
    places = places_of(task)
    for item in _items(task):
        calls = [
            (as_call(each.function, each.arguments), each.where, visible.get((each.function, each.arguments)))
            for each in hidden_inputs(task, item)
        ]
        runs = [(str(run), where, shown_at(run, told, seen.files)) for run, where in hidden_runs(task, item)]
        for doubt in _seen(item, [*calls, *runs], places):
            yield doubt


def hidden_inputs(task: Task, item: Gate | Criterion) -> Iterator[Hidden]:
    """The inputs that an item's check asks about in secret, as far as they can be read off its sealed files."""
    check = task.rubric.check_of(item)
    spec = None if check is None else check.spec
    if isinstance(spec, Cases) and spec.function is not None:
        name = spec.function.rpartition(":")[2]
        for number, case in enumerate(_cases(task, spec.file), 1):
            yield Hidden(name, asked(case.get("args", []), case.get("kwargs", {})), f"{spec.file} case {number}")
    if isinstance(spec, Pytest):
        wanted = {test.rpartition("::")[2].partition("[")[0] for test in spec.fail_to_pass}
        for file in spec.files:
            for each in _asserted(task.rubric.sealed[file], wanted) if file.endswith(".py") else ():
                yield Hidden(each.function, each.arguments, f"{file}:{each.line}")


def hidden_runs(task: Task, item: Gate | Criterion) -> Iterator[tuple[Run, str]]:
    """The runs of a whole program that an item's check asks for in secret, each with its place."""
    check = task.rubric.check_of(item)
    spec = None if check is None else check.spec
    if isinstance(spec, Cases) and spec.program is not None:
        for number, case in enumerate(_cases(task, spec.file), 1):
            if (run := run_of(spec, case)) is not None:
                yield run, f"{spec.file} case {number}"


def _asserted(source: bytes, tests: Collection[str]) -> Iterator[Example]:
    """What some tests of a sealed suite compare. Tests that passed before are no secret: they often lie there."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name in tests:
            yield from compared(node)


def _cases(task: Task, file: str) -> Iterator[dict[str, Any]]:
    """Cases of a sealed file that call a function; what is none is passed over, since grading says so."""
    try:
        data = read_data(task.rubric.sealed[file], file)
    except RubricError:
        return
    for case in cast("list[Any]", data) if isinstance(data, list) else ():
        named = cast("dict[str, Any]", case) if isinstance(case, dict) else {"args": None}
        if isinstance(named.get("args", []), list) and isinstance(named.get("kwargs", {}), dict):
            yield named


def _items(task: Task) -> list[Gate | Criterion]:
    return [*task.rubric.gates, *task.rubric.leaves()]


def _seen(
    item: Gate | Criterion, hidden: Sequence[tuple[str, str, str | None]], places: Mapping[str, str]
) -> Iterator[Doubt]:
    """Speaks up if most hidden inputs are visible; each as people write it, its place, and where it is visible."""
    both = [each for each in hidden if each[2] is not None]
    if not both or len(both) < MOSTLY * len(hidden):
        return
    yield Doubt(
        kind="leaking",
        what=f"{len(both)} of {len(hidden)} hidden inputs of {item.id} are visible, with their values",
        evidence=tuple(
            f"{one_line(asked, LONGEST)}: tests/{where}, and {place}" for asked, where, place in both[:SHOWN]
        ),
        place=places.get(item.id, ""),
        remedy="ask about other inputs in secret, or show fewer of them",
    )


def _found(result: AttackResult) -> Iterator[Found]:
    if result.outcome in {"open", "failed"}:
        yield Undecided(kind="leaking", why=f"{result.attack}: {result.message}")
    elif result.outcome == "earned" and result.gains:
        yield Doubt(
            kind="leaking",
            what=f"an agent that only {result.title} earns {_number(result.reward)}",
            evidence=(
                f"attack {result.attack}",
                *(
                    f"{gain.item} ({gain.place}): {_number(gain.before)} after doing nothing,"
                    f" {_number(gain.after)} after the attack"
                    for gain in result.gains
                ),
            ),
            place=result.gains[0].place,
            remedy=result.remedy,
        )


def _number(value: float | None) -> str:
    return "open" if value is None else f"{value:.4g}"
