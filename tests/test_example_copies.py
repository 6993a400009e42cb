"""What a task shares with an example of stored episodes is the same in both; ``python examples/copies.py`` makes it so."""

from __future__ import annotations

import runpy
import shutil
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def test_every_copy_is_as_its_original() -> None:
    assert list(runpy.run_path(str(EXAMPLES / "copies.py"))["stale"]()) == []


def test_copies_are_brought_up_to_date(tmp_path: Path) -> None:
    for folder in ("invoicekit", "travel-mis", "tasks"):
        shutil.copytree(EXAMPLES / folder, tmp_path / folder)
    shutil.copyfile(EXAMPLES / "copies.py", tmp_path / "copies.py")
    tests = tmp_path / "tasks" / "task-0417" / "tests"
    (tests / "rubric.yaml").write_text("changed")
    (tests / "sealed" / "test_invoicekit.py").unlink()
    (tests / "sealed" / "of_its_own.py").write_text("")
    program = runpy.run_path(str(tmp_path / "copies.py"))
    assert len(list(program["stale"]())) == 3
    program["main"]()
    assert list(program["stale"]()) == []
    assert [path.name for path in (tests / "sealed").iterdir()] == ["test_invoicekit.py"]
