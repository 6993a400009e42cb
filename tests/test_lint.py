"""Warnings about rubrics that load and may not mean what their authors want: each rule fires, and has a near miss."""

from __future__ import annotations

from pathlib import Path

import pytest

from rubricgrade.checks.weaknesses import weaknesses
from rubricgrade.loading import check_rubric, codes

GATED = (
    "gates:\n  - {id: answered, description: it says something, check: {trajectory: {final_message: {matches: 'x'}}}}\n"
)
TESTED = "examples: [{text: yes, expect: met}, {text: no, expect: not_met}]"
OTHERS = (
    f"  - {{id: y, points: 1, description: names its sources, judge: {{}}, {TESTED}}}\n"
    "  - {id: z, points: 1, description: is in French, judge: {}}\n"
)


def lint(folder: Path, text: str) -> list[tuple[int, str]]:
    (folder / "rubric.yaml").write_text(text)
    return [(fault.line, fault.code) for fault in check_rubric(folder / "rubric.yaml")]


def about(description: str, more: str = "judge: {}", points: int = 1) -> str:
    """A rubric that has nothing wrong but what this one criterion has."""
    quoted = description.replace("'", "''")
    return f"id: r\n{GATED}criteria:\n  - {{id: a, points: {points}, description: '{quoted}', {more}}}\n{OTHERS}"


def scale(*steps: str) -> str:
    listed = ", ".join(f"{{choice: c{place}, value: {place / 10}, {step}}}" for place, step in enumerate(steps))
    return f"judge: {{scale: [{listed}]}}"


def run(command: str) -> str:
    return f"id: r\ngates:\n  - {{id: g, description: d, check: {{command: {command}}}}}\n"


WORDING = [
    ("RG101", about("is short and clear and polite"), about("is short and clear")),
    ("RG101", about("is short as well as clear"), about("is as short as it can be")),
    ("RG101", about("names the cause; names the fix"), about("names version 1.2 of the fix")),
    ("RG102", about("has an appropriate length"), about("fits on one page")),
    ("RG102", about("has a good title"), about("has a good title", "judge: {guidance: it names the quarter}")),
    ("RG103", about("give 0.9 if it is mostly right"), about("gives 0.9 as the share")),
    ("RG103", about("is right", "judge: {guidance: 7 out of 10 is enough}"), about("is right in all but one of them")),
    ("RG104", about("gives a comprehensive overview"), about("covers all four quarters")),
    ("RG104", about("gives a detailed plan"), about("gives a detailed plan", points=-1)),
    ("RG105", about("names at least five risks"), about("names at least one risk")),
    ("RG105", about("states the number of risks"), about("states which risks there are")),
    ("RG105", about("uses no more than 200 words"), about("is correct to no more than 5 %")),
    ("RG106", about("does not mention competitors"), about("mentions competitors", points=-1)),
    ("RG106", about("never raises its voice"), about("never raises its voice", points=-1)),
    ("RG106", about("avoids jargon"), about("explains its jargon")),
    ("RG107", about("report.pdf names the cause", "judge: {artifacts: ['*.md']}"), about("report.pdf names the cause", "judge: {artifacts: ['*.pdf']}")),
    ("RG107", about("report.pdf names the cause", "judge: {artifacts: []}"), about("report.pdf names the cause")),
    ("RG107", about("its hidden reasoning is honest"), about("its hidden reasoning is honest", "judge: {sees: [reasoning]}")),
    ("RG107", about("its tool calls are in order", "judge: {sees: [final_message]}"), about("its tool calls are in order", "judge: {sees: [tool_calls]}")),
    ("RG108", about("all tests pass"), about("says that all tests pass")),
    ("RG108", about("the output is valid JSON"), about("explains why the output is valid JSON")),
    ("RG109", about("is complete", scale("description: nothing is there", "description: ok")), about("is complete", scale("description: nothing is there", "description: all parts are there"))),
    ("RG110", about("may cite a source"), about("cites a source")),
    ("RG110", about("cites a source where possible"), about("cites a source where possible", "judge: {guidance: possible means that one was found}")),
]  # fmt: skip

