"""`rubricgrade run`: an agent on tasks, many episodes, kept in one place."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from rubricgrade.cli.choices import (
    ExecutedBy,
    Json,
    JudgingBesideAgent,
    judge_or_recorded,
    judged,
    price_given,
    priced,
    rubrics_of,
)
from rubricgrade.cli.expecting import takes, task_folders
from rubricgrade.cli.interrupts import complete, if_interrupted
from rubricgrade.cli.kinds import RUN
from rubricgrade.cli.output import note, print_json
from rubricgrade.cli.recording import say_unused

if TYPE_CHECKING:
    from rubricgrade.episode.agents.choosing import ModelOptions
    from rubricgrade.episode.stage import Agent
    from rubricgrade.errors import JudgeError
    from rubricgrade.runs.executing import Executor
    from rubricgrade.runs.manifest import Manifest
    from rubricgrade.runs.places import Place
    from rubricgrade.runs.running import Plan


@judged
def run(
    context: typer.Context,
    tasks: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="TASK",
            help="Task directories, or folders of them. Not needed with --resume.",
            callback=task_folders,
        ),
    ] = None,
    *,
    agent: Annotated[
        str | None,
        typer.Option(metavar="AGENT", help="litellm:MODEL, command:'...', replay, replay:DIR, oracle or nop."),
    ] = None,
    samples: Annotated[int | None, typer.Option("-n", "--samples", min=1, help="Attempts per task.")] = None,
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", metavar="DIR", help="The run's folder, or its URL. Default: runs/<time>."),
    ] = None,
    resume: Annotated[
        str | None, typer.Option(metavar="RUN", callback=takes(RUN), help="Go on with a run: only what is missing.")
    ] = None,
    concurrency: Annotated[int, typer.Option(min=1, help="Sandboxes of agents at a time.")] = 4,
    model_concurrency: Annotated[int, typer.Option(min=1, help="Calls to the agent's model at a time.")] = 8,
    rpm: Annotated[
        float | None,
        typer.Option(min=0.01, help="Calls to the agent's model that may start in a minute, retries included."),
    ] = None,
    api_base: Annotated[
        str | None, typer.Option(metavar="URL", help="The agent's model: an OpenAI-compatible endpoint.")
    ] = None,
    temperature: Annotated[float | None, typer.Option(min=0, help="The agent's model: sent only if given.")] = None,
    max_steps: Annotated[int, typer.Option(min=1, help="Replies of the agent.")] = 50,
    max_seconds: Annotated[float, typer.Option(min=1, help="Wall time of the agent.")] = 1800.0,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="Tokens of one episode, in and out.")] = None,
    max_cost: Annotated[
        float | None,
        typer.Option(min=0, help="Stop the run when agents and judges have cost so many US dollars, resumed or not."),
    ] = None,
    max_episode_cost: Annotated[
        float | None,
        typer.Option(min=0, help="End an episode when the agent's model has cost so many US dollars in it."),
    ] = None,
    price: Annotated[
        str | None,
        typer.Option(
            metavar="IN/OUT",
            callback=price_given,
            help="The agent's model: US dollars per million tokens, where the price list has none.",
        ),
    ] = None,
    parallel_calls: Annotated[
        int, typer.Option(min=1, help="Tool calls of one reply that are carried out at a time.")
    ] = 4,
    retries: Annotated[
        int, typer.Option(min=0, help="How often an attempt is made again that failed by no fault of the agent's.")
    ] = 3,
    executor: ExecutedBy = "local",
    network: Annotated[bool, typer.Option("--network", help="Give tasks that ask for it the network.")] = False,
    judging: JudgingBesideAgent,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print the score table only.")] = False,
    json: Json = False,
) -> None:
    """Run an agent on tasks: fork, act, grade out of its sight, keep everything. Goes on where it was cut."""
    from rubricgrade.episode.agents.choosing import ModelOptions
    from rubricgrade.episode.limits import Limits
    from rubricgrade.errors import InputError, JudgeError, StoreError
    from rubricgrade.runs.executing import choose_executor
    from rubricgrade.runs.manifest import read_manifest
    from rubricgrade.runs.places import place_of
    from rubricgrade.runs.running import Plan, load_tasks
    from rubricgrade.runs.spending import Purse

    if not tasks and resume is None:
        raise InputError("name at least one task, or a run to go on with: --resume RUN")
    there = None if resume is None else read_manifest(resume)
    of_model = {"--api-base": api_base, "--rpm": rpm, "--temperature": temperature, "--price": price}
    _check_has_model(
        agent or (there.agent if there else ""), [name for name, value in of_model.items() if value is not None]
    )
    paths = list(tasks or ()) or [Path(facts.path) for facts in (there.tasks.values() if there else ())]
    loaded = load_tasks(paths)
    place = place_of(resume or output or f"runs/{datetime.now(UTC):%Y%m%d-%H%M%S}")
    place.check_writable()
    try:
        left = Purse(max_cost, place.lines()).left()
    except JudgeError as error:
        raise typer.Exit(_stopped(error, context, place)) from None
    options = ModelOptions(
        api_base=api_base,
        concurrency=model_concurrency,
        per_minute=rpm,
        max_cost=left,
        temperature=temperature,
        extra=priced(price),
    )
    plan = Plan(
        tasks=loaded,
        agent=_agent(agent, there, options),
        folder=place,
        samples=samples or (there.samples if there else 1),
        concurrency=concurrency,
        limits=Limits(
            max_steps=max_steps,
            seconds=max_seconds,
            tokens=max_tokens,
            cost=max_episode_cost,
            parallel=parallel_calls,
        ),
        judge=judge_or_recorded(judging, rubrics_of(loaded)),
        network=network or bool(there and there.network),
        retries=retries,
        max_cost=max_cost,
    )
    again = _to_go_on(context, place)
    try:
        lost = complete(_run(plan, choose_executor(executor, model=options), again, quiet=quiet or json))
    except JudgeError as error:
        if error.cause != "budget":
            raise
        raise typer.Exit(_stopped(error, context, place)) from None
    except StoreError as error:
        raise StoreError(f"{error}\nwhat is finished is kept; go on with: {again}") from error
    raise typer.Exit(_report(plan, lost, again, json=json))


REMEMBERED = frozenset({"tasks", "agent", "samples", "output", "resume", "network"})
"""What a run's own record has, so that nobody need say it again."""


