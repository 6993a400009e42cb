"""Work on two Ray nodes of this machine: the same grades, limits kept over both, and nothing lost with a node."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from rubricgrade.episode.agents.choosing import ModelOptions, choose_agent
from rubricgrade.episode.agents.replay import Replay
from rubricgrade.episode.task import Task
from rubricgrade.errors import InputError, JudgeError, SandboxUnavailable
from rubricgrade.grading import agrade_all
from rubricgrade.judge.options import JudgeOptions
from rubricgrade.loading import load_rubric
from rubricgrade.readers import load_trajectory
from rubricgrade.result import Grade
from rubricgrade.runs.executing.ray import RayExecutor, crew
from rubricgrade.runs.lines import Line, read_lines
from rubricgrade.runs.regrading import regrade
from rubricgrade.runs.running import Outcome, Plan, run
from rubricgrade.runs.standing import attempts_of, stand
from rubricgrade.trajectory import Trajectory
from tests.chat.scripted import ON_ITS_WAY, ScriptedServer, Wire, completion, spread
from tests.cli import program
from tests.cli.program import SAYS_TOTAL, write_episode, write_rubric
from tests.episode.making import EXAMPLES, bash, by_turn, model_agent, write_task
from tests.grading.episodes import said

pytestmark = [pytest.mark.ray, pytest.mark.timeout(300)]
cluster_utils = pytest.importorskip("ray.cluster_utils", reason="extra 'ray' is not installed")

GATE = "{id: has-notes, description: has notes, check: {exists: notes.md}}"
JUDGED = "{id: j%d, points: 1, description: is it polite (%d), judge: {}}"
PRICE = {"input_cost_per_token": 0.001, "output_cost_per_token": 0.001}
YES = said("yes", "The total is 48.2 lakh.")


@contextmanager
def nodes(*cpus: int) -> Generator[Any]:
    memory = {"object_store_memory": 128 << 20}
    head = {"num_cpus": cpus[0], "include_dashboard": False, **memory}
    cluster = cluster_utils.Cluster(initialize_head=True, head_node_args=head)
    try:
        for number in cpus[1:]:
            cluster.add_node(num_cpus=number, **memory)
        yield cluster
    finally:
        cluster.shutdown()


@pytest.fixture(scope="module")
def two() -> Iterator[str]:
    with nodes(1, 1) as cluster:
        yield cluster.address


def run_all(plan: Plan, executor: RayExecutor | None = None) -> list[Outcome]:
    async def main() -> list[Outcome]:
        return [outcome async for outcome in run(plan, executor=executor)]

    return asyncio.run(main())


def canonical(folder: Path) -> dict[tuple[str, int], tuple[str, bytes]]:
    """Of each attempt the trajectory's hash and the grade, but for the workspace, which holds times of the day."""
    found: dict[tuple[str, int], tuple[str, bytes]] = {}
    for attempt in attempts_of(folder):
        assert attempt.grade is not None
        grade = attempt.grade.model_copy(update={"workspace": None})
        found[attempt.line.key] = attempt.line.trajectory, grade.canonical()
    return found


def episodes(folder: Path, number: int) -> list[Trajectory]:
    return [load_trajectory(write_episode(folder / f"e{n}", notes__md=f"# {n}\n")) for n in range(number)]


def test_episodes_are_those_of_this_process_byte_for_byte(two: str, tmp_path: Path) -> None:
    tasks = tuple(Task.load(EXAMPLES / name) for name in ("calc", "sales-report", "duration"))
    run_all(Plan(tasks, Replay(), tmp_path / "here", samples=2))
    run_all(Plan(tasks, Replay(), tmp_path / "there", samples=2), RayExecutor(two))
    assert len(canonical(tmp_path / "here")) == 6
    assert canonical(tmp_path / "there") == canonical(tmp_path / "here")
    for line in read_lines(tmp_path / "there" / "trajectories.jsonl"):
        here, there = (sorted(p.name for p in (tmp_path / run / line.home).rglob("*")) for run in ("here", "there"))
        assert here == there

    async def again(executor: RayExecutor | None) -> dict[tuple[str, int], bytes]:
        graded = regrade(tmp_path / "there", executor=executor, store=executor is not None)
        return {one.attempt.line.key: one.grade.canonical() async for one in graded}

    assert asyncio.run(again(RayExecutor(two))) == asyncio.run(again(None))
    # The grades that Ray made are the current ones now.
    assert all(len(list((tmp_path / "there").glob(f"{name}/0/grades/*-2.json"))) == 1 for name in ("calc", "duration"))


