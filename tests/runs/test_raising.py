"""A check that raises the same at the same line in several episodes is named wherever many grades are summed up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import pytest

from rubricgrade.result import CheckRecord, CriterionResult, GateResult, Grade, Raised, Subject
from rubricgrade.runs.raising import raised_in, raising, told
from rubricgrade.runs.standing import stand
from tests.cli.program import Ran, run, write_episode
from tests.episode.making import write_task
from tests.report.made import HASH, criterion, gate, grade
from tests.runs.test_standing import made

KEY = Raised(error="KeyError", place="checks/totals.py:14")


def record(raised: Raised | None) -> dict[str, Any]:
    return {"check": CheckRecord(kind="python", raised=raised)}


def costs(raised: Raised | None, fault: Literal["agent", "grader"] | None = "agent") -> CriterionResult:
    return criterion("total", 1, None if fault == "grader" else 0, by="check", fault=fault, **record(raised))


def stops(raised: Raised) -> GateResult:
    return gate("total", 0).model_copy(update={"fault": "agent", **record(raised)})


def test_one_episode_is_not_named_and_two_are() -> None:
    once = grade(0.0, criteria=(costs(KEY),))
    fine = grade(1.0, criteria=(costs(None, None),))
    assert raising([once, fine]) == ()
    (found,) = raising([once, fine, once])
    assert (found.place, found.error) == ("checks/totals.py:14", "KeyError")
    assert (found.episodes, found.of, found.agents) == (2, 3, 2)


def test_an_episode_counts_once_whatever_shares_the_check() -> None:
    both = grade(0.0, gates=(stops(KEY),), criteria=(costs(KEY), costs(KEY)))
    (found,) = raising([both, both])
    assert (found.episodes, found.agents) == (2, 2)


def test_parts_of_groups_count() -> None:
    group = criterion("group", 1, 0, by="criteria", parts=(costs(KEY),))
    assert [each.episodes for each in raising([grade(0.0, criteria=(group,))] * 2)] == [2]


def test_another_line_error_or_rubric_is_another_and_the_most_frequent_comes_first() -> None:
    def one(raised: Raised, rubric: str = "report") -> Grade:
        return grade(0.0, criteria=(costs(raised),), rubric=Subject(id=rubric, hash=HASH))

    other, elsewhere = KEY.model_copy(update={"place": "c.py:1"}), KEY.model_copy(update={"error": "TypeError"})
    found = raising([one(KEY), one(KEY), one(other), one(other), one(other), one(elsewhere), one(KEY, "b")])
    assert [(each.rubric, each.place, each.error, each.episodes, each.of) for each in found] == [
        ("report", "c.py:1", "KeyError", 3, 6),
        ("report", "checks/totals.py:14", "KeyError", 2, 6),
    ]


def test_what_is_told_says_whose_fault_it_counted_as() -> None:
    agents = raising([grade(0.0, criteria=(costs(KEY),))] * 2)
    graders = raising([grade(None, criteria=(costs(KEY, "grader"),))] * 2)
    head = "check checks/totals.py:14 raised KeyError in 2 of 2 episodes"
    doubt = "if it is a defect of the check, mend it and grade again"
    assert list(told(agents)) == [f"{head}, which counted as the agent's fault; {doubt}"]
    assert list(told(graders, again="regrade: x")) == [f"{head}, a defect of the check: mend it and regrade: x"]
    (mixed,) = raising([grade(0.0, criteria=(costs(KEY),)), grade(None, criteria=(costs(KEY, "grader"),))])
    assert list(told([mixed])) == [f"{head}, which counted as the agent's fault in 1; {doubt}"]
    several = [agents[0], graders[0].model_copy(update={"rubric": "b"})]
    assert [sentence[:32] for sentence in told(several)] == [
        "check report: checks/totals.py:1",
        "check b: checks/totals.py:14 rai",
    ]


def test_what_was_raised_is_listed_once() -> None:
    assert raised_in(grade(0.0, gates=(stops(KEY),), criteria=(costs(KEY),)), grade(1.0)) == (
        "checks/totals.py:14 raised KeyError",
    )


def test_what_is_no_verdict_is_told_as_such() -> None:
    nothing = Raised(error="NoVerdict", place="checks/totals.py:3")
    (sentence,) = told(raising([grade(0.0, criteria=(costs(nothing),))] * 2))
    assert sentence.startswith("check checks/totals.py:3 returned no verdict in 2 of 2 episodes, which counted as")
    assert raised_in(grade(0.0, gates=(stops(nothing),))) == ("checks/totals.py:3 returned no verdict",)
    assert Raised(error="NoItems", place="c.py:1").did == "returned no list of texts"


CARELESS = "def total(case):\n    data = case.read_json('answer.json')\n    return data['total'] == 3\n"
CRITERION = {"id": "total", "description": "d", "points": 1, "check": {"python": "checks/totals.py:total"}}
SENTENCE = "raised KeyError in 2 of 3 episodes, which counted as the agent's fault; if it is a defect of the check"


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("careless")
    (folder / "checks").mkdir()
    (folder / "checks/totals.py").write_text(CARELESS)
    (folder / "rubric.yaml").write_text(json.dumps({"id": "careless", "criteria": [CRITERION]}))
    for name, text in (("a", '{"total": 3}'), ("b", "{}"), ("c", '{"sum": 3}')):
        write_episode(folder / "episodes" / name, answer__json=text)
    return folder


@pytest.fixture(scope="module")
def summed(graded: Path) -> Ran:
    return run("grade", graded / "rubric.yaml", graded / "episodes", "-o", graded / "grades")


def test_grade_names_it(summed: Ran, graded: Path) -> None:
    assert summed.code == 0
    assert SENTENCE in " ".join(summed.out.split())
    (found,) = run("grade", graded / "rubric.yaml", graded / "episodes", "--no-store", "--json").json["summary"][
        "raising"
    ]
    assert (found["place"], found["error"], found["episodes"], found["agents"]) == (
        "checks/totals.py:3",
        "KeyError",
        2,
        2,
    )


def test_grade_names_what_returned_no_verdict(tmp_path: Path) -> None:
    (tmp_path / "checks").mkdir()
    (tmp_path / "checks/totals.py").write_text(
        "def total(case):\n    if case.read_json('answer.json')['total'] != 3:\n        return False\n"
        "    return case.read_json('answer.json').get('note')\n"
    )
    (tmp_path / "rubric.yaml").write_text(json.dumps({"id": "careless", "criteria": [CRITERION]}))
    for name, text in (("a", '{"total": 3}'), ("b", '{"total": 4}'), ("c", '{"total": 3}')):
        write_episode(tmp_path / "episodes" / name, answer__json=text)
    done = run("grade", tmp_path / "rubric.yaml", tmp_path / "episodes", "-o", tmp_path / "grades")
    sentence = "check checks/totals.py:1 returned no verdict in 2 of 3 episodes, which counted as the agent's fault"
    assert sentence in " ".join(done.out.split())


@pytest.mark.parametrize("kind", ["md", "html"])
def test_a_report_names_it(summed: Ran, graded: Path, kind: str) -> None:
    assert summed.code == 0
    done = run("report", graded / "grades", "--format", kind, "-o", graded / f"report.{kind}")
    assert done.code == 0, done.err
    text = (graded / f"report.{kind}").read_text()
    assert "KeyError in 2 of 3 episodes, which counted as the agent" in text


def test_a_run_names_it_with_the_command_that_grades_it_again(tmp_path: Path) -> None:
    careless = "def total(case):\n    return {'43': True}[case.read_text('answer.txt').strip()]\n"
    rubric = {"id": "careless", "criteria": [CRITERION]}
    task = write_task(tmp_path / "task", {"tests/checks/totals.py": careless}, rubric=rubric)
    folder = made(tmp_path / "run", [task], samples=2, solved=(0, 1))
    assert [(each.place, each.episodes) for each in stand(folder).raising] == [("checks/totals.py:2", 2)]
    done = run("score", folder)
    assert "check checks/totals.py:2 raised KeyError in 2 of 2 episodes" in done.err
    assert f"mend it and regrade: rubricgrade regrade {folder}" in done.err
