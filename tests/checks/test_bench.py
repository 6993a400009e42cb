"""The bench itself: each check once, sandboxes on first need, what happens when they fail or go missing."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from rubricgrade.checks import Bench, ItemsFault, Outcome
from rubricgrade.errors import SandboxUnavailable
from rubricgrade.result import Isolation
from rubricgrade.rubric import Check, Rubric
from rubricgrade.sandbox import Provider, Sandbox, Template
from tests.checks.conftest import Episode, located, rubric_of


class Counting:
    """A provider that counts what it opens, and spoils some of it: ``lost`` sandboxes are dead when handed out."""

    name = "counting"

    def __init__(self, provider: Provider, *, lost: frozenset[int] = frozenset(), available: bool = True) -> None:
        self.provider = provider
        self.lost = lost
        self.available = available
        self.opened = 0

    async def open(self, template: Template, *, label: str = "") -> Sandbox:
        if not self.available:
            raise SandboxUnavailable("no user namespaces: do this")
        self.opened += 1
        sandbox = await self.provider.open(template, label=label)
        if self.opened in self.lost:
            await sandbox.close()
        return sandbox

    @asynccontextmanager
    async def stage(self, source: Path, *, layer: bool = False) -> AsyncGenerator[Path]:
        async with self.provider.stage(source, layer=layer) as folder:
            yield folder

    async def reap(self, label: str | None = None, older_than: float = 0) -> int:
        return await self.provider.reap(label, older_than)


def run(folder: Path, rubric: Rubric, provider: Counting, episode: Episode | None = None) -> list[Outcome]:
    async def go() -> list[Outcome]:
        async with Bench(located(episode or Episode({"a.txt": "x"}), folder), rubric, provider) as bench:
            checks = [rubric.check_of(gate) for gate in rubric.gates]
            return list(await asyncio.gather(*(bench.run(check) for check in checks if check is not None)))

    return asyncio.run(go())


def test_a_rubric_without_checks_opens_nothing(provider: Provider, tmp_path: Path) -> None:
    counting = Counting(provider)

    async def go() -> Isolation:
        async with Bench(located(Episode(), tmp_path), rubric_of([], {}), counting) as bench:
            return bench.isolation

    assert asyncio.run(go()) == Isolation()
    assert counting.opened == 0


def test_a_shared_check_runs_once_and_checks_share_a_sandbox(provider: Provider, tmp_path: Path) -> None:
    counting = Counting(provider)
    source = "import pathlib, time\ndef check(case):\n    return time.time() % 1\n"
    gates = [{"id": f"g{n}", "description": "d", "check": "shared"} for n in range(3)]
    rubric = Rubric.build(
        {"id": "r", "checks": {"shared": {"python": "c.py:check"}}, "gates": gates}, {"c.py": source.encode()}
    )
    outcomes = run(tmp_path, rubric, counting)
    assert len({outcome.value for outcome in outcomes}) == 1
    assert outcomes[0].value is not None
    assert counting.opened == 1


def test_what_a_check_leaves_running_or_changes_in_its_process_ends_with_it(provider: Provider, tmp_path: Path) -> None:
    source = """
import json, pathlib, subprocess
def leaves(case):
    json.marked = True
    subprocess.Popen(["sleep", "60"])
    return True
def looks(case):
    running = [path.read_bytes() for path in pathlib.Path("/proc").glob("[0-9]*/cmdline")]
    return not hasattr(json, "marked") and b"sleep\\x0060\\x00" not in running
