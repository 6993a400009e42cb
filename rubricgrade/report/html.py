"""A run as one HTML file: nothing is fetched, nothing runs, and what others wrote is text."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from rubricgrade.report.arithmetic import failed, score_lines
from rubricgrade.report.charts import rates_chart, scores_chart
from rubricgrade.report.numbers import count, money, number, seconds, span
from rubricgrade.report.overview import Overview, opened, points_told
from rubricgrade.report.summary import warned
from rubricgrade.report.visible import visible
from rubricgrade.result import CriterionResult, Evidence, GateResult
from rubricgrade.runs.raising import told

PAGE = Path(__file__).parent / "page"
FOUND = {"verified": "✓ found", "near": "≈ nearly found", "not_found": "✗ not found", "code": ""}
LONGEST = 4000


def html_report(run: Overview) -> str:
    """The page.

    Raises:
        MissingExtraError: The library for charts is not installed.
    """
    page = Environment(loader=FileSystemLoader(PAGE), autoescape=True, undefined=StrictUndefined)
    page.filters.update(shown=shown, number=number, money=money, seconds=seconds, span=span)
    return page.get_template("report.html.jinja").render(
        run=run,
        without=count(len(run.without), "episode"),
        raising=list(filter(None, (*told(run.summary.raising), warned(run.summary)))),
        # Our own file and our own drawings, in which names are escaped already.
        style=Markup((PAGE / "style.css").read_text(encoding="utf-8")),  # noqa: S704 - see above
        scores=Markup(scores_chart(run.bins)) if run.summary.counted else "",  # noqa: S704 - see above
        rates=Markup(rates_chart(run.items)) if any(item.decided for item in run.items) else "",  # noqa: S704 - see above
        slow=list({id(entry): entry for entry in (*run.slowest, *run.dearest)}.values()),
        arithmetic=score_lines,
        opened=opened,
        points_told=points_told,
        is_good=is_good,
        found=_found,
        causes=_causes,
    )


def shown(text: str) -> str:
    """Text of others, cut, with what a browser would hide or reorder spelled out; the page escapes its markup."""
    whole = visible(text[:LONGEST], lines=True)
    return whole if len(text) <= LONGEST else f"{whole}... ({len(text) - LONGEST} more characters)"


def is_good(item: GateResult | CriterionResult) -> bool:
    """Whether a decided item speaks for the agent: a gate passed, points earned in full, a penalty or veto escaped."""
    value = item.value or 0.0
    if isinstance(item, GateResult):
        return not failed(value, item.at_least)
    costs = item.veto or (item.points or 0) < 0
    return value == 0 if costs else value == 1


def _found(evidence: Evidence) -> str:
    return FOUND[evidence.verified]


def _causes(causes: dict[str, int]) -> str:
    return ", ".join(f"{count} {cause}" for cause, count in causes.items())
