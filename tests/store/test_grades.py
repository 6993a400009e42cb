"""Which of several grade files is the current one."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

from rubricgrade.errors import StoreError
from rubricgrade.result import Grade
from rubricgrade.store.grades import grade_files, latest_grade, read_grade, write_grade
from tests.report import made


def written(folder: Path) -> list[Path]:
    """Three grades of one episode, the latest of which is 0.25."""
    return [write_grade(made.grade(score, created=when), folder) for when, score in TIMES.items()]


TIMES = {"2026-11-30T09:59:59.900+00:00": 1.0, "2026-11-30T12:00:00+02:00": 0.5, "2026-11-30T10:00:00.100+00:00": 0.25}


def test_it_is_the_last_one_made_also_in_a_copy_with_other_times(tmp_path: Path) -> None:
    files = written(tmp_path)
    for age, file in enumerate(files):
        os.utime(file, (1_800_000_000 - age, 1_800_000_000 - age))
    assert list(grade_files(tmp_path)) == files
    found = latest_grade(tmp_path)
    assert found is not None
    assert found.score == 0.25


@pytest.mark.parametrize("text", ["", "{", "[]", '{"created": 5}', '{"created": "soon"}', "[" * 100_000])
def test_what_is_no_grade_hides_none_in_silence(tmp_path: Path, text: str) -> None:
    written(tmp_path)
    (tmp_path / "grades" / "planted-1.json").write_text(text)
    with pytest.raises(StoreError, match=r"planted-1.json"):
        latest_grade(tmp_path)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"status": "ungraded"}, "score: is 0.25, and the status 'ungraded'"),
        ({"score": None}, "score: is null, and the status 'graded'"),
        ({"status": "gated"}, "score: is 0.25, and that of a gated grade is 0"),
        ({"bounds": (0.5, 1)}, "bounds: are the lowest and the highest score with 0.25 between them, not 0.5 and 1"),
        ({"status": "ungraded", "score": None, "bounds": (1, 0)}, "bounds: are the lowest and the highest score, not"),
    ],
)
def test_a_grade_that_contradicts_itself_is_none(tmp_path: Path, changed: dict[str, Any], told: str) -> None:
    file = write_grade(made.grade(0.25).model_copy(update=changed), tmp_path)
    with pytest.raises(StoreError, match=re.escape(f"{file} is no grade file: {told}")):
        read_grade(file)


@pytest.mark.parametrize(
    "grade", [made.grade(0.0), made.grade(0.0, status="gated"), made.grade(0.3, bounds=(0, 1)), made.grade(None)]
)
def test_every_kind_of_grade_is_read_as_it_was_written(tmp_path: Path, grade: Grade) -> None:
    assert read_grade(write_grade(grade, tmp_path)) == grade
