"""Options that several verbs share; those that say how judged criteria are decided are added to a verb by `judged`."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast, get_type_hints

import typer

from rubricgrade.cli.expecting import takes
from rubricgrade.cli.kinds import RUN, VERDICTS

if TYPE_CHECKING:
    from rubricgrade.episode.task import Task
    from rubricgrade.judge.options import JudgeOptions

MOST = 100
"""Votes, and criteria in one call."""


class Unverified(StrEnum):
    """What an answer counts as whose quotes are not found."""

    open = "open"
    flag = "flag"


class Style(StrEnum):
    """How a judge answers."""

    reasoned = "reasoned"
    direct = "direct"


def finite(value: float | None) -> float | None:
    """A number that is none of infinity and NaN, as an option's value."""
    if value is None or math.isfinite(value):
        return value
    raise typer.BadParameter("is a finite number")


def priced(text: str | None) -> dict[str, float]:
    """Prices per million tokens (``0.25/2``) as litellm names them, per token; empty without any.

    Raises:
        BadParameter: It is something else.
    """
    if text is None:
        return {}
    found = re.fullmatch(r"(\d+(?:\.\d+)?)/(\d+(?:\.\d+)?)", text)
    if found is None:
        raise typer.BadParameter("is two prices, such as 0.25/2")
    return {"input_cost_per_token": float(found[1]) / 1e6, "output_cost_per_token": float(found[2]) / 1e6}


def price_given(text: str | None) -> str | None:
    """The same as an option's value, looked at."""
    priced(text)
    return text


def _number_or(word: str) -> Callable[[str | None], str | None]:
    def checked(value: str | None) -> str | None:
        if value is None or value == word or (value.isdecimal() and 1 <= int(value) <= MOST):
            return value
        raise typer.BadParameter(f"is 1 to {MOST}, or '{word}'")

    return checked


Run = Annotated[
    str,
    typer.Argument(metavar="RUN", help="A run's folder, or its URL (s3://...; extra 'cloud').", callback=takes(RUN)),
]
ExecutedBy = Annotated[
    str, typer.Option("--executor", metavar="NAME", help="Who does the work: local, ray or ray:ADDRESS (extra 'ray').")
]
Judge = Annotated[
    str | None,
    typer.Option(
        "--judge",
        metavar="MODEL[,MODEL]",
        envvar="RUBRICGRADE_JUDGE",
        help="The model that judges, by its litellm name; several are a panel.",
    ),
]
Escalate = Annotated[
    str | None,
    typer.Option("--escalate", metavar="MODEL", help="A stronger model that decides where the votes leave a doubt."),
]
JudgeBase = Annotated[
    str | None,
    typer.Option(
        "--judge-api-base",
        metavar="URL",
        envvar="RUBRICGRADE_API_BASE",
        help="The judge's OpenAI-compatible endpoint.",
    ),
]
JudgeBaseFirst = Annotated[
    str | None,
    typer.Option(
        "--api-base",
        "--judge-api-base",
        metavar="URL",
        envvar="RUBRICGRADE_API_BASE",
        help="The judge's OpenAI-compatible endpoint.",
    ),
]
"""The same where no agent has an endpoint."""
JudgeRpm = Annotated[
    float | None,
    typer.Option("--judge-rpm", min=0.01, help="Calls to the judge that may start in a minute, retries included."),
]
JudgeTpm = Annotated[
    float | None,
    typer.Option(
        "--judge-tpm", min=1, callback=finite, help="Tokens of the calls to the judge that may start in a minute."
    ),
]
JudgePerProvider = Annotated[
    int | None,
    typer.Option(
        "--judge-per-provider",
        metavar="N",
        min=1,
        help="Calls to one judge's provider at a time, of all that may be under way. Default: no limit of its own.",
    ),
]
JudgeMaxTokens = Annotated[
    int | None,
    typer.Option(
        "--judge-max-tokens",
        metavar="N",
        min=1,
        help="Tokens that one reply of the judge may take, hidden reasoning included; one that is cut gets four times "
        "as many. Default: 4096.",
    ),
]
JudgePrice = Annotated[
    str | None,
    typer.Option(
        "--judge-price",
        metavar="IN/OUT",
        callback=price_given,
        help="US dollars per million of the judge's tokens, where the price list has none.",
    ),
]
_STYLES = "reasoned: reasoning, quotes, answer; direct: the answer only, without quotes, for small models."
JudgeStyle = Annotated[Style, typer.Option("--judge-style", help=_STYLES)]
JudgeStyleFirst = Annotated[Style, typer.Option("--style", "--judge-style", help=_STYLES)]
"""The same where a verb is about nothing but a judge."""
Votes = Annotated[
    str | None,
    typer.Option(
        "--votes", metavar="N|adaptive", callback=_number_or("adaptive"), help="Independent verdicts per criterion."
    ),
]
Batch = Annotated[
    str | None,
    typer.Option("--batch", metavar="N|all", callback=_number_or("all"), help="Criteria that are asked in one call."),
]
Quotes = Annotated[
    Unverified,
    typer.Option(
        "--unverified",
        help="What an answer counts as whose quotes are not found: it stays open, or counts, flagged.",
    ),
]
Canary = Annotated[
    bool, typer.Option("--canary", help="One more call per record shows whether the judge says yes to anything.")
]
Offline = Annotated[
    bool,
    typer.Option(
        "--offline",
        help="Ask no model: recorded verdicts and the cache only. Takes verdicts.jsonl beside the rubric unless "
        "--verdicts is given.",
    ),
]
Verdicts = Annotated[
    list[Path] | None,
    typer.Option(
        "--verdicts", metavar="FILE", callback=takes(VERDICTS), help="Recorded verdicts (JSONL). May be repeated."
    ),
]
Cache = Annotated[
    Path | None,
    typer.Option(
        "--cache", metavar="FILE", envvar="RUBRICGRADE_CACHE", help="The verdict cache. Default: the user's own."
    ),
]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Neither read nor fill the verdict cache.")]
Variables = Annotated[
    list[str] | None,
    typer.Option("--vars", metavar="FILE|NAME=VALUE", help="Values of the rubric's vars. May be repeated."),
]
MaxCost = Annotated[
    float | None,
    typer.Option("--max-cost", min=0, callback=finite, help="Stop judging at so many US dollars."),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Say what judging would take, per criterion, and call no model.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]


