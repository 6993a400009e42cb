"""Ctrl-C and SIGTERM: every verb ends in order, says what is kept, and what was cut goes on where it stopped."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from rubricgrade.result import Grade
from rubricgrade.runs.lines import FILE, read_lines
from tests.chat.scripted import ScriptedServer, Wire, completion
from tests.cli.program import PROGRAM, environment, run, write_episode, write_rubric
from tests.episode.making import bash, by_turn, turns_of, write_task

JUDGED = "{id: polite, points: 1, description: is polite, examples: [{text: Hi., expect: met}], judge: {}}"
HANGS = Wire(b"", hang=True)


class Started:
    """A running program, with a place of its own for sandboxes so that one which is left is found."""

    def __init__(self, place: Path, argv: Sequence[str | Path], *, ignored: bool = False, **env: str) -> None:
        self.place = place
        place.mkdir(exist_ok=True)
        self.process = subprocess.Popen(
            list(map(str, argv)),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(TMPDIR=str(place), OPENAI_API_KEY="sk-of-a-test", **env),
            # Tests that run in the background have it ignored, and so would the program.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN if ignored else signal.SIG_DFL),  # noqa: PLW1509 - no thread of ours runs here
            start_new_session=True,
        )

    def wait_until(self, happened: Callable[[], object]) -> None:
        while not happened():
            assert self.process.poll() is None, self.process.communicate()
            time.sleep(0.01)

    def send(self, *signals: signal.Signals) -> None:
        """To all of its process group, as a terminal does."""
        for each in signals:
            os.killpg(self.process.pid, each)

    def ended(self) -> tuple[int, str, str]:
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out, err

    def left(self) -> list[str]:
        """Sandboxes and processes that are still there."""
        entries = [str(path) for path in self.place.glob("sandbox-*/[ns]-*")]
        return entries + [name for name in _command_lines() if str(self.place) in name]


def _command_lines() -> Iterator[str]:
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            yield file.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue  # it has just ended


@pytest.fixture
def task(tmp_path: Path) -> Path:
    return write_task(tmp_path / "Aufgaben für später" / "answer")


@pytest.mark.parametrize(
    ("signals", "code"),
    [
        ((signal.SIGINT,), 130),
        ((signal.SIGTERM,), 143),
        ((signal.SIGINT, signal.SIGINT), 130),  # `timeout -s INT` sends two
        ((signal.SIGTERM, signal.SIGTERM), 143),
    ],
)
def test_a_run_is_cut_and_goes_on_with_what_is_missing(
    task: Path, tmp_path: Path, server: ScriptedServer, signals: tuple[signal.Signals, ...], code: int
) -> None:
    answers = by_turn(bash("echo 42 > answer.txt"), completion("done"))
    # The first episode is played to its end, all others wait for their first answer.
    server.script = [lambda seen: answers(seen) if seen is server.seen[0] or turns_of(seen) else HANGS]
    folder = tmp_path / "first run"
    options = ["-n", "4", "--concurrency", "2", "--api-base", server.base, "--max-steps", "7", "-o", folder]
    program = Started(tmp_path / "tmp", [PROGRAM, "run", task, "--agent", "litellm:openai/scripted", *options])
    program.wait_until(lambda: (folder / FILE).exists() and len(server.seen) == 4)
    program.send(*signals)
    ended, _, err = program.ended()
    assert ended == code, err
    assert err.startswith("interrupted; what is finished is kept; go on with: rubricgrade run --resume "), err
    assert len(err.splitlines()) == 1
    assert program.left() == []
    first = (folder / FILE).read_bytes()
    assert len(read_lines(folder / FILE)) == 1

    server.script = [answers]
    command = shlex.split(err.partition("go on with: rubricgrade ")[2])
    assert command[:3] == ["run", "--resume", str(folder)]
    assert {"--concurrency", "--api-base", "--max-steps"} <= {*command}
    assert "-n" not in command
    resumed = run(*command, env={"OPENAI_API_KEY": "sk-of-a-test"})
    assert resumed.code == 0, resumed.err
    assert len(server.seen) == 4 + 3 * 2, "only what was missing is made"
    assert (folder / FILE).read_bytes().startswith(first)
    assert sorted(line.key for line in read_lines(folder / FILE)) == [("answer", sample) for sample in range(4)]


def judged(tmp_path: Path) -> tuple[Path, Path]:
    """A rubric with a judged criterion, and a task that is graded by the same one."""
    rubric = write_rubric(tmp_path / "rubric", criteria=[JUDGED])
    task = write_task(tmp_path / "answer", {"tests/rubric.yaml": rubric.read_text()})
    return rubric, task


VERBS: dict[str, tuple[list[str], str]] = {
    "calibrate": (["calibrate", "{run}"], "; nothing was written"),
    "deliver verify": (["deliver", "verify", "{delivery}"], ""),
    "grade": (
        ["grade", "{rubric}", "{run}/answer", "--no-store"],
        "; grades so far are not kept (--no-store); the same",
    ),
    "judge check": (["judge", "check", "openai/m", "--api-base", "{base}"], ""),
    "lint": (["lint", "--llm", "{rubric}"], ""),
    "preview": (["preview", "{rubric}", "-c", "polite"], ""),
    "probe": (["probe", "{rubric}"], ""),
    "redteam": (["redteam", "{task}"], ""),
    "regrade": (["regrade", "{run}"], "; new grades so far are kept; the same command"),
    "task check": (["task", "check", "{task}"], ""),
    "task quality": (["task", "quality", "{task}"], ""),
    "test": (["test", "{rubric}"], ""),
}


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_that_waits_for_a_judge_is_interrupted(verb: str, tmp_path: Path, server: ScriptedServer) -> None:
    rubric, task = judged(tmp_path)
    server.script = [HANGS]
    words, kept = VERBS[verb]
    names = {"rubric": rubric, "task": task, "base": server.base, "run": tmp_path / "run", "delivery": tmp_path / "out"}
    if "{run}" in " ".join(words):
        assert run("run", task, "--agent", "nop", "-o", names["run"], "-q").code == 3  # nobody has judged it
    if verb == "deliver verify":
        assert run("deliver", task, "--out", names["delivery"]).code == 0
    base = "--api-base" if verb == "grade" else "--judge-api-base"
    options = [] if verb == "judge check" else ["--judge", "openai/m", base, server.base]
    program = Started(tmp_path / "tmp", [PROGRAM, *(word.format(**names) for word in words), *options])
    program.wait_until(lambda: server.seen)
    program.send(signal.SIGINT)
    code, _, err = program.ended()
    assert code == 130, err
    assert f"interrupted{kept}" in err
    assert "Traceback" not in err
    assert program.left() == []


def test_what_is_graded_is_summed_up_with_the_signal_s_code(tmp_path: Path, server: ScriptedServer) -> None:
    rubric = write_rubric(tmp_path / "r", criteria=["{id: polite, points: 1, description: is polite, judge: {}}"])
    episodes = [write_episode(tmp_path / name) for name in ("a", "b")]
    reply = {
        "reasoning": "It is.",
        "evidence": [{"quote": "The total is 48.2 lakh.", "where": "[1].text"}],
        "answer": "yes",
    }
    server.script = [completion(json.dumps(reply)), HANGS]
    options = ["--judge", "openai/m", "--api-base", server.base, "--no-cache", "--concurrency", "1", "--json"]
    program = Started(tmp_path / "tmp", [PROGRAM, "grade", rubric, *episodes, *options])
    program.wait_until(lambda: len(server.seen) == 2)
    program.send(signal.SIGTERM)
    code, out, err = program.ended()
    document: dict[str, Any] = json.loads(out)
    assert (code, document["summary"]["exit_code"], document["summary"]["missing"]) == (143, 143, 1)
    assert [Grade.model_validate(grade).score for grade in document["grades"]] == [1]
    assert err == "interrupted; grades so far are kept; the same command grades all again\n"


def test_half_a_delivery_is_removed(tmp_path: Path) -> None:
    tasks = [write_task(tmp_path / "tasks" / f"t{number}") for number in range(100)]
    out = tmp_path / "out" / "delivery"
    program = Started(tmp_path / "tmp", [PROGRAM, "deliver", *tasks, "--out", out, "--heldout", "0.5"])
    program.wait_until(lambda: [*out.parent.glob(".delivery.*/tasks/*")])
    program.send(signal.SIGINT)
    code, printed, err = program.ended()
    assert (code, printed, err) == (130, "", "interrupted; nothing was made\n")
    assert [*out.parent.iterdir()] == []


def test_it_may_come_before_the_program_is_loaded(tmp_path: Path) -> None:
    program = Started(tmp_path / "tmp", [PROGRAM, "score", tmp_path], PYTHONPROFILEIMPORTTIME="1")
    assert program.process.stderr is not None
    # Python reports every module that it has imported; ours is loaded by now, and the program is not.
    while "rubricgrade.cli.interrupts" not in program.process.stderr.readline():
        assert program.process.poll() is None
    while "typer" not in program.process.stderr.readline():
        assert program.process.poll() is None
    program.send(signal.SIGINT)
    code, _, err = program.ended()
    assert code == 130
    assert [line for line in err.splitlines() if not line.startswith("import time:")] == ["interrupted"]


SCRIPT = """
import asyncio, gc, os, signal, sys, time, weakref
from rubricgrade.cli.interrupts import INTERRUPTED, complete, ending, if_interrupted, watch

