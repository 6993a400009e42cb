"""`rubricgrade agreement`: a judge against people, per criterion and in all, with intervals and what they permit."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rubricgrade.cli.expecting import takes
from rubricgrade.cli.kinds import GRADED, LABELS, RUBRIC
from rubricgrade.cli.output import print_json
from rubricgrade.errors import Fault, InputError
from rubricgrade.report.exits import Exit

if TYPE_CHECKING:
    from rubricgrade.agreement import Agreement, Estimate, Joined, Row
    from rubricgrade.result import Grade
    from rubricgrade.runs.places import Where

CLOSE = 1e-9
_WIDEST = 32  # characters of a criterion's id in the table


class Abstentions(StrEnum):
    """What a judge's ``cannot_tell`` is."""

    EXCLUDED = "excluded"
    ERROR = "error"
    CLASS = "class"


def _finite(value: float | None) -> float | None:
    if value is None or math.isfinite(value):
        return value
    raise typer.BadParameter("is a finite number")


def agreement(
    place: Annotated[
        str,
        typer.Argument(
            metavar="RUN_OR_FOLDER", help="A folder with graded episodes, or its URL.", callback=takes(GRADED)
        ),
    ],
    labels: Annotated[
        Path,
        typer.Option(metavar="FILE", help="What people decided (JSONL, see docs/judge.md).", callback=takes(LABELS)),
    ],
    *,
    rubric: Annotated[
        Path | None,
        typer.Option(
            metavar="RUBRIC", callback=takes(RUBRIC), help="Tells the order of scales whose choices were not all given."
        ),
    ] = None,
    abstentions: Annotated[
        Abstentions, typer.Option(help="What the judge's cannot_tell is: in no measure, wrong, or a class of its own.")
    ] = Abstentions.EXCLUDED,
    min_kappa: Annotated[
        float | None,
        typer.Option(
            min=-1, max=1, callback=_finite, help="Exit with 1 if the pooled kappa, or that of a scale, is below this."
        ),
    ] = None,
    draws: Annotated[int, typer.Option(min=100, max=100_000, help="Of the bootstrap.")] = 2000,
    seed: Annotated[int, typer.Option(help="Of the bootstrap.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")] = False,
) -> None:
    """Compare the latest grade of every episode with what people decided, and say what the judge may be used for."""
    from rubricgrade.agreement import join, read_labels, summarise

    given = read_labels(labels)
    joined = join(read_grades(place), given, scales={} if rubric is None else _scales(rubric), file=str(labels))
    if not any(decision.people for decision in joined.decisions):
        reasons = "; ".join(f"{number}: {reason}" for reason, number in _unused(joined))
        raise InputError(Fault(f"no label belongs to a verdict of a judge ({reasons})", str(labels)))
    found = summarise(joined.decisions, scales=joined.scales, abstentions=abstentions.value, draws=draws, seed=seed)
    below = [] if min_kappa is None else _below(found, min_kappa)
    if json:
        print_json(_document(found, joined, min_kappa, below))
    else:
        for line in _lines(found, joined):
            _say(line)
        for reason in below:
            _say(f"below the bar: {reason}")
    if below:
        raise typer.Exit(Exit.BELOW)


def read_grades(where: Where) -> list[tuple[str, Grade]]:
    """The latest grade of every episode at or below a place, with the episode's path relative to it.

    Raises:
        InputError: There is none.
        StoreError: A grade file can't be read.
    """
    from rubricgrade.runs.places import place_of
    from rubricgrade.runs.places.local import LocalPlace

    top = place_of(where)
    if isinstance(top, LocalPlace) and not top.folder.is_dir():
        raise InputError(Fault("no such folder", str(top)))
    paths = top.graded()
    grades = [
        (top.name if path == "." else path, grade)
        for path, grade in zip(paths, top.grades(paths), strict=True)
        if grade is not None
    ]
    if not grades:
        raise InputError(
            Fault("no grade in this folder, nor in any below it; `rubricgrade grade` makes some", str(top))
        )
    return grades


def _scales(rubric: Path) -> dict[str, tuple[str, ...]]:
    from rubricgrade.loading import load_rubric

    return {
        leaf.id: tuple(choice.choice for choice in leaf.judge.scale)
        for leaf in load_rubric(rubric).leaves()
        if leaf.judge is not None and leaf.judge.scale is not None
    }


def _below(found: Agreement, bar: float) -> list[str]:
    """Which kappas don't reach the bar. Criteria with a scale are in no pool; what is undefined reaches nothing."""
    rows = [row for row in (found.pooled, *found.criteria) if row.scale or row.criterion is None]
    reasons: list[str] = []
    for row in rows:
        kappa = row.decisive_kappa
        # A pool of nothing, and a scale that nobody labelled, were not asked about; one of them was.
        if row.labelled and (kappa.value is None or kappa.value < bar - CLOSE):
            said = f"undefined ({kappa.undefined})" if kappa.value is None else f"{kappa.value:.3f}"
            reasons.append(f"kappa of {row.criterion or 'all'} is {said}, asked for at least {bar:g}")
    return reasons


