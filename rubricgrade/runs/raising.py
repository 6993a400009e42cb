"""Checks that raise the same exception at the same line in several episodes: likely defects of the checks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from pydantic import BaseModel, ConfigDict

from rubricgrade.plural import count
from rubricgrade.result import Grade, Raised

SEVERAL = 2


class Raising(BaseModel):
    """What one line of a rubric's checks has raised.

    Attributes:
        rubric: Its id.
        place: The line, as ``checks/totals.py:14``.
        error: The exception's class, as `Raised.error`.
        episodes: In how many graded episodes, 2 at least.
        of: So many were graded by that rubric.
        agents: In how many of these it counted as the agent's fault, and so has cost it something.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    rubric: str
    place: str
    error: str
    episodes: int
    of: int
    agents: int


def raising(grades: Sequence[Grade]) -> tuple[Raising, ...]:
    """Every line that raised the same in two or more episodes, the most frequent first."""
    graded = Counter(grade.rubric.id for grade in grades)
    found: Counter[tuple[str, Raised]] = Counter()
    agents: Counter[tuple[str, Raised]] = Counter()
    for grade in grades:
        raised = list(_raised(grade))
        found.update({(grade.rubric.id, each) for each, _ in raised})
        agents.update({(grade.rubric.id, each) for each, fault in raised if fault == "agent"})
    return tuple(
        Raising(
            rubric=rubric,
            place=each.place,
            error=each.error,
            episodes=times,
            of=graded[rubric],
            agents=agents[rubric, each],
        )
        for (rubric, each), times in found.most_common()
        if times >= SEVERAL
    )


def raised_in(*grades: Grade) -> tuple[str, ...]:
    """What checks raised in some grades: ``checks/totals.py:14 raised KeyError``, each once."""
    found = (f"{each.place} {each.did}" for grade in grades for each, _ in _raised(grade))
    return tuple(dict.fromkeys(found))


def told(lines: Sequence[Raising], *, again: str = "grade again") -> Iterator[str]:
    """A sentence on each, with what to do about it.

    Args:
        lines: What was found.
        again: How to grade again once the check is mended.
    """
    several = len({line.rubric for line in lines}) > 1
    for line in lines:
        where = f"{line.rubric}: {line.place}" if several else line.place
        did = Raised(error=line.error, place=line.place).did
        head = f"check {where} {did} in {line.episodes} of {count(line.of, 'episode')}"
        if line.agents:
            some = "" if line.agents == line.episodes else f" in {line.agents}"
            fault = f"which counted as the agent's fault{some}"
            yield f"{head}, {fault}; if it is a defect of the check, mend it and {again}"
        else:
            yield f"{head}, a defect of the check: mend it and {again}"


def _raised(grade: Grade) -> Iterator[tuple[Raised, str | None]]:
    for item in (*grade.gates, *grade.leaves()):
        if item.check is not None and item.check.raised is not None:
            yield item.check.raised, item.fault
