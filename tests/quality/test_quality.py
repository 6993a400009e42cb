"""Planted doubts about tasks are found, with evidence that names them; sound tasks raise none."""

from __future__ import annotations

import asyncio
import json
import runpy
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from rubricgrade.cli.app import app
from rubricgrade.delivery.removing import examined
from rubricgrade.episode.agents.choosing import choose_agent
from rubricgrade.episode.agents.proving import Oracle
from rubricgrade.episode.playing import run_episode
from rubricgrade.episode.task import Task
from rubricgrade.errors import InputError
from rubricgrade.grading.judges import Judges
from rubricgrade.judge.options import JudgeOptions
from rubricgrade.quality import Doubt, QualityReport, Undecided, duplicates, task_quality
from rubricgrade.quality.leaks import found_by_searching, given_away, hidden_inputs
from rubricgrade.quality.opinions import divided_reviewers
from rubricgrade.quality.repeats import differences
from rubricgrade.redteam.examples import as_call
from rubricgrade.review.items import items_of
from rubricgrade.review.records import Adjudicated, Decided, Record, Unclear, add_records, new_id
from rubricgrade.runs.running import Plan, run
from rubricgrade.runs.standing import attempts_of
from rubricgrade.sandbox import default_provider
from rubricgrade.store.recorded import RecordedQuote, write_verdicts
from tests.episode.making import ANSWER, write, write_task

TOP = Path(__file__).resolve().parents[2]
OFFLINE = JudgeOptions(offline=True, cache=False)
JUDGED = {"id": "good", "description": "The answer is well put", "points": 1, "judge": {"artifacts": ["answer.txt"]}}
PLAY = [{"calls": [{"bash": {"command": "echo 42 > answer.txt"}}]}, {"say": "42."}]


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("planted")
    runpy.run_path(str(TOP / "examples/redteam/make_tasks.py"))["make"](folder)
    return folder


def asked(folder: Path, **options: Any) -> QualityReport:
    options = {"judge": OFFLINE, "repeats": 2, **options}
    return asyncio.run(task_quality(Task.load(folder), **options))


def by_code(folder: Path, code: str, **more: str) -> Path:
    check = {"id": "c", "description": "by code", "points": 1, "check": {"python": "checks/c.py:check"}}
    return write_task(folder, {"tests/checks/c.py": code, **more}, rubric={"id": "r", "criteria": [check]})


def judged_task(folder: Path) -> Path:
    steps = json.dumps({"steps": PLAY})
    return write_task(folder, {"plays/0.yaml": steps}, rubric={"id": "r", "criteria": [ANSWER, JUDGED]})


def answered(task: Path, *answers: str) -> JudgeOptions:
    """A judge that has recorded these votes on the reference."""

    async def unanswered() -> Judges:
        async with Judges(OFFLINE) as judges:
            await run_episode(Task.load(task), Oracle(), judge=judges)
        return judges

    (open_,) = asyncio.run(unanswered()).unanswered.values()
    given = {
        "reasoning": "I think so",
        "evidence": (RecordedQuote(quote="bash /solution/solve.sh"),),
    }
    votes = [
        open_.model_copy(update={"answer": answer, "recorded_by": f"hand: person {n}", **given})
        for n, answer in enumerate(answers)
    ]
    write_verdicts(task / "tests/verdicts.jsonl", votes)
    return replace(OFFLINE, verdicts=(task / "tests/verdicts.jsonl",))


def played(task: Path, into: Path, judge: JudgeOptions = OFFLINE) -> Path:
    async def play() -> None:
        plan = Plan((Task.load(task),), choose_agent("replay"), into, samples=1, judge=judge)
        assert len([outcome async for outcome in run(plan)]) == 1

    asyncio.run(play())
    return into


def test_a_sound_task_raises_no_doubt() -> None:
    report = asked(TOP / "examples/tasks/add")
    assert (report.doubts, report.undecided) == ((), ())


def test_a_check_that_decides_by_chance_is_flaky_again_and_again(tmp_path: Path) -> None:
    code = "import os\n\ndef check(case):\n    return 0.5 + int.from_bytes(os.urandom(4)) / 2**33\n"
    report = asked(by_code(tmp_path / "t", code), repeats=3)
    assert report.kinds[0] == "flaky"
    replayed, regraded = (doubt for doubt in report.doubts if doubt.kind == "flaky")
    assert [line.partition(":")[0] for line in replayed.evidence] == ["reference 1", "reference 2", "reference 3"]
    assert len({*replayed.evidence}) == 3
    assert "graded again" in regraded.what
    assert regraded.place == "t/tests/rubric.yaml:1"