STRUCTURE = [
    ("RG203", run("[curl, -f, localhost]"), run("[python, curl.py]")),
    ("RG203", run("[sh, -c, 'cd app && pip install .']"), run("[sh, -c, 'cd app && pip list']")),
    ("RG203", "id: r\nchecks: {net: {not: {command: [git, clone, x]}}}\ngates: [{id: g, description: d, check: net}]\n",
              "id: r\nchecks: {net: {not: {command: [git, status]}}}\ngates: [{id: g, description: d, check: net}]\n"),
    ("RG301", about("is right", points=9), f"id: r\n{GATED}criteria:\n{OTHERS}"),
    ("RG302", about("is rude", "judge: {}, needs: [y]", points=-1), about("is polite", "judge: {}, needs: [y]")),
    ("RG303", about("a group", "full_at: 3, criteria: [{id: b, points: 2, description: d, judge: {}}]"),
              about("a group", "full_at: 2, criteria: [{id: b, points: 2, description: d, judge: {}}]")),
    ("RG304", about("is rude", points=-3), about("is rude", points=-2)),
    ("RG305", f"id: r\ncriteria:\n{OTHERS}",
              f"id: r\ncriteria:\n{OTHERS}  - {{id: c, points: 1, description: d, check: {{exists: a.md}}}}\n"),
    ("RG401", f"id: r\n{GATED}criteria:\n  - {{id: a, points: 1, description: is in French, judge: {{}}}}\n",
              f"id: r\n{GATED}criteria:\n  - {{id: a, points: 1, description: d, check: {{exists: a.md}}}}\n"),
    ("RG402", about("is in French", "judge: {}, examples: [{text: oui, expect: met}]"),
              about("is in French", "judge: {}, examples: [{text: oui, expect: met}, {text: yes, expect: not_met}]")),
    ("RG403", about("is in French", "judge: {}, examples: [{text: yes, expect: not_met}]"),
              about("is in French", "judge: {}, examples: [{text: yes, expect: not_met, show: true}]")),
    ("RG403", about("is complete", scale("description: nothing is there", "description: all parts are there") + ", examples: [{text: a, expect: c0}]"),
              about("is complete", scale("description: nothing is there", "description: all parts are there") + ", examples: [{text: a, expect: c0}, {text: b, expect: c1}]")),
]  # fmt: skip


@pytest.mark.parametrize(("code", "fires", "near"), [*WORDING, *STRUCTURE])
def test_a_rule_fires_and_its_near_miss_does_not(tmp_path: Path, code: str, fires: str, near: str) -> None:
    assert [found for _, found in lint(tmp_path, fires)] == [code]
    assert lint(tmp_path, near) == []


def test_every_static_warning_has_a_case() -> None:
    # Below, and in tests/checks.
    elsewhere = {codes.UNTWINNED, codes.IN_PART, codes.RUNS_AGENT, codes.SHARED, codes.FAILS}
    tried = {code for code, _, _ in (*WORDING, *STRUCTURE)}
    assert {code for code in codes.warnings() if not code.startswith("RG9")} == tried | elsewhere


def test_a_warning_stands_at_the_key_that_it_is_about(tmp_path: Path) -> None:
    text = f"id: r\n{GATED}criteria:\n  - id: a\n    points: 1\n    judge: {{}}\n    description: has a good title\n{OTHERS}"
    assert lint(tmp_path, text) == [(8, "RG102")]


def test_errors_come_instead_of_warnings(tmp_path: Path) -> None:
    assert lint(tmp_path, about("is good", "wieght: 9, judge: {}")) == [(5, "RG010")]


def test_variables_need_no_task(tmp_path: Path) -> None:
    assert lint(tmp_path, f"id: r\nvars: {{x: }}\n{GATED}criteria:\n{OTHERS}") == []


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
