"""The report and the data card as Markdown, and the charts as SVG."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rubricgrade.delivery.records import Manifest, Part, Proof, ProofKind, Report, Sealing, Splitting
from rubricgrade.report.charts import bars
from rubricgrade.report.numbers import count, number
from rubricgrade.report.visible import one_line
from rubricgrade.runs.standing import Standing

SIDES = {"train": "Tasks", "heldout": "Held out"}
LONGEST = 200
WAYS: dict[ProofKind, str] = {
    "attempts": "played by an agent",
    "calibration": "calibrated",
    "redteam": "attacked by the red team",
    "quality": "examined for quality",
}

OPENED_BY: dict[Sealing, str] = {"none": "", "encrypted": " --key FILE", "apart": " --apart DIR"}
"""What `deliver verify` needs besides to open the held-out tasks."""


def charts_of(report: Report) -> dict[str, str]:
    """SVG documents by file name: the mix and the bands of each side."""
    made: dict[str, str] = {}
    for side, part in report.parts.items():
        made[f"{side}-categories.svg"] = bars(f"{SIDES[side]}: tasks by category", part.categories)
        if part.bands:
            made[f"{side}-solved.svg"] = bars(
                f"{SIDES[side]}: tasks by how often they were solved", {band.name: band.tasks for band in part.bands}
            )
    return made


def report_of(manifest: Manifest, report: Report, charts: Mapping[str, str]) -> str:
    """``report.md``."""
    lines = [f"# {_text(manifest.name)}", ""]
    source = manifest.provenance
    if source.run is not None:
        lines += [f"Figures are of run {_text(source.run)}: agent {_text(source.agent or 'unknown')}.", ""]
    for side, part in report.parts.items():
        lines += [f"## {SIDES[side]}: {part.tasks}", "", *_part(part)]
        lines += [f"![{name}](charts/{name})" for name in charts if name.startswith(side)]
        lines.append("")
    lines += ["## Tried before delivery", "", *_proofs(report.proofs), ""]
    lines += ["## Removed", "", *_removed(report), "", "## Near twins", "", *_twins(report)]
    return "\n".join(lines) + "\n"


def card_of(manifest: Manifest, report: Report) -> str:
    """``README.md``: a data card, with the front matter that dataset hubs read."""
    source = manifest.provenance
    total = len(manifest.tasks)
    rows = [
        ("made by", source.vendor),
        ("made from", source.source),
        ("reviewed by", source.reviewed),
        ("licence", manifest.license),
        ("baseline", " ".join(dict.fromkeys(part for part in (source.agent, source.model) if part))),
    ]
    held = sum(each.side == "heldout" for each in manifest.tasks.values())
    sealed = {
        "encrypted": "Their hidden files are encrypted in `sealed.bin`; the key travels separately.",
        "apart": "Their hidden files travel separately.",
        "none": "",
    }[manifest.split.sealing]
    lines = [
        "---",
        f"license: {_front(manifest.license or 'other')}",
        f"pretty_name: {_front(manifest.name)}",
        "tags: [agents, reinforcement-learning, rubric]",
        "---",
        "",
        f"# {_text(manifest.name)}",
        "",
        f"{count(total, 'task')} for agents, each a Harbor task directory with a rubric in `tests/rubric.yaml`.",
        f"{held} of them are held out for evaluation and must not be trained on. {sealed}".rstrip(),
        "",
        *(f"* {name}: {_text(value) or 'not said'}" for name, value in rows),
        "",
        f"{count(len(report.removed), 'task')} left out; reasons and figures are in `report.md`.",
        f"{_kept_together(manifest.split)}: see `groups.jsonl`.",
        "",
        "Check what you received:",
        "",
        f"    rubricgrade deliver verify .{OPENED_BY[manifest.split.sealing]}",
        "",
    ]
    return "\n".join(lines)


def _kept_together(split: Splitting) -> str:
    twins = f"near twins (likeness {number(split.threshold)} and more)"
    if not split.labels:
        return f"The split keeps {twins} together"
    return f"The split keeps tasks together that share {', '.join(split.labels)}, or that are {twins}"


def _part(part: Part) -> Iterator[str]:
    yield from _table(["category", "tasks"], [[name, str(size)] for name, size in part.categories.items()])
    yield from _table(["difficulty", "tasks"], [[name, str(size)] for name, size in part.difficulties.items()])
    if part.bands:
        yield from _table(["solved", "tasks"], [[band.name, str(band.tasks)] for band in part.bands])
    if part.baseline:
        head = ["baseline", "attempts", "ungraded", "pass@1", "mean reward", "95% interval"]
        yield from _table(head, [_standing(row) for row in part.baseline])


def _standing(row: Standing) -> list[str]:
    interval = "-" if row.interval is None else f"{row.interval[0]:.2f} to {row.interval[1]:.2f}"
    shown = ["-" if value is None else f"{value:.3f}" for value in (row.pass_at[1], row.reward)]
    return [row.name, str(row.rollouts), str(row.ungraded), *shown, interval]


def _proofs(proofs: Sequence[Proof]) -> list[str]:
    if not proofs:
        return ["Nothing: neither a run nor a report was given."]
    head = ["tasks that were", "hold", "open", "changed since", "not tried"]
    rows = [[WAYS[each.kind], str(each.holds), *map(_names, (each.open, each.stale, each.untried))] for each in proofs]
    return [
        "Of the tasks as they are delivered. What was found before a task changed is no word about it now.",
        "",
        *_table(head, rows),
    ]


def _names(tasks: Sequence[str]) -> str:
    return f"{len(tasks)}: {', '.join(tasks)}" if tasks else "0"


def _removed(report: Report) -> list[str]:
    if not report.removed:
        return ["Nothing."]
    return list(_table(["task", "reason", "why"], [[each.task, each.reason, each.why] for each in report.removed]))


def _twins(report: Report) -> list[str]:
    if not report.twins:
        return ["None were found."]
    rows = [[one, two, f"{value:.2f}"] for one, two, value in report.twins]
    return [
        f"Kept on one side; the largest group has {count(report.largest, 'task')}.",
        "",
        *_table(["task", "twin", "likeness"], rows),
    ]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "|" + " --- |" * len(head)
    for row in rows:
        yield "| " + " | ".join(map(_text, row)) + " |"
    yield ""


def _text(text: str) -> str:
    """A name or a reason in a cell: others wrote it, and Markdown must not obey it."""
    flat = one_line(text, LONGEST)
    return "".join(f"\\{char}" if char in "\\`*_{}[]<>#|!" else char for char in flat)


def _front(text: str) -> str:
    return '"' + one_line(text, LONGEST).replace("\\", "\\\\").replace('"', '\\"') + '"'
