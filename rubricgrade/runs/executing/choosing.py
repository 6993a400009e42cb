"""From an executor's name as it is written on a command line to the executor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rubricgrade.episode.agents.choosing import ModelOptions
from rubricgrade.errors import InputError
from rubricgrade.grading.many import Elsewhere
from rubricgrade.runs.executing.local import Local
from rubricgrade.sandbox import Provider

if TYPE_CHECKING:
    from rubricgrade.runs.executing.ray import RayExecutor

KINDS = "local, ray or ray:ADDRESS"


def elsewhere(name: str) -> Elsewhere | None:
    """Who grades for `agrade_all`: None is this process.

    Raises:
        InputError: There is no such executor.
        MissingExtraError: Ray is not installed.
    """
    chosen = choose_executor(name)
    return None if isinstance(chosen, Local) else chosen


def choose_executor(
    name: str, *, model: ModelOptions | None = None, provider: Provider | None = None
) -> Local | RayExecutor:
    """The executor that a name stands for.

    Args:
        name: One of `KINDS`. ``ray`` alone takes the cluster of ``RAY_ADDRESS``, else one that runs on this machine,
            else starts one here.
        model: How the agent's model is called, if it has one, so that nodes can call it.
        provider: Where the sandboxes of `local` come from.

    Raises:
        InputError: There is no such executor.
        MissingExtraError: Ray is not installed.
    """
    kind, colon, rest = name.partition(":")
    if name == "local":
        return Local(provider)
    if kind == "ray" and bool(colon) == bool(rest):
        from rubricgrade.runs.executing.ray import RayExecutor  # noqa: PLC0415 - takes seconds to import

        return RayExecutor(rest or None, model=model)
    raise InputError(f"there is no executor {name!r}; there is {KINDS}")
