"""One criterion as a question: its wording with names filled in, what the answers mean, and its identity.

The identity is a hash of everything that is asked about everything that is shown, without the model and without our own
prompt's wording, so that a recorded verdict holds as long as the question is the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from rubricgrade import digest
from rubricgrade.errors import JudgeError, RubricgradeError
from rubricgrade.evidence import one_line
from rubricgrade.judge import wording
from rubricgrade.judge.options import Style
from rubricgrade.judge.record import Record, margined
from rubricgrade.rubric import Choice, Criterion, Judge, Rubric
from rubricgrade.rubric.rendering import PromptError, rendered
from rubricgrade.rubric.wording import ITEM, fill

YES, NO, CANNOT_TELL = "yes", "no", "cannot_tell"
_WIRE = {"met": YES, "not_met": NO, "cannot_tell": CANNOT_TELL}
_AUXILIARY = r"(?:does|do|did|is|are|was|were|has|have|had|will|would|should|must|can|could)"
_SAYS_ABSENT = re.compile(
    rf"\s*(?:(?!(?:that|which|who|whose|if|when|where)\s)\S+\s+){{0,5}}?"
    rf"(?:{_AUXILIARY}(?:\s+not\b|n['\u2019]t\b)|cannot\b|never\b|avoid(?:s|ed)?\b|refrain(?:s|ed)?\b)"
    r"|\s*(?:no|none|nothing|nobody)\b",
    re.IGNORECASE,
)
_DENIES = re.compile(
    r"\b(?:not?|never|none|nothing|nobody|without|cannot|lack(?:s|ed|ing)?|fail(?:s|ed)?|miss(?:es|ed|ing)|omit\w*|"
    r"absent|only|avoid(?:s|ed)?|refrain(?:s|ed)?|free of|untrace\w+|unsupported|"
    r"all|each|every\w*|always|throughout|zero|exactly|solely|at most|unchanged|untouched|intact)\b|n['\u2019]t\b",
    re.IGNORECASE,
)
_SUMS_UP = re.compile(
    r"\b(?:pass(?:es|ed|ing)?|succe\w+|work(?:s|ed)?|clean(?:ly)?|green|stay(?:s|ed)?|remain(?:s|ed)?|ke(?:eps|pt)|"
    r"match(?:es|ed)?|agree(?:s|d)?|equals?|same|identical|consistent(?:ly)?|complete(?:ly|s|d)?|full(?:y)?|correct(?:ly)?|"
    r"valid|accurate(?:ly)?|right(?:ly)?|true|before|until|first|under|below|within|up to|fewer|less|limit(?:s|ed)?|"
    r"any|whole|entire(?:ly)?)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Question:
    """What is asked of a judge.

    Attributes:
        asked: What is asked, without how to reply.
        text: The last message of a prompt that asks nothing else.
        wording: The criterion with its names filled in, for people.
        choices: What may be answered, lowest first, without ``cannot_tell``.
        values: The value of each choice; never shown.
        names: The verdict that each choice stands for.
        absence: The criterion says that something is absent, so that its highest answer needs no quote.
        denies: It denies something anywhere, or says it of everything, so that what is missing from the record could
            make its highest answer wrong.
        sums_up: It may do so in other words (``the tests pass``, ``within the limit``), so that all of the record is
            worth a look where it can be had.
        style: ``reasoned`` or ``direct``.
        identity: The question's hash.
        parts: Characters by part.
    """

    asked: str
    text: str
    wording: str
    choices: tuple[str, ...]
    values: Mapping[str, float]
    names: Mapping[str, str]
    absence: bool
    denies: bool
    sums_up: bool
    style: Style
    identity: str
    parts: Mapping[str, int]

    @property
    def lowest(self) -> str:
        """The answer that needs no quote."""
        return self.choices[0]

    @property
    def highest(self) -> str:
        """The answer that a missing part of the record can't have made worse."""
        return self.choices[-1]

    @property
    def listed(self) -> tuple[str, ...]:
        """The choices in the order in which they are named to the judge."""
        return _listed(self.choices)

    @property
    def schema(self) -> Mapping[str, Any]:
        """JSON schema of the reply, with the choices in the author's order."""
        return wording.reply_schema(self.listed, style=self.style)

    def needs_quote(self, answer: str) -> bool:
        """Whether an answer must be carried by a quote."""
        if answer in (self.lowest, CANNOT_TELL) or self.style == "direct":
            return False
        return not (self.absence and answer == self.highest)

    def blind(self, answer: str, *, quoted: bool) -> bool:
        """Whether an answer could be due to what is missing from the record.

        Args:
            answer: Of the judge.
            quoted: Something that stands in the record carries it: what is said to be absent and is there.
        """
        if answer == CANNOT_TELL:
            return False
        return self.denies if answer == self.highest else not (self.absence and quoted)