@dataclass(frozen=True, kw_only=True)
class JudgingBesideAgent:
    """How judged criteria are decided, where an agent has an endpoint and a cap of cost that counts its calls too."""

    judge: Judge = None
    escalate: Escalate = None
    judge_api_base: JudgeBase = None
    judge_rpm: JudgeRpm = None
    judge_tpm: JudgeTpm = None
    judge_per_provider: JudgePerProvider = None
    judge_max_tokens: JudgeMaxTokens = None
    judge_price: JudgePrice = None
    judge_style: JudgeStyle = Style.reasoned
    votes: Votes = None
    batch: Batch = None
    unverified: Quotes = Unverified.open
    canary: Canary = False
    offline: Offline = False
    verdicts: Verdicts = None
    cache: Cache = None
    no_cache: NoCache = False


@dataclass(frozen=True, kw_only=True)
class Judging(JudgingBesideAgent):
    """How judged criteria are decided, and at what cost at most."""

    judge_api_base: JudgeBaseFirst = None
    max_cost: MaxCost = None


def judged(verb: Callable[..., None]) -> Callable[..., None]:
    """Give a verb the options of judging: every field of its parameter ``judging`` becomes one, in that place."""
    signature = inspect.signature(verb, eval_str=True)
    kind = cast("type[JudgingBesideAgent]", signature.parameters["judging"].annotation)
    hints = get_type_hints(kind, include_extras=True)
    options = [
        inspect.Parameter(each.name, inspect.Parameter.KEYWORD_ONLY, default=each.default, annotation=hints[each.name])
        for each in fields(kind)
    ]

    @wraps(verb)
    def with_options(**values: Any) -> None:
        verb(judging=kind(**{option.name: values.pop(option.name) for option in options}), **values)

    parameters = [
        each
        for name, parameter in signature.parameters.items()
        for each in (options if name == "judging" else [parameter])
    ]
    with_options.__dict__["__signature__"] = signature.replace(parameters=parameters)
    return with_options


def judge_options(judging: JudgingBesideAgent, *, concurrency: int = 8) -> JudgeOptions:
    """The judge's settings.

    Args:
        judging: As the command line says it.
        concurrency: Calls at a time.

    Raises:
        InputError: A setting can't be used.
    """
    from rubricgrade.judge.options import JudgeOptions

    votes, batch = judging.votes, judging.batch
    return JudgeOptions(
        model=judging.judge,
        escalate=judging.escalate,
        api_base=judging.judge_api_base,
        per_minute=judging.judge_rpm,
        tokens_per_minute=judging.judge_tpm,
        per_provider=judging.judge_per_provider,
        max_tokens=judging.judge_max_tokens,
        extra=priced(judging.judge_price),
        style=judging.judge_style.value,
        votes="adaptive" if votes == "adaptive" else int(votes) if votes else None,
        batch="all" if batch == "all" else int(batch) if batch else None,
        unverified=judging.unverified.value,
        canary=judging.canary,
        offline=judging.offline,
        verdicts=tuple(judging.verdicts or ()),
        cache=False if judging.no_cache else judging.cache,
        max_cost=judging.max_cost if isinstance(judging, Judging) else None,
        concurrency=concurrency,
    )


def judge_or_recorded(judging: JudgingBesideAgent, rubrics: Iterable[Path] = ()) -> JudgeOptions:
    """The judge's settings; without a model, what is recorded beside some rubrics' files decides.

    Raises:
        InputError: A setting can't be used.
    """
    from rubricgrade.store.recorded import beside

    options = judge_options(judging)
    if not options.offline and options.model is not None:
        return options
    files = options.verdicts or tuple(dict.fromkeys(file for rubric in rubrics for file in beside(rubric)))
    return replace(options, offline=True, verdicts=files)


def rubrics_of(tasks: Iterable[Task]) -> list[Path]:
    """The files of tasks' rubrics."""
    return [task.folder / "tests" / "rubric.yaml" for task in tasks]
