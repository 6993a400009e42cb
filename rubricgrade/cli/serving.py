"""`rubricgrade serve`: a reward server for trainers that grade over HTTP."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from rubricgrade.cli.choices import Judging, finite, judge_options, judged
from rubricgrade.cli.expecting import refuse
from rubricgrade.cli.kinds import RUBRIC
from rubricgrade.cli.output import note
from rubricgrade.errors import Fault, InputError, MissingExtraError

TOKEN = "RUBRICGRADE_SERVER_TOKEN"  # noqa: S105 - a variable's name
MIB = 1 << 20


@judged
def serve(
    *,
    rubric: Annotated[
        list[str] | None,
        typer.Option(metavar="[NAME=]RUBRIC", help="A rubric that requests may name. May be repeated."),
    ] = None,
    rubrics: Annotated[
        Path | None, typer.Option(metavar="DIR", help="A folder of rubric folders; each is named like its folder.")
    ] = None,
    host: Annotated[
        str, typer.Option(help="The address to listen on. Other than loopback needs a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes any free one.")] = 8000,
    token_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help=f"Holds the bearer token of requests. Default: ${TOKEN}."),
    ] = None,
    judging: Judging,
    template: Annotated[
        str | None, typer.Option(metavar="TEMPLATE", help="What the agent's code runs in: a folder, name or hash.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="DIR", help="Keep trajectories and grades in DIR/<trajectory id>/."),
    ] = None,
    allow_rubric_in_request: Annotated[
        bool,
        typer.Option(
            "--allow-rubric-in-request",
            help="Take rubrics from requests: whoever sends one spends the judge's money.",
        ),
    ] = False,
    ungraded_reward: Annotated[
        float | None,
        typer.Option(
            callback=finite,
            help="Opens /openrlhf: the reward there of what could not be graded.",
        ),
    ] = None,
    concurrency: Annotated[int, typer.Option(min=1, help="Episodes, and judge calls, at a time.")] = 8,
    queue: Annotated[int, typer.Option(min=0, help="Episodes that may wait; more are refused with 429.")] = 1024,
    timeout: Annotated[
        float, typer.Option(min=0.1, callback=finite, help="Seconds for one request, waiting included.")
    ] = 170,
    read_timeout: Annotated[
        float, typer.Option(min=0.1, callback=finite, help="Seconds in which the body of a request has to arrive.")
    ] = 30,
    max_request: Annotated[int, typer.Option(metavar="MIB", min=1, help="Size of one request.")] = 64,
    max_held: Annotated[
        int, typer.Option(metavar="MIB", min=1, help="Size of all requests at a time, unpacked.")
    ] = 2048,
    max_unpacked: Annotated[int, typer.Option(metavar="MIB", min=1, help="Size of one workspace, unpacked.")] = 1024,
    drain: Annotated[
        float, typer.Option(min=0, callback=finite, help="Seconds that a stopping server gives to what it has taken.")
    ] = 60,
    alarm_above: Annotated[
        float, typer.Option(min=0, max=1, help="Degraded above this share of ungraded episodes; 1 switches it off.")
    ] = 0.2,
    alarm_window: Annotated[
        float, typer.Option(min=1, callback=finite, help="Seconds that the share is taken over.")
    ] = 300,
) -> None:
    """Grade over HTTP until told to stop (SIGTERM or Ctrl-C), and then answer everything that was taken.

    Routes: POST /grade, /grade/batch, /verify (NeMo Gym), /openrlhf; GET /health, /ready, /metrics.
    """
    try:
        from rubricgrade.server.serving import serve as run
        from rubricgrade.server.settings import Limits, Settings
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("rubricgrade"):
            raise
        raise MissingExtraError("rubricgrade serve", "server") from error
    named = _named(rubric or [], rubrics)
    judge = judge_options(judging, concurrency=concurrency)
    if judge.offline and not judge.verdicts:
        judge = replace(judge, verdicts=_recorded(named.values()))
    settings = Settings(
        rubrics=named,
        judge=judge,
        host=host,
        port=port,
        token=_token(token_file),
        template=template,
        inline=allow_rubric_in_request,
        ungraded_reward=ungraded_reward,
        output=output,
        limits=Limits(
            concurrency=concurrency,
            queue=queue,
            timeout=timeout,
            read_timeout=read_timeout,
            body=max_request * MIB,
            held=max_held * MIB,
            unpacked=max_unpacked * MIB,
            drain=drain,
            alarm_above=alarm_above if alarm_above < 1 else None,
            alarm_window=alarm_window,
        ),
    )
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    run(settings, lambda url: note(f"serving {', '.join(sorted(settings.rubrics)) or 'rubrics of requests'} on {url}"))


def _named(given: list[str], folder: Path | None) -> dict[str, Path]:
    """The rubrics by name; one without a name is called like its folder, or its file."""
    pairs: list[tuple[str, Path]] = []
    for text in given:
        name, equals, path = text.partition("=")
        place = Path(path if equals else text)
        pairs.append((name if equals else _name_of(place), place))
    refuse([place for _, place in pairs], RUBRIC)
    if folder is not None:
        found = sorted(file.parent for file in folder.glob("*/rubric.yaml"))
        if not found:
            own = RUBRIC.fits(folder)
            advice = "is a rubric itself: give it as --rubric" if own else "has no rubric.yaml in any folder in it"
            raise InputError(Fault(advice, str(folder)))
        pairs += [(place.name, place) for place in found]
    names = [name for name, _ in pairs]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(f"two rubrics are named {twice[0]!r}; write --rubric NAME=RUBRIC")
    return dict(pairs)


def _recorded(rubrics: Iterable[Path]) -> tuple[Path, ...]:
    """What lies recorded beside the rubrics, each file once; a verdict is found by its question, whatever the file."""
    from rubricgrade.loading.rubric import rubric_file
    from rubricgrade.store.recorded import beside

    return tuple(dict.fromkeys(file for path in rubrics for file in beside(rubric_file(path))))


def _name_of(place: Path) -> str:
    if place.name in ("rubric.yaml", "rubric.yml"):
        return place.absolute().parent.name
    return place.name.partition(".")[0]


def _token(file: Path | None) -> str | None:
    """The token from its file or from the environment; never from an argument, which every process here can read."""
    if file is None:
        return os.environ.get(TOKEN) or None
    try:
        token = file.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(Fault(f"can't be read: {getattr(error, 'strerror', None) or error}", str(file))) from error
    if not token:
        raise InputError(Fault("is empty; it must hold the token", str(file)))
    return token