def too_long_to_ask(item: str) -> bool:
    """Whether an item of a `for_each` would be cut in its question: what nobody sees could be the false half."""
    return len(one_line(item, ITEM)) > ITEM


class Questions:
    """Words the criteria of one rubric: each once, however many episodes it is asked about.

    Args:
        rubric: Gives variables, sealed reference files and defaults.
        style: ``reasoned`` or ``direct``.
    """

    def __init__(self, rubric: Rubric, style: Style) -> None:
        self.rubric = rubric
        self._style: Style = style
        self._settings: dict[str, Judge] = {}
        self._worded: dict[str, _Worded] = {}

    def settings(self, criterion: Criterion) -> Judge:
        """A judged criterion's own settings, completed by the rubric's defaults."""
        found = self._settings.get(criterion.id)
        if found is None:
            found = self._settings[criterion.id] = (criterion.judge or Judge()).over(self.rubric.judge)
        return found

    def of(self, criterion: Criterion, record: Record, item: str | None = None) -> Question:
        """A criterion as a question about an episode.

        Args:
            criterion: A judged one.
            record: What a judge may see of the episode.
            item: Of a `for_each`; it may come from the agent's work, so it is data.

        Raises:
            JudgeError: The author's prompt can't be rendered, a reference file is no text, or the question can't be
                worded for any other reason: the grader's fault.
        """
        try:
            return self._of(criterion, record, item)
        except RubricgradeError:
            raise
        except Exception as error:
            # One criterion's wording must not end a grade, let alone a batch.
            message = f"the question can't be worded: {type(error).__name__}: {one_line(str(error), 500)}"
            raise JudgeError(message) from error

    def _of(self, criterion: Criterion, record: Record, item: str | None) -> Question:
        # There is no end to the items of many episodes, so they are not kept.
        worded = self._worded.get(criterion.id) if item is None else None
        if worded is None:
            worded = _word(self.rubric, criterion, self.settings(criterion), item, self._style)
            if item is None:
                self._worded[criterion.id] = worded
        return replace(worded.question, identity=digest.of_members({**worded.members, **record.members}))


def answers_of(criterion: Criterion, rubric: Rubric) -> dict[str, str]:
    """What may be recorded as the answer to a judged criterion, with the choice that each stands for.

    A yes-or-no question takes the verdict's name too, as labels and grades have it: ``met`` is yes.
    """
    scale = (criterion.judge or Judge()).over(rubric.judge).scale
    if scale is None:
        return {YES: YES, NO: NO, "met": YES, "not_met": NO, CANNOT_TELL: CANNOT_TELL}
    return {choice: choice for choice in (*(each.choice for each in scale), CANNOT_TELL)}


@dataclass(frozen=True, slots=True)
class _Worded:
    """A question that is about no episode yet, and its part of the identity."""

    question: Question
    members: Mapping[str, bytes]


