"""Grading end to end: a rubric and an episode on disk, the real sandbox, and a judge over HTTP."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import shutil
import threading
from pathlib import Path
from typing import Any, NoReturn

import pytest

from rubricgrade import JudgeOptions, agrade, agrade_all, grade, grade_all, load_rubric, load_trajectory
from rubricgrade.errors import RubricError, SandboxUnavailable, StoreError
from rubricgrade.result import Grade
from rubricgrade.sandbox import BubblewrapProvider, Template
from rubricgrade.store.grades import grade_files, latest_grade, read_grade
from tests.chat.scripted import ScriptedServer, Seen, Wire, error
from tests.grading.episodes import episode, judge_by, rubric, said

GATE = {"id": "has-report", "description": "a report is there", "check": {"exists": "report.txt"}}
BROKEN = {"id": "broken", "description": "never works", "check": {"python": "checks/broken.py:check"}}
CHECKS = {"checks/broken.py": "def check(case):\n    raise RuntimeError('the author slipped')\n"}
GONE = "[Errno 2] No such file or directory: '{}'"
JUDGED = [
    {"id": "total", "description": "names the total", "points": 3, "judge": {}},
    {"id": "hotel", "description": "names the hotel", "points": 2, "judge": {}},
    {"id": "rude", "description": "is rude", "points": -2, "judge": {}},
]


def options(server: ScriptedServer, **changes: Any) -> JudgeOptions:
    given: dict[str, Any] = {"model": "openai/judge", "api_base": server.base, "api_key": "k", "cache": False}
    return JudgeOptions(**{**given, **changes})


def test_gates_then_criteria_then_the_score(tmp_path: Path, server: ScriptedServer) -> None:
    judge_by(server, {"names the total": said("yes"), "names the hotel": said("no"), "is rude": said("no", "")})
    made = grade(
        load_trajectory(episode(tmp_path / "e", {"report.txt": "48.2L"})),
        load_rubric(rubric(tmp_path / "r", {"gates": [GATE], "criteria": JUDGED})),
        judge=options(server),
    )
    assert (made.status, made.score, made.bounds, made.cause) == ("graded", 0.6, (0.6, 0.6), None)
    assert [item.verdict for item in (*made.gates, *made.criteria)] == ["met", "met", "not_met", "not_met"]
    assert [item.earned for item in made.criteria] == [3.0, 0.0, 0.0]
    quote = made.criteria[0].evidence[0]
    assert (quote.quote, quote.where, quote.verified) == ("The total is 48.2L", "[1].text", "verified")
    assert made.usage.calls == len(server.seen) == 3
    assert made.isolation.provider == "bubblewrap"
    assert made.isolation.kernel_uid != 0


def test_files_that_are_gone_at_the_end_cost_nothing_that_was_decided(tmp_path: Path, server: ScriptedServer) -> None:
    left = episode(tmp_path / "e", {"report.txt": "48.2L"})

    def remove(_: Seen) -> Wire:
        shutil.rmtree(left / "workspace", ignore_errors=True)
        return said("yes")

    server.script = [remove]
    made = grade(left, rubric(tmp_path / "r", {"gates": [GATE], "criteria": JUDGED[:2]}), judge=options(server))
    assert (made.status, made.score, made.workspace) == ("graded", 1.0, None)
    assert made.warnings == (f"workspace: not named by its hash, it can't be read: {GONE.format(left / 'workspace')}",)


def test_a_failed_gate_asks_no_judge(tmp_path: Path, server: ScriptedServer) -> None:
    made = grade(
        episode(tmp_path / "e", {}),
        rubric(tmp_path / "r", {"gates": [GATE], "criteria": JUDGED}),
        judge=options(server),
    )
    assert (made.status, made.score, made.bounds) == ("gated", 0.0, (0.0, 0.0))
    assert {item.verdict for item in made.criteria} == {"not_run"}
    assert {item.cause for item in made.criteria} == {"gate_failed"}
    assert server.seen == []


def test_ungated_decides_the_criteria_all_the_same(tmp_path: Path, server: ScriptedServer) -> None:
    judge_by(server, {"": said("yes")})
    made = grade(
        episode(tmp_path / "e", {}),
        rubric(tmp_path / "r", {"gates": [GATE], "criteria": JUDGED}),
        judge=options(server),
        ungated=True,
    )
    assert (made.status, made.score) == ("gated", 0.0)
    assert {item.verdict for item in made.criteria} == {"met"}


def test_an_erring_gate_is_never_a_number_and_asks_no_judge(tmp_path: Path, server: ScriptedServer) -> None:
    made = grade(
        episode(tmp_path / "e", {"report.txt": "x"}),
        rubric(tmp_path / "r", {"gates": [GATE, BROKEN], "criteria": JUDGED}, CHECKS),
        judge=options(server),
    )
    assert (made.status, made.score, made.bounds, made.cause) == ("ungraded", None, (0.0, 1.0), "check_error")
    assert [gate.verdict for gate in made.gates] == ["met", "error"]
    assert "the author slipped" in made.gates[1].message
    assert server.seen == []


def test_a_failed_gate_decides_even_beside_an_erring_one(tmp_path: Path) -> None:
    made = grade(episode(tmp_path / "e", {}), rubric(tmp_path / "r", {"gates": [BROKEN, GATE]}, CHECKS))
    assert (made.status, made.score) == ("gated", 0.0)


def test_gates_only_and_all_passed_is_one(tmp_path: Path) -> None:
    made = grade(episode(tmp_path / "e", {"report.txt": "x"}), rubric(tmp_path / "r", {"gates": [GATE]}))
    assert (made.status, made.score) == ("graded", 1.0)


@pytest.mark.parametrize(
    ("wire", "cause"),
    [
        (error(401, "bad key"), "judge_failed"),
        (said("maybe"), "judge_unparseable"),
        (said("yes", "words that nobody wrote in there"), "judge_unparseable"),
        (said("cannot_tell", ""), "cannot_tell"),
    ],
)
def test_a_fault_of_the_judge_opens_its_criterion_and_no_other(
    tmp_path: Path, server: ScriptedServer, wire: Any, cause: str
) -> None:
    judge_by(server, {"names the total": said("yes"), "names the hotel": wire, "is rude": said("no", "")})
    made = grade(episode(tmp_path / "e"), rubric(tmp_path / "r", {"criteria": JUDGED}), judge=options(server))
    assert (made.status, made.score, made.bounds, made.cause) == ("ungraded", None, (0.6, 1.0), cause)
    assert [item.value for item in made.criteria] == [1.0, None, 0.0]


def test_without_a_judge_the_score_is_an_interval(tmp_path: Path) -> None:
    code = {"id": "code", "description": "has a report", "points": 5, "check": {"exists": "report.txt"}}
    made = grade(episode(tmp_path / "e", {"report.txt": "x"}), rubric(tmp_path / "r", {"criteria": [code, *JUDGED]}))
    assert (made.status, made.cause, made.bounds) == ("ungraded", "no_judge", (0.3, 1.0))
    assert made.criteria[0].earned == 5.0


def test_what_the_agent_breaks_counts_as_the_worst_for_every_sign(tmp_path: Path) -> None:
    check = {"json": {"path": "out.json", "at": "$.n", "equals": 1}}
    criteria = [
        {"id": "plus", "description": "n is 1", "points": 1, "check": check},
        {"id": "minus", "description": "n is 1, which is bad", "points": -1, "check": check},
        {
            "id": "group",
            "description": "a penalty of parts",
            "points": -2,
            "criteria": [{"id": "part", "description": "n is 1", "points": 1, "check": check}],
        },
        {"id": "base", "description": "there", "points": 4, "check": {"exists": "out.json"}},
    ]
    made = grade(episode(tmp_path / "e", {"out.json": b'{"n": \xff'}), rubric(tmp_path / "r", {"criteria": criteria}))
    assert [item.value for item in made.criteria] == [0.0, 1.0, 1.0, 1.0]
    assert made.criteria[0].fault == "agent"
    assert (made.status, made.score) == ("graded", 0.2)


def test_a_veto_and_its_doubt(tmp_path: Path, server: ScriptedServer) -> None:
    veto = {"id": "leak", "description": "leaks data", "veto": True, "judge": {}}
    path = rubric(tmp_path / "r", {"criteria": [JUDGED[0], veto]})
    judge_by(server, {"names the total": said("yes"), "leaks data": said("yes")})
    assert grade(episode(tmp_path / "a"), path, judge=options(server)).status == "gated"
    judge_by(server, {"names the total": said("yes"), "leaks data": said("cannot_tell", "")})
    doubt = grade(episode(tmp_path / "b"), path, judge=options(server))
    assert (doubt.status, doubt.bounds) == ("ungraded", (0.0, 1.0))
    worst = rubric(tmp_path / "w", {"judge": {"if_cannot_tell": "worst"}, "criteria": [JUDGED[0], veto]})
    assert grade(episode(tmp_path / "c"), worst, judge=options(server)).status == "gated"


def test_one_question_per_item(tmp_path: Path, server: ScriptedServer) -> None:
    names = {
        "id": "names",
        "description": "names {{ item }}",
        "points": 2,
        "judge": {},
        "for_each": {"vars": "items", "if_none": "met"},
    }
    path = rubric(tmp_path / "r", {"vars": {"items": ["the total", "the taxi"]}, "criteria": [names]})
    judge_by(server, {"names the total": said("yes"), "names the taxi": said("no")})
    made = grade(episode(tmp_path / "e"), path, judge=options(server))
    assert (made.score, [part.id for part in made.criteria[0].parts]) == (0.5, ["names[1]", "names[2]"])
    assert made.usage.calls == 2
    none = grade(episode(tmp_path / "n"), path, judge=options(server), vars={"items": []})
    assert none.score == 1.0


def test_nobody_is_asked_about_an_item_that_a_question_has_no_room_for(tmp_path: Path, server: ScriptedServer) -> None:
    traced = {
        "id": "traced",
        "description": "{{ item }} stands in the sources",
        "points": 1,
        "judge": {"if_cannot_tell": "worst"},
        "for_each": {"vars": "claims", "if_none": "met"},
    }
    claims = ["the total is 48.2 lakh", f"the total is 48.2 lakh{' as said' * 1000} and the CFO approved it"]
    path = rubric(tmp_path / "r", {"vars": {"claims": claims}, "criteria": [traced]})
    judge_by(server, {"the total is": said("yes")})
    made = grade(episode(tmp_path / "e"), path, judge=options(server))
    assert (made.score, made.usage.calls) == (0.5, 1)
    assert "4,000 characters" in made.criteria[0].parts[1].message


def test_a_reviewer_is_waited_for(tmp_path: Path) -> None:
    human = {"id": "taste", "description": "reads well", "points": 1, "human": {}}
    made = grade(episode(tmp_path / "e"), rubric(tmp_path / "r", {"criteria": [human]}))
    assert (made.status, made.cause, made.bounds) == ("ungraded", "needs_review", (0.0, 1.0))


def test_what_applies_is_decided_by_the_task_alone(tmp_path: Path) -> None:
    on = {"id": "on", "description": "x", "points": 1, "when": "vars.flag", "check": {"exists": "report.txt"}}
    off = {"id": "off", "description": "x", "points": 1, "when": "not vars.flag", "check": {"exists": "report.txt"}}
    path = rubric(tmp_path / "r", {"vars": {"flag": True}, "criteria": [on, off]})
    made = grade(episode(tmp_path / "e", {"report.txt": "x"}), path)
    assert (made.score, [item.verdict for item in made.criteria]) == (1.0, ["met", "not_applicable"])
    nothing = rubric(tmp_path / "n", {"vars": {"flag": False}, "criteria": [on]})
    assert grade(episode(tmp_path / "f", {}), nothing).cause == "nothing_applicable"


class NoSandbox(BubblewrapProvider):
    async def open(self, template: Template, *, label: str = "") -> NoReturn:
        raise SandboxUnavailable("this host has none")


def test_no_sandbox_is_the_graders_fault(tmp_path: Path) -> None:
    made = grade(
        episode(tmp_path / "e", {"report.txt": "x"}), rubric(tmp_path / "r", {"gates": [GATE]}), provider=NoSandbox()
    )
    assert (made.status, made.cause, made.score) == ("ungraded", "sandbox_unavailable", None)


def test_a_rubric_without_checks_needs_no_sandbox(tmp_path: Path, server: ScriptedServer) -> None:
    judge_by(server, {"": said("yes")})
    path = rubric(tmp_path / "r", {"criteria": JUDGED[:1]})
    made = grade(episode(tmp_path / "e"), path, judge=options(server), provider=NoSandbox())
    assert made.score == 1.0


def test_the_grade_lies_beside_the_trajectory_and_loads_back_equal(tmp_path: Path) -> None:
    folder = episode(tmp_path / "e", {"report.txt": "x"})
    path = rubric(tmp_path / "r", {"gates": [GATE]})
    first = grade(folder, path, store=True)
    second = grade(folder, path, store=True)
    files = list(grade_files(folder))
    assert [read_grade(file) for file in files] == [first, second]
    assert latest_grade(folder) == second
    assert first.canonical() == second.canonical()
    assert json.loads(files[0].read_text())["schema"] == "rubricgrade.grade/1"
    assert sorted(file.name for file in (folder / "grades").iterdir()) == sorted(file.name for file in files)
    assert files[0].read_text() == read_grade(files[0]).to_json()
    with pytest.raises(StoreError, match="no folder of its own"):
        grade(load_trajectory(folder).located(), path, store=True)
    # What came with a folder may be anything.
    os.mkfifo(folder / "grades" / "r.00000000-code-7.json")
    (folder / "grades" / "r.00000000-code-8.json").symlink_to("/dev/zero")
    assert list(grade_files(folder)) == files


def test_many_at_once_come_back_in_order(tmp_path: Path, server: ScriptedServer) -> None:
    judge_by(server, {"": said("yes")})
    folders = [episode(tmp_path / f"e{number}", {"report.txt": "x"} if number % 2 else {}) for number in range(8)]
    seen: list[int] = []
    made = grade_all(
        folders,
        rubric(tmp_path / "r", {"gates": [GATE], "criteria": JUDGED[:1]}),
        judge=options(server, concurrency=2),
        on_grade=lambda index, _: seen.append(index),
        store=lambda trajectory: tmp_path / "out" / trajectory.id,
    )
    assert [one.score for one in made] == [0.0, 1.0] * 4
    assert [one.trajectory.id for one in made] == [f"e{number}" for number in range(8)]
    assert sorted(seen) == list(range(8))
    assert server.peak <= 2
    assert latest_grade(tmp_path / "out" / "e3") == made[3]


def test_bad_input_raises_before_anything_is_done(tmp_path: Path, server: ScriptedServer) -> None:
    bad = rubric(tmp_path / "r", {"criteria": [{**JUDGED[0], "wieght": 3}]})
    with pytest.raises(RubricError, match="wieght"):
        grade(episode(tmp_path / "e"), bad, judge=options(server))
    assert server.seen == []


def in_a_fork(folder: Path, path: Path, results: Any) -> None:
    results.put(grade(folder, path).score)


def test_works_in_a_loop_a_thread_and_after_a_fork(tmp_path: Path) -> None:
    folder, path = episode(tmp_path / "e", {"report.txt": "x"}), rubric(tmp_path / "r", {"gates": [GATE]})

    async def main() -> list[float | None]:
        return [grade(folder, path).score, grade(folder, path).score, (await agrade(folder, path)).score]

    assert asyncio.run(main()) == [1.0, 1.0, 1.0]
    scores: list[float | None] = []
    threads = [threading.Thread(target=lambda: scores.append(grade(folder, path).score)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert scores == [1.0, 1.0]
    fork = multiprocessing.get_context("fork")
    results = fork.Queue()
    child = fork.Process(target=in_a_fork, args=(folder, path, results))
    child.start()
    assert results.get(timeout=60) == 1.0
    child.join()


def test_the_same_replies_in_any_order_give_the_same_grade(tmp_path: Path, server: ScriptedServer) -> None:
    answers = {"names the total": said("yes"), "names the hotel": said("no"), "is rude": said("yes")}
    path = rubric(tmp_path / "r", {"criteria": JUDGED})
    folder = episode(tmp_path / "e")
    made: set[bytes] = set()
    for slow in answers:
        late = {key: type(wire)(wire.body, delay=0.05 if key == slow else 0.0) for key, wire in answers.items()}
        judge_by(server, late)
        made.add(grade(folder, path, judge=options(server)).canonical())
    assert len(made) == 1


def test_a_bug_in_one_of_many_ends_the_others(tmp_path: Path) -> None:
    class Bug(NoSandbox):
        async def open(self, template: Template, *, label: str = "") -> NoReturn:
            raise ZeroDivisionError

    async def main() -> list[Grade]:
        folders = [episode(tmp_path / f"e{number}", {"report.txt": "x"}) for number in range(3)]
        return await agrade_all(folders, rubric(tmp_path / "r", {"gates": [GATE]}), provider=Bug())

    with pytest.raises(ZeroDivisionError):
        asyncio.run(main())


def test_what_is_no_file_can_not_hide_one_from_a_check(tmp_path: Path) -> None:
    folder = episode(tmp_path / "e", {"report.txt": "x", "d/real.txt": "hidden"})
    work = folder / "workspace"
    (work / "secret.txt").symlink_to("d/real.txt")
    os.mkfifo(work / "debug.log")
    (work / "notes.log").mkdir()
    absent = [{"not": {"exists": name}} for name in ("secret.txt", "debug.log", "notes.log", "*.txt*link", "gone.txt")]
    gates = [{"id": f"g{n}", "description": "is not there", "check": check} for n, check in enumerate(absent)]
    penalty = {"id": "p", "description": "left a log", "points": -1, "check": {"exists": "debug.log"}}
    base = {"id": "b", "description": "has a report", "points": 2, "check": {"exists": "report.txt"}}
    made = grade(folder, rubric(tmp_path / "r", {"gates": gates, "criteria": [penalty, base]}), ungated=True)
    assert [gate.value for gate in made.gates] == [0.0, 0.0, 0.0, 1.0, 1.0]
    assert "symbolic link" in made.gates[0].message
    assert "FIFO" in made.gates[1].message
    assert [item.value for item in made.criteria] == [1.0, 1.0]


def test_grades_are_not_led_away_by_a_link(tmp_path: Path) -> None:
    folder = episode(tmp_path / "e", {"report.txt": "x"})
    (tmp_path / "elsewhere").mkdir()
    (folder / "grades").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="can't write a grade"):
        grade(folder, rubric(tmp_path / "r", {"gates": [GATE]}), store=True)
    assert list((tmp_path / "elsewhere").iterdir()) == []
