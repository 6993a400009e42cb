"""`rubricgrade review`: the review app, and what people decided as files."""

from __future__ import annotations

import getpass
import re
import secrets
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rubricgrade.cli.expecting import takes
from rubricgrade.cli.kinds import GRADED, LABELS, RUBRIC
from rubricgrade.cli.output import note
from rubricgrade.errors import InputError, MissingExtraError
from rubricgrade.plural import count

if TYPE_CHECKING:
    from rubricgrade.review.desk import Desk
    from rubricgrade.review.exporting import Which

PORT = 7860


class WhichVerdicts(StrEnum):
    """As `rubricgrade.review.exporting.Which`."""

    FIRST = "first"
    FINAL = "final"
    SETTLED = "settled"


def review(
    run: Annotated[
        Path,
        typer.Argument(metavar="RUN", help="A run, or any folder with graded episodes in it.", callback=takes(GRADED)),
    ],
    *,
    rubric: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            callback=takes(RUBRIC),
            help="The rubric, if it lies neither with the run's tasks nor above. Repeatable.",
        ),
    ] = None,
    variables: Annotated[
        list[str] | None,
        typer.Option(
            "--vars", metavar="FILE|NAME=VALUE", help="Values for its variables, as it was graded. Repeatable."
        ),
    ] = None,
    episodes: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Trajectories, if grades were written apart from them. Repeatable."),
    ] = None,
    reviewer: Annotated[str | None, typer.Option(metavar="NAME", help="Who reviews. Default: your login name.")] = None,
    blind: Annotated[
        bool,
        typer.Option("--blind/--no-blind", help="Keep a judge's verdict back until the reviewer has given his own."),
    ] = True,
    redact: Annotated[
        bool, typer.Option("--redact", help="Hide secrets and personal data that patterns find.")
    ] = False,
    gold: Annotated[
        Path | None,
        typer.Option(metavar="LABELS", callback=takes(LABELS), help="Known answers (JSONL), to check reviewers with."),
    ] = None,
    draw: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Draw a queue of N judged items before serving.")
    ] = None,
    mix: Annotated[
        str, typer.Option(metavar="U/R/G", help="Shares of a draw: doubtful, by chance, known answers.")
    ] = "60/30/10",
    seed: Annotated[int, typer.Option(help="Of a draw.")] = 0,
    flipped: Annotated[
        bool,
        typer.Option("--flipped", help="Draw what the last two versions of judge or rubric decided differently."),
    ] = False,
    among: Annotated[
        list[str] | None, typer.Option("--among", metavar="NAME", help="Divide a draw among reviewers. Repeatable.")
    ] = None,
    overlap: Annotated[float, typer.Option(min=0, max=1, help="Share of a divided draw that two reviewers get.")] = 0.2,
    labels_out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write verdicts as labels, and stop: JSON lines, or by its ending .csv or .parquet."
        ),
    ] = None,
    labels_in: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Read in what people decided (.jsonl, .csv, .parquet, or .json of Label Studio), and stop.",
        ),
    ] = None,
    verdicts_out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write what holds by people's word as recorded verdicts, to grade by, and stop."
        ),
    ] = None,
    which: Annotated[
        WhichVerdicts, typer.Option(help="Which verdicts to write: before the judge's was seen, held now, adjudicated.")
    ] = WhichVerdicts.FIRST,
    tasks_out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the queue as Label Studio's tasks, its interface beside, and stop."),
    ] = None,
    host: Annotated[str, typer.Option(help="Where to listen. Anything but this machine needs a token.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Where to listen; 0 is any free one.")] = PORT,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="RUBRICGRADE_REVIEW_TOKEN", help="To be shown once per browser. Made up where one is needed."
        ),
    ] = None,
    name: Annotated[
        list[str] | None, typer.Option("--name", metavar="HOST", help="A name the server is called by. Repeatable.")
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(metavar="FILE", envvar="RUBRICGRADE_CACHE", help="The verdict cache that keeps judges' prompts."),
    ] = None,
) -> None:
    """Audit what judges decided, in a browser: your own verdict first, then the judge's beside it."""
    from rubricgrade.agreement import read_labels
    from rubricgrade.cli.episodes import find_trajectories
    from rubricgrade.cli.variables import read_vars
    from rubricgrade.review.desk import Desk
    from rubricgrade.review.episodes import find_episodes, require_trajectories
    from rubricgrade.review.queue import Mix
    from rubricgrade.review.records import reviewer_name
    from rubricgrade.review.versions import flipped as find_flipped

    who = reviewer_name(reviewer) if reviewer is not None else _login()
    shares = Mix.parse(mix)
    given = [each.trajectory for each in find_trajectories(episodes)] if episodes else []
    if variables and not rubric:
        raise InputError("--vars are values for a rubric that is named: --rubric FILE")
    values = read_vars(variables or [])
    if draw is None and (flipped or among):
        raise InputError("--flipped and --among say how to draw: --draw N")
    found = find_episodes(run, rubrics=rubric or (), variables=values, trajectories=given)
    desk = Desk(run, found, gold=() if gold is None else read_labels(gold), blind=blind)
    if draw is not None:
        flips = find_flipped(desk) if flipped else None
        names = [reviewer_name(name) for name in among or ()]
        drawn = desk.draw(who, size=draw, mix=shares, seed=seed, flipped=flips, reviewers=names, overlap=overlap)
        note(f"drew {len(drawn.items)} of {drawn.population} (draw {drawn.id})")
    if labels_in is not None or labels_out is not None:
        _labels(desk, labels_in, labels_out, which.value, redact=redact)
        return
    if verdicts_out is not None:
        if redact:
            raise InputError("--redact would change quotes that are looked up: leave it out with --verdicts-out")
        _verdicts(desk, verdicts_out)
        return
    require_trajectories(found)
    if tasks_out is not None:
        _tasks(desk, tasks_out, redact=redact)
        return
    _serve(desk, who, host=host, port=port, token=token, names=name or [], redact=redact, cache=cache)


