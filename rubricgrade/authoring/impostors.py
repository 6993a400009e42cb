"""Episodes of agents that did not do the work: what they earn, a rubric gives away."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from rubricgrade.rubric import Check, Rubric
from rubricgrade.rubric.files import File
from rubricgrade.rubric.rules import placed
from rubricgrade.trajectory import Step, Template, Text, Trajectory

WORD = re.compile(r"[^\W\d_][\w-]{3,}")
PADDING = (
    "To begin with, it is worth setting out the context in which this request was made, and the considerations that a"
    " careful reader would want to see weighed before any conclusion is drawn. Several aspects deserve attention, and"
    " each of them is treated in turn below, with the thoroughness that the subject calls for."
)
PARAGRAPHS = 40


@dataclass(frozen=True, slots=True)
class Impostor:
    """An agent that did not do the work.

    Attributes:
        name: What it does instead.
        most: The highest score that is no cause for concern.
        message: Its final message, from the rubric; empty for none.
        leaves_files: Whether it leaves a file under every name that a check asks for, with the message in it.
    """

    name: str
    most: float
    message: Callable[[Rubric], str]
    leaves_files: bool = False


def _nothing(_: Rubric) -> str:
    return ""


def _bluff(rubric: Rubric) -> str:
    done = "\n".join(f"- {wording}: done, and verified." for wording in _wanted(rubric))
    return f"Everything is done and I have checked all of it. All tests pass.\n{done}"


def _keywords(rubric: Rubric) -> str:
    words = dict.fromkeys(word.lower() for wording in _wanted(rubric) for word in WORD.findall(wording))
    return " ".join(words) or "done"


def _verbose(_: Rubric) -> str:
    return "\n\n".join(f"{number}. {PADDING}" for number in range(1, PARAGRAPHS + 1))


NOTHING = Impostor("does nothing", 0.0, _nothing)

IMPOSTORS = (
    NOTHING,
    Impostor("claims that all is done", 0.3, _bluff),
    Impostor("strings the rubric's words together", 0.3, _keywords),
    Impostor("writes at length and says nothing", 0.3, _verbose),
    Impostor("leaves every file that is asked for, hollow", 0.3, _keywords, leaves_files=True),
)
"""Mild ones may earn a little (a criterion on tone, say); one that does nothing must not."""


def episode_of(impostor: Impostor, rubric: Rubric, folder: Path, like: Trajectory | None) -> Trajectory:
    """The episode of an impostor.

    Args:
        impostor: What it does.
        rubric: What it is graded with.
        folder: An empty folder for what it leaves.
        like: An episode of the same task, for the instruction and the template; None if there is none.
    """
    task = like.instruction if like is not None else (rubric.title or rubric.id)
    message = impostor.message(rubric)
    workspace, world = folder / "workspace", folder / "world"
    for place in (workspace, world):
        place.mkdir(parents=True)
    if impostor.leaves_files:
        for name in files_asked_for(rubric):
            (workspace / name).parent.mkdir(parents=True, exist_ok=True)
            (workspace / name).write_text(message + "\n")
    template: Template | None = like.template if like is not None else None
    trajectory = Trajectory(
        id=re.sub(r"\W+", "-", impostor.name),
        steps=(
            Step(role="user", content=(Text(text=task),)),
            Step(role="assistant", content=(Text(text=message),) if message else ()),
        ),
        artifacts=like.artifacts if like is not None else (),
        template=template,
    )
    return trajectory.located(folder=folder, workspace=workspace, world=world)


def files_asked_for(rubric: Rubric) -> list[str]:
    """The files of the workspace that checks name and judges are shown, globs made into names."""
    named = {check.spec.path: None for check in _checks(rubric) if isinstance(check.spec, File)}
    judges = [rubric.judge, *(leaf.judge for leaf in rubric.leaves() if leaf.judge is not None)]
    named |= {path: None for judge in judges for path in judge.artifacts or ()}
    names = (re.sub(r"\*+/?", "x", re.sub(r"[?\[\]]", "x", path)) for path in named)
    return [name for name in names if not PurePosixPath(name).is_absolute() and ".." not in PurePosixPath(name).parts]


def _checks(rubric: Rubric) -> Iterator[Check]:
    stack = [*rubric.checks.values()]
    stack += [item.check for item in (*rubric.gates, *rubric.leaves()) if isinstance(item.check, Check)]
    while stack:
        check = stack.pop(0)
        yield check
        if isinstance(check.spec, Check):
            stack.append(check.spec)


def _wanted(rubric: Rubric) -> Iterator[str]:
    """The wording of what earns something; whoever stuffs keywords leaves out what costs points."""
    yield from (rubric.wording(gate.description) for gate in rubric.gates)
    for one in placed(rubric):
        if one.sign > 0:
            yield rubric.wording(one.criterion.description)
