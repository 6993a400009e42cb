"""`rubricgrade sandbox`: build templates and look after them, try a provider, clean up what a crash has left."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rubricgrade.cli.expecting import takes
from rubricgrade.cli.interrupts import complete, if_interrupted
from rubricgrade.cli.kinds import TEMPLATE
from rubricgrade.cli.output import note, print_json

if TYPE_CHECKING:
    from rubricgrade.templates import Built, Store

SHORT = 12
"""Hex digits of a hash that are shown."""

app = typer.Typer(help="Sandboxes and their templates.", no_args_is_help=True, rich_markup_mode=None)

Place = Annotated[
    Path | None,
    typer.Option("--store", metavar="DIR", envvar="RUBRICGRADE_TEMPLATES", help="Default: the user's own store."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


@app.command()
def build(
    template: Annotated[
        str,
        typer.Argument(
            metavar="TEMPLATE",
            help="A folder with a sandbox.yaml, or the name of a ready template.",
            callback=takes(TEMPLATE),
        ),
    ],
    store: Place = None,
    json: AsJson = False,
) -> None:
    """Build a template, unless the store has exactly this one already."""
    from rubricgrade.templates import Store, build, load_source

    place = Store(store)
    if_interrupted("nothing was built")
    built, fresh = complete(build(load_source(template), place))
    if json:
        print_json({"schema": "rubricgrade.template-build/1", "fresh": fresh, "template": _facts(built, place)})
        return
    typer.echo(f"{built.name} {built.digest} {'built' if fresh else 'was there already'}")
    for text in built.notes:
        note(f"note: {text}")


@app.command(name="list")
def list_(store: Place = None, json: AsJson = False) -> None:
    """List the templates of the store, and ready ones not built yet."""
    from rubricgrade.library import ready
    from rubricgrade.templates import Store

    place = Store(store)
    found = place.all()
    names = {built.name for built in found}
    unbuilt = [folder.name for folder in ready("sandboxes") if folder.name not in names]
    if json:
        templates = [_facts(built, place) for built in found]
        print_json(
            {"schema": "rubricgrade.templates/1", "store": str(place.folder), "templates": templates, "ready": unbuilt}
        )
        return
    for built in found:
        facts = _facts(built, place)
        changed = f"; the host has changed since: {facts['changed']}" if facts["changed"] else ""
        typer.echo(f"{built.name} {_short(built)} {facts['base']['kind']}, built {built.built}{changed}")
    for name in unbuilt:
        typer.echo(f"{name} not built; `rubricgrade sandbox build {name}`")


@app.command()
def remove(
    template: Annotated[str, typer.Argument(metavar="NAME|HASH", help="All of a name, or the one of a hash.")],
    store: Place = None,
    json: AsJson = False,
) -> None:
    """Remove templates from the store. One that is in use stays; then the exit code is 3."""
    from rubricgrade.errors import InputError
    from rubricgrade.templates import Store
    from rubricgrade.templates.store import matching

    place = Store(store)
    found = list(matching(place.all(), template))
    if not found:
        raise InputError(f"there is no template {template!r} in {place.folder}")
    removed = {built.digest: place.remove(built.digest) for built in found}
    if json:
        print_json({"schema": "rubricgrade.templates-removed/1", "removed": removed})
    else:
        for built in found:
            typer.echo(f"{built.name} {_short(built)} {'removed' if removed[built.digest] else 'is in use and stays'}")
    raise typer.Exit(0 if all(removed.values()) else 3)


@app.command()
def check(
    provider: Annotated[
        str, typer.Argument(metavar="PROVIDER", help="Default: the one that grading uses.")
    ] = "bubblewrap",
    json: AsJson = False,
) -> None:
    """Try whether a provider does all that a sandbox has to. Exits with 3 if it does not."""
    from rubricgrade.report.numbers import seconds
    from rubricgrade.report.visible import visible
    from rubricgrade.sandbox.choosing import named
    from rubricgrade.sandbox.conformance import run

    results = complete(run(named(provider)))
    failed = [result for result in results if result.problem]
    if json:
        checks = [{"name": each.name, "problem": each.problem, "seconds": each.seconds} for each in results]
        print_json({"schema": "rubricgrade.conformance/1", "provider": provider, "ok": not failed, "checks": checks})
    else:
        for each in results:
            typer.echo(f"{'NO' if each.problem else 'ok'}  {each.name} ({seconds(each.seconds)})")
            if each.problem:
                typer.echo(f"      {visible(each.problem)}")
        typer.echo(f"{provider}: {len(results) - len(failed)} of {len(results)} hold")
    raise typer.Exit(3 if failed else 0)


@app.command()
def reap(
    label: Annotated[str | None, typer.Option(help="Only sandboxes with this label.")] = None,
    older_than: Annotated[float, typer.Option(min=0, help="Only sandboxes older than so many seconds.")] = 0,
    store: Place = None,
    json: AsJson = False,
) -> None:
    """Remove what crashed graders left, never what a living one holds."""
    from rubricgrade.sandbox import default_provider
    from rubricgrade.templates import Store

    removed = complete(default_provider().reap(label, older_than))
    builds = Store(store).reap()
    if json:
        print_json({"schema": "rubricgrade.reaped/1", "sandboxes": removed, "builds": builds})
        return
    typer.echo(f"{removed} {'sandbox' if removed == 1 else 'sandboxes'} removed")
    if builds:
        typer.echo(f"{builds} unfinished {'template' if builds == 1 else 'templates'} removed")


def _short(built: Built) -> str:
    return built.digest.removeprefix("sha256:")[:SHORT]


def _facts(built: Built, store: Store) -> dict[str, Any]:
    """What a template is, where it lies, and whether the host is still the one that it was built on."""
    from rubricgrade.templates.identity import same_base

    return {
        **built.model_dump(mode="json", include={"name", "description", "digest", "base", "image", "built", "notes"}),
        "folder": str(store.entry(built.digest)),
        "changed": same_base(built.base),
    }