def test_grades_are_those_of_this_process_byte_for_byte(two: str, tmp_path: Path, server: ScriptedServer) -> None:
    server.script = [YES]
    rubric = load_rubric(write_rubric(tmp_path, gates=[GATE], criteria=[JUDGED % (1, 1), SAYS_TOTAL]))
    found = episodes(tmp_path, 4)
    judge = JudgeOptions(model="openai/m", api_base=server.base, api_key="k", cache=False)

    def graded(executor: RayExecutor | None) -> list[Grade]:
        return asyncio.run(agrade_all(found, rubric, judge=judge, executor=executor, store=True))

    here, there = graded(None), graded(RayExecutor(two))
    assert [grade.canonical() for grade in there] == [grade.canonical() for grade in here]
    assert [grade.score for grade in there] == [1.0] * 4
    assert len(list(tmp_path.glob("e*/grades/*-2.json"))) == 4


def test_recorded_verdicts_and_open_questions_travel(two: str, tmp_path: Path) -> None:
    rubric = write_rubric(tmp_path, criteria=[JUDGED % (1, 1), SAYS_TOTAL])
    places = [write_episode(tmp_path / f"e{n}") for n in range(2)]
    missing = [tmp_path / "here.jsonl", tmp_path / "there.jsonl"]
    for name, file in zip(("local", f"ray:{two}"), missing, strict=True):
        ran = program.run("grade", rubric, *places, "--missing", file, "--no-store", "--executor", name)
        assert ran.code == 3, ran.err
    here, there = (sorted(file.read_text().splitlines()) for file in missing)
    assert here == there
    answer = {"answer": "yes", "evidence": [{"quote": "The total is 48.2 lakh."}], "recorded_by": "hand: somebody"}
    filled = [{**json.loads(text), **answer} for text in there]
    missing[1].write_text("".join(json.dumps(one) + "\n" for one in filled))
    arguments = ["grade", rubric, *places, "--offline", "--verdicts", missing[1], "--no-store", "--json"]
    scores = [
        [grade["score"] for grade in program.run(*arguments, "--executor", name).json["grades"]]
        for name in ("local", f"ray:{two}")
    ]
    assert scores == [[1.0, 1.0]] * 2


def test_one_limit_holds_over_all_nodes(two: str, tmp_path: Path, server: ScriptedServer) -> None:
    from dataclasses import replace

    server.script = [replace(YES, delay=0.1)]
    rubric = load_rubric(write_rubric(tmp_path, criteria=[JUDGED % (n, n) for n in range(3)]))
    judge = JudgeOptions(model="openai/m", api_base=server.base, api_key="k", cache=False, concurrency=3)
    grades = asyncio.run(agrade_all(episodes(tmp_path, 8), rubric, judge=judge, executor=RayExecutor(two)))
    assert {grade.score for grade in grades} == {1.0}
    assert server.peak == 3


def test_one_budget_holds_over_all_nodes(two: str, tmp_path: Path, server: ScriptedServer) -> None:
    server.script = [YES]
    rubric = load_rubric(write_rubric(tmp_path, criteria=[JUDGED % (1, 1)]))
    judge = JudgeOptions(
        model="openai/m", api_base=server.base, api_key="k", cache=False, extra=PRICE, max_cost=1.0, max_tokens=100
    )
    executor = RayExecutor(two)
    grades = asyncio.run(agrade_all(episodes(tmp_path, 20), rubric, judge=judge, executor=executor, concurrency=8))
    calls = len(server.seen)
    assert 0 < calls < 20
    # A call costs 0.11 dollars.
    assert calls * 0.11 <= 1.0
    assert [grade.cause for grade in grades].count("budget") == 20 - calls


