"""`agrade`: the whole of grading one trajectory, in the order in which it happens."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from rubricgrade import tree
from rubricgrade.checks import Bench
from rubricgrade.errors import StoreError
from rubricgrade.grading.admitting import admitted
from rubricgrade.grading.assembly import assemble
from rubricgrade.grading.criteria import decide_criteria
from rubricgrade.grading.gates import decide_gates
from rubricgrade.grading.given import Location, the_rubric, the_trajectory
from rubricgrade.grading.judges import Judges
from rubricgrade.grading.template import Given, given_template, template_for, template_subject, template_warning
from rubricgrade.judge.options import JudgeOptions
from rubricgrade.judge.recorded import warn_of_unused
from rubricgrade.result import Grade
from rubricgrade.rubric import Rubric
from rubricgrade.sandbox import Provider, default_provider
from rubricgrade.store.grades import write_grade
from rubricgrade.trajectory import Trajectory


async def agrade(
    trajectory: Trajectory | Location,
    rubric: Rubric | Location,
    *,
    judge: str | JudgeOptions | Judges | None = None,
    vars: Mapping[str, Any] | None = None,  # noqa: A002 - the rubric's own word
    provider: Provider | None = None,
    template: Given = None,
    store: Location | Literal[True] | None = None,
    ungated: bool = False,
) -> Grade:
    """Grade one trajectory.

    Args:
        trajectory: A trajectory, or the path of a trajectory file or an episode folder.
        rubric: A rubric, or the path of its YAML.
        judge: A model name, or options. None: judged criteria stay open (``no_judge``), and the score is an interval.
            Recorded verdicts are read from the options' `verdicts` alone: it is the commands and the server that take a
            ``verdicts.jsonl`` beside the rubric.
        vars: Values of the rubric's variables for this task; only with a path.
        provider: Where sandboxes come from; default: the best that this host has.
        template: What the agent's code runs in, also by its folder, name or hash. Default: the one that the trajectory
            names (if that is not here, checks that need it stay open: ``template_missing``), else the base.
        store: A folder to write the grade to (in ``grades/``), or True: beside the trajectory. Default: nowhere.
        ungated: Decide the criteria also when a gate has failed; the score is 0 all the same.

    Returns:
        The grade. A fault of the grader is in it (``ungraded``, with a cause and bounds), never raised.

    Raises:
        InputError: The rubric, the trajectory or the template given can't be used; or a model that may be asked can't
            be (no such provider, no key, no such file), and not every answer is recorded or cached. Nothing was spent.
        StoreError: The grade could not be written, or the template store not be used.
    """
    started = time.monotonic()
    rubric = the_rubric(rubric, vars)
    trajectory = the_trajectory(trajectory)
    provider = provider or default_provider()
    async with (
        await admitted(Judges.of(judge), rubric, [trajectory], provider) as judges,
        given_template(template, provider) as given,
        template_for(trajectory, rubric, given, provider) as found,
        Bench(trajectory, rubric, provider, found) as bench,
    ):
        judging = judges.judging(trajectory, rubric, bench.documents)
        gates = await decide_gates(rubric, bench)
        criteria = await decide_criteria(rubric, gates, bench, judging, ungated=ungated)
        judges.done(judging)
        isolation = bench.isolation
    workspace, unnamed = await _named(trajectory.workspace)
    grade = assemble(
        rubric,
        trajectory,
        gates,
        criteria,
        judge=judges.subject(rubric),
        workspace=workspace,
        template=template_subject(found),
        isolation=isolation,
        warnings=(*template_warning(trajectory, given), *unnamed),
        seconds=time.monotonic() - started,
    )
    if isinstance(judge, JudgeOptions):
        warn_of_unused(judge.verdicts, [(rubric, grade)])
    if store is not None:
        await keep(grade, trajectory, store)
    return grade


async def keep(grade: Grade, trajectory: Trajectory, store: Location | Literal[True]) -> None:
    """Write the grade of a trajectory; `store` as in `agrade`.

    Raises:
        StoreError: It could not be written.
    """
    # A disk can be slow, and other grades need not wait for it.
    await asyncio.to_thread(write_grade, grade, _folder(trajectory, store))


async def _named(workspace: Path | None) -> tuple[str | None, tuple[str, ...]]:
    """The hash of what was graded; None with a warning if it can be read no longer: all else is decided by then."""
    if workspace is None:
        return None, ()
    try:
        return await asyncio.to_thread(tree.identity, workspace), ()
    except OSError as error:
        return None, (f"workspace: not named by its hash, it can't be read: {error}",)


def _folder(trajectory: Trajectory, store: Location | Literal[True]) -> Path:
    if store is not True:
        return Path(store)
    if trajectory.folder is None:
        raise StoreError(f"trajectory {trajectory.id!r} has no folder of its own: name one with store=")
    return trajectory.folder
