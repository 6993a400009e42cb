"""Ready rubrics are found by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from rubricgrade import library


def test_ready_rubrics_are_folders_by_name() -> None:
    names = [folder.name for folder in library.ready("rubrics")]
    assert {"coding-agent", "research-report", "tool-use"} <= set(names)
    assert names == sorted(names)
    found = library.find("rubrics", "tool-use")
    assert found is not None
    assert (found / "rubric.yaml").is_file()
    assert library.find("rubrics", "../rubrics/tool-use") is None


def test_an_installed_package_finds_what_came_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "site-packages" / "rubricgrade"
    (package / "shipped" / "rubrics" / "mine").mkdir(parents=True)
    (tmp_path / "site-packages" / "rubrics" / "somebody-elses").mkdir(parents=True)
    monkeypatch.setattr(library, "PACKAGE", package)
    assert [folder.name for folder in library.ready("rubrics")] == ["mine"]
    assert library.ready("sandboxes") == []
