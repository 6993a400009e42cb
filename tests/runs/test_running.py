"""Runs: every attempt once, whatever happens in between, over a real model server and real sandboxes."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest

from rubricgrade.episode.agents.proving import Nop, Oracle
from rubricgrade.episode.limits import End, Limits
from rubricgrade.episode.stage import Agent, Script, Stage
from rubricgrade.episode.task import Task
from rubricgrade.errors import InputError, JudgeError, SandboxUnavailable
from rubricgrade.runs.lines import FILE, Line, Tokens, read_lines
from rubricgrade.runs.running import Lost, Outcome, Plan, missing, run
from rubricgrade.runs.spending import Purse
from rubricgrade.runs.standing import stand
from rubricgrade.sandbox import BubblewrapProvider, Sandbox, Template
from tests.chat.scripted import ScriptedServer, Seen, Wire, completion, error
from tests.episode.making import EXAMPLES, bash, by_turn, model_agent, write_task
from tests.runs.test_lines import line as some_line


def plan_of(task: Path, folder: Path, agent: Agent | None = None, **options: Any) -> Plan:
    return Plan(tasks=(Task.load(task),), agent=agent or Oracle(), folder=folder, **options)


def run_all(plan: Plan, **options: Any) -> list[Outcome]:
    async def main() -> list[Outcome]:
        return [outcome async for outcome in run(plan, **options)]

    return asyncio.run(main())


def keys(folder: Path) -> list[tuple[str, int]]:
    return sorted(line.key for line in read_lines(folder / FILE))


def test_the_table_of_the_seed(tmp_path: Path) -> None:
    from rubricgrade.episode.agents.replay import Replay

    tasks = tuple(Task.load(EXAMPLES / name) for name in ("calc", "sales-report", "duration"))
    run_all(Plan(tasks, Replay(), tmp_path / "run", samples=2))
    standing = stand(tmp_path / "run")
    rows = {
        row.name: (row.rollouts, row.solved, row.pass_at[1], row.pass_at[2], round(row.reward or 0, 2))
        for row in (*standing.tasks, standing.overall)
    }
    assert rows["calc"] == (2, 0, 0, 0, 0.92)
    assert rows["duration"] == rows["sales-report"] == (2, 2, 1, 1, 1)
    assert rows["overall"] == (6, 4, pytest.approx(2 / 3), pytest.approx(2 / 3), 0.97)


def test_a_line_has_the_fields_of_the_seed_and_the_folder_has_the_rest(task: Path, tmp_path: Path) -> None:
    (line,) = run_all(plan_of(task, tmp_path / "first"))
    assert isinstance(line, Line)
    fields = {
        "run",
        "task",
        "sample",
        "model",
        "reward",
        "passed",
        "total",
        "steps",
        "usage",
        "fork_ms",
        "agent_ms",
        "grade_ms",
        "messages",
    }
    assert fields <= set(line.model_dump())
    assert (line.run, line.task, line.sample, line.reward, line.passed, line.total) == ("first", "answer", 0, 1.0, 1, 1)
    assert sorted(path.name for path in (tmp_path / "first" / "answer" / "0").iterdir()) == [
        "grades", "trajectory.json", "workspace.tar.zst",
    ]  # fmt: skip


def test_a_run_goes_on_with_what_is_missing_only(task: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    run_all(plan_of(task, folder, samples=2))
    first = (folder / FILE).read_bytes()
    assert run_all(plan_of(task, folder, samples=2)) == []
    more = run_all(plan_of(task, folder, samples=4))
    assert sorted(one.sample for one in more) == [2, 3]
    assert (folder / FILE).read_bytes().startswith(first)
    assert missing(plan_of(task, folder, samples=4)) == []


def test_another_agent_or_a_changed_task_is_another_run(task: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    run_all(plan_of(task, folder))
    with pytest.raises(InputError, match="agent is 'oracle', not 'nop'"):
        run_all(plan_of(task, folder, Nop()))
    (task / "instruction.md").write_text("Another.")
    with pytest.raises(InputError, match="task answer has changed"):
        run_all(plan_of(task, folder))


@pytest.mark.parametrize("name", ["answer/0/thesis.txt", FILE])
def test_what_others_keep_under_our_names_is_not_touched(task: Path, tmp_path: Path, name: str) -> None:
    theirs = tmp_path / "run" / name
    theirs.parent.mkdir(parents=True)
    theirs.write_text("years of work")
    with pytest.raises(InputError, match="belongs to none"):
        run_all(plan_of(task, tmp_path / "run"))
    assert theirs.read_text() == "years of work"
    assert not (tmp_path / "run" / "run.json").exists()


class Unwell(BubblewrapProvider):
    """A host that refuses sandboxes of agents for a while."""

    def __init__(self, refusals: int) -> None:
        super().__init__()
        self.refusals = refusals

    async def open(self, template: Template, *, label: str = "") -> Any:
        if label.startswith("run ") and self.refusals > 0:
            self.refusals -= 1
            raise SandboxUnavailable("too many sandboxes")
        return await super().open(template, label=label)


def test_a_provider_that_says_too_many_is_asked_again(task: Path, tmp_path: Path) -> None:
    (line,) = run_all(plan_of(task, tmp_path / "run"), provider=Unwell(2))
    assert isinstance(line, Line)
    assert line.reward == 1


def test_what_cannot_be_made_leaves_no_number(task: Path, tmp_path: Path) -> None:
    (lost,) = run_all(plan_of(task, tmp_path / "run", retries=1), provider=Unwell(9))
    assert isinstance(lost, Lost)
    assert "too many" in lost.why
    assert keys(tmp_path / "run") == []
    assert len(run_all(plan_of(task, tmp_path / "run"))) == 1


def test_a_task_that_cannot_be_made_does_not_end_the_others(tmp_path: Path) -> None:
    tasks = (
        Task.load(write_task(tmp_path / "good")),
        Task.load(write_task(tmp_path / "bad", {"environment/Dockerfile": "FROM a\nRUN false\n"})),
    )
    outcomes = run_all(Plan(tasks, Oracle(), tmp_path / "run"))
    assert {type(one).__name__: one.task for one in outcomes} == {"Line": "good", "Lost": "bad"}


class Crowd:
    """Counts how many act at once."""

    name = model = "crowd"
    sees: Literal["task", "solution"] = "task"

    def __init__(self) -> None:
        self.now = self.peak = 0
        self.three = asyncio.Event()

    async def act(self, stage: Stage, script: Script) -> End:
        self.now += 1
        self.peak = max(self.peak, self.now)
        if self.now == 3:
            self.three.set()
        await self.three.wait()  # however slow the machine is, the first three meet
        await asyncio.sleep(0.05)
        self.now -= 1
        await stage.act("done")
        return "done"


def test_no_more_episodes_at_once_than_asked_for(task: Path, tmp_path: Path) -> None:
    crowd = Crowd()
    run_all(plan_of(task, tmp_path / "run", crowd, samples=8, concurrency=3))
    assert crowd.peak == 3


def test_leaving_early_closes_what_is_open_and_leaves_no_line(task: Path, tmp_path: Path) -> None:
    opened: list[Sandbox] = []

    class Watching(BubblewrapProvider):
        async def open(self, template: Template, *, label: str = "") -> Any:
            sandbox = await super().open(template, label=label)
            opened.append(sandbox)
            return sandbox

    class Sleeper(Crowd):
        async def act(self, stage: Stage, script: Script) -> End:
            await asyncio.sleep(0 if script.sample == 0 else 60)
            return "done"

    async def main() -> None:
        outcomes = run(plan_of(task, tmp_path / "run", Sleeper(), samples=3), provider=Watching())
        async for _ in outcomes:
            break
        await outcomes.aclose()
        for sandbox in opened:
            with pytest.raises(Exception, match=r"died|closed|lost|takes no more|gone"):
                await sandbox.exec(["true"])

    asyncio.run(main())
    assert keys(tmp_path / "run") == [("answer", 0)]


def test_a_cost_cap_stops_the_run(task: Path, tmp_path: Path, server: ScriptedServer) -> None:
    server.script = [by_turn(bash("echo 42 > answer.txt"), completion("done"))]
    price = {"input_cost_per_token": 0.001, "output_cost_per_token": 0.001}
    agent = model_agent(server, max_cost=1.2, extra=price)
    with pytest.raises(JudgeError) as caught:
        run_all(plan_of(task, tmp_path / "run", agent, samples=5, concurrency=1))
    assert caught.value.cause == "budget"
    assert 0 < len(keys(tmp_path / "run")) < 5


PRICE = {"input_cost_per_token": 0.001, "output_cost_per_token": 0.001}


def test_a_runs_cap_counts_what_was_spent_before(task: Path, tmp_path: Path, server: ScriptedServer) -> None:
    server.script = [by_turn(bash("echo 42 > answer.txt"), completion("done"))]  # 220 tokens: 0.22 dollars
    plan = plan_of(task, tmp_path / "run", model_agent(server, extra=PRICE), samples=4, concurrency=1, max_cost=0.3)
    for _ in range(2):
        with pytest.raises(JudgeError, match=r"has cost \$0\.4400, and its cap is \$0\.3") as caught:
            run_all(plan)
        assert caught.value.cause == "budget"
        assert len(keys(tmp_path / "run")) == 2
    assert len(run_all(replace(plan, max_cost=1.0))) == 2


def test_a_cap_cannot_be_kept_when_a_price_is_not_known(task: Path, tmp_path: Path, server: ScriptedServer) -> None:
    server.script = [by_turn(bash("echo 42 > answer.txt"), completion("done"))]
    with pytest.raises(JudgeError, match="no price is known"):
        run_all(plan_of(task, tmp_path / "run", model_agent(server), samples=3, concurrency=1, max_cost=1.0))
    assert len(keys(tmp_path / "run")) == 1


def test_what_judges_cost_counts(tmp_path: Path) -> None:
    purse = Purse(1.0)
    spent = {"usage": Tokens(cost=0.25), "judging": Tokens(cost=0.5)}
    purse.take(some_line().model_copy(update=spent))
    assert purse.left() == 0.25
    purse.check()
    purse.take(some_line().model_copy(update=spent))
    with pytest.raises(JudgeError, match="cap"):
        purse.check()
    purse.take(some_line().model_copy(update={"judging": Tokens(cost=None)}))
    with pytest.raises(JudgeError, match="not known"):
        purse.left()
    assert Purse(None).left() is None


def test_many_episodes_over_an_unreliable_model(task: Path, tmp_path: Path, server: ScriptedServer) -> None:
    """16 at a time, one answer in 16 a 429 or a 500: all are graded, none is lost, none is there twice."""
    answers = by_turn(bash("cat question.txt"), bash("echo 42 > answer.txt"), completion("done"))
    count = iter(range(10**6))

    def answer(seen: Seen) -> Wire:
        number = next(count)
        if number % 32 == 7:
            return error(429, "slow down", {"retry-after": "0"})
        return error(500) if number % 32 == 23 else answers(seen)

    server.script = [answer]
    agent = model_agent(server, concurrency=8)
    outcomes = run_all(plan_of(task, tmp_path / "run", agent, samples=32, concurrency=16))
    assert Counter(type(one).__name__ for one in outcomes) == {"Line": 32}
    assert keys(tmp_path / "run") == [("answer", sample) for sample in range(32)]
    assert stand(tmp_path / "run").overall.reward == 1
    assert server.peak <= 8


PROGRAM = """
import asyncio, sys
from pathlib import Path
from rubricgrade.episode.agents.proving import Oracle
from rubricgrade.episode.task import Task
from rubricgrade.runs.running import Plan, run
async def main():
    plan = Plan((Task.load(sys.argv[1]),), Oracle(), Path(sys.argv[2]), samples=int(sys.argv[3]), concurrency=3)
    async for _ in run(plan):
        print("done", flush=True)
