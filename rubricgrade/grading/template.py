"""Which template the agent's code is run in: the caller's, else the one that the trajectory names, else the base."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from os import PathLike

from rubricgrade.errors import SandboxError, StoreError, TemplateError
from rubricgrade.result import Subject
from rubricgrade.rubric import Rubric
from rubricgrade.sandbox import Provider, Template
from rubricgrade.templates import named, opened
from rubricgrade.trajectory import Trajectory

Given = Template | str | PathLike[str] | None


@asynccontextmanager
async def given_template(given: Given, provider: Provider) -> AsyncGenerator[Template | None]:
    """The caller's template, built first if need be; None when there is none. It stays as long as the block runs.

    Raises:
        TemplateError: It can't be had.
        StoreError: The template store can't be used.
        SandboxError: It has to be built, and there is no sandbox to do it in.
    """
    if given is None or isinstance(given, Template):
        yield given
        return
    async with opened(given, provider=provider) as template:
        yield template


@asynccontextmanager
async def template_for(
    trajectory: Trajectory, rubric: Rubric, given: Template | None, provider: Provider
) -> AsyncGenerator[Template | TemplateError | None]:
    """What the checks of one trajectory are to run the agent's code in; None stands for the base.

    A template that can't be had is a fault of the grader's, and told to the checks that need it: another one would give
    another score. A rubric without checks needs none.
    """
    if given is not None or trajectory.template is None or not _has_checks(rubric):
        yield given
        return
    async with AsyncExitStack() as held:
        found: Template | TemplateError
        try:
            found = await held.enter_async_context(named(trajectory.template, provider=provider))
        except TemplateError as error:
            found = error
        except (SandboxError, StoreError, OSError) as error:
            found = TemplateError(f"template {trajectory.template.name!r} can't be had: {error}")
        yield found


def template_subject(found: Template | TemplateError | None) -> Subject | None:
    """How a grade names the template; None for the plain base, which has no hash, and for one that can't be had."""
    return Subject(id=found.name, hash=found.digest) if isinstance(found, Template) and found.digest else None


def template_warning(trajectory: Trajectory, given: Template | None) -> tuple[str, ...]:
    """What a grade says when the caller's template is not the one that the trajectory was made in."""
    wanted = trajectory.template
    if given is None or wanted is None or wanted.hash in (None, given.digest):
        return ()
    made_in, used = f"{wanted.name} ({wanted.hash})", f"{given.name} ({given.digest or 'no hash'})"
    return (f"template: made in {made_in}, graded in {used} because the caller says so",)


def _has_checks(rubric: Rubric) -> bool:
    return bool(rubric.gates) or any(leaf.decided_by == "check" or leaf.for_each for leaf in rubric.leaves())