def _labels(desk: Desk, given: Path | None, wanted: Path | None, which: Which, *, redact: bool) -> None:
    from rubricgrade.agreement import read_labels
    from rubricgrade.review.exporting import import_labels, labels_file, labels_of
    from rubricgrade.review.label_studio import read_annotations
    from rubricgrade.review.tables import form_of

    if given is not None:
        read = read_annotations if given.suffix == ".json" else read_labels
        note(f"{count(import_labels(desk, read(given), str(given)), 'label')} read in")
    if wanted is not None:
        desk.require_whole()
        labels = labels_of(desk, which)
        _write(wanted, labels_file(labels, form_of(wanted), redact=redact))
        note(f"{count(len(labels), 'label')} written")


def _verdicts(desk: Desk, file: Path) -> None:
    from rubricgrade.review.exporting import verdicts_of

    desk.require_whole()
    verdicts, unknown = verdicts_of(desk)
    _write(file, "".join(verdict.to_line() for verdict in verdicts).encode(errors="replace"))
    note(f"{count(len(verdicts), 'verdict')} written; grade by them: --verdicts {file}, in grade and regrade")
    if unknown:
        note(f"left out, for nobody came to be asked them: {count(unknown, 'verdict')}")


def _tasks(desk: Desk, file: Path, *, redact: bool) -> None:
    import asyncio

    from rubricgrade.review.label_studio import INTERFACE, tasks_file, tasks_of

    tasks = asyncio.run(tasks_of(desk, redact=redact))
    _write(file, tasks_file(tasks))
    _write(file.with_suffix(".xml"), INTERFACE.encode())
    note(f"{count(len(tasks), 'task')} written, and the interface to label them with: {file.with_suffix('.xml')}")


def _write(file: Path, data: bytes) -> None:
    from rubricgrade.errors import StoreError
    from rubricgrade.readers.native import replace_file

    try:
        replace_file(file, data)
    except OSError as error:
        raise StoreError(f"{file}: can't be written: {error.strerror or error}") from error


def _serve(
    desk: Desk, who: str, *, host: str, port: int, token: str | None, names: list[str], redact: bool, cache: Path | None
) -> None:
    try:
        from rubricgrade.review.serving import serve
        from rubricgrade.review.web.drawing import environment
        from rubricgrade.review.web.front import Front
        from rubricgrade.review.web.security import Access, is_loopback
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("starlette", "uvicorn"):
            raise
        raise MissingExtraError("rubricgrade review", "review") from error
    if not is_loopback(host):
        token = token or secrets.token_urlsafe(24)
        names = [*names, host]
    front = Front(
        desk=desk,
        draw=environment(redact=redact),
        access=Access(hosts=tuple(names), token=token or ""),
        reviewer=who,
        redact=redact,
        cache=cache,
    )
    serve(front, host, port, ready=lambda address: note(f"reviewing as {who} at {address}  (Ctrl+C ends it)"))


def _login() -> str:
    from rubricgrade.review.records import REVIEWER

    try:
        name = re.sub(r"[^A-Za-z0-9._-]", "-", getpass.getuser())
    except (OSError, KeyError) as error:
        raise InputError("who reviews? say it with --reviewer NAME") from error
    if not REVIEWER.match(name):
        raise InputError("who reviews? say it with --reviewer NAME")
    return name
