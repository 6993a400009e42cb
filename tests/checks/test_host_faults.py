"""What the host fails in leaves a check open; it is no verdict on what the agent has left."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from rubricgrade.checks import Bench
from rubricgrade.checks.dialogue import Attempt, Trouble
from rubricgrade.checks.inside import readers, runner
from rubricgrade.checks.inside.artifacts import Folder
from rubricgrade.checks.inside.finding import BadArtifact
from rubricgrade.checks.inside.wire import WORKSPACE
from rubricgrade.checks.messages import Reading
from rubricgrade.errors import SandboxLost
from rubricgrade.evidence import Document
from rubricgrade.sandbox import Provider, state
from rubricgrade.sandbox.live import BubblewrapSandbox
from tests.checks.conftest import Ask, Episode, cases, located, rubric_of


def refuse(monkeypatch: pytest.MonkeyPatch, name: str, number: int) -> None:
    """Have this process fail to open what is called so."""
    really = os.open

    def fail(path: Any, *arguments: Any, **settings: Any) -> int:
        if path == name:
            raise OSError(number, os.strerror(number))
        return really(path, *arguments, **settings)

    monkeypatch.setattr(os, "open", fail)


@pytest.mark.parametrize("check", [{"exists": "a.txt"}, {"not": {"exists": "a.txt"}}, {"not": {"exists": "b.txt"}}])
def test_files_that_the_host_could_not_copy(ask: Ask, monkeypatch: pytest.MonkeyPatch, check: dict[str, Any]) -> None:
    refuse(monkeypatch, "a.txt", errno.EMFILE)
    outcome = ask.one(check, {"a.txt": "x"})
    assert (outcome.value, outcome.fault, outcome.cause) == (None, "grader", "sandbox_unavailable")
    assert "Too many open files" in outcome.message


def test_a_disk_without_room_for_the_copies(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(state, "create", fail)
    outcome = ask.one({"exists": "a.txt"}, {"a.txt": "x"})
    assert (outcome.value, outcome.fault, outcome.cause) == (None, "grader", "sandbox_unavailable")


def test_input_that_the_host_could_not_put_there(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: Any) -> None:
        raise SandboxLost("this host fails: Too many open files", by_host=True)

    monkeypatch.setattr(BubblewrapSandbox, "write", fail)
    files = cases({"stdin": "", "files": {"in.txt": "x"}, "stdout": "x"})
    outcome = ask.one({"cases": {"program": ["cat", "in.txt"], "file": "cases.json"}}, sealed=files)
    assert (outcome.value, outcome.fault, outcome.cause) == (None, "grader", "sandbox_lost")


# --- Kills from outside ---------------------------------------------------------------------------------------------


def processes(mark: str) -> list[int]:
    """Processes on this host whose command line has a mark in it, innermost last."""
    found: list[int] = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and mark.encode() in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue
    return sorted(found)


@contextmanager
def killing(mark: str) -> Generator[list[int]]:
    """Kill the first process with a mark, as what watches a host's memory would."""
    killed: list[int] = []

    def watch() -> None:
        end = time.monotonic() + 30
        while not killed and time.monotonic() < end:
            for pid in processes(mark)[-1:]:
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)
            time.sleep(0.01)

    thread = threading.Thread(target=watch)
    thread.start()
    yield killed
    thread.join()


def test_a_program_that_somebody_outside_has_killed_is_run_again(ask: Ask) -> None:
    with killing("a-program-to-kill") as killed:
        check = {"command": {"run": ["python3", "slow.py", "a-program-to-kill"], "equals": "done"}}
        outcome = ask.one(check, {"slow.py": "import time\ntime.sleep(0.7)\nprint('done')\n"})
    assert killed
    assert outcome.value == 1


@contextmanager
def killing_named(name: str, times: int) -> Generator[list[int]]:
    """Kill the first processes that go by a name."""
    killed: list[int] = []

    def watch() -> None:
        end = time.monotonic() + 30
        while len(killed) < times and time.monotonic() < end:
            for folder in Path("/proc").iterdir():
                with suppress(OSError):
                    pid = int(folder.name) if folder.name.isdigit() else 0
                    if pid and pid not in killed and (folder / "comm").read_text().strip() == name:
                        os.kill(pid, signal.SIGKILL)
                        killed.append(pid)
                if len(killed) == times:
                    return
            time.sleep(0.01)

    thread = threading.Thread(target=watch)
    thread.start()
    yield killed
    thread.join()


TEST = "from f import work\n\ndef test_work():\n    assert work() == 5\n"


@pytest.mark.parametrize(
    ("check", "sealed", "times"),
    [
        ({"cases": {"function": "f.py:work", "file": "cases.json"}}, cases({"expected": 5}), 1),
        # The test and all of its twins.
        ({"pytest": {"files": ["test_f.py"], "fail_to_pass": ["test_f.py::test_work"]}}, {"test_f.py": TEST}, 6),
    ],
)
def test_a_function_that_somebody_outside_has_killed_is_called_again(
    ask: Ask, check: dict[str, Any], sealed: dict[str, Any], times: int
) -> None:
    name = f"kill-{os.getpid()}-{times}"
    work = f"def work():\n    import ctypes, time\n    ctypes.CDLL(None).prctl(15, b'{name}', 0, 0, 0)\n"
    with killing_named(name, times) as killed:
        outcome = ask.one(check, {"f.py": f"{work}    time.sleep(0.7)\n    return 5\n"}, sealed=sealed)
    assert len(killed) == times
    assert outcome.value == 1


