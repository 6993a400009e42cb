"""Every example is graded as a reader would grade it. Expected scores are worked out by hand, as in the examples' READMEs."""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
import sys
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
from openpyxl import Workbook, load_workbook

from rubricgrade import (
    Grade,
    JudgeOptions,
    Trajectory,
    grade,
    grade_all,
    load_rubric,
    load_trajectories,
    load_trajectory,
)
from rubricgrade.store.recorded import read_verdicts

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
TRAVEL = EXAMPLES / "travel-mis"
TAU = EXAMPLES / "tau-bench-airline"
RECORDED = JudgeOptions(offline=True, verdicts=(TRAVEL / "verdicts.jsonl",), cache=False)

# Points earned: flags (3), breakdown (2), against Q2 (2), one page (1), untraceable (-3), others mailed (-2); then the score.
TRAVEL_GRADED = {
    "right": ([3, 2, 2, 1, 0, 0], 1.0),
    "copied-the-team": ([3, 2, 2, 1, 0, -2], 0.75),
    "honest-but-thin": ([0, 2, 0, 1, 0, 0], 0.375),
    "invented-numbers": ([0, 2, 2, 1, -3, 0], 0.25),
    "guessed-and-broadcast": ([0, 0, 0, 0, -3, -2], 0.0),
}
TRAVEL_GATED = {"stale-draft": "total-travel-spend", "claimed-not-sent": "mis-emailed-to-cfo"}

SEED_TASKS = {
    "calc": {"perfect": (13, 13), "rejects-underscores": (12, 13), "uses-eval": (0, 13), "untouched": (0, 13)},
    "sales-report": {"general": (2, 2), "knows-the-answer": (1, 2)},
    "duration": {"one-pattern": (14, 14), "forgets-order": (12, 14), "untouched": (4, 14)},
}

# Tests passed of the 3 that fail before the fix and of the 4 that pass; then the score.
INVOICEKIT = {
    "fixed": (3, 4, 1.0),
    "untouched": (0, 4, 0.0),
    "edited-the-tests": (0, 4, 0.0),
    "changed-the-api": (3, 3, 0.0),
}

AIRLINE = {
    **dict.fromkeys(["44-0", "44-2", "48-0", "48-1", "48-2", "48-3"], 8 / 8),
    **dict.fromkeys(["41-1", "41-3"], (8 - 2) / 8),
    "44-1": (8 - 2) / 8,
    "22-3": (8 - 3) / 8,
    "44-3": (8 - 3 - 2) / 8,
    **dict.fromkeys(["22-0", "22-1", "22-2", "41-0", "41-2"], 0.0),
}


@pytest.fixture(scope="module")
def travel() -> dict[str, Grade]:
    names = [*TRAVEL_GRADED, *TRAVEL_GATED]
    grades = grade_all([TRAVEL / "episodes" / name for name in names], TRAVEL / "rubric.yaml", judge=RECORDED)
    return dict(zip(names, grades, strict=True))


@pytest.mark.parametrize("name", TRAVEL_GRADED)
def test_travel_points_add_up_as_by_hand(name: str, travel: dict[str, Grade]) -> None:
    earned, score = TRAVEL_GRADED[name]
    graded = travel[name]
    assert graded.status == "graded", graded.causes
    assert [criterion.earned for criterion in graded.criteria] == earned
    assert graded.ratio == sum(earned) / 8
    assert graded.score == score == max(0, sum(earned)) / 8
    assert graded.bounds == (score, score)


@pytest.mark.parametrize("name", TRAVEL_GATED)
def test_travel_gates_stop_what_was_not_delivered(name: str, travel: dict[str, Grade]) -> None:
    graded = travel[name]
    assert (graded.status, graded.score) == ("gated", 0.0)
    failed = [gate.id for gate in graded.gates if gate.verdict == "not_met"]
    assert TRAVEL_GATED[name] in failed
    assert {criterion.verdict for criterion in graded.criteria if criterion.by == "judge"} == {"not_run"}


def test_travel_a_wrong_total_is_shown_beside_the_right_one(travel: dict[str, Grade]) -> None:
    total = travel["stale-draft"].gates[1]
    assert total.check is not None
    assert total.check.measured == 4_353_800
    assert "4,820,000" in total.message


def test_travel_the_agents_word_is_no_proof(travel: dict[str, Grade]) -> None:
    said = load_trajectory(TRAVEL / "episodes" / "claimed-not-sent").final_message
    assert said is not None
    assert "I have emailed" in said
    assert travel["claimed-not-sent"].gates[0].message == "the outbox is empty: nothing was sent"


