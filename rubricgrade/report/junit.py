"""A run as JUnit XML: a test case for each episode; below the bar is a failure, ungraded an error."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from rubricgrade.report.arithmetic import score_lines
from rubricgrade.report.collecting import Entry
from rubricgrade.report.numbers import number, span
from rubricgrade.report.overview import Overview, missed, opened
from rubricgrade.report.visible import one_line, visible
from rubricgrade.result import CriterionResult, GateResult

# Beside what `visible` spells out: XML 1.0 takes no other characters.
UNSAYABLE = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
CLOSE = 1e-9
LINE = 300


def junit_report(run: Overview, *, at_least: float | None = None) -> str:
    """The XML.

    Args:
        run: What was graded.
        at_least: The score, 0 to 1, that each episode must reach. None: only a failed gate or a veto fails it.
    """
    cases = [_case(entry, at_least) for entry in run.entries]
    cases += [_without(name) for name in run.without]
    counts = {
        "tests": str(len(cases)),
        "failures": str(sum(case.find("failure") is not None for case in cases)),
        "errors": str(sum(case.find("error") is not None for case in cases)),
        "time": _time(sum(entry.grade.seconds for entry in run.entries)),
    }
    suites = ET.Element("testsuites", {"name": "rubricgrade", **counts})
    suite = ET.SubElement(suites, "testsuite", {"name": _clean(run.name), **counts, "skipped": "0"})
    suite.extend(cases)
    ET.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(suites, encoding="unicode") + "\n"


def _case(entry: Entry, at_least: float | None) -> ET.Element:
    grade = entry.grade
    case = ET.Element(
        "testcase",
        {"classname": _clean(grade.rubric.id), "name": _clean(entry.name), "time": _time(grade.seconds)},
    )
    if grade.score is None:
        told = f"ungraded ({grade.cause}): the score lies in {span(grade.bounds)}"
        _add(case, "error", str(grade.cause), told, [_line(item) for item in opened(entry)])
    elif grade.status == "gated" or (at_least is not None and grade.score < at_least - CLOSE):
        bar = "" if at_least is None else f", asked for at least {number(at_least)}"
        told = f"score {number(grade.score)}{bar}"
        _add(case, "failure", grade.status, told, [*score_lines(grade), *map(_line, missed(entry))])
    return case


def _without(name: str) -> ET.Element:
    case = ET.Element("testcase", {"classname": "rubricgrade", "name": _clean(name), "time": "0.000"})
    _add(case, "error", "not_graded", "the episode has no grade", [])
    return case


def _add(case: ET.Element, tag: str, kind: str, message: str, lines: list[str]) -> None:
    element = ET.SubElement(case, tag, {"type": kind, "message": _clean(message)})
    element.text = _clean("\n".join(lines))


def _line(item: GateResult | CriterionResult) -> str:
    reason = item.reasoning or item.message
    quotes = "".join(f'\n  "{one_line(each.quote, LINE)}" {each.where or ""}' for each in item.evidence)
    return f"{item.id}: {item.verdict}: {one_line(item.description, LINE)}\n  {one_line(reason, LINE)}{quotes}"


def _time(seconds: float) -> str:
    return f"{seconds:.3f}"


def _clean(text: str) -> str:
    return UNSAYABLE.sub("\ufffd", visible(text, lines=True))
