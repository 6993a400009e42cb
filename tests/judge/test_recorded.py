"""Recorded verdicts: which answers can be used, which lines have no use, and what is said about both."""

from __future__ import annotations

import asyncio
import json
import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from rubricgrade import JudgeOptions, agrade_all, grade, load_rubric, load_trajectory
from rubricgrade.errors import InputError
from rubricgrade.grading.judges import Judges
from rubricgrade.judge.recorded import Unused, check_recorded, unused
from rubricgrade.result import Grade
from rubricgrade.rubric import Rubric
from rubricgrade.store.recorded import Verdict, read_verdicts, write_verdicts
from tests.cli.program import run, write_episode, write_rubric

POLITE = "{id: polite, points: 1, description: thanks the user, judge: {}}"
GOOD = (
    "{id: good, points: 1, description: how good it is, "
    "judge: {scale: [{choice: poor, value: 0}, {choice: fine, value: 1}]}}"
)
EXISTS = "{id: there, description: a file is there, check: {exists: a.md}}"


def questions(rubric: Path, *episodes: Path) -> list[Verdict]:
    """What is asked about some episodes, without answers."""
    judges = Judges(JudgeOptions(offline=True, cache=False))
    asyncio.run(agrade_all([load_trajectory(each) for each in episodes], rubric, judge=judges, ungated=True))
    return list(judges.unanswered.values())


def answered(verdicts: Sequence[Verdict], file: Path, answer: str = "no", **more: Any) -> Path:
    write_verdicts(
        file, [each.model_copy(update={"answer": answer, "recorded_by": "ann", **more}) for each in verdicts]
    )
    return file


def by(file: Path) -> JudgeOptions:
    return JudgeOptions(offline=True, verdicts=(file,), cache=False)


@pytest.fixture
def rubric(tmp_path: Path) -> Path:
    return write_rubric(tmp_path / "r", criteria=[POLITE])


@pytest.fixture
def episode(tmp_path: Path) -> Path:
    return write_episode(tmp_path / "e1")


@pytest.fixture
def recorded(tmp_path: Path, rubric: Path, episode: Path) -> Path:
    return answered(questions(rubric, episode), tmp_path / "v.jsonl")


def used(file: Path, rubric: Path, *episodes: Path) -> tuple[Unused, ...]:
    loaded = load_rubric(rubric)
    return unused([file], graded(loaded, file, *episodes))