watch()
if_interrupted("all is kept\x1b[2J")
try:
    {body}
except KeyboardInterrupt:
    sys.exit(ending(INTERRUPTED))
"""


def script(tmp_path: Path, body: str, *, ignored: bool = False) -> Started:
    text = SCRIPT.format(body=body.strip().replace("\n", "\n    "))
    return Started(tmp_path / "tmp", [sys.executable, "-c", text], ignored=ignored)


def test_a_second_one_ends_at_once_what_does_not_stop(tmp_path: Path) -> None:
    program = script(
        tmp_path,
        """
async def stubborn():
    while True:
        try:
            print("at work", flush=True)
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            pass
complete(stubborn())
""",
    )
    assert program.process.stdout is not None
    assert program.process.stdout.readline() == "at work\n"
    while program.process.poll() is None:
        program.send(signal.SIGINT)
        time.sleep(0.05)
    code, out, err = program.ended()
    assert (code, err) == (130, "ended at once; all is kept\\u{1b}[2J\n")
    assert out == "at work\n", "it was asked once before"


DROPPED = """
def interrupted(_):
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0)
class Thing: pass
thing = Thing()
reference = weakref.ref(thing, interrupted)
del thing
time.sleep(600)
"""
"""Is interrupted where Python can't raise it."""


