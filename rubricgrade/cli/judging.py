"""`rubricgrade judge check`: let a model take an exam before it is paid to judge."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Annotated

import typer

from rubricgrade.cli.choices import (
    JudgeBaseFirst,
    JudgeMaxTokens,
    JudgePrice,
    JudgeRpm,
    JudgeStyleFirst,
    JudgeTpm,
    MaxCost,
    Style,
    finite,
    priced,
)
from rubricgrade.cli.interrupts import complete
from rubricgrade.cli.output import print_json
from rubricgrade.report.exits import Exit

if TYPE_CHECKING:
    from rubricgrade.judge.qualification import Property, Qualification

app = typer.Typer(help="Judges: what they are fit for.", no_args_is_help=True, rich_markup_mode=None)

_SHOWN = 5  # findings of a property in different words, unless all are asked for
_NAMED = 5  # questions of one finding


@app.callback()
def _group() -> None:
    """Keep `check` a verb of its own although it is the only one."""


@app.command()
def check(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="The model, by its litellm name.")],
    *,
    api_base: JudgeBaseFirst = None,
    repeats: Annotated[int, typer.Option(min=2, max=20, help="How often each plain question is asked.")] = 3,
    style: JudgeStyleFirst = Style.reasoned,
    judge_max_tokens: JudgeMaxTokens = None,
    judge_price: JudgePrice = None,
    max_cost: MaxCost = None,
    concurrency: Annotated[int, typer.Option(min=1, help="Calls at a time.")] = 8,
    judge_rpm: JudgeRpm = None,
    judge_tpm: JudgeTpm = None,
    timeout: Annotated[float, typer.Option(min=1, callback=finite, help="Seconds for one call.")] = 120,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Print every finding.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")] = False,
) -> None:
    """Ask a judge questions with known answers.

    Does it parse, cite, know, resist, abstain, repeat and keep calm?

    Exit codes: 0 it qualifies; 1 it does not; 3 it could not be asked about everything; 4 the cost cap stopped it.
    """
    from rubricgrade.chat.askable import trouble
    from rubricgrade.errors import Fault, InputError
    from rubricgrade.judge.options import JudgeOptions
    from rubricgrade.judge.qualification import qualify, questions

    options = JudgeOptions(
        model=model,
        api_base=api_base,
        style=style.value,
        max_tokens=judge_max_tokens,
        max_cost=max_cost,
        concurrency=concurrency,
        per_minute=judge_rpm,
        tokens_per_minute=judge_tpm,
        timeout=timeout,
        extra=priced(judge_price),
        cache=False,
    )
    if words := trouble(model, options):
        raise InputError(Fault(words, "MODEL"))
    with _progress(questions(repeats), shown=not json) as advance:
        found = complete(qualify(options, repeats=repeats, on_answer=advance))
    if json:
        print_json(found.model_dump(mode="json"))
    else:
        for line in _lines(found, whole=verbose):
            _say(line)
    raise typer.Exit(_exit(found))


def _exit(found: Qualification) -> Exit:
    if found.passed is False:
        return Exit.BELOW
    if found.out_of_budget:
        return Exit.COST_CAP
    return Exit.DONE if found.passed else Exit.UNGRADED


def _lines(found: Qualification, *, whole: bool) -> Iterator[str]:
    from rubricgrade.report.numbers import count, money, seconds

    usage = found.usage
    tokens = f"{usage.input_tokens} tokens in, {usage.output_tokens} out"
    yield f"judge {found.judge}, style {found.style}: {count(usage.calls, 'call')}, {tokens}, {money(usage.cost)}"
    yield f"time of all calls together: {seconds(usage.seconds)}"
    yield ""
    told: set[str] = set()
    for each in found.properties:
        yield from _property(each, told, whole=whole)
    yield ""
    yield _verdict(found)


def _property(each: Property, told: set[str], *, whole: bool) -> Iterator[str]:
    """One property; `told` are the words that stand above already."""
    mark = {True: "pass", False: "FAIL", None: "open"}[each.passed]
    missing = f", {each.unasked} not asked" if each.unasked else ""
    asked_for = "all" if each.least == 1 else f"at least {each.least:.0%}"
    yield f"{mark}  {each.name:<10}  {each.good} of {each.of} {each.counts} ({asked_for}){missing}"
    if whole:
        yield from (f"        {finding.question}: {finding.message}" for finding in each.findings)
        return
    alike: defaultdict[str, list[str]] = defaultdict(list)
    for finding in each.findings:
        alike[finding.message].append(finding.question)
    shown = list(alike.items())[:_SHOWN]
    for message, questions in shown:
        more = f" and {len(questions) - _NAMED} more" if len(questions) > _NAMED else ""
        yield f"        {', '.join(questions[:_NAMED])}{more}: {'as above' if message in told else message}"
        told.add(message)
    if len(shown) < len(alike):
        yield f"        and {sum(map(len, alike.values())) - sum(len(names) for _, names in shown)} more (--verbose)"


def _verdict(found: Qualification) -> str:
    failed = [each.name for each in found.properties if each.passed is False]
    undecided = [each.name for each in found.properties if each.passed is None]
    if failed:
        return f"not fit to judge: {', '.join(failed)}"
    if undecided:
        return f"not decided: {', '.join(undecided)}"
    return "fit to judge; whether it agrees with people on your criteria is for `rubricgrade agreement`"


def _progress(total: int, *, shown: bool) -> AbstractContextManager[Callable[[], None]]:
    if not shown or not sys.stderr.isatty():
        return nullcontext(lambda: None)
    from rubricgrade.cli.progress import bar

    return bar(total)


def _say(line: str) -> None:
    from rubricgrade.report.visible import visible

    typer.echo(visible(line))
