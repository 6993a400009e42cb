"""A judge of half a billion parameters over recorded episodes, from the command line to the agreement with code.

What it says is worth little (docs/judge.md has the figures), so only what holds whatever it says is asserted here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.cli.program import run

pytestmark = [pytest.mark.qwen, pytest.mark.timeout(1800)]

FACTS = Path(__file__).with_name("facts")
RECORDED = Path(__file__).parents[2] / "examples/tau-bench-airline/episodes.json"
EPISODES = 4


@dataclass(frozen=True)
class Judged:
    """Some episodes that were judged: the document that was printed, the folder of grades, and what code says."""

    document: Any
    folder: Path
    labels: Path

    @property
    def criteria(self) -> list[Mapping[str, Any]]:
        return [item for grade in self.document["grades"] for item in grade["criteria"]]


@pytest.fixture(scope="module")
def judged(qwen: str, tmp_path_factory: pytest.TempPathFactory) -> Judged:
    folder = tmp_path_factory.mktemp("qwen")
    episodes = folder / "episodes.json"
    # The agent's instructions are the same in all of them, and as long as all the rest.
    recorded = json.loads(RECORDED.read_text())[:EPISODES]
    kept = [{**one, "traj": [step for step in one["traj"] if step["role"] != "system"]} for one in recorded]
    episodes.write_text(json.dumps(kept))

    coded = run("grade", FACTS / "truth.yaml", episodes, "--no-store", "--json")
    assert coded.code == 0, coded.err
    labels = folder / "labels.jsonl"
    labels.write_text("".join(map(_label_lines, coded.json["grades"])))

    judge = ("--judge", qwen, "--judge-style", "direct", "--judge-max-tokens", "40", "--cache", folder / "cache.sqlite")
    asked = ("grade", FACTS / "rubric.yaml", episodes, *judge, "-o", folder / "grades", "--json")
    done = run(*asked)
    assert done.code in (0, 3), done.err
    return Judged(done.json, folder / "grades", labels)


def _label_lines(grade: Mapping[str, Any]) -> str:
    labels = (
        {"trajectory": grade["trajectory"]["id"], "criterion": item["id"], "verdict": item["verdict"], "by": "code"}
        for item in grade["criteria"]
    )
    return "".join(f"{json.dumps(label)}\n" for label in labels)


def test_every_reply_is_read_and_says_what_it_is_worth(judged: Judged) -> None:
    assert len(judged.criteria) == EPISODES * 8
    for item in judged.criteria:
        (vote,) = item["judge"]["votes"]
        assert vote["answer"] in ("yes", "no", "cannot_tell")
        assert json.loads(vote["reply"]) == {"answer": vote["answer"]}
        assert "no measure of quality" in item["judge"]["note"]


def test_a_record_is_read_once_for_all_of_its_criteria(judged: Judged) -> None:
    summary = judged.document["summary"]
    assert summary["calls"] == EPISODES * 8
    assert summary["cost"] == 0
    assert summary["cached_tokens"] > summary["input_tokens"] / 2


def test_agreement_counts_every_answer_against_code(judged: Judged) -> None:
    done = run("agreement", judged.folder, "--labels", judged.labels, "--json")
    assert done.code == 0, done.err
    said = {
        (grade["trajectory"]["id"], item["id"]): item["verdict"]
        for grade in judged.document["grades"]
        for item in grade["criteria"]
    }
    labels = [json.loads(line) for line in judged.labels.read_text().splitlines()]
    answered = [label for label in labels if said[label["trajectory"], label["criterion"]] != "cannot_tell"]
    right = sum(said[label["trajectory"], label["criterion"]] == label["verdict"] for label in answered)
    pooled = done.json["pooled"]
    assert pooled["labelled"] == EPISODES * 8
    assert pooled["compared"] == len(answered)
    assert pooled["accuracy"]["value"] == pytest.approx(right / len(answered))
    assert len(done.json["criteria"]) == 8
    # No judge of this size may decide alone.
    assert not pooled["automatic"]


def test_a_check_examines_it(qwen: str) -> None:
    done = run("judge", "check", qwen, "--style", "direct", "--judge-max-tokens", "40", "--repeats", "2", "--json")
    assert done.code in (0, 1), done.err
    found = {each["name"]: each for each in done.json["properties"]}
    assert list(found) == ["parses", "knows", "resists", "abstains", "repeats", "keeps calm", "no drift"]
    assert all(each["unasked"] == 0 for each in found.values())
    # Replies keep to the schema, and are what the model holds most likely, so they come again.
    assert found["parses"]["good"] == found["parses"]["of"]
    assert found["repeats"]["good"] == found["repeats"]["of"]
    assert done.json["usage"]["cost"] == 0
