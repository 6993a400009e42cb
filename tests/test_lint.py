"""Warnings about rubrics that load and may not mean what their authors want."""

from __future__ import annotations

from pathlib import Path

import pytest

from rubricgrade.checks.weaknesses import weaknesses
from rubricgrade.loading import check_rubric

OTHERS = "  - {id: y, points: 1, description: names its sources, judge: {}}\n  - {id: z, points: 1, description: is in French, judge: {}}\n"


def lint(folder: Path, criteria: str) -> list[tuple[int, str]]:
    (folder / "rubric.yaml").write_text(f"id: r\ncriteria:\n{criteria}")
    return [(fault.line, fault.code) for fault in check_rubric(folder / "rubric.yaml")]


@pytest.mark.parametrize(
    ("line", "code", "criteria"),
    [
        (3, "RG101", "  - {id: a, points: 1, description: is short and clear and polite, judge: {}}\n" + OTHERS),
        (3, "RG101", "  - {id: a, points: 1, description: is short as well as clear, judge: {}}\n" + OTHERS),
        (3, "RG102", "  - {id: a, points: 1, description: has an appropriate length, judge: {}}\n" + OTHERS),
        (3, "RG103", "  - {id: a, points: 1, description: give 0.9 if it is mostly right, judge: {}}\n" + OTHERS),
        (3, "RG103", "  - {id: a, points: 1, description: is right, judge: {guidance: 7 out of 10 is enough}}\n" + OTHERS),
        (3, "RG301", "  - {id: a, points: 9, description: is right, judge: {}}\n" + OTHERS),
        (5, "RG302", OTHERS + "  - {id: a, points: -1, description: is rude, judge: {}, needs: [y]}\n"),
        (5, "RG303", OTHERS + "  - {id: a, points: 1, description: a group, full_at: 3, criteria: "
                              "[{id: b, points: 2, description: d, judge: {}}]}\n"),
        (2, "RG304", OTHERS + "  - {id: a, points: -3, description: is rude, judge: {}}\n"),
    ],
)  # fmt: skip
def test_warnings(tmp_path: Path, line: int, code: str, criteria: str) -> None:
    found = lint(tmp_path, criteria)
    assert [pair for pair in found if pair[1] != "RG304" or code == "RG304"] == [(line if line != 2 else 3, code)]


def test_a_plain_rubric_has_no_warnings(tmp_path: Path) -> None:
    anchored = "  - {id: a, points: 1, description: has a good title, judge: {guidance: it names the quarter}}\n"
    assert lint(tmp_path, anchored + OTHERS) == []


def test_errors_come_instead_of_warnings(tmp_path: Path) -> None:
    assert lint(tmp_path, "  - {id: a, wieght: 9, description: is good and nice and so on, judge: {}}\n") == [
        (3, "RG010")
    ]


def test_variables_need_no_task(tmp_path: Path) -> None:
    assert lint(tmp_path, OTHERS + "vars: {x: }\n") == []


def test_what_checks_leave_open_is_found_by_the_command(tmp_path: Path) -> None:
    (tmp_path / "checks").mkdir()
    (tmp_path / "checks" / "c.py").write_text(
        "import pickle, re\n\n\ndef check(case):\n    re.compile('x')\n    return pickle.loads(case.read_bytes('a'))\n"
    )
    path = tmp_path / "rubric.yaml"
    path.write_text("id: r\ngates:\n  - id: g\n    description: d\n    check: {python: 'checks/c.py:check'}\n")
    found = check_rubric(path, more=lambda rubric: [(one.place, "RG202", one.message) for one in weaknesses(rubric)])
    assert [(fault.code, fault.line) for fault in found] == [("RG202", 5)]
    assert "pickle.loads" in found[0].message
