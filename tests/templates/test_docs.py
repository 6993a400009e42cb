"""What docs/sandboxes.md shows can be used as it stands."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from rubricgrade.sandbox import BubblewrapProvider
from rubricgrade.templates import load_source
from tests.templates.made import template

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs/sandboxes.md").read_text()


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)
    assert found
    return found[1]


def test_the_definition(tmp_path: Path) -> None:
    folder = template(tmp_path / "t", block("yaml"), {"project/a": "", "tables/b": "", "setup.sh": "true\n"})
    assert load_source(folder).name == "reports"


def test_the_calls(provider: BubblewrapProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUBRICGRADE_TEMPLATES", str(tmp_path / "store"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sandboxes").symlink_to(ROOT / "sandboxes")
    names: dict[str, Any] = {}
    exec(block("python"), names)
    asyncio.run(names["work"](provider))
    assert (tmp_path / "workspace.tar.zst").exists()