def _to_go_on(context: typer.Context, place: Place, *, without: frozenset[str] = frozenset()) -> str:
    """The command that makes what is missing, under the options that were given now."""
    words = ["rubricgrade", "run", "--resume", str(place)]
    for parameter in context.command.params:
        name = parameter.name or ""
        source = context.get_parameter_source(name)
        if name in REMEMBERED | without or source is None or source.name != "COMMANDLINE":
            continue
        value = context.params[name]
        for each in cast("list[Any]", value) if isinstance(value, list) else [value]:
            words += [parameter.opts[0]] if each is True else [parameter.opts[0], str(each)]
    return shlex.join(words)


def _stopped(error: JudgeError, context: typer.Context, place: Place) -> int:
    from rubricgrade.report.exits import Exit

    note(f"{error}\nwith a larger cap, or none: {_to_go_on(context, place, without=frozenset({'max_cost'}))}")
    return Exit.COST_CAP


def _check_has_model(agent: str, options: list[str]) -> None:
    """An address that was meant for the judge must not send what it is to read to another one."""
    from rubricgrade.errors import InputError

    if options and agent and not agent.startswith("litellm:"):
        told = f"{', '.join(options)}: for the agent's model, and {agent} has none"
        raise InputError(f"{told}; the options of the judge begin with --judge-")


def _agent(name: str | None, there: Manifest | None, options: ModelOptions) -> Agent:
    from rubricgrade.episode.agents.choosing import choose_agent
    from rubricgrade.errors import InputError

    if name is None and there is not None:
        # Its settings stand behind its name.
        name = there.agent.partition(" temperature=")[0] if there.agent.startswith("litellm:") else there.agent
    if name is None:
        raise InputError("say who acts: --agent litellm:MODEL, command:'...', replay, oracle or nop")
    return choose_agent(name, options)


async def _run(plan: Plan, executor: Executor, again: str, *, quiet: bool) -> int:
    """Make what is missing; returns how many attempts were lost."""
    from rubricgrade.cli.table import board
    from rubricgrade.runs.running import Lost, missing, run

    jobs = missing(plan)
    lost = 0
    if_interrupted(f"what is finished is kept; go on with: {again}")
    with board(len(jobs), plan.concurrency, shown=not quiet) as shown:
        async for outcome in run(plan, executor=executor):
            if isinstance(outcome, Lost):
                lost += 1
                shown.lost(outcome)
            else:
                shown.done(outcome)
    return lost


def _report(plan: Plan, lost: int, again: str, *, json: bool) -> int:
    from rubricgrade.cli.scoring import print_standing, standing_as_json
    from rubricgrade.report.exits import Exit
    from rubricgrade.report.visible import one_line
    from rubricgrade.runs.places import place_of
    from rubricgrade.runs.standing import attempts_of, stand

    standing = stand(plan.folder)
    if json:
        print_json(standing_as_json(standing))
    else:
        print_standing(standing, plan.folder)
    lines = place_of(plan.folder).lines()
    if lines and all(line.end == "failed" for line in lines):
        said = [str(message.get("content") or "") for message in lines[0].messages[-1:]]
        note(f"the agent failed in every attempt; what came of the first: {one_line(' '.join(said), 300) or 'nothing'}")
    if plan.judge.verdicts:
        rubrics = {task.id: task.rubric for task in plan.tasks}
        attempts = attempts_of(plan.folder)
        say_unused(plan.judge.verdicts, [(rubrics[one.line.task], one.grade) for one in attempts if one.grade])
    note(f"kept in {plan.folder}")
    if lost or standing.overall.ungraded:
        if lost:
            note(f"{lost} could not be made; try again with: {again}")
        return Exit.UNGRADED
    return Exit.DONE
