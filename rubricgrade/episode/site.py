"""What the templates of a task are made of: where its agent works, and where its tests run if that is elsewhere."""

from __future__ import annotations

import platform
import sys
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path, PurePosixPath
from typing import Any

from rubricgrade import digest, tree
from rubricgrade.episode.commands import script_packages
from rubricgrade.episode.recipe import Recipe, read_recipe
from rubricgrade.episode.task import Task
from rubricgrade.errors import Fault, TemplateError
from rubricgrade.sandbox import Provider


@dataclass(frozen=True, slots=True)
class Site:
    """What one template of a task is made of.

    Attributes:
        task: The task's id.
        context: The build context.
        recipe: What is done with it.
        script: Whether a plain test script is to find its folders in it.
        memory: Bytes, if the task says so.
        network: Whether it has the host's network.
        hash: ``sha256:...`` of all that decides its content.
    """

    task: str
    context: Path
    recipe: Recipe
    script: bool
    memory: int | None
    network: bool
    hash: str


def site_of(task: Task, *, network: bool = False) -> Site:
    """Where the agent of a task works.

    Args:
        task: Whose environment it is.
        network: Whether a task that asks for the internet gets it.

    Raises:
        TemplateError: Its Dockerfile asks for what can't be followed here.
    """
    if task.settings.needs_image:
        raise TemplateError(
            Fault("its files are in a base image, and images are not fetched here", str(task.folder / "task.toml"))
        )
    return _site(task, task.folder / "environment", network=network and task.network)


def verified_at(task: Task) -> Site | None:
    """Where a plain Harbor task is verified, if its tests have an image of their own; None: where the agent worked.

    Raises:
        TemplateError: That image can't be followed here, or works in another folder.
    """
    tests = task.folder / "tests"
    for step in task.steps:
        _require_plain(task.folder / "steps" / step.name / "tests")
    if not (task.by_script and task.verifier.apart and (tests / "Dockerfile").is_file()):
        return None
    site, agent = _site(task, tests, network=False), site_of(task)
    if site.recipe.workdir != agent.recipe.workdir:
        raise TemplateError(
            Fault(
                f"works in {site.recipe.workdir}, and the agent in {agent.recipe.workdir}: only one and the same work"
                " folder can be followed here",
                str(tests / "Dockerfile"),
            )
        )
    return site


def template_hash(task: Task, *, network: bool = False) -> str:
    """What identifies a task's template: everything that decides its content. One that can't be made has one too."""
    try:
        return site_of(task, network=network).hash
    except TemplateError:
        return digest.of_value({"unmade": tree.digest(task.folder / "environment")})


def require_packages(task: Task, provider: Provider) -> None:
    """See that the Python packages that a task's images would have are here: without them its tests could only fail.

    Only a sandbox that shows this host's own packages can be seen through so.

    Raises:
        TemplateError: With the names of those that are not.
    """
    if provider.name != "bubblewrap":
        return
    places = [task.folder / "tests", *(task.folder / "steps" / step.name / "tests" for step in task.steps)]
    images = [read_recipe(place) for place in places if (place / "Dockerfile").is_file()]
    wanted = {name for recipe in (site_of(task).recipe, *images) for name in recipe.packages}
    if task.by_script:
        scripts = [place / "test.sh" for place in places if (place / "test.sh").is_file()]
        wanted |= {name for script in scripts for name in script_packages(script.read_text("utf-8", "replace"))}
    if absent := sorted(name for name in wanted if not _is_here(name)):
        raise TemplateError(
            Fault(
                f"it needs Python packages that this environment does not have: pip install {' '.join(absent)}",
                str(task.folder),
            )
        )


def _site(task: Task, context: Path, *, network: bool) -> Site:
    recipe = read_recipe(context)
    facts: dict[str, Any] = {
        "environment": tree.digest(context) if context.is_dir() else None,
        "script": task.by_script,
        "memory": task.memory,
        "network": network,
    }
    if recipe.runs:
        # What commands make depends on the host's own programs, which files that are only copied do not.
        facts["host"] = [platform.machine(), *sys.version_info[:2]]
    if task.workdir or task.env:
        facts["settings"] = [task.workdir, task.env]
        env = {**dict(recipe.env), **task.env}
        recipe = replace(recipe, workdir=task.workdir or recipe.workdir, env=tuple(env.items()))
    return Site(task.id, context, recipe, task.by_script, task.memory, network, digest.of_value(facts))


def _require_plain(tests: Path) -> None:
    """See that the image of one step's tests is nothing but the agent's with the tests in it."""
    recipe = read_recipe(tests) if (tests / "Dockerfile").is_file() else Recipe()
    if recipe.runs or any(not PurePosixPath(copy.target).is_relative_to("/tests") for copy in recipe.copies):
        file = str(tests / "Dockerfile")
        raise TemplateError(
            Fault("builds an environment for the tests of one step, which can't be followed here", file)
        )


def _is_here(package: str) -> bool:
    try:
        metadata.version(package)
    except metadata.PackageNotFoundError:
        return False
    return True