def test_a_solution_that_differs_is_flaky_though_the_check_is_not(tmp_path: Path) -> None:
    code = "def check(case):\n    return 0.5 + float(case.read_text('answer.txt')) / 2**33\n"
    solve = "od -An -N4 -tu4 /dev/urandom > answer.txt\n"
    report = asked(by_code(tmp_path / "t", code, **{"solution/solve.sh": solve}))
    (doubt,) = [doubt for doubt in report.doubts if doubt.kind == "flaky"]
    assert "played again" in doubt.what


def test_a_difference_that_is_the_graders_fault_is_no_doubt(tmp_path: Path) -> None:
    grade = asyncio.run(run_episode(Task.load(write_task(tmp_path / "t")), Oracle())).grade
    (item,) = grade.criteria

    def compared(**changes: Any) -> Doubt | Undecided:
        other = grade.model_copy(update={"criteria": (item.model_copy(update={"value": None, **changes}),)})
        (found,) = differences(("one", "two"), (grade, other), {}, what="done again", remedy="do")
        return found

    lost = compared(verdict="error", cause="sandbox_lost", fault="grader")
    assert lost == Undecided(kind="flaky", why="answer was not decided every time (sandbox_lost)")
    assert isinstance(compared(verdict="error", cause="check_error"), Doubt)
    assert compared(verdict="cannot_tell", cause="judge_failed", by="judge").kind == "ambiguous"


def test_a_stored_attempt_that_is_graded_otherwise_is_flaky(tmp_path: Path) -> None:
    """The reference alone would not show it: only wrong answers are graded by chance."""
    code = (
        "import os\n\ndef check(case):\n"
        "    return case.read_text('answer.txt') == '42\\n' or int.from_bytes(os.urandom(4)) / 2**33\n"
    )
    steps = json.dumps({"steps": [{"calls": [{"bash": {"command": "echo 41 > answer.txt"}}]}, {"say": "41."}]})
    task = by_code(tmp_path / "t", code, **{"plays/0.yaml": steps, "environment/files/answer.txt": "?"})
    report = asked(task, run=played(task, tmp_path / "run"))
    assert report.attempts == 1
    (doubt,) = [doubt for doubt in report.doubts if doubt.kind == "flaky"]
    assert [line.partition(":")[0] for line in doubt.evidence] == ["t/0", "t/0 again"]
    (task / "tests/checks/c.py").write_text("def check(case):\n    return case.exists('answer.txt')\n")
    later = asked(task, run=tmp_path / "run")
    assert (later.attempts, [each.kind for each in later.undecided]) == (0, ["flaky"])
    assert "regrade" in later.undecided[0].why


def test_votes_that_split_are_ambiguous(tmp_path: Path) -> None:
    task = judged_task(tmp_path / "t")
    report = asked(task, judge=answered(task, "yes", "no", "yes"))
    assert report.kinds == ("ambiguous",)
    (doubt,) = report.doubts
    assert doubt.evidence == ("reference 1: no 1, yes 2", "reference 2: no 1, yes 2")
    assert doubt.place.startswith("t/tests/rubric.yaml:")


def test_a_judged_criterion_that_the_reference_fails_is_ambiguous(tmp_path: Path) -> None:
    task = judged_task(tmp_path / "t")
    report = asked(task, judge=answered(task, "no"))
    assert report.kinds == ("ambiguous", "unsolved")
    assert report.doubts[0].what == "the reference solution fails the judged criterion good"
    assert report.doubts[0].evidence[1] == "verdict not_met: I think so"


def reviewed(task: Path, runs: Path, *acts: tuple[str, type[Record], dict[str, Any]]) -> None:
    """Records of reviewers on the judged criterion of the run's one attempt, one minute after the other."""
    (attempt,) = attempts_of(runs)
    assert attempt.grade is not None
    (item,) = items_of("", attempt.grade, Task.load(task).rubric)
    about = {"criterion": "good", "question": item.question, "trajectory": attempt.grade.trajectory.hash, "rubric": "r"}
    for who, kind, said in acts:
        before = sum(len(file.read_text().splitlines()) for file in (runs / "t/0/reviews").glob("*"))
        at = f"2026-11-30T00:{before:02}:00Z"
        add_records(runs / "t/0", [kind.model_validate({"id": new_id(), "at": at, "by": who, **about, **said})])