def _document(found: Agreement, joined: Joined, bar: float | None, below: Sequence[str]) -> dict[str, Any]:
    return {
        **found.model_dump(mode="json"),
        "judges": list(joined.judges),
        "rubrics": list(joined.rubrics),
        "unmatched": dict(joined.unmatched),
        "first_unmatched": dict(joined.first_unmatched),
        "min_kappa": bar,
        "below": list(below),
    }


def _lines(found: Agreement, joined: Joined) -> Iterator[str]:
    from rubricgrade.report.numbers import count

    yield f"judge: {', '.join(joined.judges) or 'none'}"
    for kind, names in (("judges", joined.judges), ("rubrics", joined.rubrics)):
        if len(names) > 1:
            yield f"NOTE: grades by {len(names)} {kind} are taken together"
    treated = {"excluded": "in no measure", "error": "wrong", "class": "a class of its own"}[found.abstentions]
    yield f"an abstention is {treated}; intervals: 95 %, {found.draws} draws of whole trajectories"
    yield ""
    rows = [row for row in found.criteria if row.labelled]
    shown = [*rows, found.pooled] if found.pooled.labelled else rows
    yield from _table([_HEADINGS, *(_cells(row) for row in shown)])
    yield ""
    for row in shown:
        yield from _details(row)
    if silent := [row.criterion or "" for row in found.criteria if not row.labelled]:
        yield f"not labelled: {', '.join(silent)}"
    for name, words in joined.unseen.items():
        chosen = ", ".join(map(repr, words))
        yield f"NOTE: {name}: nobody but people chose {chosen}; --rubric tells whether that is a choice"
    for reason, number in _unused(joined):
        yield f"NOTE: {count(number, 'label')} not used: {reason}"


def _unused(joined: Joined) -> Iterator[tuple[str, int]]:
    for reason, number in joined.unmatched.items():
        yield f"{reason} (the first: {joined.first_unmatched[reason]})", number


_HEADINGS = ("criterion", "n", "abst", "open", "people", "gap", "agree", "kappa", "balanced", "sens", "spec", "use")


def _cells(row: Row) -> tuple[str, ...]:
    return (
        "ALL" if row.criterion is None else row.criterion[:_WIDEST],
        str(row.compared),
        str(row.abstained),
        str(row.undecided),
        _short(row.people_met),
        "-" if row.prevalence_gap.value is None else f"{row.prevalence_gap.value:+.2f}",
        _short(row.accuracy),
        _with_interval(row.decisive_kappa),
        _with_interval(row.balanced_accuracy),
        _short(row.sensitivity),
        _short(row.specificity),
        "automatic" if row.automatic else "flag only",
    )


def _short(estimate: Estimate) -> str:
    return "-" if estimate.value is None else _number(estimate.value)


def _number(value: float) -> str:
    """Two decimals, and more where they would make perfect what is not."""
    text = f"{value:.2f}"
    return f"{value:.4f}" if abs(float(text)) == 1 and abs(value) < 1 - CLOSE else text


def _with_interval(estimate: Estimate) -> str:
    if estimate.value is None:
        return "undefined"
    if estimate.low is None or estimate.high is None:
        return _number(estimate.value)
    return f"{_number(estimate.value)} [{_number(estimate.low)}, {_number(estimate.high)}]"


def _table(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _details(row: Row) -> Iterator[str]:
    """What a table has no room for: why something may only flag, what is undefined, people among themselves, rates."""
    name = row.criterion or "ALL"
    if not row.automatic:
        yield f"{name}: may only flag: {row.because}"
    if row.split:
        yield f"{name}: people had no majority on {row.split}"
    if row.alpha_people.value is not None and row.alpha_with_judge.value is not None:
        with_judge = f"with the judge {row.alpha_with_judge.value:.2f}"
        yield f"{name}: Krippendorff's alpha of people {row.alpha_people.value:.2f}, {with_judge}"
    if not row.scale:
        rates = ((row.pass_rate, "judge"), (row.pass_rate_rogan_gladen, "Rogan-Gladen"), (row.pass_rate_ppi, "PPI"))
        yield f"{name}: pass rate over {_decided(row)}: " + ", ".join(f"{by} {_rate(rate)}" for rate, by in rates)


def _decided(row: Row) -> str:
    """How many decisions a rate is of, and how many have no verdict."""
    return f"{row.decisions - row.open}" + (f" ({row.open} without a verdict left out)" if row.open else "")


def _rate(rate: Estimate) -> str:
    return f"undefined ({rate.undefined})" if rate.value is None else _with_interval(rate)


def _say(line: str) -> None:
    from rubricgrade.report.visible import visible

    typer.echo(visible(line))
