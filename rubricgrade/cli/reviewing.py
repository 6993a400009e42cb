"""`rubricgrade review`: the review app, and what people decided as files."""

from __future__ import annotations

import getpass
import re
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rubricgrade.cli.output import note
from rubricgrade.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from rubricgrade.review.desk import Desk

PORT = 7860


def review(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run, or any folder with graded episodes in it.")],
    *,
    rubric: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="The rubric, if it lies neither with the run's tasks nor above. Repeatable."),
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
        Path | None, typer.Option(metavar="LABELS", help="Known answers (JSONL), to check reviewers with.")
    ] = None,
    draw: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Draw a queue of N judged items before serving.")
    ] = None,
    mix: Annotated[
        str, typer.Option(metavar="U/R/G", help="Shares of a draw: doubtful, by chance, known answers.")
    ] = "60/30/10",
    seed: Annotated[int, typer.Option(help="Of a draw.")] = 0,
    labels_out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write first verdicts as labels, and stop.")
    ] = None,
    labels_in: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Read labels in as their people's verdicts, and stop.")
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
    from rubricgrade.review.desk import Desk
    from rubricgrade.review.episodes import find_episodes, require_trajectories
    from rubricgrade.review.queue import Mix
    from rubricgrade.review.records import reviewer_name

    who = reviewer_name(reviewer) if reviewer is not None else _login()
    shares = Mix.parse(mix)
    given = [each.trajectory for each in find_trajectories(episodes)] if episodes else []
    found = find_episodes(run, rubrics=rubric or (), trajectories=given)
    desk = Desk(run, found, gold=() if gold is None else read_labels(gold), blind=blind)
    if draw is not None:
        drawn = desk.draw(who, size=draw, mix=shares, seed=seed)
        note(f"drew {len(drawn.items)} of {drawn.population} (draw {drawn.id})")
    if labels_in is not None or labels_out is not None:
        _labels(desk, labels_in, labels_out, redact=redact)
        return
    require_trajectories(found)
    _serve(desk, who, host=host, port=port, token=token, names=name or [], redact=redact, cache=cache)


def _labels(desk: Desk, given: Path | None, wanted: Path | None, *, redact: bool) -> None:
    from rubricgrade.agreement import read_labels
    from rubricgrade.errors import StoreError
    from rubricgrade.readers.native import replace_file
    from rubricgrade.review.exporting import import_labels, label_lines, labels_of

    if given is not None:
        note(f"{import_labels(desk, read_labels(given), str(given))} labels read in")
    if wanted is not None:
        labels = labels_of(desk)
        try:
            replace_file(wanted, label_lines(labels, redact=redact).encode())
        except OSError as error:
            raise StoreError(f"{wanted}: can't be written: {error.strerror or error}") from error
        note(f"{len(labels)} labels written")


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
