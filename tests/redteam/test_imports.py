"""No known attack earns on an imported task whose tests are sealed; on one that runs its own script some do."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from rubricgrade.episode.dialects import import_vendor
from rubricgrade.episode.task import Task
from rubricgrade.redteam import TaskReport, red_team
from tests.episode.making import write
from tests.episode.test_dialects import VENDOR
from tests.episode.test_sealed_imports import imported

pytestmark = pytest.mark.redteam


def attacked(folder: Path) -> TaskReport:
    return asyncio.run(red_team(Task.load(folder)))


def test_nothing_earns_on_a_row_of_swe_bench(tmp_path: Path) -> None:
    report = attacked(imported(tmp_path).folder)
    assert (report.nothing, report.reference, report.earned) == (0, 1, ()), report
    assert sum(each.outcome == "held" for each in report.attacks) > 20


def test_nothing_earns_on_a_vendors_folder(tmp_path: Path) -> None:
    report = attacked(import_vendor(write(tmp_path / "vendor", VENDOR), tmp_path / "task").folder)
    assert (report.nothing, report.reference, report.earned) == (0, 1, ()), report
    assert sum(each.outcome == "held" for each in report.attacks) > 20


def test_a_script_that_does_more_is_cheated(tmp_path: Path) -> None:
    files = {**VENDOR, "grade.sh": "echo grading\npython3 -m pytest -q -p no:cacheprovider tests\n"}
    report = attacked(import_vendor(write(tmp_path / "vendor", files), tmp_path / "task").folder)
    assert {"configure-tests", "always-equal"} & {each.attack for each in report.earned}
