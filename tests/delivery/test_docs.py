"""What docs/redteam.md and docs/delivery.md show: every command is run as it stands, and the table of attacks is whole."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from rubricgrade.delivery.records import Reason
from rubricgrade.quality import KINDS
from rubricgrade.redteam import ATTACKS
from rubricgrade.redteam.reporting import Outcome
from tests.cli.program import environment

ROOT = Path(__file__).resolve().parents[2]
TEXTS = {name: (ROOT / "docs" / f"{name}.md").read_text() for name in ("redteam", "delivery")}
CODE = re.compile(r"exit code (\d)")


@pytest.mark.parametrize("name", TEXTS)
def test_commands_do_what_they_say(name: str, tmp_path: Path) -> None:
    """Line by line in one folder; a comment names the exit code where it is another one than 0."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples", symlinks=True)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    (script,) = re.findall(r"^```sh\n(.*?)^```", TEXTS[name], re.MULTILINE | re.DOTALL)
    for line in script.splitlines():
        wanted = CODE.search(line)
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=tmp_path,
            env=environment(PATH=path, XDG_CACHE_HOME=os.environ["XDG_CACHE_HOME"]),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == (int(wanted[1]) if wanted else 0), f"{line}\n{done.stdout}{done.stderr}"


def test_the_attacks_are_listed_as_they_are() -> None:
    rows = [tuple(row) for row in re.findall(r"^\| `([\w-]+)` \| (.+?) \| (.+?) \|$", TEXTS["redteam"], re.MULTILINE)]
    assert [row for row in rows if row[0] in {each.id for each in ATTACKS}] == [
        (each.id, each.title, each.shows) for each in ATTACKS
    ]


def test_every_word_of_a_report_is_explained() -> None:
    listed = {*re.findall(r"^\| `(\w+)` \|", TEXTS["redteam"], re.MULTILINE)}
    assert {*get_args(Outcome), *KINDS} <= listed
    assert {*get_args(Reason)} <= {*re.findall(r"`(\w+)`", TEXTS["delivery"])}
