"""Our own attacks: none earns a point or an open grade, and an honest solution keeps its full score."""

from __future__ import annotations

import asyncio

import pytest

from rubricgrade import Grade
from tests.attacks.arena import KINDS, LEAVE_ANSWERS, SUITES, Arena
from tests.attacks.scripts import ATTACKS, HONEST, PYTEST, solution

HURRIED = 6.0
CASES = [(kind, name) for kind, attacks in ATTACKS.items() for name in attacks]
TRIED = [(kind, name) for kind, attacks in ATTACKS.items() for name in list(attacks)[::10]]
"""Every tenth attack of each class, from its first; the others cost minutes and have a make target of their own."""
TAMPERING = [
    "equals everything",
    "patches the runner",
    "rewrites reports",
    "finds the watching plugin",
    "forges the reply",
]


def told(grade: Grade) -> list[tuple[str, float | None, str]]:
    return [(item.description, item.value, item.message) for item in grade.criteria]


@pytest.mark.parametrize("kind", KINDS)
def test_an_honest_solution_keeps_its_full_score(arena: Arena, kind: str) -> None:
    grade = asyncio.run(arena.fight(solution(HONEST) + "\n" + LEAVE_ANSWERS, KINDS[kind]))
    assert (grade.status, grade.score) == ("graded", 1.0), told(grade)


@pytest.mark.parametrize("kind", KINDS)
def test_the_untouched_task_earns_nothing(arena: Arena, kind: str) -> None:
    grade = asyncio.run(arena.fight("", KINDS[kind]))
    assert (grade.status, grade.score) == ("graded", 0.0), told(grade)


@pytest.mark.parametrize(
    ("kind", "name"), [pytest.param(*case, marks=[] if case in TRIED else [pytest.mark.attacks]) for case in CASES]
)
def test_an_attack_earns_nothing(arena: Arena, kind: str, name: str) -> None:
    seconds = 30.0 if kind == "pytest" else HURRIED
    grade = asyncio.run(arena.fight(ATTACKS[kind][name], KINDS[kind], seconds=seconds))
    assert (grade.status, grade.score) == ("graded", 0.0), told(grade)


@pytest.mark.parametrize(
    "name", [TAMPERING[0], *(pytest.param(name, marks=pytest.mark.attacks) for name in TAMPERING[1:])]
)
def test_who_passes_a_twin_is_told_to_have_tampered(arena: Arena, name: str) -> None:
    grade = asyncio.run(arena.fight(PYTEST[name], SUITES))
    assert "tampered" in [item.quote for item in grade.criteria[0].evidence], told(grade)


def test_each_class_of_attacks_is_tried() -> None:
    assert {kind for kind, _ in TRIED} == set(ATTACKS)