def graded(rubric: Rubric, file: Path, *episodes: Path) -> list[tuple[Rubric, Grade]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [(rubric, grade(load_trajectory(each), rubric, judge=by(file))) for each in episodes]


@pytest.mark.parametrize(
    ("answer", "verdict"), [("met", "met"), ("not_met", "not_met"), ("yes", "met"), ("no", "not_met")]
)
def test_an_answer_may_be_written_as_labels_are(
    recorded: Path, rubric: Path, episode: Path, answer: str, verdict: str
) -> None:
    quote = {"quote": "The total is 48.2 lakh.", "where": "[1].text"}
    line = {**json.loads(recorded.read_text()), "answer": answer, "evidence": [quote]}
    recorded.write_text(json.dumps(line) + "\n")
    found = grade(episode, rubric, judge=by(recorded)).criteria[0]
    assert (found.verdict, found.cause) == (verdict, None)


def test_a_scale_takes_its_own_choices_only(tmp_path: Path, episode: Path) -> None:
    rubric = write_rubric(tmp_path / "s", criteria=[GOOD])
    asked = questions(rubric, episode)
    fine = answered(asked, tmp_path / "fine.jsonl", "poor")
    assert grade(episode, rubric, judge=by(fine)).criteria[0].verdict == "poor"
    wrong = answered(asked, tmp_path / "wrong.jsonl", "met")
    with pytest.raises(
        InputError, match=r"wrong\.jsonl:1: 'met' is no answer to criterion good: write one of poor, fine"
    ):
        grade(episode, rubric, judge=by(wrong))


def test_an_answer_that_nobody_can_give_stops_it_before_anything_is_done(
    tmp_path: Path, recorded: Path, rubric: Path, episode: Path
) -> None:
    first = json.loads(recorded.read_text())
    second = {**first, "question": "sha256:another", "answer": "maybe"}
    recorded.write_text("".join(json.dumps(each) + "\n" for each in (first, second)))
    done = run("grade", rubric, episode, "--offline", "--no-cache", "--verdicts", recorded, "-o", tmp_path / "out")
    assert done.code == 2
    assert f"{recorded}:2: 'maybe' is no answer to criterion polite: write one of yes, no, cannot_tell" in done.err
    assert not (tmp_path / "out").exists()
    # Of a criterion that is worded anew it is of no use, and so no fault.
    recorded.write_text(recorded.read_text().replace("thanks the user", "thanked somebody"))
    check_recorded([recorded], [load_rubric(rubric)])


def test_a_bad_answer_to_what_nobody_says_it_is_about_names_its_line(
    recorded: Path, rubric: Path, episode: Path
) -> None:
    line = {**json.loads(recorded.read_text()), "answer": "maybe", "criterion": ""}
    recorded.write_text("\n" + json.dumps(line) + "\n")
    found = grade(episode, rubric, judge=by(recorded)).criteria[0]
    assert (found.value, found.cause) == (None, "judge_unparseable")
    assert f'{recorded}:2: the recorded answer "maybe" is no answer to this question' in found.message


def test_what_answers_its_question_is_used(recorded: Path, rubric: Path, episode: Path) -> None:
    assert used(recorded, rubric, episode) == ()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert grade(episode, rubric, judge=by(recorded)).criteria[0].verdict == "not_met"


def test_another_wording_is_named(tmp_path: Path, recorded: Path, episode: Path) -> None:
    now = write_rubric(tmp_path / "now", criteria=[POLITE.replace("the user", "everybody")])
    (found,) = used(recorded, now, episode)
    assert (found.file, found.lines, found.of) == (str(recorded), (1,), 1)
    assert found.why == "asks 'thanks the user', and criterion polite now asks 'thanks everybody'"
    assert str(found).startswith(f"{recorded}: 1 of 1 recorded verdicts answers no question of this rubric: line 1; ")


def test_another_episode_of_the_same_name_or_another_guidance_is_named(
    tmp_path: Path, recorded: Path, rubric: Path
) -> None:
    other = write_episode(tmp_path / "other", reply="Something else.", name="e1")
    (found,) = used(recorded, rubric, other)
    assert "asks in the same words about something else" in found.why
    strict = write_rubric(tmp_path / "g", criteria=[POLITE.replace("{}", "{guidance: be strict}")])
    (found,) = used(recorded, strict, tmp_path / "e1")
    assert "guidance" in found.why


def test_a_criterion_that_is_gone_and_another_rubric_are_named(tmp_path: Path, recorded: Path, episode: Path) -> None:
    without = write_rubric(tmp_path / "w", criteria=[POLITE.replace("polite", "kind").replace("thanks", "greets")])
    (found,) = used(recorded, without, episode)
    assert found.why == "is about 'polite', which is no judged criterion"
    stranger = write_rubric(tmp_path / "x", criteria=[POLITE])
    stranger.write_text(stranger.read_text().replace("id: travel", "id: hotels"))
    answered(read_verdicts(recorded), recorded, question="sha256:x")
    (found,) = used(recorded, stranger, episode)
    assert found.why == "is for rubric 'travel', and this is hotels"


def test_rubrics_that_share_a_file_are_not_told_of_each_others_verdicts(
    tmp_path: Path, recorded: Path, rubric: Path, episode: Path
) -> None:
    (line,) = read_verdicts(recorded)
    both = [line, line.model_copy(update={"rubric": "hotels", "question": "sha256:x"})]
    assert used(answered(both, tmp_path / "both.jsonl"), rubric, episode) == ()


def test_an_episode_that_is_not_graded_now_is_no_reason_to_warn(
    tmp_path: Path, recorded: Path, rubric: Path, episode: Path
) -> None:
    other = write_episode(tmp_path / "e2", reply="Something else.")
    both = answered(questions(rubric, episode, other), tmp_path / "both.jsonl")
    assert used(both, rubric, episode) == ()
    assert used(both, rubric, episode, other) == ()


def test_what_was_not_asked_since_a_gate_failed_is_no_reason_to_warn(tmp_path: Path, episode: Path) -> None:
    gated = write_rubric(tmp_path / "gated", gates=[EXISTS], criteria=[POLITE])
    recorded = answered(questions(gated, episode), tmp_path / "v.jsonl")
    assert len(read_verdicts(recorded)) == 1
    answered(read_verdicts(recorded), recorded, question="sha256:x")
    assert used(recorded, gated, write_episode(tmp_path / "again", name="e1", other__md="x")) == ()


def test_items_of_a_list_are_used_one_by_one(tmp_path: Path, episode: Path) -> None:
    rubric = tmp_path / "rubric.yaml"
    rubric.write_text(
        "id: each\nvars: {names: [a, b]}\ncriteria:\n  - id: named\n    points: 1\n"
        "    description: 'names {{ item }}'\n    for_each: {vars: names, if_none: met}\n    judge: {}\n"
    )
    asked = questions(rubric, episode)
    assert sorted(each.item or "" for each in asked) == ["a", "b"]
    assert used(answered(asked, tmp_path / "v.jsonl"), rubric, episode) == ()


def test_python_warns(recorded: Path, tmp_path: Path, rubric: Path, episode: Path) -> None:
    now = load_rubric(write_rubric(tmp_path / "now", criteria=[POLITE.replace("the user", "everybody")]))
    trajectories = [load_trajectory(episode)]
    with pytest.warns(UserWarning, match="answers no question of this rubric"):
        asyncio.run(agrade_all(trajectories, now, judge=by(recorded), on_grade=lambda _index, _grade: None))
    with pytest.warns(UserWarning, match="answers no question of this rubric"):
        grade(trajectories[0], now, judge=by(recorded))


def test_the_command_counts_them_out(tmp_path: Path, recorded: Path, episode: Path) -> None:
    now = write_rubric(tmp_path / "now", criteria=[POLITE.replace("the user", "everybody")])
    given = ("grade", now, episode, "--offline", "--no-cache", "--no-store", "--verdicts", recorded)
    done = run(*given)
    assert re.search(r"warning: .*v\.jsonl: 1 of 1 recorded verdicts answers no question .* now asks 'thanks", done.err)
    assert run(*given, "--json").json["unused_verdicts"] == [
        {
            "file": str(recorded),
            "lines": [1],
            "of": 1,
            "why": "asks 'thanks the user', and criterion polite now asks 'thanks everybody'",
        }
    ]
