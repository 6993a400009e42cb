"""`rubricgrade cache`: look at the verdict cache, take verdicts out of it and into it, empty it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rubricgrade.cli.expecting import takes
from rubricgrade.cli.kinds import VERDICTS
from rubricgrade.cli.output import print_json
from rubricgrade.plural import count

if TYPE_CHECKING:
    from rubricgrade.store.verdicts import VerdictCache

app = typer.Typer(help="The verdict cache: what judges have decided.", no_args_is_help=True, rich_markup_mode=None)

File = Annotated[
    Path | None, typer.Option("--cache", metavar="FILE", envvar="RUBRICGRADE_CACHE", help="Default: the user's own.")
]


def _cache(file: Path | None) -> VerdictCache:
    from rubricgrade.store.verdicts import VerdictCache

    return VerdictCache(file)


@app.command()
def info(
    cache: File = None, json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False
) -> None:
    """Say where it is and what it holds."""
    from rubricgrade.errors import Fault, InputError

    if cache is not None and not cache.exists():
        raise InputError(Fault("no such cache", str(cache)))
    found = _cache(cache).info()
    facts: dict[str, Any] = {"file": str(found.path), "entries": found.entries, "bytes": found.bytes}
    if json:
        print_json({"schema": "rubricgrade.cache/1", **facts, "models": dict(found.models)})
        return
    typer.echo(f"{found.path}: {count(found.entries, 'verdict')}, {count(found.bytes, 'byte')}")
    for model, entries in found.models.items():
        typer.echo(f"  {model}: {entries}")


@app.command()
def export(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A JSONL file to write; usable with --verdicts.")],
    cache: File = None,
) -> None:
    """Write all verdicts to a file that can be committed."""
    typer.echo(f"{count(_cache(cache).export(file), 'verdict')} written to {file}")


@app.command(name="import")
def import_(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A JSONL file that `export` wrote.", callback=takes(VERDICTS))
    ],
    cache: File = None,
) -> None:
    """Take verdicts in."""
    typer.echo(f"{count(_cache(cache).load(file), 'verdict')} taken from {file}")


@app.command()
def clear(cache: File = None) -> None:
    """Forget every verdict, and every prompt that was kept with them."""
    typer.echo(f"{count(_cache(cache).clear(), 'verdict')} forgotten")
