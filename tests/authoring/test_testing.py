"""A rubric's examples as its tests: what passes, fails, flips, and stays open."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from rubricgrade.authoring.testing import Trials, try_rubric
from rubricgrade.errors import InputError
from rubricgrade.grading.judges import Judges
from rubricgrade.judge.options import JudgeOptions
from tests.authoring.calling import run
from tests.authoring.made import RUBRIC, opened, write_rubric
from tests.chat.scripted import ScriptedServer, Seen, Wire, completion


def trials(path: Path, only: str | None = None, repeat: int = 1, **judge: object) -> Trials:
    rubric, document = opened(path)
    options = JudgeOptions(**{"offline": True, "cache": False, **judge})  # pyright: ignore[reportArgumentType]  # by name
    return asyncio.run(try_rubric(rubric, document, judge=Judges(options), only=only, repeat=repeat))


def outcomes(done: Trials) -> list[tuple[str | None, str, str]]:
    return [(one.criterion, one.expected, one.outcome) for one in done.tried]


def test_every_example_is_tried_and_so_is_idleness(tmp_path: Path) -> None:
    done = trials(write_rubric(tmp_path))
    assert outcomes(done) == [
        ("says-total", "met", "pass"),
        ("says-total", "not_met", "pass"),
        # Alone: neither what it needs nor when it applies keeps it from being tried.
        ("curses", "met", "pass"),
        (None, "score 1", "pass"),
        (None, "score 0 to 0.1", "pass"),
        (None, "score 0", "pass"),
    ]
    assert done.tried[0].where == f"{tmp_path / 'rubric.yaml'}:13:9"
    assert done.untried == ()


@pytest.mark.parametrize(
    ("old", "new", "failed"),
    [
        ("expect: met, why", "expect: not_met, why", ("says-total", "not_met", "fail")),
        ("at_least: 1}", "at_most: 0.5}", (None, "score 0 to 0.5", "fail")),
        ("at_most: 0.1", "at_least: 0.5", (None, "score of at least 0.5", "fail")),
    ],
)
def test_what_is_not_as_expected_fails(tmp_path: Path, old: str, new: str, failed: tuple[object, ...]) -> None:
    assert old in RUBRIC
    found = outcomes(trials(write_rubric(tmp_path, RUBRIC.replace(old, new, 1))))
    assert [one for one in found if one[2] != "pass"] == [failed]


def test_a_rubric_that_rewards_idleness_fails(tmp_path: Path) -> None:
    quiet = "{id: quiet, points: 1, description: d, check: {not: {trajectory: {final_message: {contains: x}}}}}"
    done = trials(write_rubric(tmp_path, f"id: r\ncriteria:\n  - {quiet}\n"))
    assert outcomes(done) == [(None, "score 0", "fail")]


def test_one_criterion_alone(tmp_path: Path) -> None:
    path = write_rubric(tmp_path)
    assert [one.criterion for one in trials(path, only="curses").tried] == ["curses"]
    with pytest.raises(InputError, match="no criterion is called 'x'; there are says-total, curses"):
        trials(path, only="x")


JUDGED = """\
id: polite
criteria:
  - id: thanks
    points: 1
    description: thanks the user
    judge: {}
    examples:
      - {text: thank you, expect: met, why: it does}
      - {text: shown only, expect: met, show: true}
  - {id: other, points: 1, description: is in French, judge: {}}
