"""`rubricgrade sandbox`: care for sandboxes."""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer(help="Care for sandboxes.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def _group() -> None:
    """Keep `reap` a verb of its own although it is the only one."""


@app.command()
def reap(
    label: Annotated[str | None, typer.Option(help="Only sandboxes with this label.")] = None,
    older_than: Annotated[float, typer.Option(min=0, help="Only what is older than so many seconds.")] = 0,
) -> None:
    """Remove what crashed graders left behind; never what a living one holds."""
    import asyncio

    from rubricgrade.report.numbers import count
    from rubricgrade.sandbox import default_provider

    removed = asyncio.run(default_provider().reap(label, older_than))
    typer.echo(f"{count(removed, 'sandbox') if removed == 1 else f'{removed} sandboxes'} removed")