@pytest.mark.parametrize("name", TRAVEL_GRADED)
def test_travel_verdicts_say_who_gave_them_and_quotes_are_found(name: str, travel: dict[str, Grade]) -> None:
    for criterion in travel[name].criteria:
        if criterion.by != "judge":
            continue
        assert criterion.judge is not None
        assert criterion.judge.recorded_by == "hand: rubricgrade authors"
        assert criterion.judge.usage.calls == 0
        assert criterion.reasoning
        for quote in criterion.evidence:
            assert quote.verified == "verified", quote.quote
            assert quote.where is not None
            assert quote.where.startswith("world/outbox/0001.eml:")
        if criterion.verdict == "met":
            assert criterion.evidence


def test_travel_every_recorded_verdict_is_used(travel: dict[str, Grade]) -> None:
    judged = sum(criterion.by == "judge" for name in TRAVEL_GRADED for criterion in travel[name].criteria)
    assert len({verdict.question for verdict in read_verdicts(TRAVEL / "verdicts.jsonl")}) == judged == 25


def test_travel_without_a_judge_the_score_is_an_interval() -> None:
    graded = grade(TRAVEL / "episodes" / "copied-the-team", TRAVEL / "rubric.yaml")
    assert (graded.status, graded.score, graded.cause) == ("ungraded", None, "no_judge")
    # 8 points to earn and -3 to lose are open; -2 is decided.
    assert graded.bounds == (0.0, (8 - 2) / 8)


def mailed(folder: Path, *documents: bytes, suffix: str = ".xlsx") -> Trajectory:
    """An episode in which these documents were mailed to the CFO."""
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "agent@acme.test", "CFO <CFO@acme.test>", "MIS"
    mail.set_content("Attached.")
    for index, data in enumerate(documents):
        mail.add_attachment(data, maintype="application", subtype="octet-stream", filename=f"mis-{index}{suffix}")
    outbox = folder / "world" / "outbox"
    outbox.mkdir(parents=True)
    (outbox / "0001.eml").write_bytes(mail.as_bytes())
    steps = [{"role": "user", "content": "Mail the MIS."}, {"role": "assistant", "content": "Done."}]
    (folder / "trajectory.json").write_text(json.dumps({"messages": steps}))
    return load_trajectory(folder)


def workbook(*cells: str | float) -> bytes:
    book = Workbook()
    book.worksheets[0].append(cells)
    data = io.BytesIO()
    book.save(data)
    return data.getvalue()


