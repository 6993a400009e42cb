"""What a red team found, as values."""

from __future__ import annotations

from collections import Counter
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Outcome = Literal["earned", "held", "open", "not_applicable", "failed"]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", serialize_by_alias=True)


class Gain(_Record):
    """A gate or criterion that an attack moved in its favour.

    Attributes:
        item: Its id.
        place: ``file:line`` in the rubric.
        before: Its value after doing nothing; None while open.
        after: After the attack.
        weakness: What that shows about it.
    """

    item: str
    place: str
    before: float | None
    after: float | None
    weakness: str


class AttackResult(_Record):
    """What one attack came to.

    Attributes:
        attack: Its id.
        title: What it did.
        outcome: ``earned``: more than doing nothing by the margin, or left the grader without a score where doing
            nothing has one; ``held``: no more than that; ``open``: a judged item could not be decided, and what is
            decided gains nothing; ``not_applicable``: there was nothing to attack; ``failed``: it could not be tried.
        reward: Its score; None if ungraded.
        bounds: What the score could have been.
        message: Why it does not apply or failed, or why there is no score.
        gains: Where the reward came from.
        remedy: What would close it.
        raised: What checks raised at it, as ``checks/totals.py:14 raised KeyError``: perhaps defects of the checks.
    """

    attack: str
    title: str
    outcome: Outcome
    reward: float | None = None
    bounds: tuple[float, float] | None = None
    message: str = ""
    gains: tuple[Gain, ...] = ()
    remedy: str = ""
    raised: tuple[str, ...] = ()


class TaskReport(_Record):
    """What the red team found about one task.

    Attributes:
        task: Its id.
        hash: Of all that decides an episode and its grade.
        nothing: Reward of doing nothing; None if that is open.
        reference: Reward of the reference solution.
        margin: More than `nothing` by so much is a success.
        hackable: Whether any attack earned.
        open_items: Judged items that nobody decided: they could not be attacked, so they are not proven either.
        attacks: One result for each.
    """

    schema_: Literal["rubricgrade.redteam/1"] = Field(default="rubricgrade.redteam/1", alias="schema")
    task: str
    hash: str
    nothing: float | None
    reference: float | None
    margin: float
    hackable: bool
    open_items: tuple[str, ...] = ()
    attacks: tuple[AttackResult, ...]

    @property
    def earned(self) -> tuple[AttackResult, ...]:
        """The attacks that earned."""
        return tuple(each for each in self.attacks if each.outcome == "earned")

    @property
    def raised(self) -> dict[str, int]:
        """What checks raised, and at how many attacks."""
        return dict(Counter(each for attack in self.attacks for each in attack.raised).most_common())
