from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.chat.scripted import ScriptedServer, Seen, Wire, completion
from tests.judge.scripted import said
from tests.server.running import Running

pytest.importorskip("uvicorn", reason="the server needs its extra")

SAID = "The total is 48.2L."
JUDGED = {"id": "judged", "criteria": [{"id": "names-total", "description": "names it", "points": 1, "judge": {}}]}
CHECKED = {
    "id": "checked",
    "vars": {"file": "report.md"},
    "gates": [{"id": "there", "description": "the report is there", "check": {"exists": "report.md"}}],
    "criteria": [
        {
            "id": "total",
            "description": "states it",
            "points": 3,
            "check": {"contains": {"path": "report.md", "text": "48.2L"}},
        },
        {"id": "mailed", "description": "mailed", "points": 1, "check": {"python": "checks/mailed.py:mailed"}},
    ],
}
MAILED = """
from rubricgrade import Case, CheckResult

def mailed(case: Case) -> CheckResult:
    return CheckResult(case.exists("outbox.json", world=True))
"""


def judge_says(seen: Seen) -> Wire:
    """Yes, with a quote that stands; about an episode that says so, nothing for a long time, or after a while."""
    text = json.dumps(seen.body)
    if "HANGS" in text:
        return Wire(b"", hang=True)
    return Wire(completion(said("yes", SAID, where="[1].text")).body, delay=1.0 if "SLOW" in text else 0.0)


def messages(*more: str) -> list[dict[str, Any]]:
    """An episode as chat messages; what is said besides goes to its end."""
    return [{"role": "user", "content": "Sum it up."}, {"role": "assistant", "content": " ".join((SAID, *more))}]


@pytest.fixture(scope="package")
def judge() -> Iterator[ScriptedServer]:
    server = ScriptedServer()
    server.script = [judge_says]
    yield server
    server.close()


@pytest.fixture(scope="package")
def rubrics(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with rubrics: one for a judge, one for checks."""
    folder = tmp_path_factory.mktemp("rubrics")
    for content in (JUDGED, CHECKED):
        place = folder / str(content["id"])
        place.mkdir()
        (place / "rubric.yaml").write_text(json.dumps(content))
    (folder / "checked" / "checks").mkdir()
    (folder / "checked" / "checks" / "mailed.py").write_text(MAILED)
    return folder


@pytest.fixture(scope="package")
def asking(judge: ScriptedServer) -> tuple[str, ...]:
    """Arguments that let a server ask the scripted judge."""
    return ("--judge", "openai/some-judge", "--judge-api-base", judge.base, "--no-cache", "--concurrency", "64")


@pytest.fixture(scope="package")
def server(rubrics: Path, asking: tuple[str, ...]) -> Iterator[Running]:
    """One that most tests share."""
    limits = ("--max-request", "1", "--max-unpacked", "8", "--read-timeout", "3", "--alarm-above", "1")
    with Running(
        ("--rubrics", str(rubrics), *asking, *limits, "--allow-rubric-in-request", "--ungraded-reward", "-7"),
        {"OPENAI_API_KEY": "k"},
    ) as running:
        yield running
