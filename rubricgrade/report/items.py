"""One gate or criterion on a terminal: points, verdict, who decided, the reasoning, and where each quote was found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from rich.text import Text

from rubricgrade.report.arithmetic import failed
from rubricgrade.report.lines import Line
from rubricgrade.report.numbers import number, seconds
from rubricgrade.report.visible import visible
from rubricgrade.result import CheckRecord, CriterionResult, Evidence, GateResult, ItemResult, JudgeRecord

QUOTE_LENGTH = 600
LABEL = 6
FOUND = {
    "verified": ("verified", "green"),
    "near": ("near, not word for word", "yellow"),
    "not_found": ("NOT FOUND", "bold red"),
}
DECIDED_BY = {"check": "by code", "judge": "by a judge", "human": "by a reviewer", "criteria": "from its parts"}


def item_lines(item: ItemResult, *, whole: bool = False, indent: int = 2) -> Iterator[Line]:
    """An item with all that it stands on, its parts below it.

    Args:
        item: A gate, a criterion, a part of a group or one item of a `for_each`.
        whole: Don't cut long quotes, and list what the judge was shown and what it replied.
        indent: Columns to its left.
    """
    word, style = _standing(item)
    head = Text(visible(item.id), "bold")
    head.append(f": {visible(item.description)}", "not bold")
    yield Line(head, indent, Text(f"{word:<{LABEL}} ", style))
    inner = indent + LABEL + 1
    yield Line(_decision(item), inner)
    if item.message:
        yield Line(Text(visible(item.message)), inner)
    if item.reasoning:
        yield Line(Text(visible(item.reasoning, lines=True), "italic"), inner)
    for evidence in item.evidence:
        yield Line(_quote(evidence, whole=whole), inner, Text("- "))
    if isinstance(item, CriterionResult):
        if item.judge is not None:
            for text in _manifest(item.judge, whole=whole):
                yield Line(text, inner)
        for part in item.parts:
            yield from item_lines(part, whole=whole, indent=indent + 4)


def _standing(item: ItemResult) -> tuple[str, str]:
    """The first word of an item and its style: PASS or FAIL for a gate, earned/possible for a criterion."""
    if item.verdict == "not_applicable":
        return "n/a", "dim"
    if not isinstance(item, CriterionResult):
        return _gate_standing(item)
    if item.veto:
        return "veto", "bold red" if item.value == 1 else "bold yellow" if item.value is None else "dim"
    if item.points is None:
        return ("open", "bold yellow") if item.value is None else (number(item.value), "")
    earned = item.earned if item.earned is not None or item.value is None else item.points * item.value
    if earned is None:
        return f"?/{number(item.points)}", "bold yellow"
    good = earned >= item.points if item.points > 0 else earned == 0
    return f"{number(earned)}/{number(item.points)}", "bold green" if good else "bold red"


def _gate_standing(item: ItemResult) -> tuple[str, str]:
    if item.value is None:
        return "OPEN", "bold yellow"
    bar = item.at_least if isinstance(item, GateResult) else 1.0
    return ("FAIL", "bold red") if failed(item.value, bar) else ("PASS", "bold green")


def _decision(item: ItemResult) -> Text:
    text = Text(visible(item.verdict))
    if item.value is not None and item.value not in (0, 1):
        text.append(f", value {number(item.value)}")
    if item.cause:
        text.append(f" ({item.cause})", "yellow")
    if item.fault:
        text.append(f", the {item.fault}'s fault")
    text.append(f"; {_decided_by(item)}", "dim")
    return text


def _decided_by(item: ItemResult) -> str:
    if item.check is not None:
        return f"by code ({', '.join(_check_facts(item.check))})"
    if not isinstance(item, CriterionResult):
        return "by code"
    return DECIDED_BY[item.by] if item.judge is None else _by_model(item.judge)


def _check_facts(check: CheckRecord) -> Iterator[str]:
    yield check.kind
    if check.total is not None:
        yield f"{check.passed or 0} of {check.total} cases passed"
    if check.measured is not None:
        yield f"measured {number(check.measured)}"
    for name, value in check.fields.items():
        yield f"{visible(name)} {number(value)}"
    if check.isolation != "none":
        yield f"the agent's code ran {check.isolation}"
    yield seconds(check.seconds)


def _by_model(record: JudgeRecord) -> str:
    if record.recorded_by is not None:
        return f"verdict recorded by {visible(record.recorded_by)}"
    who = f"by model {visible(record.model)}" if record.model else "by no model"
    if len(record.votes) > 1:
        split = Counter(vote.answer for vote in record.votes)
        who += ", votes: " + ", ".join(f"{n} {visible(answer)}" for answer, n in split.most_common())
    if record.votes and all(vote.cached for vote in record.votes):
        who += ", from the cache"
    return who


def _quote(evidence: Evidence, *, whole: bool) -> Text:
    quote = evidence.quote
    rest = 0 if whole else max(len(quote) - QUOTE_LENGTH, 0)
    quote = visible(quote[: len(quote) - rest], lines=True) + (f"... ({rest} more characters)" if rest else "")
    where = visible(evidence.where) if evidence.where else ""
    if evidence.verified == "code":
        return Text.assemble((f"{where}: ", "cyan"), quote) if where else Text(quote)
    word, style = FOUND[evidence.verified]
    return Text.assemble(f'"{quote}" ', (f"[{word}]", style), (f" {where}" if where else "", "cyan"))


def _manifest(record: JudgeRecord, *, whole: bool) -> Iterator[Text]:
    if record.note:
        yield Text(f"note: {visible(record.note)}", "yellow")
    if not whole:
        return
    for part in record.shown.left_out:
        yield Text(f"not shown to the judge: {visible(part)}", "yellow")
    if record.shown.parts:
        parts = ", ".join(f"{visible(name)} ({size} characters)" for name, size in record.shown.parts.items())
        yield Text(f"shown to the judge: {parts}", "dim")
    if record.prompt:
        yield Text(f"prompt {record.prompt} (wording {record.prompt_version or 'unknown'})", "dim")
    for place, vote in enumerate(record.votes, 1):
        reply = f": {visible(vote.reply, lines=True)}" if vote.reply else ""
        yield Text(f"vote {place}, {visible(vote.answer)}, by {visible(vote.model)}{reply}", "dim")
