"""Whether the prompts of a rubric's own hold only what a prompt may, each fault at its place in the file."""

from __future__ import annotations

from collections.abc import Iterator

from rubricgrade.errors import Fault
from rubricgrade.loading import codes
from rubricgrade.loading.document import Document, Place
from rubricgrade.rubric import Rubric
from rubricgrade.rubric.rules import placed

MOST_TOGETHER = 400_000
"""Characters of all prompts of one rubric, equal ones counted once: reading them takes seconds per million."""


def prompt_faults(rubric: Rubric, document: Document) -> list[Fault]:
    """A fault for everything that a prompt may not hold. Nothing is rendered here."""
    prompts: list[tuple[Place, str | None]] = [(("judge", "prompt"), rubric.judge.prompt)]
    prompts += [
        ((*one.place, "judge", "prompt"), one.criterion.judge.prompt) for one in placed(rubric) if one.criterion.judge
    ]
    faults: list[Fault] = []
    seen: set[str] = set()
    together = 0
    for place, prompt in prompts:
        if prompt is None:
            continue
        together += 0 if prompt in seen else len(prompt)
        seen.add(prompt)
        if together > MOST_TOGETHER:
            message = f"the prompts of this rubric have more than {MOST_TOGETHER:,} characters together"
            return [*faults, document.fault(place, message, codes.PROMPT)]
        faults += [document.fault(place, message, codes.PROMPT) for message in _wrong(prompt, rubric)]
    return faults


def _wrong(prompt: str, rubric: Rubric) -> Iterator[str]:
    # Few rubrics have prompts of their own; the others need not pay for the import of Jinja.
    from rubricgrade.rubric.prompt import read  # noqa: PLC0415

    yield from map(str, read(prompt, rubric.vars)[1])
