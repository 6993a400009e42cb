"""`rubricgrade test`: try a rubric on its own examples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rubricgrade.cli import choices
from rubricgrade.cli.expecting import takes
from rubricgrade.cli.interrupts import complete
from rubricgrade.cli.kinds import RUBRIC
from rubricgrade.cli.output import note, print_json
from rubricgrade.report.exits import Exit

if TYPE_CHECKING:
    from rubricgrade.authoring.testing import Outcome, Trials, Tried

COUNTED: tuple[tuple[Outcome, str], ...] = (
    ("pass", "as expected"),
    ("fail", "not as expected"),
    ("flaky", "flaky"),
    ("open", "open"),
)
WORDS = {"pass": "pass", "fail": "FAIL", "flaky": "FLAKY", "open": "open"}


@choices.judged
def try_examples(
    rubric: Annotated[
        Path,
        typer.Argument(
            metavar="RUBRIC", help="A rubric file, its folder, or a ready one's name.", callback=takes(RUBRIC)
        ),
    ],
    *,
    criterion: Annotated[
        str | None, typer.Option("--criterion", "-c", metavar="ID", help="Only the examples of this criterion.")
    ] = None,
    repeat: Annotated[
        int, typer.Option(min=1, max=100, help="Try each so often, without the cache: do verdicts flip?")
    ] = 1,
    judging: choices.Judging,
    vars_: choices.Variables = None,
    missing: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write questions without a verdict, to be filled in by hand.")
    ] = None,
    json: choices.Json = False,
) -> None:
    """Try a rubric's examples: each has the verdict that it expects, episodes score what they must, idleness earns 0.

    Exit codes: 0 all as expected; 1 something is not, or flips; 3 something could not be decided; 4 the cost cap.
    """
    from rubricgrade.authoring.deciding import deciding
    from rubricgrade.authoring.testing import try_rubric
    from rubricgrade.cli.variables import read_vars
    from rubricgrade.grading.judges import Judges
    from rubricgrade.loading import load_rubric
    from rubricgrade.loading.document import read_document
    from rubricgrade.loading.rubric import rubric_file
    from rubricgrade.store.recorded import write_verdicts

    loaded = load_rubric(rubric, vars=read_vars(vars_ or ()))
    file = rubric_file(rubric)
    asked = choices.judge_options(judging)
    if missing is not None:
        asked = replace(asked, offline=True)
    if repeat > 1:
        asked = replace(asked, cache=False)
    options = deciding(loaded, file, asked)
    judges = Judges(options)
    document = read_document(file.read_bytes(), str(file))
    done = complete(try_rubric(loaded, document, judge=judges, only=criterion, repeat=repeat))
    if missing is not None:
        write_verdicts(missing, judges.unanswered.values())
        note(f"questions without a verdict: {len(judges.unanswered)}, written to {missing}")
    if json:
        print_json(done.model_dump(mode="json", by_alias=True))
    else:
        for line in _lines(done):
            typer.echo(line)
    raise typer.Exit(_exit(done))


def _exit(done: Trials) -> Exit:
    if done.count("fail") or done.count("flaky"):
        return Exit.BELOW
    if any("(budget)" in found for one in done.tried for found in one.found):
        return Exit.COST_CAP
    return Exit.UNGRADED if done.count("open") else Exit.DONE


def _lines(done: Trials) -> Iterator[str]:
    from rubricgrade.report.numbers import count, money
    from rubricgrade.report.visible import visible

    for one in done.tried:
        yield from map(visible, _trial(one))
    if done.untried:
        yield f"no example: {', '.join(done.untried)}"
    counts = [f"{done.count(outcome)} {word}" for outcome, word in COUNTED if done.count(outcome)]
    calls = f"; {count(done.usage.calls, 'call')}, {money(done.usage.cost)}" if done.usage.calls else ""
    yield f"{count(len(done.tried), 'example')}: {', '.join(counts)}{calls}"
    if any("(no_judge)" in found for one in done.tried for found in one.found):
        yield (
            "nobody decided what is open: name a judge with --judge MODEL, or write the questions down with"
            " --missing FILE, answer them, and keep them as verdicts.jsonl beside the rubric"
        )


def _trial(one: Tried) -> Iterator[str]:
    from rubricgrade.report.visible import one_line

    found = one.found[0] if len(set(one.found)) == 1 else ", ".join(one.found)
    what = one.criterion or "the whole rubric"
    if one.outcome == "pass":
        times = f" ({len(one.found)} times)" if len(one.found) > 1 else ""
        yield f"pass   {what}: {one.expected}, on {one.example}{times}"
        return
    yield f"{WORDS[one.outcome]:<5}  {one.where}: {what}: expected {one.expected}, found {found}, on {one.example}"
    if one.why:
        yield f"         the author: {one_line(one.why, 300)}"
    if one.reason:
        yield f"         the grader: {one_line(one.reason, 300)}"