def test_one_pace_holds_over_all_nodes(two: str, task: Path, tmp_path: Path, server: ScriptedServer) -> None:
    server.script = [YES]
    rubric = load_rubric(write_rubric(tmp_path, criteria=[JUDGED % (1, 1)]))
    options: dict[str, Any] = {"api_base": server.base, "api_key": "k", "per_minute": 600}
    judge = JudgeOptions(model="openai/m", cache=False, **options)
    grades = asyncio.run(agrade_all(episodes(tmp_path, 12), rubric, judge=judge, executor=RayExecutor(two)))
    assert {grade.score for grade in grades} == {1.0}
    # Each node by itself would take half as long.
    assert spread(server) >= 0.1 * 11 - ON_ITS_WAY
    server.seen.clear()
    server.script = [by_turn(bash("echo 42 > answer.txt"), completion("done"))]
    model = ModelOptions(**options)
    plan = Plan((Task.load(task),), choose_agent("litellm:openai/scripted", model), tmp_path / "run", samples=6)
    made = run_all(plan, RayExecutor(two, model=model))
    assert [one.reward for one in made if isinstance(one, Line)] == [1.0] * 6
    assert len(server.seen) == 12
    assert spread(server) >= 0.1 * 11 - ON_ITS_WAY


def test_the_program_keeps_a_cap_over_all_nodes(two: str, task: Path, tmp_path: Path, server: ScriptedServer) -> None:
    server.script = [by_turn(bash("echo 42 > answer.txt"), completion("done"))]
    # A call costs 0.11 dollars, an episode two.
    given = ["--api-base", server.base, "--price", "1000/1000", "--max-cost", "1", "--executor", f"ray:{two}"]
    ran = program.run(
        "run",
        task,
        "--agent",
        "litellm:openai/m",
        "-n",
        "9",
        "-o",
        tmp_path / "run",
        *given,
        env={"OPENAI_API_KEY": "k"},
    )
    assert (ran.code, "rubricgrade run --resume" in ran.err) == (4, True), ran.err
    assert 0 < len(server.seen) * 0.11 <= 1
    assert 0 < len(read_lines(tmp_path / "run" / "trajectories.jsonl")) < 9


def test_the_program_keeps_a_judges_cap_over_all_nodes(two: str, tmp_path: Path, server: ScriptedServer) -> None:
    # A call costs 1.5 cents.
    dear = json.loads(YES.body)
    dear["usage"]["prompt_tokens"] = 100_000
    server.script = [Wire(json.dumps(dear).encode())]
    rubric = write_rubric(tmp_path, criteria=[JUDGED % (1, 1)])
    places = [write_episode(tmp_path / f"e{n}") for n in range(8)]
    given = ["--judge", "openai/gpt-4o-mini", "--api-base", server.base, "--no-cache", "--no-store", "--json"]
    ran = program.run(
        *("grade", rubric, *places, *given, "--max-cost", "0.05", "--concurrency", "2", "--executor", f"ray:{two}"),
        env={"OPENAI_API_KEY": "k"},
    )
    assert ran.code == 4, ran.err
    assert 2 <= len(server.seen) <= 3
    causes = [grade["cause"] for grade in ran.json["grades"]]
    assert (causes.count(None), causes.count("budget")) == (len(server.seen), 8 - len(server.seen))


def test_an_agents_model_is_called_from_the_nodes_within_its_budget(
    two: str, task: Path, tmp_path: Path, server: ScriptedServer
) -> None:
    server.script = [by_turn(bash("echo 42 > answer.txt"), completion("done"))]
    options: dict[str, Any] = {"api_base": server.base, "api_key": "k"}
    plan = Plan((Task.load(task),), model_agent(server), tmp_path / "run", samples=4)
    made = run_all(plan, RayExecutor(two, model=ModelOptions(**options)))
    assert [one.reward for one in made if isinstance(one, Line)] == [1.0] * 4
    capped = ModelOptions(**options, max_cost=1.2, extra=PRICE)
    plan = Plan((Task.load(task),), model_agent(server, extra=PRICE), tmp_path / "capped", samples=9, concurrency=2)
    with pytest.raises(JudgeError) as caught:
        run_all(plan, RayExecutor(two, model=capped))
    assert caught.value.cause == "budget"
    assert len(read_lines(tmp_path / "capped" / "trajectories.jsonl")) < 9


