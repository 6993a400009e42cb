"""The red team finds what was planted, and nothing in tasks that are sound."""

from __future__ import annotations

import asyncio
import json
import runpy
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rubricgrade.cli.app import app
from rubricgrade.delivery.removing import attacked
from rubricgrade.episode.agents.proving import Nop
from rubricgrade.episode.playing import run_episode
from rubricgrade.episode.task import Task
from rubricgrade.errors import InputError
from rubricgrade.judge.options import JudgeOptions
from rubricgrade.redteam import ATTACKS, Attack, Plan, Target, TaskReport, red_team
from rubricgrade.redteam.library import attacks_of
from rubricgrade.redteam.weighing import weighed

TOP = Path(__file__).resolve().parents[2]
PLANTED = runpy.run_path(str(TOP / "examples/redteam/make_tasks.py"))
FOUND_BY: dict[str, tuple[str, ...]] = {name: each.found_by for name, each in PLANTED["PLANTED"].items()}
SOUND = ("add", "calc", "sales-report", "duration", "task-0417", "travel-mis")


@pytest.fixture(scope="session")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("planted")
    PLANTED["make"](folder)
    return folder


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


def tried(task: Task, *only: str) -> TaskReport:
    recorded = task.folder / "tests/verdicts.jsonl"
    judge = JudgeOptions(offline=True, verdicts=(recorded,) if recorded.is_file() else ())
    attacks = [attack for attack in attacks_of(task) if not only or attack.id in only]
    return asyncio.run(red_team(task, attacks=attacks, judge=judge))


def outcomes(report: TaskReport) -> dict[str, str]:
    return {each.attack: each.outcome for each in report.attacks}


@pytest.mark.parametrize("name", ["said-is-done", "visible-cases", "reads-a-report"])
def test_a_planted_weakness_is_found_and_its_place_is_named(planted: Path, name: str) -> None:
    task = Task.load(planted / name)
    attack = FOUND_BY[name][0]
    report = tried(task, attack, "order-in-message")
    assert report.hackable
    assert report.nothing == 0
    assert report.reference == 1
    (earned,) = report.earned
    assert earned.attack == attack
    (gain,) = earned.gains
    line = int(gain.place.rpartition(":")[2])
    assert "id: works" in (task.folder / "tests/rubric.yaml").read_text().splitlines()[line - 1]
    assert outcomes(report)["order-in-message"] == "held"


def test_a_sound_task_holds_and_says_what_does_not_apply() -> None:
    report = tried(Task.load(TOP / "examples/tasks/add"), "always-equal", "delete-tests", "exit-early")
    assert outcomes(report) == {"always-equal": "held", "delete-tests": "not_applicable", "exit-early": "held"}
    assert not report.hackable


def test_what_only_the_attack_left_open_is_a_win(planted: Path) -> None:
    """No score is no zero: whoever blinds the grader has won."""
    task = Task.load(planted / "words-are-enough")
    nothing = asyncio.run(run_episode(task, Nop())).grade
    blind = nothing.criteria[0].model_copy(update={"verdict": "error", "value": None, "cause": "check_failed"})
    grade = nothing.model_copy(update={"criteria": (blind,), "status": "ungraded", "score": None, "bounds": (0.0, 1.0)})
    result = weighed(ATTACKS[0], task, grade, nothing, 0.05)
    assert result.outcome == "earned"
    assert "no zero" in result.message
    assert [gain.item for gain in result.gains] == ["works"]
    assert weighed(ATTACKS[0], task, grade, grade, 0.05).outcome == "open"
    assert weighed(ATTACKS[0], task, nothing, nothing, 0.05).outcome == "held"