def test_reviewers_who_differ_make_a_criterion_ambiguous_until_it_is_settled(tmp_path: Path) -> None:
    task = judged_task(tmp_path / "t")
    runs = played(task, tmp_path / "run")

    def found(*acts: tuple[str, type[Record], dict[str, Any]]) -> list[str]:
        reviewed(task, runs, *acts)
        doubts = divided_reviewers(Task.load(task), attempts_of(runs), {})
        return [line for doubt in doubts for line in doubt.evidence]

    blind = {"blind": True}
    assert found(("anna", Decided, {"verdict": "met", **blind})) == []
    assert found(("bert", Decided, {"verdict": "cannot_tell", **blind})) == []
    assert found(("bert", Decided, {"verdict": "not_met", **blind})) == ["t/0: anna met, bert not_met"]
    wrong = {"verdict": "met", "cause": "reviewer_wrong", "why": "bert overlooked it"}
    assert found(("anna", Adjudicated, wrong)) == []
    (line,) = found(("carla", Adjudicated, {**wrong, "cause": "criterion_ambiguous", "why": "what is well?"}))
    assert "what is well?" in line


def test_a_reviewer_who_calls_a_criterion_unclear_is_heard(tmp_path: Path) -> None:
    task = judged_task(tmp_path / "t")
    runs = played(task, tmp_path / "run")
    reviewed(task, runs, ("anna", Unclear, {"why": "well for whom?"}))
    (doubt,) = asked(task, run=runs, repeats=1).doubts
    assert (doubt.kind, doubt.evidence) == ("ambiguous", ("t/0: anna calls it unclear: well for whom?",))


def test_what_nobody_could_judge_is_undecided_and_no_doubt(tmp_path: Path) -> None:
    report = asked(judged_task(tmp_path / "t"))
    assert report.doubts == ()
    assert {each.kind for each in report.undecided} >= {"unsolved"}


def test_a_reference_that_fails_or_is_missing_is_unsolved(tmp_path: Path) -> None:
    report = asked(write_task(tmp_path / "t", {"solution/solve.sh": "echo 41 > answer.txt"}), repeats=1)
    assert report.kinds == ("unsolved",)
    assert report.doubts[0].place == "t/tests/rubric.yaml:1"
    assert "answer:" in report.doubts[0].evidence[0]
    missing = write_task(tmp_path / "u")
    (missing / "solution/solve.sh").unlink()
    report = asked(missing, repeats=1)
    assert report.kinds == ("unsolved",)
    assert "holds no solve.sh" in report.doubts[0].evidence[0]


def test_doing_nothing_that_is_enough_is_broken(tmp_path: Path) -> None:
    code = "def check(case):\n    return True\n"
    assert asked(by_code(tmp_path / "t", code), repeats=1).kinds == ("broken",)


def test_an_environment_that_cannot_be_made_here_is_undecided(tmp_path: Path) -> None:
    needs = write(
        write_task(tmp_path / "t"), {"environment/Dockerfile": "FROM x\nRUN pip install no-such-package-at-all\n"}
    )
    report = asked(needs, repeats=1)
    assert report.doubts == ()
    assert {each.kind for each in report.undecided} == {"unsolved", "leaking"}


def test_a_sealed_file_in_reach_is_leaking(tmp_path: Path) -> None:
    code = "def check(case):\n    return case.exists('answer.txt')\n"
    report = asked(by_code(tmp_path / "t", code, **{"environment/files/deep/renamed.txt": code}), repeats=1)
    assert report.kinds == ("leaking",)
    assert "/work/deep/renamed.txt" in report.doubts[0].evidence[0]


def test_visible_tests_that_give_the_answer_away_are_leaking(planted: Path, tmp_path: Path) -> None:
    async def found(folder: Path) -> list[Doubt | Undecided]:
        return [each async for each in given_away(Task.load(folder), default_provider())]

    (doubt,) = asyncio.run(found(planted / "visible-cases"))
    assert isinstance(doubt, Doubt)
    assert doubt.what.startswith("1 of 2 hidden inputs of works")
    assert doubt.evidence == ("total([[5, 2], [7, 1]]): tests/sealed/cases.json case 1, and tests/test_shop.py:5",)
    fewer = Path(shutil.copytree(planted / "visible-cases", tmp_path / "fewer"))
    cases = json.loads((fewer / "tests/sealed/cases.json").read_text())
    (fewer / "tests/sealed/cases.json").write_text(json.dumps([*cases, {"args": [[[1, 1]]], "expected": 1}]))
    assert asyncio.run(found(fewer)) == []


