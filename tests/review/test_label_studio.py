"""A queue taken to Label Studio holds nothing of the judge's, and what people decide there comes back as labels."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from rubricgrade.errors import InputError
from rubricgrade.review.exporting import labels_of
from rubricgrade.review.label_studio import INTERFACE, read_annotations
from rubricgrade.review.queue import Mix
from tests.cli.program import run as program
from tests.review.acts import decide
from tests.review.made import Made, desk_of, steps, write_run


def tasks_from(run: Path, folder: Path, *options: str) -> list[dict[str, Any]]:
    file = folder / "tasks.json"
    done = program("review", run, "--tasks-out", file, *options)
    assert done.code == 0, done.err
    assert file.with_suffix(".xml").read_text() == INTERFACE
    return json.loads(file.read_text())


def annotation(verdict: str, *, by: Any = 7, why: str = "", skipped: bool = False) -> dict[str, Any]:
    result = [{"from_name": "verdict", "to_name": "transcript", "type": "choices", "value": {"choices": [verdict]}}]
    if why:
        result.append({"from_name": "why", "to_name": "transcript", "type": "textarea", "value": {"text": [why]}})
    return {"id": 1, "completed_by": by, "was_cancelled": skipped, "result": result, "lead_time": 4.2}


def test_tasks_hold_the_question_and_the_transcript_and_nothing_of_the_judge_s(run: Path, tmp_path: Path) -> None:
    decide(desk_of(run), "one", "polite", "not_met", why="my own reason")
    tasks = tasks_from(run, tmp_path)
    assert len(tasks) == 10
    text = json.dumps(tasks)
    for secret in ("It greets and thanks", "It is short but fine", "stub/judge", "my own reason", "split votes"):
        assert secret not in text
    data = next(task["data"] for task in tasks if task["data"]["criterion"] == "tone")
    assert data["question"] == "how warm the reply is"
    assert data["answers"][0] == {"value": "warm", "hint": "it speaks to the person"}
    assert [answer["value"] for answer in data["answers"]] == ["warm", "neutral", "cold", "cannot_tell"]
    assert {"author": "[0].text", "text": "Where is my parcel?"} in [
        part for task in tasks for part in task["data"]["transcript"]
    ]


def test_the_interface_shows_fields_that_every_task_has(run: Path, tmp_path: Path) -> None:
    asked = {tag.get("value", "")[1:] for tag in ET.fromstring(INTERFACE) if tag.get("value", "").startswith("$")}
    assert asked == {"question", "guidance", "answers", "transcript"}
    for task in tasks_from(run, tmp_path):
        assert asked <= task["data"].keys()
        assert all(task["data"][name] for name in asked)


def test_a_drawn_queue_is_what_is_taken(run: Path, tmp_path: Path) -> None:
    drawn = desk_of(run).draw("anna", size=3, mix=Mix(67, 33, 0), seed=3)
    tasks = tasks_from(run, tmp_path)
    assert {(task["data"]["trajectory"], task["data"]["criterion"]) for task in tasks} == {
        (place.episode, place.criterion) for place in drawn.items
    }


def test_what_was_decided_there_comes_back(run: Path, tmp_path: Path) -> None:
    tasks = tasks_from(run, tmp_path)
    chosen = {"polite": "not_met", "tone": "cold"}
    for task in tasks:
        if task["data"]["trajectory"] == "two" and (verdict := chosen.get(task["data"]["criterion"])):
            task["annotations"] = [
                annotation(verdict, by={"id": 3, "email": "Jane.Doe+x@example.com"}, why="no greeting"),
                annotation("cannot_tell", by=7, skipped=True),
                annotation("met" if verdict == "not_met" else "warm", by=9),
                annotation(verdict, by=9),
            ]
    file = tmp_path / "export.json"
    file.write_text(json.dumps(tasks))
    done = program("review", run, "--labels-in", file)
    assert (done.code, done.err) == (0, "4 labels read in\n")
    found = {(label.criterion, label.by): (label.verdict, label.why) for label in labels_of(desk_of(run))}
    assert found == {
        ("polite", "Jane.Doe-x"): ("not_met", "no greeting"),
        ("polite", "annotator-9"): ("not_met", ""),
        ("tone", "Jane.Doe-x"): ("cold", "no greeting"),
        ("tone", "annotator-9"): ("cold", ""),
    }


def test_redacted_tasks_hold_no_address_and_nothing_that_acts(tmp_path: Path) -> None:
    talk = steps("I am jane.doe@example.com \u202e", "Thank you, jane.doe@example.com \x1b[31m<script>x</script>")
    run = write_run(tmp_path / "run", {"one": Made(talk)})
    assert "jane.doe" in json.dumps(tasks_from(run, tmp_path))
    text = json.dumps(tasks_from(run, tmp_path, "--redact"), ensure_ascii=False)
    assert "jane.doe" not in text
    assert "[e-mail hidden]" in text
    assert "\u202e" not in text


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("[]", "nobody has decided anything"),
        ("{", "is no JSON export"),
        (
            '[{"data": {"image": "x"}}]',
            "is no JSON export of tasks that were made here: '[0].data' has no 'trajectory'",
        ),
        ('[{"data": {"trajectory": "a", "criterion": "b"}, "annotations": [{"completed_by": "x"}]}]', "is no JSON"),
    ],
)
def test_what_is_no_export_of_ours_is_told(tmp_path: Path, content: str, told: str) -> None:
    file = tmp_path / "x.json"
    file.write_text(content)
    with pytest.raises(InputError, match=re.escape(told)):
        read_annotations(file)
