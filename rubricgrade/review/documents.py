"""The files that a judge could see, as text: read in the checker's sandbox, as when they were judged."""

from __future__ import annotations

from rubricgrade.checks import Bench
from rubricgrade.errors import CheckError, InputError, SandboxError, StoreError
from rubricgrade.evidence import Document
from rubricgrade.grading.template import template_for
from rubricgrade.judge.record import sight_of
from rubricgrade.report.visible import one_line
from rubricgrade.rubric import Judge, Rubric
from rubricgrade.sandbox import Provider
from rubricgrade.trajectory import Trajectory


async def read_documents(
    trajectory: Trajectory, rubric: Rubric, provider: Provider
) -> tuple[tuple[Document, ...], str]:
    """The text of all files that some criterion shows to its judge.

    Returns:
        The documents, and why there are none; empty if there are, or none were asked for.
    """
    settings = [(leaf.judge or Judge()).over(rubric.judge) for leaf in rubric.leaves()]
    sights = [sight_of(each, trajectory) for each in settings]
    globs = list(dict.fromkeys(glob for sight in sights for glob in sight.artifacts))
    world = list(dict.fromkeys(glob for sight in sights for glob in sight.world))
    if not (globs and trajectory.workspace) and not (world and trajectory.world):
        return (), ""
    try:
        async with (
            template_for(trajectory, rubric, None, provider) as template,
            Bench(trajectory, rubric, provider, template) as bench,
        ):
            return await bench.documents(globs, world=world), ""
    except (SandboxError, CheckError, InputError, StoreError) as error:
        return (), one_line(str(error), 500)
