"""The collection of attack scripts that the environment names, each graded by every kind of check of its class."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path

import pytest

from rubricgrade.sandbox import Provider
from tests.attacks.arena import FILES, FUNCTION, PROGRAM, SCRIPT, SUITES, Arena

COLLECTION = os.environ.get("RUBRICGRADE_ATTACKS", "")
SCRIPTS = sorted(Path(COLLECTION).glob("*.py")) if COLLECTION else []
CLASSES = {
    "A": {**FUNCTION, **PROGRAM, **SUITES},
    "B": {**SUITES, **FUNCTION},
    "C": {**SCRIPT, **PROGRAM, **FUNCTION},
    "D": FILES,
    "E": {**FUNCTION, **PROGRAM},
}
HONEST = {"z_good", "e01_patch_time"}
"""A control, and an honest solution that cheats about its time only: it is right, and it is no faster than it says."""
HURRIED = 6.0


def kind_of(script: Path) -> str:
    named = re.search(r"# kind: ([A-E])", script.read_text("utf-8"))
    assert named, script
    return named[1]


@pytest.fixture
def arena(provider: Provider, tmp_path: Path) -> Arena:
    """What lies beside the collection for its scripts is where they look for it."""
    return Arena(provider, tmp_path, [path for path in (Path(COLLECTION, "attack.d"),) if path.is_dir()])


@pytest.mark.skipif(not SCRIPTS, reason="RUBRICGRADE_ATTACKS names no folder of attack scripts")
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_the_collection(arena: Arena, script: Path) -> None:
    checks = CLASSES[kind_of(script)]
    honest = script.stem in HONEST
    grade = asyncio.run(arena.fight(script.read_bytes(), checks, seconds=60.0 if honest else HURRIED))
    told = [(item.description, item.value, item.message) for item in grade.criteria]
    assert (grade.status, grade.score) == ("graded", 1.0 if honest else 0.0), told