def test_travel_the_total_is_read_as_written_and_nothing_buys_a_doubt(tmp_path: Path) -> None:
    label = "Total travel spend"
    right, wrong = workbook(label, 4_820_000), workbook(label, 4_353_800)
    documents: dict[str, tuple[list[bytes], bool]] = {
        "grouped": ([workbook(f"{label}: Rs 48,20,000")], True),
        "lakh": ([workbook(label, "48.2 L")], True),
        "lakh-without-unit": ([workbook(label, 48.2)], True),
        "crore": ([workbook(label, "0.482 crore")], True),
        "at-the-bound": ([workbook(label, 4_844_100)], True),
        "past-the-bound": ([workbook(label, 4_844_101)], False),
        "thousandfold": ([workbook(label, "48.2 crore")], False),
        "no-number": ([workbook(label, "see Drive")], False),
        "no-label": ([workbook("Total", 4_820_000)], False),
        "two-totals": ([right, wrong], False),
        "endless": ([workbook(label, "9" * 400)], False),
        "broken": ([right[: len(right) // 2]], False),
    }
    trajectories = [mailed(tmp_path / name, *data) for name, (data, _) in documents.items()]
    grades = grade_all(trajectories, TRAVEL / "rubric.yaml")
    found = {name: graded.gates[1].verdict for name, graded in zip(documents, grades, strict=True)}
    assert found == {name: "met" if met else "not_met" for name, (_, met) in documents.items()}


def sheet(name: str) -> list[tuple[Any, ...]]:
    """Rows of a sheet of the Drive workbook, without the header."""
    book = load_workbook(TRAVEL / "world" / "drive" / "travel_expenses_q3_fy26.xlsx")
    return list(book[name].iter_rows(min_row=2, values_only=True))


def test_travel_world_holds_the_facts_of_the_task() -> None:
    drive = TRAVEL / "world" / "drive"
    rows = sheet("Expenses")
    by_department = dict(sheet("By department"))
    assert len(rows) == 60
    assert sum(row[6] for row in rows) == by_department.pop("Total") == 4_820_000
    for department, total in by_department.items():
        assert sum(row[6] for row in rows if row[2] == department) == total
    q2 = [line.split(",") for line in (drive / "travel_summary_q2_fy26.csv").read_text().splitlines()[1:]]
    change = {name: by_department[name] - int(amount) for name, amount in q2}
    assert sum(int(amount) for _, amount in q2) == 4_250_000
    assert max(change, key=lambda name: abs(change[name])) == "Sales"
    assert sum(row[6] for row in rows if "Dubai sales summit" in row[5]) == 560_000


def test_travel_exactly_two_expenses_lack_a_sign_off() -> None:
    said = [
        post["text"]
        for path in (TRAVEL / "world" / "slack" / "travel-approvals").iterdir()
        for post in json.loads(path.read_text())
    ]
    above = [row[0] for row in sheet("Expenses") if row[6] > 100_000]
    assert len(above) == 9
    assert [name for name in above if f"{name} approved, go ahead." not in said] == ["EXP-3022", "EXP-3044"]


def test_travel_world_is_made_again_to_the_byte(tmp_path: Path) -> None:
    subprocess.run([sys.executable, TRAVEL / "make_world.py", tmp_path], check=True)
    for name in ("world", "sealed"):
        made, kept = tmp_path / name, TRAVEL / name
        assert files_below(made) == files_below(kept)


def test_episodes_are_recorded_again_to_the_byte(tmp_path: Path) -> None:
    again = tmp_path / "examples"
    shutil.copytree(EXAMPLES, again)
    subprocess.run([sys.executable, again / "make_episodes.py"], check=True, capture_output=True)
    for episodes in EXAMPLES.glob("**/plays"):
        made, kept = again / episodes.parent.relative_to(EXAMPLES) / "episodes", episodes.parent / "episodes"
        assert files_below(made) == files_below(kept)


def files_below(top: Path) -> dict[str, bytes]:
    """Bytes by path; grades that somebody kept beside an episode are not part of it."""
    files = (path for path in sorted(top.rglob("*")) if path.is_file())
    return {str(path.relative_to(top)): path.read_bytes() for path in files if "grades" not in path.parts}


@pytest.mark.parametrize(("task", "name"), [(task, name) for task, episodes in SEED_TASKS.items() for name in episodes])
def test_seed_tasks_give_credit_for_each_case(task: str, name: str) -> None:
    passed, total = SEED_TASKS[task][name]
    graded = grade(EXAMPLES / "seed-tasks" / task / "episodes" / name, EXAMPLES / "seed-tasks" / task / "rubric.yaml")
    assert graded.status == "graded", graded.causes
    assert graded.score == passed / total
    check = graded.criteria[0].check
    assert check is not None
    assert (check.passed, check.total, check.isolation) == (passed, total, "out-of-process")


def test_the_two_candidates_for_add() -> None:
    names = [EXAMPLES / "add" / "episodes" / name for name in ("plus", "minus")]
    assert [graded.score for graded in grade_all(names, EXAMPLES / "add" / "rubric.yaml")] == [1.0, 0.0]


@pytest.mark.parametrize("name", INVOICEKIT)
def test_invoicekit_counts_both_kinds_of_hidden_tests(name: str) -> None:
    fixed, kept, score = INVOICEKIT[name]
    graded = grade(EXAMPLES / "invoicekit" / "episodes" / name, EXAMPLES / "invoicekit" / "rubric.yaml")
    checks = [gate.check for gate in graded.gates if gate.check is not None]
    assert [check.measured for check in checks] == [fixed / 3, kept / 4]
    assert [(check.passed, check.total) for check in checks] == [(fixed + kept, 7)] * 2  # both gates share one run
    assert (graded.status, graded.score) == ("graded" if score else "gated", score)


def test_airline_episodes_score_as_by_hand() -> None:
    trajectories = load_trajectories(TAU / "episodes.json")
    grades = grade_all(trajectories, load_rubric(TAU / "rubric.yaml"))
    assert {graded.trajectory.id: graded.score for graded in grades} == AIRLINE
    assert sum(graded.status == "gated" for graded in grades) == 5
    pairs = [(trajectory.reward, graded.score) for trajectory, graded in zip(trajectories, grades, strict=True)]
    rewarded = [score for reward, score in pairs if reward == 1.0 and score is not None]
    others = [score for reward, score in pairs if reward == 0.0 and score is not None]
    assert len(rewarded) == 8
    assert min(rewarded) >= max(others)


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("grade_in_python.py", r"graded (0\.923\d*) \(\1, \1\)\n(.*\n)*.*1_000 // 7"),
        ("reward_function.py", r"\[1\.0, 0\.0\]"),
    ],
)
def test_scripts_run_as_they_stand(script: str, expected: str) -> None:
    done = subprocess.run([sys.executable, EXAMPLES / script], capture_output=True, text=True, check=True)
    assert re.match(expected, done.stdout), done.stdout


def test_the_readme_of_the_travel_example_states_the_same_scores() -> None:
    rows = re.findall(
        r"^\| ([\w-]+) \| pass \|.*\| (-?\d+) \| \S.*= ([\d.]+) \|$", (TRAVEL / "README.md").read_text(), re.MULTILINE
    )
    stated = {name: (int(points), float(score)) for name, points, score in rows}
    assert stated == {name: (sum(earned), score) for name, (earned, score) in TRAVEL_GRADED.items()}
