"""Whether a criterion's own prompt (Jinja) can be rendered: its syntax, and the names that it uses."""

from __future__ import annotations

from collections.abc import Iterator

from rubricgrade.errors import Fault
from rubricgrade.loading import codes
from rubricgrade.loading.document import Document, Place
from rubricgrade.rubric import Rubric
from rubricgrade.rubric.rules import nearest, placed

NAMES = frozenset({"criterion", "guidance", "reference", "item", "vars"})
"""What a prompt may use."""


def prompt_faults(rubric: Rubric, document: Document) -> list[Fault]:
    """A fault for each prompt that could not be rendered. Nothing is rendered here."""
    prompts: list[tuple[Place, str | None]] = [(("judge", "prompt"), rubric.judge.prompt)]
    prompts += [
        ((*one.place, "judge", "prompt"), one.criterion.judge.prompt) for one in placed(rubric) if one.criterion.judge
    ]
    return [
        document.fault(place, message, codes.PROMPT)
        for place, prompt in prompts
        if prompt is not None
        for message in _wrong(prompt, rubric)
    ]


def _wrong(prompt: str, rubric: Rubric) -> Iterator[str]:
    # Few rubrics have prompts of their own; the others need not pay for this import.
    from jinja2 import Environment, TemplateSyntaxError, meta, nodes  # noqa: PLC0415

    try:
        tree = Environment(autoescape=True).parse(prompt)
    except TemplateSyntaxError as error:
        yield f"line {error.lineno} of the prompt: {error.message}"
        return
    for name in sorted(meta.find_undeclared_variables(tree) - NAMES):
        known = nearest(name, NAMES) or f"; known here: {', '.join(sorted(NAMES))}"
        yield f"the prompt uses an unknown name {name!r}{known}"
    for lookup in tree.find_all(nodes.Getattr):
        if lookup.attr.startswith("_"):
            yield f"the prompt may not look at {lookup.attr!r}"
        elif isinstance(lookup.node, nodes.Name) and lookup.node.name == "vars" and lookup.attr not in rubric.vars:
            yield f"the prompt uses an unknown variable {lookup.attr!r}{nearest(lookup.attr, rubric.vars)}"
