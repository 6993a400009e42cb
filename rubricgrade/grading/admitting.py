"""Who decides: the judge as it is named or, where it can't be asked and need not be, what is recorded and cached."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from rubricgrade.errors import InputError
from rubricgrade.grading.judges import Judges
from rubricgrade.grading.planning import aplan
from rubricgrade.judge.options import JudgeOptions
from rubricgrade.judge.recorded import check_recorded
from rubricgrade.rubric import Rubric
from rubricgrade.sandbox import Provider
from rubricgrade.trajectory import Trajectory


async def admitted(
    judges: Judges, rubric: Rubric, trajectories: Sequence[Trajectory], provider: Provider, *, here: bool = True
) -> Judges:
    """The judges for some trajectories, once it is clear that nothing is begun that can't be judged.

    Gates are taken for passed: whether one fails is known when it has been run, and that is too late.

    Args:
        judges: As the caller named them.
        rubric: What is graded with.
        trajectories: What is graded.
        provider: Makes sandboxes for items that a check lists.
        here: As in `check_judge`.

    Returns:
        The same; or, if somebody can't be asked and every answer is there already, judges that ask nobody.

    Raises:
        InputError: Somebody can't be asked and would have to be; says who, and what to do. Or recorded verdicts
            can't be used.
    """
    if judges.admits(rubric):
        return judges
    check_recorded(judges.options.verdicts, [rubric])
    try:
        # A name that nobody has heard of takes seconds: litellm is imported to ask it.
        await asyncio.to_thread(judges.check, [rubric], here=here)
    except InputError:
        if not await all_answered(judges.options, rubric, trajectories, provider):
            raise
        return Judges(replace(judges.options, offline=True))
    return judges


async def all_answered(
    options: JudgeOptions, rubric: Rubric, trajectories: Sequence[Trajectory], provider: Provider
) -> bool:
    """Whether every question has its recorded or cached answer, so that nobody need be asked."""
    if options.canary:
        return False  # its questions are asked anew each time
    plan = await aplan(trajectories, rubric, judge=options, provider=provider)
    return not plan.faults and plan.total.calls[1] == 0