"""


def test_with_nobody_to_ask_it_stays_open(tmp_path: Path) -> None:
    done = trials(write_rubric(tmp_path, JUDGED))
    assert outcomes(done) == [("thanks", "met", "open"), (None, "score 0", "open")]
    assert done.tried[0].found == ("open (no_judge)",)
    assert done.untried == ("other",)


@pytest.mark.parametrize(
    ("answer", "quote", "words"),
    [
        ("yes", "thanks a lot", 'it quotes what does not stand in the record: "thanks a lot"'),
        ("yes", "thank", 'its quotes say too little: "thank"; one must have at least two words and eight letters'),
        ("cannot_tell", "thanks a lot", "it quotes what does not stand in the record"),
    ],
)
@pytest.mark.parametrize("expected", ["met", "cannot_tell"])
def test_a_recorded_verdict_that_does_not_count_is_open_and_no_failure_of_the_rubric(
    tmp_path: Path, expected: str, answer: str, quote: str, words: str
) -> None:
    path = write_rubric(tmp_path, JUDGED.replace("thank you, expect: met", f"thank you, expect: {expected}"))
    missing = tmp_path / "open.jsonl"
    run("test", path, "-c", "thanks", "--missing", missing)
    (line,) = map(json.loads, missing.read_text().splitlines())
    filled = {"answer": answer, "reasoning": "so it is", "evidence": [{"quote": quote}], "recorded_by": "hand: me"}
    (tmp_path / "verdicts.jsonl").write_text(json.dumps({**line, **filled}) + "\n")
    done = run("test", path, "-c", "thanks")
    assert done.code == 3
    assert f"expected {expected}, found open (judge_unparseable)" in done.out
    assert words in done.out


def test_a_recorded_answer_that_nobody_can_give_is_bad_input(tmp_path: Path) -> None:
    path = write_rubric(tmp_path, JUDGED)
    missing = tmp_path / "verdicts.jsonl"
    run("test", path, "-c", "thanks", "--missing", missing)
    (line,) = map(json.loads, missing.read_text().splitlines())
    missing.write_text(json.dumps({**line, "answer": "maybe", "recorded_by": "hand: me"}) + "\n")
    done = run("test", path, "-c", "thanks")
    assert done.code == 2
    assert f"{missing}:1: 'maybe' is no answer to criterion thanks: write one of yes, no, cannot_tell" in done.err


def verdict(answer: str) -> Wire:
    said = {"reasoning": "because", "evidence": [{"where": "[0].text", "quote": "thank you"}], "answer": answer}
    return completion(json.dumps(said))


def test_a_verdict_that_flips_is_flaky(tmp_path: Path) -> None:
    server = ScriptedServer()
    answers = iter(["yes", "no", "yes"])
    server.script = [lambda _: verdict(next(answers))]
    try:
        done = trials(
            write_rubric(tmp_path, JUDGED), only="thanks", repeat=3, offline=False, model="openai/x", api_base=server.base, api_key="k", concurrency=1
        )  # fmt: skip
    finally:
        server.close()
    (one,) = done.tried
    assert one.outcome == "flaky"
    assert sorted(one.found) == ["met", "met", "not_met"]
    assert done.usage.calls == 3


def test_the_judge_is_told_that_a_text_is_an_example_and_not_what_was_expected(tmp_path: Path) -> None:
    server = ScriptedServer()
    asked: list[Seen] = []

    def answer(seen: Seen) -> Wire:
        asked.append(seen)
        return verdict("yes")

    server.script = [answer]
    try:
        trials(
            write_rubric(tmp_path, JUDGED),
            only="thanks",
            offline=False,
            model="openai/x",
            api_base=server.base,
            api_key="k",
        )
    finally:
        server.close()
    prompt = json.dumps(asked[0].body["messages"])
    assert "an example that a rubric's author wrote" in prompt
    assert "it does" not in prompt


def test_the_command_says_where_and_why(tmp_path: Path) -> None:
    path = write_rubric(tmp_path, RUBRIC.replace("expect: met, why", "expect: not_met, why"))
    done = run("test", path)
    assert done.code == 1
    assert f"FAIL   {path}:13:9: says-total: expected not_met, found met, on it is 48.2 lakh" in done.out
    assert "the author: the number is there" in done.out
    assert "6 examples: 5 as expected, 1 not as expected" in done.out
    as_json = run("test", path, "--json").json
    assert as_json["schema"] == "rubricgrade.trials/1"
    assert [one["outcome"] for one in as_json["tried"]].count("fail") == 1


def test_open_questions_are_written_down_answered_and_found_again(tmp_path: Path) -> None:
    path = write_rubric(tmp_path, JUDGED)
    missing = tmp_path / "open.jsonl"
    done = run("test", path, "--missing", missing)
    assert done.code == 3
    assert "nobody decided what is open" in done.out
    lines = [json.loads(line) for line in missing.read_text().splitlines()]
    answer = {"answer": "yes", "reasoning": "it does", "evidence": [{"quote": "thank you"}], "recorded_by": "hand: me"}
    recorded = [
        {**line, **answer} for line in lines if line["criterion"] == "thanks" and line["trajectory"] == "example"
    ]
    (path.parent / "verdicts.jsonl").write_text("".join(json.dumps(line) + "\n" for line in recorded))
    assert run("test", path, "-c", "thanks").code == 0