def test_what_kills_itself_gets_what_it_has_earned(ask: Ask) -> None:
    run = ["sh", "-c", "kill -9 $$"]
    told, met = ask.all([{"command": {"run": run}}, {"command": {"run": run, "exit_code": 137}}])
    assert (told.value, told.fault) == (0, None)
    assert "exit code 137, expected 0" in told.message
    assert met.value == 1


# --- In the checker's sandbox ---------------------------------------------------------------------------------------


LOOKS: Sequence[Callable[[Folder], object]] = (
    lambda folder: folder.data("a.txt"),
    lambda folder: folder.has("a.txt"),
    lambda folder: folder.size("a.txt"),
)


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize(
    ("number", "origin"), [(errno.EIO, "grader"), (errno.ENFILE, "grader"), (errno.EMFILE, "unclear")]
)
def test_a_file_that_can_not_be_read_here_is_not_absent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, look: Callable[[Folder], object], number: int, origin: str
) -> None:
    (tmp_path / "a.txt").write_text("x")
    folder = Folder(str(tmp_path))
    refuse(monkeypatch, "a.txt", number)
    with pytest.raises(OSError, match="a\\.txt") as told:
        look(folder)
    monkeypatch.undo()
    told.value.filename = f"{WORKSPACE}/a.txt"
    assert runner.fault_of(told.value)["origin"] == origin


def test_a_file_that_the_agent_has_closed_is_its_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.txt").write_text("x")
    refuse(monkeypatch, "a.txt", errno.EACCES)
    with pytest.raises(BadArtifact, match="Permission denied"):
        Folder(str(tmp_path)).data("a.txt")


def test_a_library_of_ours_that_can_not_be_imported_is_no_fault_of_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openpyxl", ModuleType("openpyxl"))
    monkeypatch.setattr(runner, "PATH", tuple(sys.path))
    with pytest.raises(ImportError) as told:
        readers.workbook(b"", "m.xlsx")
    assert runner.fault_of(told.value)["origin"] == "grader"


@pytest.mark.parametrize("text", ["raise AttributeError('half of it')\n", "import nothing_of_that_name\n", "x = (\n"])
def test_nor_one_of_which_half_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    (tmp_path / "openpyxl.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(runner, "PATH", tuple(sys.path))
    for name in [name for name in sys.modules if name.partition(".")[0] == "openpyxl"]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises((AttributeError, ImportError, SyntaxError)) as told:
        readers.workbook(b"", "m.xlsx")
    assert runner.fault_of(told.value)["origin"] == "grader"


def test_a_file_that_breaks_a_library_is_the_agents(ask: Ask) -> None:
    outcome = ask.one({"xlsx": {"path": "m.xlsx", "cell": "A1", "equals": 1}}, {"m.xlsx": "no workbook"})
    assert outcome.fault == "agent"


# --- Documents ------------------------------------------------------------------------------------------------------


def reading(provider: Provider, monkeypatch: pytest.MonkeyPatch, *deaths: Trouble) -> tuple[Document, ...]:
    """The documents of a workspace whose reader dies so often while it reads the first of them."""
    really, left = Bench._attempt, list(deaths)

    async def attempt(bench: Bench, *arguments: Any, hear: Any, **settings: Any) -> Attempt:
        if left:
            hear(Reading(op="reading", path="a.txt", world=False))
            return Attempt(None, left.pop(0), frozenset(), ran_agents_code=False)
        return await really(bench, *arguments, hear=hear, **settings)

    monkeypatch.setattr(Bench, "_attempt", attempt)

    async def main() -> tuple[Document, ...]:
        async with Bench(trajectory, rubric_of([], {}), provider) as bench:
            return await bench.documents(["*.txt"])

    with tempfile.TemporaryDirectory() as folder:
        trajectory = located(Episode({"a.txt": "one", "b.txt": "two"}), Path(folder))
        return asyncio.run(main())


DIED = Trouble("unclear", "died", "it ended with exit code 137")
SHORT = Trouble("unclear", "lost", "the host ran out of memory", by_host=True)


def test_a_reader_that_dies_once_is_no_proof_against_a_file(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert [document.text for document in reading(provider, monkeypatch, DIED)] == ["one", "two"]


def test_a_file_that_kills_two_readers_is_withheld(provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = reading(provider, monkeypatch, DIED, DIED)
    assert first.withheld
    assert second.text == "two"


def test_a_host_that_kills_two_readers_withholds_nothing(provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SandboxLost, match="ran out of memory"):
        reading(provider, monkeypatch, SHORT, SHORT)
