"""`rubricgrade deliver`: make a delivery, verify one, open its held-out tasks. `rubricgrade uplift`: compare runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer.core import TyperGroup

from rubricgrade.cli.choices import Judging, judge_or_recorded, judged
from rubricgrade.cli.expecting import takes, task_folders
from rubricgrade.cli.interrupts import complete, if_interrupted
from rubricgrade.cli.kinds import DELIVERY, RUN
from rubricgrade.cli.output import note, print_json

if TYPE_CHECKING:
    from rubricgrade.delivery.uplift import Difference


class _MakesByDefault(TyperGroup):
    """``deliver TASKS...`` is ``deliver make TASKS...``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        named = not args or args[0] in {*self.commands, "--help"}
        return super().parse_args(ctx, args if named else ["make", *args])


app = typer.Typer(
    cls=_MakesByDefault,
    help="Deliveries: tasks with a held-out split, a report and hashes. `make` may be left out: "
    "`deliver TASK... --out DIR` is `deliver make TASK... --out DIR`.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Key = Annotated[
    Path | None, typer.Option("--key", metavar="FILE", help="The file of the held-out tasks' key, outside of it.")
]
Apart = Annotated[
    Path | None,
    typer.Option("--apart", metavar="DIR", help="The folder of the held-out tasks' hidden files, in place of a key."),
]


@app.command()
def make(
    tasks: Annotated[
        list[Path], typer.Argument(metavar="TASK", help="Task directories, or folders of them.", callback=task_folders)
    ],
    *,
    out: Annotated[
        Path, typer.Option("-o", "--out", "--output", metavar="DIR", help="The delivery to make; must not be there.")
    ],
    runs: Annotated[
        str | None,
        typer.Option(
            metavar="RUN", callback=takes(RUN), help="For figures; its calibration.json says what to leave out."
        ),
    ] = None,
    heldout: Annotated[float, typer.Option(min=0, max=0.9, help="Fraction to hold out.")] = 0.0,
    group_by: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Metadata whose equal values keep tasks together. May be repeated."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the split.")] = 0,
    twins: Annotated[
        float | None, typer.Option("--twin-threshold", min=0.05, max=1, help="Likeness of near twins. Default: 0.35.")
    ] = None,
    embeddings: Annotated[
        str | None, typer.Option(metavar="MODEL", help="Compare instructions by a model's embeddings besides.")
    ] = None,
    remove: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help='Leave out: JSON lines {"task", "reason", "why"}. May be repeated.'),
    ] = None,
    redteam: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Of `redteam --json`: hackable tasks are left out. May be repeated."),
    ] = None,
    quality: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Of `task quality --json`: doubtful tasks are left out. May be repeated."),
    ] = None,
    key: Key = None,
    apart: Apart = None,
    license_: Annotated[str, typer.Option("--license", help="SPDX expression, or the contract's name.")] = "",
    vendor: Annotated[str, typer.Option(help="Who made the tasks.")] = "",
    source: Annotated[str, typer.Option(help="What they were made from.")] = "",
    reviewed: Annotated[str, typer.Option(help="Who has reviewed them.")] = "",
    trajectories: Annotated[
        list[str] | None,
        typer.Option(metavar="all|best|pairs", help="Add graded trajectories of the run. May be repeated."),
    ] = None,
    trajectories_as: Annotated[
        Literal["jsonl", "parquet"], typer.Option(help="Their form; parquet needs the extra 'parquet'.")
    ] = "jsonl",
    json: Annotated[bool, typer.Option("--json", help="Print the manifest and nothing else.")] = False,
) -> None:
    """Make a delivery of these tasks.

    It holds tasks/, heldout/ with sealed files, groups, a report, a data card, and hashes.
    """
    from rubricgrade.delivery.graded import Graded
    from rubricgrade.delivery.likening import by_embeddings
    from rubricgrade.delivery.making import Terms, deliver
    from rubricgrade.delivery.records import Provenance
    from rubricgrade.delivery.removing import attacked, examined, read_removed
    from rubricgrade.delivery.twins import THRESHOLD
    from rubricgrade.errors import InputError
    from rubricgrade.report.numbers import count
    from rubricgrade.report.visible import one_line
    from rubricgrade.runs.running import load_tasks

    wanted = {*(trajectories or ())}
    if unknown := sorted(wanted - {"all", "best", "pairs"}):
        raise InputError(f"--trajectories: {unknown[0]!r} is none of all, best, pairs")
    if wanted and runs is None:
        raise InputError("--trajectories needs --runs: they are taken from a run")
    if heldout and key is None and apart is None:
        key = out.with_name(f"{out.name}.key")
    terms = Terms(
        heldout=heldout,
        seed=seed,
        threshold=THRESHOLD if twins is None else twins,
        group_by=tuple(group_by or ()),
        key=None if apart else key,
        apart=apart,
        license=license_,
        provenance=Provenance(vendor=vendor, source=source, reviewed=reviewed),
        graded=Graded(**dict.fromkeys(wanted, True), form=trajectories_as),
        embeddings=embeddings,
        alike=by_embeddings(embeddings) if embeddings else None,
    )
    removed = [*(each for file in remove or () for each in read_removed(file))]
    tried = [each for file in redteam or () for each in attacked(file)]
    tried += [each for file in quality or () for each in examined(file)]
    if_interrupted("nothing was made")
    loaded = load_tasks(tasks)
    manifest = deliver(loaded, out, terms, run=runs, removed=removed, tried=tried)
    _say_stale(out)
    if strangers := sorted({each.task for each in removed} - {task.id for task in loaded}):
        note(f"named by --remove, but not among these tasks: {', '.join(strangers)}")
    if json:
        print_json(manifest.model_dump(mode="json"))
        return
    held = sum(each.side == "heldout" for each in manifest.tasks.values())
    counts = f"{count(len(manifest.tasks) - held, 'task')}, {held} held out, {count(len(manifest.files), 'file')}"
    sys.stdout.write(f"{out}: {counts}\n")
    for each in manifest.removed:
        sys.stdout.write(f"left out: {each.task}: {each.reason}: {one_line(each.why, 300)}\n")
    if held and terms.key:
        note(f"the key of the held-out tasks is in {terms.key}: send it another way, or keep it")
    if runs is None:
        note("no --runs: the report has no figures of an agent")


