"""Deliveries whose figures, trajectories or texts were changed, with the hashes renewed: what can be counted is."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest
from typer.testing import CliRunner

from rubricgrade.cli.app import app
from rubricgrade.delivery.graded import Graded
from rubricgrade.delivery.making import Terms, deliver, hashes
from rubricgrade.delivery.records import Manifest
from rubricgrade.delivery.recounting import on_trust
from rubricgrade.delivery.verifying import verify
from tests.delivery.conftest import World


def build(world: World, played: Path, top: Path, form: Literal["jsonl", "parquet"]) -> Path:
    graded = Graded(all=True, best=True, pairs=True, form=form)
    deliver(world.tasks, top / "first", Terms(heldout=0.25, key=top / "key", graded=graded), run=played)
    return top / "first"


@pytest.fixture(scope="session")
def made(world: World, played: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(world, played, tmp_path_factory.mktemp("lines"), "jsonl")


@pytest.fixture(scope="session")
def tables(world: World, played: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("pyarrow.parquet", reason="extra 'parquet' is not installed")
    return build(world, played, tmp_path_factory.mktemp("tables"), "parquet")


@pytest.fixture(params=["made", "tables"])
def either(request: pytest.FixtureRequest) -> Path:
    """A delivery with its trajectories in the one form or the other."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def copied(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "first"))


def wrong(folder: Path, key: Path) -> list[str]:
    """What is wrong after the hashes were renewed, as somebody would who wants to deceive."""
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps({**manifest, "files": hashes(folder)}))

    async def collect() -> list[str]:
        return [f"{each.file}: {each.message}" async for each in verify(folder, key=key, prove=False)]

    return asyncio.run(collect())


def edit(folder: Path, name: str, change: Callable[[Any], None]) -> None:
    document = json.loads((folder / name).read_text())
    change(document)
    (folder / name).write_text(json.dumps(document))


def rows(folder: Path, name: str, change: Callable[[list[Any]], None]) -> str:
    """Change the rows of a file of trajectories; returns its path in the delivery."""
    file = folder / "trajectories" / f"{name}.jsonl"
    if file.exists():
        found = [json.loads(line) for line in file.read_text().split("\n") if line]
        change(found)
        file.write_text("".join(json.dumps(row) + "\n" for row in found))
        return f"trajectories/{name}.jsonl"
    import pyarrow as pa
    from pyarrow import parquet

    file = file.with_suffix(".parquet")
    table: Any = parquet.read_table(file)
    found = table.to_pylist()
    change(found)
    parquet.write_table(pa.Table.from_pylist(found, schema=table.schema), file)
    return f"trajectories/{name}.parquet"


def test_what_was_made_holds(either: Path, tmp_path: Path) -> None:
    assert wrong(Path(shutil.copytree(either, tmp_path / "first")), either.parent / "key") == []


def test_rewards_that_the_figures_do_not_come_from(tmp_path: Path, either: Path) -> None:
    copied = Path(shutil.copytree(either, tmp_path / "first"))

    def nothing(found: list[Any]) -> None:
        for row in found:
            row["reward"] = 0.0

    rows(copied, "all", nothing)
    said = "\n".join(wrong(copied, either.parent / "key"))
    assert "report.json: train: how often tasks were solved is not what trajectories/ says" in said
    assert "report.json: train: the baseline of overall is not what trajectories/ says" in said
    assert "0 solved, mean reward 0.000" in said
    assert "and the file of all attempts do not say the same of attempt 0" in said
    assert "that is not among all" in said


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda found: found.append({**found[0], "task": "no-such-task"}), "'no-such-task' (1), which is not in this"),
        (lambda found: found.append(found[0]), "twice"),
        (lambda found: found[0].update(reward=7.0), "row 1 can't be used: 'reward'"),
        (lambda found: found[0].update(reward=float("nan")), "row 1 can't be used: 'reward'"),
        (lambda found: found[0].update(messages=[]), "row 1 can't be used: 'messages'"),
        (lambda found: found.pop(), "train: the baseline of overall"),
    ],
)
def test_trajectories_that_no_run_has_left(
    tmp_path: Path, either: Path, change: Callable[[list[Any]], None], said: str
) -> None:
    copied = Path(shutil.copytree(either, tmp_path / "first"))
    rows(copied, "all", change)
    assert any(said in each for each in wrong(copied, either.parent / "key"))


