"""The canary: a criterion that is known to be false. A judge that says it is true says yes to anything."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from rubricgrade import digest
from rubricgrade.errors import JudgeError
from rubricgrade.judge import wording
from rubricgrade.judge.aside import Aside
from rubricgrade.judge.options import Style
from rubricgrade.judge.view import View
from rubricgrade.result import Usage


class Canaries:
    """Of one grade: one question for every view and model that is asked about it.

    Args:
        aside: Makes the questions on the way to a verdict, by a model.
        style: Of the criteria's questions.
    """

    def __init__(self, aside: Callable[[str], Aside], style: Style) -> None:
        self._aside = aside
        self._style: Style = style
        self._asked: dict[tuple[str, str], asyncio.Task[str | None]] = {}
        self._asides: list[Aside] = []

    def ask(self, view: View, model: str) -> None:
        """Ask about a view, unless that was done."""
        key = (view.hash, model)
        if key not in self._asked:
            aside = self._aside(model)
            self._asides.append(aside)
            self._asked[key] = asyncio.create_task(canary(view, aside, self._style))

    async def trouble(self) -> str | None:
        """Wait for all answers; why no verdict of this grade counts, if there is a reason."""
        return next((found for found in await asyncio.gather(*self._asked.values()) if found), None)

    def take(self) -> Usage:
        """What the calls took; once it was taken, nothing is left of it."""
        usage = sum((aside.usage for aside in self._asides), Usage())
        self._asides.clear()
        return usage


async def canary(view: View, aside: Aside, style: Style) -> str | None:
    """Ask whether a record holds a text that it does not hold.

    One call on the cached prefix, with the schema of the questions, so that the prefix is theirs.

    Args:
        view: What the judge is shown.
        aside: Asks the judge.
        style: Of the questions.

    Returns:
        Why no verdict of this judge on this record counts; None if there is no reason. A call that brings no answer is
        none: it shows nothing about the others, which fail by themselves if they must.
    """
    token = _token(view)
    choices = ("yes", "no")
    asked = f"{wording.CANARY.format(token=token)}\n\n{wording.answer_format(choices, 'no', style=style)}"
    try:
        said = await aside.object(view, asked, wording.reply_schema(choices, style=style), "answer")
    except JudgeError:
        return None
    answer = said.get("answer") if said else None
    if isinstance(answer, str) and answer.strip().casefold() == "yes":
        return f"the judge {aside.model} says that the record holds {token}, which it does not: no verdict of it counts"
    return None


def _token(view: View) -> str:
    number = 0
    while (token := f"zq-{digest.of_bytes(f'canary {number} {view.hash}'.encode())[-12:]}") in view.text:
        number += 1
    return token