"""
    rubric = rubric_of([{"python": "c.py:leaves"}, {"python": "c.py:looks"}], {"c.py": source})

    async def go() -> list[float | None]:
        async with Bench(located(Episode(), tmp_path), rubric, provider) as bench:
            checks = [rubric.check_of(gate) for gate in rubric.gates]
            return [(await bench.run(check)).value for check in checks if check is not None]

    assert asyncio.run(go()) == [1.0, 1.0]


def test_a_check_that_ends_its_process_without_a_word_takes_no_other_with_it(
    provider: Provider, tmp_path: Path
) -> None:
    source = "import os\ndef dies(case):\n    os._exit(0)\ndef fine(case):\n    return True\n"
    rubric = rubric_of([{"python": "c.py:fine"}, {"python": "c.py:dies"}, {"python": "c.py:fine"}], {"c.py": source})
    fine, dead, well = run(tmp_path, rubric, Counting(provider))
    assert (fine.value, dead.fault, well.value) == (1.0, "grader", 1.0)


def test_what_was_opened_is_recorded(provider: Provider, tmp_path: Path) -> None:
    async def go() -> Isolation:
        async with Bench(located(Episode({"a": "x"}), tmp_path), rubric_of([], {}), provider) as bench:
            await bench.run(Check.model_validate({"exists": "a"}))
            return bench.isolation

    isolation = asyncio.run(go())
    assert (isolation.provider, isolation.network, isolation.seccomp) == ("bubblewrap", "none", True)
    assert isolation.kernel_uid


def test_a_sandbox_that_is_lost_once_costs_nothing(provider: Provider, tmp_path: Path) -> None:
    (outcome,) = run(tmp_path, rubric_of([{"exists": "a.txt"}], {}), Counting(provider, lost=frozenset({1})))
    assert (outcome.value, outcome.fault) == (1.0, None)


def test_sandboxes_that_are_lost_again_and_again_are_the_graders_fault(provider: Provider, tmp_path: Path) -> None:
    (outcome,) = run(tmp_path, rubric_of([{"exists": "a.txt"}], {}), Counting(provider, lost=frozenset(range(10))))
    assert (outcome.value, outcome.fault, outcome.cause) == (None, "grader", "sandbox_lost")


def test_a_solution_that_kills_its_own_sandbox_each_time_is_at_fault(provider: Provider, tmp_path: Path) -> None:
    # Opened in turn: checker, solution, checker, solution, checker and solution of the control.
    counting = Counting(provider, lost=frozenset({2, 4}))
    (outcome,) = run(tmp_path, rubric_of([{"command": ["true"]}], {}), counting)
    assert (outcome.value, outcome.fault, outcome.cause) == (None, "agent", None)


def test_no_sandbox_at_all_is_said_so(provider: Provider, tmp_path: Path) -> None:
    counting = Counting(provider, available=False)
    (outcome,) = run(tmp_path, rubric_of([{"exists": "a.txt"}], {}), counting)
    assert (outcome.value, outcome.fault, outcome.cause) == (None, "grader", "sandbox_unavailable")
    assert outcome.message == "no user namespaces: do this"

    async def items() -> None:
        async with Bench(located(Episode(), tmp_path / "b"), rubric_of([], {}), counting) as bench:
            await bench.items("i.py:items")

    with pytest.raises(ItemsFault) as caught:
        asyncio.run(items())
    assert (caught.value.fault, caught.value.cause) == ("grader", "sandbox_unavailable")


def test_a_workspace_that_is_gone_is_said_so(provider: Provider, tmp_path: Path) -> None:
    trajectory = located(Episode({"a.txt": "x"}), tmp_path).located(workspace=tmp_path / "gone")
    rubric = rubric_of([{"exists": "a.txt"}], {})

    async def go() -> Outcome:
        async with Bench(trajectory, rubric, provider) as bench:
            return await bench.run(Check.model_validate({"exists": "a.txt"}))

    outcome = asyncio.run(go())
    assert (outcome.value, outcome.fault, outcome.cause) == (None, "grader", "trajectory_invalid")


def test_a_caller_that_gives_up_does_not_take_the_result_from_others(provider: Provider, tmp_path: Path) -> None:
    rubric = rubric_of([{"command": ["sleep", "0.3"]}], {})
    check = rubric.check_of(rubric.gates[0])
    assert check is not None

    async def go() -> Outcome:
        async with Bench(located(Episode(), tmp_path), rubric, provider) as bench:
            first = asyncio.create_task(bench.run(check))
            second = asyncio.create_task(bench.run(check))
            await asyncio.sleep(0.05)
            first.cancel()
            return await second

    assert asyncio.run(go()).value == 1.0


def test_leaving_in_the_middle_ends_what_runs(provider: Provider, tmp_path: Path) -> None:
    rubric = rubric_of([{"command": ["sleep", "4711"]}], {})
    check = rubric.check_of(rubric.gates[0])
    assert check is not None

    async def go() -> None:
        async with Bench(located(Episode(), tmp_path), rubric, provider) as bench:
            task = asyncio.create_task(bench.run(check))
            await asyncio.sleep(0.5)
            assert not task.done()
            task.cancel()

    asyncio.run(go())
    running: list[bytes] = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it has ended meanwhile
            running.append(path.read_bytes())
    assert b"sleep\x004711\x00" not in running


def test_the_checkers_process_loads_nothing_heavy() -> None:
    program = (
        "import sys; import rubricgrade.checks.inside.runner; from rubricgrade import Case, CheckResult; "
        "print(sorted({'pydantic', 'openpyxl', 'pypdf', 'yaml', 'asyncio', 'email.parser', 'litellm'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