def test_a_trajectory_of_a_held_out_task(tmp_path: Path, either: Path) -> None:
    copied = Path(shutil.copytree(either, tmp_path / "first"))
    tasks = json.loads((copied / "manifest.json").read_text())["tasks"]
    held = next(name for name, each in tasks.items() if each["side"] == "heldout")
    file = rows(copied, "pairs", lambda found: found[0].update(task=held))
    assert f"{file}: has attempts at '{held}' (1), which is held out" in wrong(copied, either.parent / "key")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda train: train["baseline"][-1].update(reward=0.07), "train: the baseline of overall is not what"),
        (
            lambda train: train["baseline"][-1].update(interval=[0.05, 0.09]),
            "train: the baseline of overall is not what",
        ),
        (lambda train: train["baseline"][-1].update(solved=0), "train: the baseline of overall contradicts itself"),
        (lambda train: train["baseline"].pop(), "train: the baseline of overall is not what"),
        (lambda train: train["bands"][0].update(tasks=1000), "train: its bands do not count"),
        (lambda train: train["categories"].update(other=4), "train: its categories are not those"),
        (lambda train: train["difficulties"].clear(), "train: its difficulties are not those"),
    ],
)
def test_figures_that_were_changed(copied: Path, made: Path, change: Callable[[Any], None], said: str) -> None:
    edit(copied, "report.json", lambda report: change(report["parts"]["train"]))
    assert any(said in each for each in wrong(copied, made.parent / "key"))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda report: report["proofs"][0].update(holds=999), "999 that hold and 0 that do not are not all"),
        (lambda report: report["proofs"][0].update(open=["no-such-task"], holds=11), "one that is not there"),
        (lambda report: report["proofs"].append(report["proofs"][0]), "has 2 rows on attempts"),
        (lambda report: report.update(largest=77), "77 tasks are in the largest group"),
        (lambda report: report["twins"].append(["clamp-1", "chunks-1", 0.9]), "they are not in one group"),
        (lambda report: report["removed"].append({"task": "x", "reason": "broken", "why": ""}), "was left out"),
        (lambda report: report["parts"]["heldout"]["baseline"][-1].update(rollouts=1), "heldout: the baseline"),
        (lambda report: report["parts"].pop("heldout"), "does not have the sides"),
    ],
)
def test_a_report_that_contradicts_the_manifest_or_itself(
    copied: Path, made: Path, change: Callable[[Any], None], said: str
) -> None:
    edit(copied, "report.json", change)
    assert any(said in each for each in wrong(copied, made.parent / "key"))


@pytest.mark.parametrize("name", ["report.md", "README.md"])
def test_what_people_read_is_what_the_report_says(copied: Path, made: Path, name: str) -> None:
    (copied / name).write_text((copied / name).read_text().replace("12", "1200").replace("tasks", "proven tasks"))
    assert wrong(copied, made.parent / "key") == [f"{name}: does not say what report.json and manifest.json say"]
    # Another version may word it in another way: that is no fault, and no all-clear.
    edit(copied, "manifest.json", lambda manifest: manifest["provenance"]["versions"].update(rubricgrade="0.0.1"))
    assert [each.partition(":")[2][:27] for each in wrong(copied, made.parent / "key")] == [
        " could not be compared: ano"
    ]


def test_a_category_that_its_task_does_not_have(copied: Path, made: Path) -> None:
    edit(copied, "manifest.json", lambda manifest: manifest["tasks"]["clamp-1"].update(category="hard maths"))
    said = "manifest.json: does not say what task.toml of clamp-1 says about category, difficulty and labels"
    assert said in wrong(copied, made.parent / "key")


def test_what_was_put_beside_the_trajectories(copied: Path, made: Path) -> None:
    (copied / "trajectories" / "more.jsonl").write_text("{}\n")
    assert any(each.startswith("trajectories/more.jsonl: is no file") for each in wrong(copied, made.parent / "key"))


@pytest.mark.parametrize("text", ["[" * 100_000, '{"task": "clamp-1", "task": "clamp-2"}', "\x00", "[]", '"\\ud800"'])
def test_what_is_no_row_is_told(copied: Path, made: Path, text: str) -> None:
    (copied / "trajectories" / "all.jsonl").write_text(text + "\n")
    assert any(each.startswith("trajectories/all.jsonl: can't be used") for each in wrong(copied, made.parent / "key"))


def test_what_is_only_a_word_is_said(made: Path, world: World, tmp_path: Path) -> None:
    told = CliRunner().invoke(app, ["deliver", "verify", str(made), "--quick", "--key", str(made.parent / "key")])
    assert told.exit_code == 0, told.output
    assert "the vendor's word: who made it" in told.stderr
    assert "figures of an agent on held-out tasks" in told.stderr
    assert "manifest.json is not signed" in told.stderr
    shown = CliRunner().invoke(app, ["deliver", "verify", str(made), "--quick", "--json"])
    assert json.loads(shown.stdout)["manifest"].startswith("sha256:")
    assert json.loads(shown.stdout)["on_trust"][0] == "who made it, from what, and who has reviewed it"
    deliver(world.tasks, tmp_path / "bare")
    bare = Manifest.model_validate_json((tmp_path / "bare" / "manifest.json").read_bytes())
    assert not any("agent" in each for each in on_trust(tmp_path / "bare", bare))