def test_what_is_wrong_is_said_as_it_is_here(two: str, tmp_path: Path) -> None:
    tasks = (
        Task.load(write_task(tmp_path / "good")),
        Task.load(write_task(tmp_path / "bad", {"environment/Dockerfile": "FROM a\nRUN false\n"})),
    )
    outcomes = run_all(Plan(tasks, choose_agent("nop"), tmp_path / "run"), RayExecutor(two))
    assert {type(one).__name__: one.task for one in outcomes} == {"Line": "good", "Lost": "bad"}
    rubric = load_rubric(write_rubric(tmp_path, criteria=[SAYS_TOTAL]))
    judge = JudgeOptions(verdicts=(tmp_path / "none.jsonl",))
    grading = agrade_all(episodes(tmp_path, 1), rubric, judge=judge, executor=RayExecutor(two))
    with pytest.raises(InputError, match="can't read"):
        asyncio.run(grading)


def test_nodes_with_other_code_do_no_work(
    two: str, task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crew, "exact_version", lambda: "0.1.0 (0123456789ab)")
    with pytest.raises(
        SandboxUnavailable, match=r"has rubricgrade 0\.\d+\.\d+ \(\w{12}\), not 0\.1\.0 \(0123456789ab\)"
    ):
        run_all(Plan((Task.load(task),), choose_agent("nop"), tmp_path / "run"), RayExecutor(two))


def test_the_program_takes_an_executor(two: str, task: Path, tmp_path: Path) -> None:
    ran = program.run("run", task, "--agent", "oracle", "-n", "2", "-o", tmp_path / "run", "--executor", f"ray:{two}")
    assert ran.code == 0, ran.err
    assert "answer #1: reward 1 (1/1)" in ran.out
    again = program.run("regrade", tmp_path / "run", "--executor", f"ray:{two}")
    assert (again.code, "0 scores changed" in again.err) == (0, True)
    refused = program.run("run", task, "--agent", "nop", "-o", tmp_path / "x", "--executor", "ray:")
    assert (refused.code, "there is no executor 'ray:'" in refused.err) == (2, True)


def test_a_lost_nodes_episodes_are_made_again_once(task: Path, tmp_path: Path) -> None:
    agent = choose_agent("command:sleep 1; echo 42 > answer.txt")
    plan = Plan((Task.load(task),), agent, tmp_path / "run", samples=16, concurrency=8)

    with nodes(1, 1) as cluster:

        async def main() -> list[Outcome]:
            made: list[Outcome] = []
            async for outcome in run(plan, executor=RayExecutor(cluster.address)):
                if not made:
                    await asyncio.to_thread(cluster.remove_node, cluster.worker_nodes.copy().pop(), False)
                made.append(outcome)
            return made

        outcomes = asyncio.run(main())
    assert sorted(one.sample for one in outcomes) == list(range(16))
    assert all(isinstance(one, Line) and one.reward == 1 for one in outcomes)
    lines = read_lines(tmp_path / "run" / "trajectories.jsonl")
    assert sorted(line.sample for line in lines) == list(range(16))
    assert stand(tmp_path / "run").overall.solved == 16
    # Each has the grade that was made where it was finished, and no other.
    assert len(list((tmp_path / "run").glob("answer/*/grades/*.json"))) == 16


def test_with_the_last_node_a_grade_is_open_and_no_number(tmp_path: Path) -> None:
    # Only the first is done at once; an actor may live on for a while without its node, but not so long.
    slow = {
        "id": "slow",
        "description": "takes a while",
        "check": {"command": ["sh", "-c", "test -e quick || sleep 60"]},
    }
    rubric = load_rubric(write_rubric(tmp_path, gates=[json.dumps(slow)], criteria=[SAYS_TOTAL]))
    places = [
        write_episode(tmp_path / "e0", quick=""),
        *(write_episode(tmp_path / f"e{n}", slow="") for n in (1, 2, 3)),
    ]
    found = [load_trajectory(place) for place in places]
    with nodes(0, 1) as cluster:
        done: list[int] = []

        def lose(index: int, grade: Grade) -> None:
            if not done:
                cluster.remove_node(cluster.worker_nodes.copy().pop(), False)
            done.append(index)

        executor = RayExecutor(cluster.address)
        grades = asyncio.run(agrade_all(found, rubric, executor=executor, concurrency=1, on_grade=lose))
    assert (done[0], grades[0].score) == (0, 1)
    for lost in grades[1:]:
        assert (lost.status, lost.score, lost.cause, lost.bounds) == ("ungraded", None, "sandbox_lost", (0, 1))
        assert "no node of the cluster can work" in lost.gates[0].message
