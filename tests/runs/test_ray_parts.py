"""What working on a cluster is made of, without a cluster: the ledger of limits, parcels, and a grade for what is lost."""

from __future__ import annotations

import asyncio
import pickle
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rubricgrade import tree
from rubricgrade.chat import Ask
from rubricgrade.chat.sharing import Purpose
from rubricgrade.episode.task import Task
from rubricgrade.errors import InputError, MissingExtraError, StoreError
from rubricgrade.grading.unreached import unreached
from rubricgrade.loading import load_rubric
from rubricgrade.readers import load_trajectory
from rubricgrade.runs.executing import Local, Terms, choose_executor
from rubricgrade.runs.executing.ray import RayExecutor
from rubricgrade.runs.executing.ray.ledger import Ledger
from rubricgrade.runs.executing.ray.parcels import RubricParcel, TaskParcel, TrajectoryParcel
from tests.cli.program import HAS_REPORT, POLITE, SAYS_TOTAL, write_episode, write_rubric
from tests.episode.making import EXAMPLES

PLACE = "http://127.0.0.1"


def ask(
    limit: int = 2, estimate: float | None = 0.1, *, purpose: Purpose = "judge", per_minute: float | None = None
) -> Ask:
    return Ask(purpose, "m", PLACE, limit, limit, per_minute, estimate)


async def settled(task: asyncio.Task[Any]) -> bool:
    """Whether a task is done once everything that can go on has."""
    for _ in range(20):
        await asyncio.sleep(0)
    return task.done()


def test_no_more_calls_at_once_than_the_limit_whoever_asks() -> None:
    async def main() -> None:
        ledger = Ledger({"judge": None})
        for number, node in enumerate("ab"):
            assert await ledger.take(node, str(number), ask()) is None
        third = asyncio.create_task(ledger.take("a", "2", ask()))
        assert not await settled(third)
        await ledger.give("0", None)
        assert await settled(third)

    asyncio.run(main())


def test_who_stops_waiting_leaves_no_slot_behind() -> None:
    async def main() -> None:
        ledger = Ledger({"judge": None})
        assert await ledger.take("a", "0", ask(1)) is None
        waiting = asyncio.create_task(ledger.take("b", "1", ask(1)))
        assert not await settled(waiting)
        await ledger.give("1", 0.0)
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await ledger.give("0", None)
        assert await ledger.take("a", "2", ask(1)) is None
        await ledger.give("never heard of", None)

    asyncio.run(main())


def test_a_lost_nodes_slots_are_free_and_what_it_asked_for_is_paid() -> None:
    async def main() -> None:
        ledger = Ledger({"judge": 1.0})
        assert await ledger.take("a", "0", ask(2, 0.4)) is None
        assert await ledger.take("b", "1", ask(2, 0.4)) is None
        waiting = asyncio.create_task(ledger.take("b", "2", ask(2, 0.4)))
        assert not await settled(waiting)
        await ledger.forget("b")
        with pytest.raises(asyncio.CancelledError):
            await waiting
        # 0.4 are paid and 0.4 are under way, which may come to less.
        waiting = asyncio.create_task(ledger.take("a", "6", ask(2, 0.3)))
        assert not await settled(waiting)
        await ledger.give("0", 0.1)
        assert await waiting is None
        await ledger.give("6", 0.0)
        assert await ledger.take("a", "3", ask(2, 0.4)) is None
        refused = await ledger.take("a", "4", ask(2, 0.6))
        assert refused is not None
        assert (refused.kind, pickle.loads(pickle.dumps(refused)).kind) == ("budget", "budget")
        # What was refused holds no slot.
        await ledger.give("3", 0.1)
        assert await ledger.take("a", "5", ask(1, 0.3)) is None

    asyncio.run(main())


def test_a_cap_needs_a_price_and_purses_are_apart() -> None:
    async def main() -> None:
        ledger = Ledger({"judge": 0.05, "agent": None})
        refused = await ledger.take("a", "0", ask(estimate=None))
        assert refused is not None
        assert "its price is not known" in str(refused)
        assert await ledger.take("a", "1", ask(purpose="agent", estimate=None)) is None

    asyncio.run(main())


def test_a_pace_is_kept_whoever_asks_and_for_each_purpose_by_itself() -> None:
    async def main() -> None:
        ledger = Ledger({"judge": None, "agent": None})
        paced = ask(9, per_minute=0.01)
        assert await ledger.take("a", "0", paced) is None
        waiting = asyncio.create_task(ledger.take("b", "1", paced))
        assert not await settled(waiting)
        assert await ledger.take("b", "2", ask(9, purpose="agent", per_minute=0.01)) is None
        # What waits for its turn holds none of the slots.
        assert await ledger.take("b", "3", ask(3, purpose="agent")) is None
        await ledger.forget("b")
        with pytest.raises(asyncio.CancelledError):
            await waiting

    asyncio.run(main())


