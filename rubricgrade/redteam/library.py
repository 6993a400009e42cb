"""All known attacks, and those that a task brings of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rubricgrade.episode.task import Task
from rubricgrade.errors import Fault, InputError
from rubricgrade.redteam import answers, inside, tests_and_rewards, words
from rubricgrade.redteam.attack import Attack, Plan, Target

ATTACKS: tuple[Attack, ...] = (*words.ATTACKS, *tests_and_rewards.ATTACKS, *inside.ATTACKS, *answers.ATTACKS)
OWN = "attacks"
"""Folder in a task's ``tests/`` with its own attacks: scripts for bash, run in the agent's fork."""
LARGEST = 1 << 20


def attacks_of(task: Task) -> tuple[Attack, ...]:
    """The known attacks and the task's own, ``tests/attacks/*.sh``.

    Raises:
        InputError: One of its own can't be read.
    """
    return (*ATTACKS, *(_own(file) for file in sorted((task.folder / "tests" / OWN).glob("*.sh"))))


def _own(file: Path) -> Attack:
    try:
        script = file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(Fault(f"can't be read: {error}", str(file))) from None
    if len(script) > LARGEST:
        raise InputError(Fault("is larger than 1 MiB", str(file)))
    first = script.partition("\n")[0].lstrip("#! ").strip()
    title = first if script.startswith("# ") else "the task's own attack"
    return Attack(
        f"own-{file.stem}", title, "what the task's author feared", "see the attack's own comments", _always(script)
    )


def _always(script: str) -> Callable[[Target], Plan]:
    return lambda _: Plan(script)
