"""A delivery is made from real tasks and a real run, received, and tampered with in every way that `verify` knows."""

from __future__ import annotations

import asyncio
import json
import shutil
import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from rubricgrade.cli.app import app
from rubricgrade.delivery.graded import Graded, write_graded
from rubricgrade.delivery.making import Terms, deliver
from rubricgrade.delivery.records import Manifest, Removed, Report
from rubricgrade.delivery.removing import read_removed
from rubricgrade.delivery.verifying import Problem, verify
from rubricgrade.errors import InputError
from rubricgrade.runs.calibration import calibrate
from rubricgrade.runs.standing import attempts_of
from tests.delivery.conftest import World

ALL = Graded(all=True, best=True, pairs=True)


@pytest.fixture(scope="session")
def delivered(world: World, played: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    asyncio.run(calibrate(played, probe=False))
    top = tmp_path_factory.mktemp("deliveries")
    terms = Terms(heldout=0.25, key=top / "key", group_by=("family",), license="MIT", graded=ALL)
    flaky = Removed(task="ledger-2", reason="flaky", why="graded 1 and then 0.5")
    deliver(world.tasks, top / "first", terms, run=played, removed=[flaky])
    return top / "first"


@pytest.fixture
def copied(delivered: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(delivered, tmp_path / "first"))


def found(folder: Path, *, key: bool = True, prove: bool = False, **more: Any) -> list[Problem]:
    file = more.pop("file", None)

    async def collect() -> list[Problem]:
        return [each async for each in verify(folder, key=file if key else None, prove=prove, **more)]

    return asyncio.run(collect())


@pytest.fixture
def key(delivered: Path) -> Path:
    return delivered.parent / "key"


def manifest_of(folder: Path) -> Manifest:
    return Manifest.model_validate_json((folder / "manifest.json").read_bytes())


def sides(folder: Path) -> dict[str, list[str]]:
    made: dict[str, list[str]] = {"train": [], "heldout": []}
    for name, each in manifest_of(folder).tasks.items():
        made[each.side].append(name)
    return made


def test_a_good_delivery_holds(delivered: Path, key: Path) -> None:
    assert found(delivered, file=key) == []


def test_tasks_are_proved_on_the_receiving_side(world: World, tmp_path: Path) -> None:
    two = [task for task in world.tasks if task.id in {"clamp-1", "chunks-1"}]
    deliver(two, tmp_path / "small", Terms(heldout=0.5, key=tmp_path / "key"))
    assert found(tmp_path / "small", file=tmp_path / "key", prove=True) == []
    train = sides(tmp_path / "small")["train"][0]
    solve = tmp_path / "small/tasks" / train / "solution/solve.sh"
    solve.write_text("#!/bin/bash\ntrue\n")
    messages = [each.message for each in found(tmp_path / "small", file=tmp_path / "key", prove=True)]
    assert any(message.startswith("the reference solves it") for message in messages)


def test_groups_stay_together_and_the_held_out_are_sealed(delivered: Path, world: World) -> None:
    parts = sides(delivered)
    families = {side: {world.families[name] for name in names} for side, names in parts.items()}
    assert families["train"] & families["heldout"] == set()
    assert parts["heldout"]
    for name in parts["heldout"]:
        there = {path.name for path in (delivered / "heldout" / name).iterdir()}
        assert there == {"task.toml", "instruction.md", "environment", "sealed.bin"}


def test_nothing_of_a_held_out_task_is_in_what_is_trained_on(delivered: Path) -> None:
    held = sides(delivered)["heldout"]
    for file in (delivered / "trajectories").iterdir():
        assert {json.loads(line)["task"] for line in file.read_text().splitlines()}.isdisjoint(held)
    secret = {(path.read_bytes()) for path in Path(delivered).rglob("solve.sh") if path.parts[-3] in held}
    assert secret == set()


def test_the_figures_equal_a_recount_from_the_lines(delivered: Path, played: Path) -> None:
    report = Report.model_validate_json((delivered / "report.json").read_bytes())
    lines = [json.loads(line) for line in (played / "trajectories.jsonl").read_text().splitlines()]
    manifest = manifest_of(delivered)
    for side, part in report.parts.items():
        names = [name for name, each in manifest.tasks.items() if each.side == side]
        assert part.tasks == len(names)
        for row in part.baseline:
            its = [name for name in names if row.name in {"overall", manifest.tasks[name].category}]
            rewards = {name: [line["reward"] for line in lines if line["task"] == name] for name in its}
            assert row.rollouts == sum(map(len, rewards.values())) == 2 * len(its)
            assert row.reward == pytest.approx(statistics.mean(map(statistics.mean, rewards.values())))
            rates = [sum(reward == 1 for reward in each) / len(each) for each in rewards.values()]
            assert row.pass_at[1] == pytest.approx(statistics.mean(rates))
        assert sum(band.tasks for band in part.bands) == len(names)
    assert {each.task: each.reason for each in report.removed} == {
        "chunks-3": "solved",
        "clamp-3": "solved",
        "ledger-2": "flaky",
    }
    assert manifest.removed == report.removed
    text = (delivered / "report.md").read_text()
    assert "| chunks-3 | solved |" in text
    assert "graded 1 and then 0.5" in text


def test_training_data_is_what_it_says(delivered: Path) -> None:
    rows = {
        path.stem: [json.loads(line) for line in path.read_text().splitlines()]
        for path in (delivered / "trajectories").iterdir()
    }
    train = sides(delivered)["train"]
    assert len(rows["all"]) == 2 * len(train)
    assert [row["task"] for row in rows["best"]] == train
    assert all(row["reward"] == 1 for row in rows["best"])
    assert all(row["chosen_reward"] - row["rejected_reward"] >= 0.2 - 1e-9 for row in rows["pairs"])
    assert all(row["chosen"] != row["rejected"] for row in rows["pairs"])
    wide = [row for row in rows["all"] if row["sample"] == 1 and row["reward"] <= 0.8 + 1e-9]
    assert [row["task"] for row in rows["pairs"]] == [row["task"] for row in wide]


def test_training_data_as_parquet_has_the_same_rows(delivered: Path, played: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="extra 'parquet' is not installed")
    train = set(sides(delivered)["train"])
    attempts = [one for one in attempts_of(played) if one.line.task in train]
    write_graded(tmp_path, attempts, replace(ALL, form="parquet"))
    for path in (delivered / "trajectories").iterdir():
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        rows = parquet.read_table(tmp_path / "trajectories" / f"{path.stem}.parquet").to_pylist()
        assert [spare(row) for row in rows] == [spare(line) for line in lines]


def spare(value: Any) -> Any:
    """A value without nulls and empty lists: in a table every message has every field."""
    if isinstance(value, dict):
        return {key: spare(item) for key, item in value.items() if item is not None and item != []}
    return [spare(item) for item in value] if isinstance(value, list) else value


def test_the_same_tasks_give_the_same_bytes(world: World, played: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        terms = Terms(heldout=0.25, apart=tmp_path / f"{name}-hidden", graded=ALL)
        deliver(world.tasks, tmp_path / name / "same", terms, run=played)
    one, two = (manifest_of(tmp_path / name / "same") for name in ("one", "two"))
    assert one == two
    assert found(tmp_path / "one/same", key=False, apart=tmp_path / "two-hidden") == []


def test_without_the_key_the_rest_is_checked_and_the_held_out_stay_open(delivered: Path) -> None:
    problems = found(delivered, key=False)
    assert [each.open for each in problems] == [True] * len(sides(delivered)["heldout"])


def test_a_changed_byte_is_found(copied: Path, key: Path) -> None:
    file = copied / "tasks" / sides(copied)["train"][0] / "instruction.md"
    data = bytearray(file.read_bytes())
    data[0] ^= 1
    file.write_bytes(data)
    assert [(each.file, each.message.split(":")[0]) for each in found(copied, file=key)] == [
        (str(file.relative_to(copied)), "was changed since it was delivered")
    ]


def test_a_missing_task_an_added_file_and_a_link_are_found(copied: Path, key: Path) -> None:
    name = sides(copied)["train"][0]
    shutil.rmtree(copied / "tasks" / name)
    (copied / "tasks/extra.txt").write_text("x")
    (copied / "link").symlink_to("/etc/passwd")
    files = {each.file for each in found(copied, file=key)}
    assert {f"tasks/{name}", f"tasks/{name}/task.toml", "tasks/extra.txt", "link"} <= files


def move(folder: Path, name: str) -> None:
    """What a careless hand does: move a task to the other side, with everything that the manifest says of it."""
    manifest = manifest_of(folder)
    (folder / "heldout" / name).mkdir(parents=True)
    for part in ("task.toml", "instruction.md"):
        shutil.copy(folder / "tasks" / name / part, folder / "heldout" / name / part)
    shutil.rmtree(folder / "tasks" / name)
    tasks = {**manifest.tasks, name: manifest.tasks[name].model_copy(update={"side": "heldout", "labels": {}})}
    from rubricgrade.delivery.making import hashes

    lines = (folder / "groups.jsonl").read_text()
    (folder / "groups.jsonl").write_text(
        "".join(
            line.replace('"side":"train"', '"side":"heldout"') if json.loads(line)["task"] == name else line
            for line in lines.splitlines(keepends=True)
        )
    )
    files = hashes(folder)
    (folder / "manifest.json").write_text(
        manifest.model_copy(update={"tasks": tasks, "files": files}).model_dump_json() + "\n"
    )


def test_a_twin_moved_across_the_split_is_found_even_with_matching_hashes(copied: Path, key: Path) -> None:
    name = next(name for name in sides(copied)["train"] if name.endswith("-2"))
    move(copied, name)
    messages = [each.message for each in found(copied, file=key)]
    other = name.replace("-2", "-1")
    assert any(f"{other} and {name} are near twins" in message for message in messages)


@pytest.mark.parametrize("where", ["heldout/{held}/tests/rubric.yaml", "tasks/{train}/environment/notes.json"])
def test_a_sealed_file_left_open_is_found(copied: Path, key: Path, where: str) -> None:
    parts = sides(copied)
    train, held = parts["train"][0], parts["heldout"][0]
    leaked = copied / where.format(train=train, held=held)
    leaked.parent.mkdir(exist_ok=True)
    shutil.copy(copied / "tasks" / train / "tests/sealed/cases.json", leaked)
    from rubricgrade.delivery.making import hashes

    manifest = manifest_of(copied).model_copy(update={"files": hashes(copied)})
    (copied / "manifest.json").write_text(manifest.model_dump_json())
    problems = found(copied, file=key)
    assert any(str(leaked.relative_to(copied)).startswith(each.file) for each in problems), problems


def test_another_key_and_a_damaged_seal_are_told(copied: Path, key: Path, tmp_path: Path) -> None:
    from rubricgrade.delivery.sealing import new_key, write_key

    write_key(new_key(), tmp_path / "other")
    held = sides(copied)["heldout"]
    assert {each.file for each in found(copied, file=tmp_path / "other")} == {f"heldout/{name}" for name in held}
    (copied / "heldout" / held[0] / "sealed.bin").write_bytes(b"gAAAA nonsense")
    assert f"heldout/{held[0]}" in {each.file for each in found(copied, file=key)}


def test_a_key_is_for_its_owner_and_never_written_over(world: World, tmp_path: Path, key: Path) -> None:
    assert key.stat().st_mode & 0o777 == 0o600
    with pytest.raises(InputError, match="is there already"):
        deliver(world.tasks, tmp_path / "again", Terms(heldout=0.25, key=key))
    assert not (tmp_path / "again").exists()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("terms", "told"),
    [
        (lambda _: Terms(heldout=0.2), "need a file for their key"),
        (lambda top: Terms(heldout=0.2, key=top / "out/key"), "outside of the delivery"),
        (lambda top: Terms(heldout=0.2, apart=top / "out/hidden"), "outside of the delivery"),
    ],
)
def test_what_would_undo_the_seal_is_refused(world: World, tmp_path: Path, terms: Any, told: str) -> None:
    with pytest.raises(InputError, match=told):
        deliver(world.tasks, tmp_path / "out", terms(tmp_path))
    assert not (tmp_path / "out").exists()


def test_grouping_by_what_no_task_has_is_refused(world: World, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"by 'famly': no task has this.*they have category, difficulty, family"):
        deliver(world.tasks, tmp_path / "out", Terms(group_by=("family", "famly")))
    assert not (tmp_path / "out").exists()


def test_two_tasks_of_one_name_are_refused(world: World, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="two tasks are named 'clamp-1'"):
        deliver([world.tasks[0], world.tasks[0]], tmp_path / "out")


def test_names_and_reasons_are_text_in_the_report(world: World, tmp_path: Path) -> None:
    bad = Removed(
        task="clamp-3", reason="broken", why="![x](http://e.test/x) | <script>alert(1)</script>\n# no\x1b[31m"
    )
    deliver(world.tasks, tmp_path / "out", removed=[bad])
    text = (tmp_path / "out/report.md").read_text()
    assert "<script>" not in text
    assert "![x]" not in text
    assert "\x1b" not in text
    assert "\n# no" not in text


def test_from_the_command_line(world: World, played: Path, tmp_path: Path) -> None:
    runner = CliRunner()
    tasks = [str(task.folder) for task in world.tasks]
    out = tmp_path / "d"
    made = runner.invoke(app, ["deliver", *tasks, "--runs", str(played), "--heldout", "0.25", "--out", str(out)])
    assert made.exit_code == 0, made.output
    key = tmp_path / "d.key"
    checked = runner.invoke(app, ["deliver", "verify", str(out), "--quick", "--key", str(key)])
    assert checked.exit_code == 0, checked.output
    assert runner.invoke(app, ["deliver", "verify", str(out), "--quick"]).exit_code == 3
    opened = runner.invoke(app, ["deliver", "unseal", str(out), "--key", str(key), "--into", str(tmp_path / "whole")])
    assert opened.exit_code == 0, opened.output
    held = sides(out)["heldout"]
    assert sorted(path.name for path in (tmp_path / "whole").iterdir()) == sorted(held)
    assert (tmp_path / "whole" / held[0] / "tests/rubric.yaml").is_file()
    (out / "README.md").write_text("other")
    assert runner.invoke(app, ["deliver", "verify", str(out), "--quick", "--key", str(key)]).exit_code == 1


def test_what_is_left_out_is_said(world: World, tmp_path: Path) -> None:
    rows = [{"task": name, "reason": "broken", "why": f"{name} can't be solved"} for name in ("clamp-3", "no-such")]
    (tmp_path / "out.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = ["deliver", str(world.folder), "--remove", str(tmp_path / "out.jsonl"), "--out"]
    made = CliRunner().invoke(app, [*command, str(tmp_path / "d")])
    assert made.exit_code == 0, made.output
    assert "left out: clamp-3: broken: clamp-3 can't be solved\n" in made.stdout
    assert "left out: no-such" not in made.stdout
    assert "not among these tasks: no-such" in made.stderr
    told = CliRunner().invoke(app, [*command, str(tmp_path / "e"), "--json"])
    assert json.loads(told.stdout)["removed"] == rows[:1]


def test_a_reason_may_hold_what_python_takes_for_the_end_of_a_line(tmp_path: Path) -> None:
    row = {"task": "a", "reason": "flaky", "why": "one\u2028two\x85three"}
    (tmp_path / "removed.jsonl").write_text(json.dumps(row, ensure_ascii=False) + "\n{}\n")
    with pytest.raises(InputError) as caught:
        read_removed(tmp_path / "removed.jsonl")
    assert [fault.line for fault in caught.value.faults] == [2]