def test_a_model_in_a_nodes_own_process_waits_for_no_other_node() -> None:
    async def main() -> None:
        ledger = Ledger({"judge": None})
        local = replace(ask(1), model="local:m.gguf", place="local:m.gguf")
        assert await ledger.take("a", "0", local) is None
        assert await ledger.take("b", "1", local) is None
        assert not await settled(asyncio.create_task(ledger.take("a", "2", local)))
        await ledger.forget("a")

    asyncio.run(main())


def test_a_rubric_travels_with_its_sealed_files() -> None:
    rubric = load_rubric(EXAMPLES / "calc" / "tests")
    parcel = pickle.loads(pickle.dumps(RubricParcel.of(rubric)))
    opened = parcel.open()
    assert (opened, dict(opened.sealed), opened.hash) == (rubric, dict(rubric.sealed), rubric.hash)
    spoilt = RubricParcel(parcel.hash, parcel.text, {**parcel.sealed, "checks/more.py": b""})
    with pytest.raises(StoreError, match="is not the same on the node"):
        spoilt.open()


@pytest.mark.parametrize("name", ["calc", "sales-report"])
def test_a_task_travels_whole(name: str, tmp_path: Path) -> None:
    task = Task.load(EXAMPLES / name)
    opened = TaskParcel.of(task).open(tmp_path / "there")
    assert (opened.id, opened.hash, opened.rubric.hash) == (task.id, task.hash, task.rubric.hash)
    assert opened.folder != task.folder
    spoilt = TaskParcel(task.id, "sha256:0", TaskParcel.of(task).folder)
    with pytest.raises(StoreError, match=f"task {name} is not the same"):
        spoilt.open(tmp_path / "again")


@pytest.mark.parametrize("packed", [False, True])
def test_a_trajectory_travels_with_what_the_agent_left(packed: bool, tmp_path: Path) -> None:
    folder = write_episode(tmp_path / "e", report__md="hello", src__x="1")
    (folder / "workspace" / "deep").mkdir()
    (folder / "workspace" / "deep" / "link").symlink_to("/etc/passwd")
    (folder / "world" / "outbox").mkdir(parents=True)
    if packed:
        tree.pack(folder / "workspace", folder / "workspace.tar.zst")
        tree.remove(folder / "workspace")
    sent = load_trajectory(folder)
    (tmp_path / "there").mkdir()
    got = TrajectoryParcel.of(sent).open(tmp_path / "there")
    assert (got, got.hash) == (sent, sent.hash)
    assert sent.workspace is not None
    assert got.workspace is not None
    if packed:
        assert got.workspace.read_bytes() == sent.workspace.read_bytes()
    else:
        assert tree.digest(got.workspace) == tree.digest(sent.workspace)
    assert got.world is not None
    assert (got.world / "outbox").is_dir()


def test_what_nobody_could_look_at_is_open_and_says_why(tmp_path: Path) -> None:
    group = f"{{id: g, points: 2, description: a group, criteria: [{SAYS_TOTAL}]}}"
    never = "{id: never, points: 9, description: is not asked, when: vars.no, judge: {}}"
    file = write_rubric(tmp_path, gates=[HAS_REPORT], criteria=[group, POLITE, never])
    file.write_text(file.read_text() + "vars: {no: false}\n")
    episode = load_trajectory(write_episode(tmp_path / "e"))
    grade = unreached(load_rubric(file), episode, None, cause="sandbox_lost", message="it is gone")
    assert (grade.status, grade.score, grade.cause, grade.bounds) == ("ungraded", None, "sandbox_lost", (0, 1))
    assert {item.id: item.cause for item in (*grade.gates, *grade.leaves())} == {
        "has-report": "sandbox_lost",
        "says-total": "sandbox_lost",
        "polite": "sandbox_lost",
        "never": None,
    }
    assert grade.gates[0].message == "it is gone"


def test_executors_have_names() -> None:
    assert choose_executor("local") == Local()
    assert choose_executor("ray") == RayExecutor()
    assert choose_executor("ray:10.0.0.1:6379") == RayExecutor("10.0.0.1:6379")
    for name in ("ray:", "rays", "", "local:2"):
        with pytest.raises(InputError, match="there is local, ray or ray:ADDRESS"):
            choose_executor(name)


def test_without_ray_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)

    async def main() -> None:
        async with RayExecutor().workers(Terms()):
            pass

    with pytest.raises(MissingExtraError, match=r"rubricgrade\[ray\]"):
        asyncio.run(main())
