"""A grade on a terminal: one line of it, the summary of many, and the whole of one with its evidence.

Everything is built as `rich` text objects, never as markup; whatever others wrote goes through `visible` first. Meaning
is in the words, colour only repeats it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from rich.text import Text

from rubricgrade.report.arithmetic import counted, failed, possible, score_lines
from rubricgrade.report.items import item_lines
from rubricgrade.report.lines import Line
from rubricgrade.report.numbers import count, money, number, seconds, span, total
from rubricgrade.report.summary import Summary, warned
from rubricgrade.report.visible import one_line, visible
from rubricgrade.result import CriterionResult, Grade, ItemResult, JudgeRecord
from rubricgrade.runs.raising import told

STATUS_STYLES = {"graded": "green", "gated": "red", "ungraded": "yellow"}
NAME_LENGTH = 48


def line_of(grade: Grade, place: str = "") -> Text:
    """One line: score, status, trajectory, and why in a few words.

    Args:
        grade: What it is about.
        place: The name of the episode's folder, shown where the trajectory has another one.
    """
    name = grade.trajectory.id if place in {"", grade.trajectory.id} else f"{grade.trajectory.id} ({place})"
    line = Text(f"{'-' if grade.score is None else number(grade.score):>6}  ")
    line.append(f"{grade.status:<8}", STATUS_STYLES[grade.status])
    line.append(f"  {one_line(name, NAME_LENGTH)}  ")
    line.append(_why(grade), "dim")
    if grade.warnings:
        line.append(f", {count(len(grade.warnings), 'warning')}", "yellow")
    return line


def _why(grade: Grade) -> str:
    if grade.status == "ungraded":
        open_ = sum(item.open for item in (*grade.gates, *grade.leaves()))
        return f"{grade.cause}, {open_} open, score {span(grade.bounds)}"
    if grade.status == "gated":
        gates = [f"gate {gate.id} failed" for gate in grade.gates if failed(gate.value, gate.at_least)]
        return ", ".join(gates + [f"veto {item.id} is met" for item in grade.criteria if item.veto and item.value == 1])
    parts: list[str] = []
    if grade.gates:
        applicable = [gate for gate in grade.gates if gate.verdict != "not_applicable"]
        parts.append(f"gates {len(applicable)}/{len(applicable)}")
    if items := counted(grade):
        earned = total([item.earned for item in items if item.earned is not None])
        parts.append(f"{number(earned)} of {number(possible(grade))} points")
    return ", ".join(parts)


def summary_lines(summary: Summary) -> Iterator[Text]:
    """A few lines on many grades."""
    yield Text(
        f"{count(summary.n, 'grade')}: {summary.graded} graded, {summary.gated} gated, {summary.ungraded} ungraded"
    )
    if summary.causes:
        yield Text("ungraded because: " + ", ".join(f"{cause} {n}" for cause, n in summary.causes.items()))
    for row in summary.opened:
        yield Text(f"  {row.cause}, such as {one_line(row.name, NAME_LENGTH)} ({one_line(row.why, 300)})")
    if summary.mean is not None:
        yield Text(f"mean score {number(summary.mean)} over {summary.counted} graded or gated")
    yield Text(f"judge: {count(summary.calls, 'call')}, {_tokens(summary)}cost {money(summary.cost)}")
    for sentence in filter(None, (*told(summary.raising), warned(summary))):
        yield Text(visible(sentence), "yellow")
    yield Text(summary.verdict, "green" if summary.exit_code == 0 else "red")


def _tokens(summary: Summary) -> str:
    if not summary.input_tokens:
        return ""
    cached = summary.cached_tokens / summary.input_tokens
    return f"{summary.input_tokens:,} tokens in ({cached:.0%} cached), {summary.output_tokens:,} out, "


def render(grade: Grade) -> Iterator[Line]:
    """The whole grade."""
    yield Line(_title(grade))
    yield Line(_identity(grade))
    yield from _items("Gates", grade.gates)
    yield from _items("Criteria", grade.criteria)
    yield from _section("Open", [_open_line(item) for item in (*grade.gates, *_open_leaves(grade))])
    yield from _section("Score", score_lines(grade))
    yield from _section("How it was graded", [_isolation(grade), _usage(grade), *_asked(grade), *_left_out(grade)])
    yield from _section("Warnings", [visible(warning) for warning in grade.warnings])


def _title(grade: Grade) -> Text:
    title = Text(f"{visible(grade.rubric.id)} on {visible(grade.trajectory.id)}: ", "bold")
    title.append(grade.status, f"bold {STATUS_STYLES[grade.status]}")
    title.append(f", score {span(grade.bounds) if grade.score is None else number(grade.score)}")
    return title


def _identity(grade: Grade) -> Text:
    facts = [f"rubric {_short(grade.rubric.hash)}", f"trajectory {_short(grade.trajectory.hash)}"]
    if grade.rubric.version:
        facts.insert(0, f"version {visible(grade.rubric.version)}")
    if grade.workspace:
        facts.append(f"workspace {_short(grade.workspace)}")
    if grade.created:
        facts.append(visible(grade.created))
    return Text(", ".join(facts), "dim")


def _items(title: str, items: tuple[ItemResult, ...]) -> Iterator[Line]:
    if items:
        yield Line()
        yield Line(Text(title, "bold"))
    for item in items:
        yield from item_lines(item)


def _section(title: str, lines: Sequence[str | None]) -> Iterator[Line]:
    kept = [line for line in lines if line]
    if kept:
        yield Line()
        yield Line(Text(title, "bold"))
    for line in kept:
        yield Line(Text(line), 2)


def _open_leaves(grade: Grade) -> Iterator[CriterionResult]:
    return (item for item in grade.leaves() if item.points or item.veto)


def _open_line(item: ItemResult) -> str | None:
    if not item.open:
        return None
    return f"{item.id}: {item.cause or item.verdict}" + (f", {visible(item.message)}" if item.message else "")


def _isolation(grade: Grade) -> str:
    how = grade.isolation
    if how.provider == "none":
        return "sandbox: none was used"
    return (
        f"sandbox: {how.provider}, kernel uid {how.kernel_uid}, memory limit by {how.memory}, process limit by "
        f"{how.processes}, system-call filter {'on' if how.seccomp else 'off'}, network {how.network}"
    )


def _usage(grade: Grade) -> str:
    used = grade.usage
    tokens = f"{used.input_tokens} tokens in ({used.cached_tokens} cached), {used.output_tokens} out"
    return f"judge calls: {used.calls}, {tokens}, cost {money(used.cost)}; {seconds(grade.seconds)} in all"


def _asked(grade: Grade) -> Iterator[str]:
    yield f"judge: {visible(grade.judge.id)} {_short(grade.judge.hash)}" if grade.judge else "judge: none configured"
    if grade.versions:
        yield "versions: " + ", ".join(f"{name} {visible(version)}" for name, version in grade.versions.items())


def _left_out(grade: Grade) -> Iterator[str]:
    """What judges were not shown, once each, although many criteria share a view."""
    records = [record for item in grade.leaves() for record in _records(item)]
    often = Counter(part for record in records for part in record.shown.left_out)
    for part, times in often.items():
        yield f"not shown to the judge ({times} of {count(len(records), 'question')}): {visible(part)}"


def _records(item: CriterionResult) -> Iterator[JudgeRecord]:
    if item.judge is not None:
        yield item.judge
    for part in item.parts:
        yield from _records(part)


def _short(digest: str) -> str:
    return digest.removeprefix("sha256:")[:12]
