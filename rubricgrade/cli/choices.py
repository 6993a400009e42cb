"""Options that several verbs share: how judged criteria are decided."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rubricgrade.episode.task import Task
    from rubricgrade.judge.options import JudgeOptions

Run = Annotated[str, typer.Argument(metavar="RUN", help="A run's folder, or its URL (s3://...; extra 'cloud').")]
ExecutedBy = Annotated[
    str, typer.Option("--executor", metavar="NAME", help="Who does the work: local, ray or ray:ADDRESS (extra 'ray').")
]
Judge = Annotated[
    str | None,
    typer.Option("--judge", metavar="MODEL", envvar="RUBRICGRADE_JUDGE", help="The model that judges."),
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
Offline = Annotated[
    bool,
    typer.Option("--offline", help="Ask no judge: recorded verdicts (also tests/verdicts.jsonl) and the cache only."),
]
Verdicts = Annotated[
    list[Path] | None, typer.Option("--verdicts", metavar="FILE", help="Recorded verdicts (JSONL). May be repeated.")
]
Cache = Annotated[
    Path | None,
    typer.Option(
        "--cache", metavar="FILE", envvar="RUBRICGRADE_CACHE", help="The verdict cache. Default: the user's own."
    ),
]
Variables = Annotated[
    list[str] | None,
    typer.Option("--vars", metavar="FILE|NAME=VALUE", help="Values of the rubric's vars. May be repeated."),
]
MaxCost = Annotated[float | None, typer.Option("--max-cost", min=0, help="Stop judging at so many US dollars.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]


def judging(
    model: str | None,
    base: str | None,
    *,
    offline: bool,
    verdicts: list[Path] | None,
    cache: Path | None,
    tasks: Iterable[Task] = (),
    rpm: float | None = None,
) -> JudgeOptions:
    """The judge's settings. Without a model, what is recorded beside the tasks' rubrics decides."""
    from rubricgrade.judge.options import JudgeOptions
    from rubricgrade.store.verdicts import beside

    files = list(verdicts or ())
    if offline or model is None:
        files += [file for task in tasks for file in beside(task.folder / "tests" / "rubric.yaml")]
    return JudgeOptions(
        model=model,
        api_base=base,
        per_minute=rpm,
        offline=offline or model is None,
        verdicts=tuple(dict.fromkeys(files)),
        cache=cache,
    )