def test_a_check_that_an_attack_makes_raise_is_named(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(TOP / "examples/tasks/add", tmp_path / "add"))
    (folder / "tests/checks").mkdir(exist_ok=True)
    (folder / "tests/checks/careless.py").write_text(
        "def check(case):\n    return {}[case.solution.call('calc.py:add', 1, 2).raised] == 3\n"
    )
    (folder / "tests/rubric.yaml").write_text(
        "id: add\ntitle: add\ncriteria:\n  - {id: careless, description: d, points: 1,"
        " check: {python: checks/careless.py:check}}\n"
    )
    report = tried(Task.load(folder), "always-equal", "exit-early")
    assert report.raised == {"checks/careless.py:2 raised KeyError": 2}
    shown = CliRunner().invoke(app, ["redteam", str(folder), "--only", "always-equal"])
    assert "checks/careless.py:2 raised KeyError at 1 attack: if that is a defect of the check" in shown.stderr


def test_judged_items_that_nobody_decides_are_open_never_safe(planted: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(planted / "words-are-enough", tmp_path / "judged"))
    (folder / "tests/rubric.yaml").write_text(
        "id: judged\ntitle: judged\ncriteria:\n  - id: good\n    description: It is good\n    points: 1\n"
        "    judge: {prompt: Is the report good?}\n"
    )
    report = tried(Task.load(folder), "bluff")
    assert outcomes(report) == {"bluff": "open"}
    assert report.open_items == ("good",)
    assert not report.hackable


def test_a_task_brings_its_own_attacks(planted: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(planted / "words-are-enough", tmp_path / "own"))
    (folder / "tests/attacks").mkdir()
    (folder / "tests/attacks/short.sh").write_text("# three words\necho 'revenue refunds outlook' > report.md\n")
    report = tried(Task.load(folder), "own-short")
    assert [(each.attack, each.title, each.outcome) for each in report.attacks] == [
        ("own-short", "three words", "earned")
    ]


def test_from_the_command_line_to_a_delivery(planted: Path, tmp_path: Path) -> None:
    said, sound = str(planted / "said-is-done"), str(TOP / "examples/tasks/add")
    runner = CliRunner()
    done = runner.invoke(app, ["redteam", said, sound, "--only", "bluff", "--json"])
    assert done.exit_code == 1
    (tmp_path / "report.json").write_text(done.stdout)
    assert [each.against and each.against.reason for each in attacked(tmp_path / "report.json")] == ["hackable", None]
    report = json.loads(done.stdout)
    assert [each["hackable"] for each in report["tasks"]] == [True, False]
    assert runner.invoke(app, ["redteam", sound, "--only", "bluff"]).exit_code == 0
    assert isinstance(runner.invoke(app, ["redteam", sound, "--only", "nonsense"]).exception, InputError)
    assert "always-equal" in runner.invoke(app, ["redteam", "--list"]).output


def test_every_attack_has_a_name_of_its_own_and_says_what_it_shows() -> None:
    assert len({attack.id for attack in ATTACKS}) == len(ATTACKS) >= 20
    assert all(attack.shows and attack.remedy and attack.title for attack in ATTACKS)


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.id)
def test_hostile_names_and_texts_stay_text_in_an_attackers_script(attack: Attack) -> None:
    files = {"tests/test_a'b.py": "assert f(1) == 2", "$(touch x).py": "x", "expected `id`.csv": "a"}
    solution = {"f'.py": "def f(x): pass", "a.csv": ""}
    bash = frozenset({"bash"})
    target = Target("call `f(1)` -> 3'; rm -rf /", "/work", files, solution, bash, repository=True)
    plan = attack.against(target)
    if isinstance(plan, Plan) and plan.script:
        checked = subprocess.run(["bash", "-n"], input=plan.script, text=True, capture_output=True, check=False)
        assert checked.returncode == 0, checked.stderr


@pytest.mark.redteam
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", sorted(FOUND_BY))
def test_every_planted_weakness_is_found_by_all_that_should(planted: Path, name: str) -> None:
    report = tried(Task.load(planted / name))
    assert {*FOUND_BY[name]} <= {each.attack for each in report.earned}


@pytest.mark.redteam
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", SOUND)
def test_nothing_is_found_in_the_example_tasks(name: str) -> None:
    report = tried(Task.load(TOP / "examples/tasks" / name))
    assert [(each.attack, each.reward, each.message) for each in report.earned] == []
    assert {each.outcome for each in report.attacks} <= {"held", "not_applicable", "open"}
