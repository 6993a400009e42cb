"""A small run with everything in it: graded, gated, ungraded, penalties, groups, and text that means harm."""

from __future__ import annotations

from typing import Any

from rubricgrade.report.collecting import Collected, Entry
from rubricgrade.report.overview import Overview, overview
from rubricgrade.result import Evidence, JudgeRecord, Subject, Usage
from tests.report.made import HASH, criterion, gate, grade

HOSTILE = (
    "</script><script>alert(1)</script> ]]> <img src=http://evil.test/x onerror=alert(1)> javascript:alert(1) \x1b[31m "
    '\x00 \u202egnp \ud800 & "quoted" | @someone #12 ![x](http://evil.test/y) `code` [link](javascript:alert(2))'
)


def entry(name: str, score: float | None, *items: Any, gates: Any = (), **more: Any) -> Entry:
    facts: dict[str, Any] = {"trajectory": Subject(id=name.strip("/") or "x", hash=HASH), **more}
    return Entry(name, grade(score, criteria=tuple(items), gates=tuple(gates), **facts))


def whole_run(hostile: str = "harmless") -> Overview:
    quote = Evidence(quote=hostile, where=hostile, verified="not_found")
    said = {
        "reasoning": hostile,
        "message": hostile,
        "evidence": (quote,),
        "judge": JudgeRecord(model=hostile, note=hostile),
    }
    entries = (
        entry("all-good", 1.0, criterion("right", 3, 1.0), criterion("rude", -1, 0.0), gates=[gate("there", 1.0)], seconds=2),
        entry(
            hostile, 0.25, criterion("right", 3, 0.5, **said), criterion("rude", -1, 1.0, description=hostile),
            gates=[gate("there", 1.0)], seconds=9, usage=Usage(calls=2, cost=0.5),
        ),
        entry(
            "stopped", 0.0, criterion("right", 3, None, cause="gate_failed"), criterion("rude", -1, None, cause="gate_failed"),
            gates=[gate("there", 0.0, message=hostile)], status="gated",
        ),
        entry(
            "open", None, criterion("right", 3, None, cause="judge_failed", message=hostile), criterion("rude", -1, 0.0),
            gates=[gate("there", 1.0)], cause="judge_failed", causes=("judge_failed",), bounds=(0.0, 0.75),
        ),
    )  # fmt: skip
    return overview(Collected(hostile, entries, ("lost",)))