def test_one_that_python_drops_in_a_callback_comes_again(tmp_path: Path) -> None:
    program = script(tmp_path, DROPPED)
    assert program.ended() == (130, "", "interrupted; all is kept\\u{1b}[2J\n")


def test_also_if_it_comes_before_the_timer_has_started(tmp_path: Path) -> None:
    program = script(
        tmp_path,
        """
import threading
class Slow(threading.Timer):
    started = 0
    def start(self):
        super().start()
        Slow.started += 1
        if Slow.started < 3:
            time.sleep(600)
threading.Timer = Slow
"""
        + DROPPED,
    )
    assert program.ended() == (130, "", "interrupted; all is kept\\u{1b}[2J\n")


def test_other_errors_of_callbacks_are_shown_as_ever(tmp_path: Path) -> None:
    program = script(
        tmp_path,
        """
class Thing:
    def __del__(self): raise RuntimeError("of the thing")
Thing()
""",
    )
    code, _, err = program.ended()
    assert code == 0
    assert "RuntimeError: of the thing" in err


def test_what_fails_while_it_is_stopped_has_been_stopped(tmp_path: Path) -> None:
    program = script(
        tmp_path,
        """
from rubricgrade.errors import SandboxLost
async def fails():
    try:
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.sleep(600)
    finally:
        raise SandboxLost("the sandbox died of the same signal")
complete(fails())
""",
    )
    assert program.ended() == (143, "", "interrupted; all is kept\\u{1b}[2J\n")


def test_one_that_comes_before_the_work_begins_is_not_forgotten(tmp_path: Path) -> None:
    program = script(
        tmp_path,
        """
make = asyncio.new_event_loop
def new_event_loop():
    os.kill(os.getpid(), signal.SIGINT)
    return make()
asyncio.events.new_event_loop = new_event_loop
async def work():
    print("begins", flush=True)
    await asyncio.sleep(600)
complete(work())
""",
    )
    assert program.ended() == (130, "begins\n", "interrupted; all is kept\\u{1b}[2J\n")


def test_who_wants_it_ignored_is_obeyed(tmp_path: Path) -> None:
    program = script(
        tmp_path,
        """
os.kill(os.getpid(), signal.SIGINT)
print("goes on", flush=True)
os.kill(os.getpid(), signal.SIGTERM)
time.sleep(600)
""",
        ignored=True,
    )
    assert program.ended() == (143, "goes on\n", "interrupted; all is kept\\u{1b}[2J\n")
