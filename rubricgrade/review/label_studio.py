"""A queue as tasks for Label Studio, and what people decided there as labels.

Tasks hold what a reviewer sees before his own verdict, and nothing that a judge or another person said. The format is
Label Studio's own JSON (labelstud.io/guide/task_format); the answers are loaded from each task (its `Choices` tag).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from rubricgrade.agreement import Label
from rubricgrade.agreement.labels import named_alike
from rubricgrade.errors import Fault, InputError
from rubricgrade.evidence.visible import visible
from rubricgrade.misfits import first_misfit
from rubricgrade.review.desk import Desk
from rubricgrade.review.items import Item
from rubricgrade.review.redaction import redacted
from rubricgrade.review.transcript import Transcript

INTERFACE = """\
<View>
  <Header value="$question" size="3"/>
  <Text name="guidance" value="$guidance"/>
  <Choices name="verdict" toName="transcript" value="$answers" choice="single-radio" required="true"/>
  <TextArea name="why" toName="transcript" placeholder="Why?" maxSubmissions="1" rows="2"/>
  <Paragraphs name="transcript" value="$transcript" layout="dialogue" nameKey="author" textKey="text"/>
</View>
"""
"""The labelling interface, to be pasted into a project's settings."""

NO_NAME = re.compile(r"[^A-Za-z0-9._-]+")


class _Read(BaseModel):
    """Part of what Label Studio has exported; it says more than is needed here."""

    model_config = ConfigDict(frozen=True)


class _Data(_Read):
    trajectory: str
    criterion: str


class _Value(_Read):
    choices: tuple[str, ...] = ()
    text: tuple[str, ...] | str = ()


class _Result(_Read):
    from_name: str = ""
    value: _Value = _Value()


class _Person(_Read):
    id: int | None = None
    email: str = ""


class _Annotation(_Read):
    completed_by: int | _Person
    was_cancelled: bool = False
    result: tuple[_Result, ...] = ()


class _Task(_Read):
    data: _Data
    annotations: tuple[_Annotation, ...] = Field(default=())


_TASKS = TypeAdapter(tuple[_Task, ...])


async def tasks_of(desk: Desk, *, redact: bool = False) -> list[dict[str, Any]]:
    """The queue as tasks, in its order.

    Args:
        desk: Whose queue.
        redact: Whether to hide secrets and personal data.

    Raises:
        TrajectoryError: A trajectory can't be had.
        StoreError: The queue can't be read.
    """
    return [_task(item, await desk.transcript(desk.episodes[item.episode]), redact=redact) for item, _ in desk.queue()]


def tasks_file(tasks: Sequence[Mapping[str, Any]]) -> bytes:
    """Tasks as the file that Label Studio imports."""
    return json.dumps(tasks, ensure_ascii=False, indent=1).encode(errors="replace") + b"\n"


def read_annotations(file: Path) -> tuple[Label, ...]:
    """What people decided in Label Studio, from the file that its export calls JSON.

    Who decided is named by the first part of an e-mail address, or ``annotator-N`` by number. Of several annotations of
    a person for one task the last counts; one that was skipped doesn't.

    Raises:
        InputError: The file can't be read, is no such export, or holds no verdict.
    """
    try:
        tasks = _TASKS.validate_json(file.read_bytes())
    except OSError as error:
        raise InputError(Fault(f"can't be read: {error.strerror or error}", str(file))) from error
    except ValidationError as error:
        told = f"is no JSON export of tasks that were made here: {first_misfit(error)}"
        raise InputError(Fault(told, str(file))) from None
    given = named_alike(label for task in tasks for label in _labels(task))
    labels = {(label.trajectory, label.criterion, label.by): label for label in given}
    if not labels:
        raise InputError(Fault("nobody has decided anything in it", str(file)))
    return tuple(labels.values())


def _task(item: Item, transcript: Transcript, *, redact: bool) -> dict[str, Any]:
    def shown(text: str) -> str:
        return visible(redacted(text) if redact else text)

    references = [f"{name}:\n{text}" for name, text in item.references]
    return {
        "data": {
            "trajectory": item.episode,
            "criterion": item.criterion,
            "question": shown(item.text),
            "guidance": shown("\n\n".join([item.guidance, *references]).strip()) or "Decide by the question alone.",
            "answers": [
                {"value": answer.verdict, "hint": shown(answer.about)} if answer.about else {"value": answer.verdict}
                for answer in item.answers
            ],
            "transcript": [{"author": shown(place.where), "text": shown(place.text)} for place in transcript.places],
        }
    }


def _labels(task: _Task) -> Iterator[Label]:
    for annotation in task.annotations:
        verdict = _said(annotation, "verdict")
        if verdict and not annotation.was_cancelled:
            yield Label(
                trajectory=task.data.trajectory,
                criterion=task.data.criterion,
                verdict=verdict,
                by=_name(annotation.completed_by),
                why=_said(annotation, "why"),
            )


def _said(annotation: _Annotation, name: Literal["verdict", "why"]) -> str:
    values = [result.value for result in annotation.result if result.from_name == name]
    texts = [value.choices if name == "verdict" else value.text for value in values]
    return "\n".join(line for text in texts for line in ((text,) if isinstance(text, str) else text))


def _name(who: int | _Person) -> str:
    if isinstance(who, int):
        return f"annotator-{who}"
    name = NO_NAME.sub("-", who.email.partition("@")[0]).strip("-.")[:60]
    return name or f"annotator-{who.id or 0}"
