"""What is promised about runs, at full size and as a user would see it: `make test-slow`."""

from __future__ import annotations

import asyncio
import json
import random
import signal
import subprocess
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from rubricgrade.runs.lines import FILE, Line, read_lines
from rubricgrade.sandbox import BubblewrapProvider
from rubricgrade.templates import Store
from tests.chat.scripted import ScriptedServer, Seen, Wire, completion, error
from tests.cli.program import PROGRAM, environment, run
from tests.episode.making import bash, by_turn, write_task
from tests.runs.test_statistics import AIRLINE

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def test_sixty_four_episodes_of_a_slow_model(task: Path, tmp_path: Path, server: ScriptedServer) -> None:
    """16 at a time, 6 steps of one second each, 5 % of the answers 429 or 500: all there, and the slots are used."""
    steps = [bash(f"echo {number} >> log.txt; cat question.txt") for number in range(4)]
    answers = by_turn(*steps, bash("echo 42 > answer.txt"), completion("done"))
    count = iter(range(10**6))

    def answer(seen: Seen) -> Wire:
        number = next(count)
        if number % 20 == 7:
            return error(500) if number % 40 == 7 else error(429, "slow down", {"retry-after": "0"})
        return replace(answers(seen), delay=1.0)

    server.script = [answer]
    folder = tmp_path / "run"
    options = ["-n", "64", "--concurrency", "16", "--model-concurrency", "16", "--api-base", server.base, "-o", folder]
    ran = run("run", task, "--agent", "litellm:openai/scripted", *map(str, options), env={"OPENAI_API_KEY": "k"})
    assert ran.code == 0, ran.err
    lines = read_lines(folder / FILE)
    assert sorted(line.key for line in lines) == [("answer", sample) for sample in range(64)]
    assert Counter(line.reward for line in lines) == {1.0: 64}
    assert server.peak == 16


def test_killed_at_ten_random_moments(task: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    first = [PROGRAM, "run", task, "--agent", "oracle", "-n", "100", "--concurrency", "3", "-o", folder]
    again = [PROGRAM, "run", "--resume", folder, "--concurrency", "3"]
    draw = random.Random(1)
    done = [0]
    for _ in range(10):
        process = subprocess.Popen(
            again if (folder / "run.json").exists() else first, stdout=subprocess.DEVNULL, env=environment()
        )
        # However slow this machine is, it is at work when it dies.
        while process.poll() is None and len(read_lines(folder / FILE)) == done[-1]:
            time.sleep(0.02)
        time.sleep(0.4 * draw.random())
        process.send_signal(signal.SIGKILL)
        process.wait()
        done.append(len(read_lines(folder / FILE)))
    assert done[1] < 100
    ran = run("run", "--resume", folder, "-q")
    assert ran.code == 0, ran.err
    assert sorted(line.key for line in read_lines(folder / FILE)) == [("answer", sample) for sample in range(100)]
    # What a killed process left is found, and then nothing is.
    asyncio.run(BubblewrapProvider().reap("run run"))
    assert asyncio.run(BubblewrapProvider().reap("run run")) == 0
    Store().reap()
    assert [built.name for built in Store().all()].count("answer") == 1


def test_the_published_numbers_of_tau_bench_in_a_runs_table(tmp_path: Path) -> None:
    """A run of 50 tasks whose attempts were solved as in the published sample, and `score` on it."""
    tasks = [write_task(tmp_path / "tasks" / f"airline-{number}") for number in range(len(AIRLINE))]
    folder = tmp_path / "run"
    assert run("run", *tasks, "--agent", "nop", "-n", "4", "--concurrency", "8", "-q", "-o", folder).code == 0
    lines = {line.key: line for line in read_lines(folder / FILE)}
    assert len(lines) == 200
    for (task, sample), line in lines.items():
        reward = float(sample < AIRLINE[int(task.removeprefix("airline-"))])
        (grade,) = (folder / task / str(sample) / "grades").glob("*.json")
        changed = json.loads(grade.read_text()) | {"score": reward, "bounds": [reward, reward], "status": "graded"}
        grade.write_text(json.dumps(changed))
        assert isinstance(line, Line)
    scored = run("score", folder, *(word for k in "1234" for word in ("-k", k)), "--json").json["overall"]
    assert [round(scored["pass_all"][k], 4) for k in "1234"] == [0.42, 0.2733, 0.22, 0.2]
    assert [round(scored["pass_at"][k], 4) for k in "1234"] == [0.42, 0.5667, 0.66, 0.72]