asyncio.run(main())
"""


def start(task: Path, folder: Path, samples: int) -> subprocess.Popen[bytes]:
    root = Path(__file__).resolve().parent.parent.parent
    argv = [sys.executable, "-c", PROGRAM, str(task), str(folder), str(samples)]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(root)})


def test_killed_at_any_moment_it_goes_on_with_what_is_missing(task: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    for finished in (0, 1, 2):
        process = start(task, folder, 8)
        assert process.stdout is not None
        for _ in range(finished):
            process.stdout.readline()
        if not finished:
            while not (folder / "answer").is_dir():
                time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
    done = len(read_lines(folder / FILE))
    assert 3 <= done < 8
    assert len(run_all(plan_of(task, folder, samples=8))) == 8 - done
    assert keys(folder) == [("answer", sample) for sample in range(8)]


def test_several_processes_share_a_run(task: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    processes = [start(task, folder, 8) for _ in range(2)]
    shares = [len(process.communicate()[0].splitlines()) for process in processes]
    assert sum(shares) == 8
    assert keys(folder) == [("answer", sample) for sample in range(8)]


def test_a_plan_that_does_nothing_is_refused(task: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        plan_of(task, tmp_path, samples=0)
    with pytest.raises(InputError, match="several tasks are called answer"):
        Plan((Task.load(task), Task.load(task)), Oracle(), tmp_path)
    with pytest.raises(InputError, match="max_steps"):
        Limits(max_steps=0)