def _word(rubric: Rubric, criterion: Criterion, settings: Judge, item: str | None, style: Style) -> _Worded:
    named = None if item is None else one_line(item, ITEM)
    filled = _Filled(
        description=fill(criterion.description, rubric.vars, named),
        guidance=None if settings.guidance is None else fill(settings.guidance, rubric.vars, named),
        reference=None if settings.reference is None else fill(settings.reference, rubric.vars, named),
        prompt=settings.prompt,
        item=named,
        files={path: _file(rubric, path) for path in settings.reference_files},
        examples=tuple((e.text or "", _WIRE.get(e.expect, e.expect), e.why) for e in criterion.examples if e.show),
        scale=settings.scale,
    )
    choices = (NO, YES) if settings.scale is None else tuple(choice.choice for choice in settings.scale)
    parts = dict(_parts(filled, rubric, choices, style))
    scale = settings.scale or (Choice(choice=NO, value=0.0), Choice(choice=YES, value=1.0))
    asked = {
        "description": filled.description,
        "guidance": filled.guidance,
        "prompt": filled.prompt,
        "vars": rubric.model_dump(mode="json", include={"vars"})["vars"] if filled.prompt else None,
        "scale": [[choice.choice, choice.description] for choice in scale],
        "reference": filled.reference,
        "files": {path: digest.of_bytes(rubric.sealed[path]) for path in filled.files},
        "examples": filled.examples,
        "item": item if item is None else digest.of_bytes(item.encode(errors="surrogatepass")),
    }
    # In the author's words, variables included; an item may come from the agent.
    own = fill(criterion.description, rubric.vars)
    question = Question(
        asked="\n\n".join(text for name, text in parts.items() if name != "format"),
        text="\n\n".join(parts.values()),
        wording=filled.description,
        choices=choices,
        values={choice.choice: choice.value for choice in scale},
        names={YES: "met", NO: "not_met"} if settings.scale is None else {choice: choice for choice in choices},
        absence=settings.scale is None and _SAYS_ABSENT.match(own) is not None,
        denies=_DENIES.search(own) is not None,
        sums_up=_SUMS_UP.search(own) is not None,
        style=style,
        identity="",
        parts={name: len(text) for name, text in parts.items()},
    )
    return _Worded(question, digest.members(asked))


@dataclass(frozen=True, slots=True)
class _Filled:
    description: str
    guidance: str | None
    reference: str | None
    prompt: str | None
    item: str | None
    files: Mapping[str, str]
    examples: tuple[tuple[str, str, str | None], ...]
    scale: tuple[Choice, ...] | None


def _parts(filled: _Filled, rubric: Rubric, choices: tuple[str, ...], style: Style) -> Iterator[tuple[str, str]]:
    yield "question", _rendered(filled, rubric) if filled.prompt is not None else _built_in(filled)
    if filled.item is not None:
        yield "item", wording.ITEM_NOTE
    reference = list(_reference(filled))
    if reference:
        yield "reference", "\n".join([f"REFERENCE {wording.REFERENCE_NOTE}", *reference])
    if filled.scale is not None:
        described = [f'- "{choice.choice}": {choice.description or choice.choice}' for choice in filled.scale]
        yield "scale", "\n".join(["ANSWERS", *described])
    if filled.examples:
        yield "examples", "\n\n".join(["EXAMPLES of other episodes", *map(_example, filled.examples)])
    yield "format", wording.answer_format(_listed(choices), choices[0], style=style)


def _built_in(filled: _Filled) -> str:
    asked = wording.QUESTION if filled.scale is None else wording.SCALE_QUESTION
    lines = [asked, "", "CRITERION", filled.description]
    if filled.guidance is not None:
        lines += ["", "GUIDANCE", filled.guidance]
    return "\n".join(lines)


def _rendered(filled: _Filled, rubric: Rubric) -> str:
    try:
        names = {
            "criterion": filled.description,
            "guidance": filled.guidance or "",
            "reference": filled.reference or "",
            "item": filled.item or "",
        }
        return rendered(filled.prompt or "", names, rubric.vars)
    except PromptError as error:
        raise JudgeError(f"the criterion's prompt can't be rendered: {error}") from error


def _reference(filled: _Filled) -> Iterator[str]:
    if filled.reference is not None:
        yield filled.reference
    for path, text in filled.files.items():
        yield f"{path}\n{margined(text)}"


def _file(rubric: Rubric, path: str) -> str:
    if path not in rubric.sealed:
        raise JudgeError(f"the reference file {path} was not loaded with the rubric")
    try:
        return rubric.sealed[path].decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise JudgeError(f"the reference file {path} is no UTF-8 text; give it as text, Markdown or CSV") from error


def _example(example: tuple[str, str, str | None]) -> str:
    text, expect, why = example
    reason = f" ({why})" if why else ""
    return f'{margined(text)}\nThe right answer: "{expect}"{reason}'


def _listed(choices: tuple[str, ...]) -> tuple[str, ...]:
    """The choices in the order in which they are named to the judge: yes before no, scales as the author wrote them."""
    return (YES, NO) if choices == (NO, YES) else choices