def _say_stale(out: Path) -> None:
    """Name the tasks that have changed since they were tried."""
    from rubricgrade.delivery.records import REPORT, Report
    from rubricgrade.delivery.writing import WAYS

    for proof in Report.model_validate_json((out / REPORT).read_bytes()).proofs:
        if proof.stale:
            names = ", ".join(proof.stale)
            note(f"changed since they were {WAYS[proof.kind]}, which is not counted therefore: {names}")


@app.command()
@judged
def verify(
    folder: Annotated[Path, typer.Argument(metavar="DELIVERY", help="A delivery's folder.", callback=takes(DELIVERY))],
    *,
    key: Key = None,
    apart: Apart = None,
    quick: Annotated[bool, typer.Option("--quick", help="Run no task; check files, records, split, sealing.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")] = False,
    judging: Judging,
) -> None:
    """Check a delivery that you received.

    Its hashes, records, split and sealing, and every task. Exit 1: something is wrong.
    """
    from rubricgrade.delivery.records import MANIFEST, Problem
    from rubricgrade.delivery.recounting import on_trust
    from rubricgrade.delivery.verifying import read_manifest, verify
    from rubricgrade.digest import of_file
    from rubricgrade.report.exits import Exit
    from rubricgrade.report.visible import one_line

    options = judge_or_recorded(judging)

    async def found() -> list[Problem]:
        return [each async for each in verify(folder, key=key, apart=apart, prove=not quick, judge=options)]

    problems = complete(found())
    trusted, signed = [*on_trust(folder, read_manifest(folder))], of_file(folder / MANIFEST)
    wrong = [each for each in problems if not each.open]
    if json:
        rows = [{"file": each.file, "message": each.message, "open": each.open} for each in problems]
        facts = {"holds": not problems, "problems": rows, "on_trust": trusted, "manifest": signed}
        print_json({"schema": "rubricgrade.delivery-check/1", **facts})
    else:
        for each in problems:
            sys.stdout.write(f"{'open ' if each.open else 'WRONG'}  {each.file}: {one_line(each.message, 400)}\n")
        holds = "everything holds that can be found out from the folder"
        note(f"{len(wrong)} wrong, {len(problems) - len(wrong)} open" if problems else holds)
        note(f"not checked, and the vendor's word: {'; '.join(trusted)}")
        note(
            f"{MANIFEST} is not signed: that nobody has changed it and the rest, only its hash from the vendor can say"
        )
        note(f"its hash here: {signed}")
    raise typer.Exit(Exit.BELOW if wrong else Exit.UNGRADED if problems else Exit.DONE)


@app.command()
def unseal(
    folder: Annotated[Path, typer.Argument(metavar="DELIVERY", help="A delivery's folder.", callback=takes(DELIVERY))],
    *,
    key: Annotated[Path, typer.Option("--key", metavar="FILE", help="The file with its key.")],
    into: Annotated[Path, typer.Option("--into", metavar="DIR", help="The folder for the whole tasks.")],
) -> None:
    """Put the held-out tasks together again, outside of the delivery."""
    from rubricgrade.delivery.sealing import read_key
    from rubricgrade.delivery.verifying import opened, read_manifest

    secret = read_key(key)
    for task in opened(folder, read_manifest(folder), secret, into):
        typer.echo(task)


def uplift(
    before: Annotated[str, typer.Argument(metavar="BEFORE", help="The run before training.", callback=takes(RUN))],
    after: Annotated[
        str, typer.Argument(metavar="AFTER", help="The run after it, over the same tasks.", callback=takes(RUN))
    ],
    *,
    delivery: Annotated[
        Path | None,
        typer.Option(
            metavar="DELIVERY", callback=takes(DELIVERY), help="Compare only the held-out tasks of this delivery."
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")] = False,
) -> None:
    """What training changed: the difference in mean reward with a 95 % interval, per category and overall."""
    from rubricgrade.delivery.uplift import uplift
    from rubricgrade.delivery.verifying import read_manifest

    tasks = None
    if delivery is not None:
        tasks = [name for name, each in read_manifest(delivery).tasks.items() if each.side == "heldout"]
    made = uplift(before, after, tasks)
    if json:
        print_json(made.model_dump(mode="json"))
        return
    width = max(len(row.name) for row in made.rows)
    sys.stdout.write(f"{'':<{width}}  tasks  before  after  difference  95% interval      verdict\n")
    for row in made.rows:
        sys.stdout.write(f"{row.name:<{width}}  {_row(row)}\n")
    if made.missing:
        note(f"not compared, for lack of a graded attempt in both runs: {', '.join(made.missing)}")


def _row(row: Difference) -> str:
    before, after = ("-" if value is None else f"{value:.3f}" for value in (row.before, row.after))
    difference = "-" if row.difference is None else f"{row.difference:+.3f}"
    interval = "-" if row.interval is None else f"{row.interval[0]:+.3f} to {row.interval[1]:+.3f}"
    return f"{row.tasks:>5}  {before:>6}  {after:>5}  {difference:>10}  {interval:<16}  {row.verdict}"