def test_only_tests_that_the_work_is_to_make_pass_hold_secrets(tmp_path: Path) -> None:
    suite = (
        "from shop import total\n\n\ndef test_old():\n    assert total([1]) == 1\n\n\n"
        "def test_new():\n    assert total((2, 3), tax=True) == 6\n    assert total(other()) == 1\n"
    )
    tests = {"fail_to_pass": ["test_shop.py::test_new"], "pass_to_pass": ["test_shop.py::test_old"]}
    check = {"pytest": {"files": ["sealed/test_shop.py"], **tests}}
    rubric = {"id": "r", "criteria": [{"id": "c", "description": "works", "points": 1, "check": check}]}
    task = Task.load(write_task(tmp_path / "t", {"tests/sealed/test_shop.py": suite}, rubric=rubric))
    (hidden,) = hidden_inputs(task, task.rubric.tops[0])
    assert as_call(hidden.function, hidden.arguments) == "total([2, 3], tax=True)"
    assert hidden.where == "sealed/test_shop.py:9"


def test_a_fix_in_the_history_is_leaking(planted: Path) -> None:
    async def found() -> list[Doubt | Undecided]:
        task = Task.load(planted / "fix-in-history")
        return [each async for each in found_by_searching(task, OFFLINE, default_provider())]

    (doubt,) = asyncio.run(found())
    assert isinstance(doubt, Doubt)
    assert doubt.evidence[0] == "attack search-history"
    assert doubt.place == "fix-in-history/tests/rubric.yaml:4"


def test_a_task_under_another_name_is_a_duplicate(tmp_path: Path) -> None:
    one, two = (write_task(tmp_path / name) for name in ("b", "a"))
    (one / "instruction.md").write_text("Write the  answer\ninto answer.txt.")
    other = write_task(tmp_path / "c", {"environment/files/question.txt": "seven times six"})
    found = duplicates([Task.load(folder) for folder in (one, two, other)])
    assert list(found) == ["b"]
    assert "a shows" in found["b"].what


def test_from_the_command_line_to_a_delivery(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_task(tmp_path / name)
    tasks, runner = [str(tmp_path / name) for name in ("one", "two")], CliRunner()
    done = runner.invoke(app, ["task", "quality", *tasks, "--repeats", "1", "--json"])
    assert done.exit_code == 1
    report = json.loads(done.stdout)
    assert report["schema"] == "rubricgrade.quality/1"
    assert [[doubt["kind"] for doubt in each["doubts"]] for each in report["tasks"]] == [[], ["duplicate"]]
    (tmp_path / "quality.json").write_text(done.stdout)
    against = [each.against for each in examined(tmp_path / "quality.json")]
    assert [(each.task, each.reason) for each in against if each is not None] == [("two", "duplicate")]
    out, quality = str(tmp_path / "delivery"), str(tmp_path / "quality.json")
    assert runner.invoke(app, ["deliver", *tasks, "--out", out, "--quality", quality]).exit_code == 0
    assert [path.name for path in (tmp_path / "delivery/tasks").iterdir()] == ["one"]
    assert "duplicate" in (tmp_path / "delivery/report.md").read_text()
    told = runner.invoke(app, ["task", "quality", tasks[0], "--repeats", "1"])
    assert (told.exit_code, told.stdout) == (0, "one: nothing found (reference played once)\n")


def test_what_is_no_report_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"tasks": [{"task": "one"}]}')
    with pytest.raises(InputError, match="is not what `rubricgrade task quality --json` prints: "):
        examined(tmp_path / "x.json")


@pytest.mark.redteam
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", sorted(path.name for path in (TOP / "examples/tasks").iterdir()))
def test_no_example_task_raises_a_doubt(name: str) -> None:
    task = TOP / "examples/tasks" / name
    recorded = task / "tests/verdicts.jsonl"
    report = asked(task, judge=replace(OFFLINE, verdicts=(recorded,) if recorded.is_file() else ()))
    assert (report.doubts, report.undecided) == ((), ())
