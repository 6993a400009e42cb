"""A run as Markdown for a pull request: short, and nothing that others wrote is more than text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rubricgrade.report.numbers import count, money, number, span
from rubricgrade.report.overview import ItemRate, Overview, Points, missed, points_told
from rubricgrade.report.summary import warned
from rubricgrade.report.visible import one_line
from rubricgrade.runs.raising import told

# What Markdown acts on inside a line: markup, HTML, references to issues and people, formulas; then what begins a link
# without any markup, or the name of an emoji. All other punctuation is left alone, so that the source can be read too.
MARKS = re.compile(r"[\\`*\[\]{}<>&|~#@$!]|(?<!\w)_|_(?!\w)|%(?=[\w\"])|:(?=//|[\w+-]+:)|(?<=\bwww)\.", re.IGNORECASE)
WORST = 10
LENGTH = 160


def markdown_report(run: Overview) -> str:
    """Counts, a table of gates and criteria, and the episodes with the lowest scores."""
    return "\n".join(_lines(run)) + "\n"


def plain(text: str, limit: int = LENGTH) -> str:
    """Text of others on one line: what Markdown would act on (also ``@`` and ``#``) stands as a character reference."""
    return MARKS.sub(lambda mark: f"&#{ord(mark.group())};", one_line(text, limit))


def _lines(run: Overview) -> Iterator[str]:
    summary = run.summary
    mean = "no score" if summary.mean is None else f"mean score **{number(summary.mean)}**"
    yield f"### {plain(run.name)}: {mean}"
    yield ""
    yield (
        f"{count(summary.n, 'episode')}: {summary.graded} graded, {summary.gated} stopped by a gate or veto, "
        f"{summary.ungraded} ungraded. {summary.verdict[:1].upper()}{summary.verdict[1:]}. "
        f"Judging cost {money(summary.cost)} in {count(summary.calls, 'call')}."
    )
    if run.without:
        yield ""
        yield f"{count(len(run.without), 'episode')} without a grade."
    for sentence in told(run.summary.raising):
        yield ""
        yield plain(sentence, limit=2 * LENGTH)
    if sentence := warned(run.summary):
        yield ""
        yield f"{sentence}."
    yield ""
    yield "| item | points | met | won | lost | open |"
    yield "|---|---:|---:|---:|---:|---|"
    for item in run.items:
        yield _row(item, scored=bool(run.points.episodes))
    yield from _points(run.points)
    yield from _worst(run)
    yield from _ungraded(run)


def _row(item: ItemRate, *, scored: bool) -> str:
    worth = "gate" if item.gate else "veto" if item.veto else "" if item.points is None else number(item.points)
    won, lost = ("", "") if item.points is None or not scored else (number(item.won), number(item.lost))
    open_ = ", ".join(f"{n} {cause}" for cause, n in item.causes.items())
    return f"| {plain(item.label)} | {worth} | {item.met}/{item.decided} | {won} | {lost} | {open_} |"


def _points(points: Points) -> Iterator[str]:
    if points.possible:
        yield f"| **all** | {number(points.possible)} | | {number(points.won)} | {number(points.lost)} | |"
        yield ""
        yield points_told(points)


def _worst(run: Overview) -> Iterator[str]:
    below = [entry for entry in run.entries if entry.grade.score is not None and entry.grade.score < 1]
    if not below:
        return
    yield ""
    yield "| episode | score | missed |"
    yield "|---|---:|---|"
    for entry in sorted(below, key=lambda entry: entry.grade.score or 0.0)[:WORST]:
        items = ", ".join(plain(item.id) for item in missed(entry))
        yield f"| {plain(entry.name)} | {number(entry.grade.score or 0.0)} | {items} |"
    if len(below) > WORST:
        yield ""
        yield f"and {len(below) - WORST} more below 1."


def _ungraded(run: Overview) -> Iterator[str]:
    if not run.ungraded:
        return
    yield ""
    yield "| ungraded | cause | bounds |"
    yield "|---|---|---:|"
    for entry in run.ungraded[:WORST]:
        yield f"| {plain(entry.name)} | {entry.grade.cause} | {span(entry.grade.bounds)} |"
    if len(run.ungraded) > WORST:
        yield ""
        yield f"and {len(run.ungraded) - WORST} more ungraded."
