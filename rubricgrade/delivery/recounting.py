"""What a delivery says in numbers, counted again from what lies in it; and what is left to take on its word.

A delivery holds no grade and no signature. So its figures can be found to contradict its trajectories and itself, but
not to be made up in all places alike.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from rubricgrade import tree
from rubricgrade.delivery.figures import counted, figures
from rubricgrade.delivery.graded import FOLDER
from rubricgrade.delivery.making import item_of
from rubricgrade.delivery.records import MANIFEST, REPORT, Manifest, Part, Problem, Report, Side
from rubricgrade.delivery.trained import Pair, Row, of_messages, read
from rubricgrade.delivery.writing import card_of, charts_of, report_of
from rubricgrade.episode.task import Task
from rubricgrade.errors import InputError, MissingExtraError
from rubricgrade.runs.standing import CLOSE, Standing, reaches
from rubricgrade.version import __version__

FORMS = ("jsonl", "parquet")
NEAR = 1e-6
"""Sums of the same numbers may differ by rounding."""


@dataclass(frozen=True, slots=True)
class _Attempt:
    reward: float
    solved: bool
    messages: str


def recounted(folder: Path, manifest: Manifest, tasks: Mapping[str, Task]) -> Iterator[Problem]:
    """What the report and the trajectories say that the delivery itself speaks against.

    Args:
        folder: The delivery.
        manifest: Its.
        tasks: Those that could be read, by id.
    """
    # Only plain files: a link may lead out of the delivery.
    files = {entry.path for entry in tree.walk(folder).entries if entry.kind == "file"}
    attempts: dict[tuple[str, int], _Attempt] | None = None
    for name, task in tasks.items():
        item, told = item_of(task, manifest.split.labels), manifest.tasks[name]
        if (item.category, item.difficulty, dict(item.labels)) != (told.category, told.difficulty, told.labels):
            yield Problem(MANIFEST, f"does not say what task.toml of {name} says about category, difficulty and labels")
    for path in sorted(path for path in files if path.startswith(f"{FOLDER}/")):
        if path not in {f"{FOLDER}/{name}.{form}" for name in ("all", "best", "pairs") for form in FORMS}:
            yield Problem(path, "is no file that a delivery has there: remove it, or find out who put it there")
    for form in FORMS:
        ours: dict[tuple[str, int], _Attempt] | None = None
        for name in ("all", "best", "pairs"):
            path = f"{FOLDER}/{name}.{form}"
            if path not in files:
                continue
            try:
                if name == "pairs":
                    yield from _pairs(path, read(folder / path, Pair), manifest, ours)
                    continue
                seen: dict[tuple[str, int], _Attempt] = {}
                yield from _rows(path, read(folder / path, Row), manifest, tasks, seen)
                if name == "all":
                    attempts = ours = seen
                else:
                    yield from _best(path, seen, ours)
            except MissingExtraError as error:
                yield Problem(path, f"could not be counted: {error}", open=True)
            except InputError as error:
                yield Problem(path, f"can't be used: {error}")
    if REPORT in files:
        try:
            report = Report.model_validate_json((folder / REPORT).read_bytes())
        except (OSError, ValueError):
            return  # Has been told by whoever reads it first.
        yield from (Problem(REPORT, message) for message in _report(manifest, report))
        train = {name for name, each in manifest.tasks.items() if each.side == "train"}
        if attempts is not None and train <= tasks.keys():
            yield from (Problem(REPORT, message) for message in _figures(manifest, report, attempts))
        yield from _texts(folder, files, manifest, report)


def on_trust(folder: Path, manifest: Manifest) -> Iterator[str]:
    """What nothing in the folder can speak for or against, so that it is the word of whoever made the delivery."""
    yield "who made it, from what, and who has reviewed it"
    yield f"what charts/ show ({REPORT} has the figures)"
    if manifest.removed:
        yield "what was left out, and why"
    if manifest.provenance.run is None:
        return
    everything = any((folder / FOLDER / f"all.{form}").is_file() for form in FORMS)
    if (folder / FOLDER).is_dir():
        yield f"that the messages and rewards in {FOLDER}/ are those of attempts: no grade lies with them"
    if not everything:
        yield "every figure of an agent: its attempts are not in the delivery"
    elif any(each.side == "heldout" for each in manifest.tasks.values()):
        yield "figures of an agent on held-out tasks, and how many attempts are ungraded"
    else:
        yield "how many attempts are ungraded"
    yield "what was tried on the tasks before"


def _rows(
    path: str,
    rows: Iterable[Row],
    manifest: Manifest,
    tasks: Mapping[str, Task],
    seen: dict[tuple[str, int], _Attempt],
) -> Iterator[Problem]:
    foreign: Counter[str] = Counter()
    for row in rows:
        if not _is_train(manifest, row.task):
            foreign[row.task] += 1
        elif (row.task, row.sample) in seen:
            yield Problem(path, f"has attempt {row.sample} at {row.task} twice")
        else:
            task = tasks.get(row.task)
            solved = task is not None and reaches(row.reward, task.settings.pass_mark)
            seen[row.task, row.sample] = _Attempt(row.reward, solved, of_messages(row.messages))
    yield from _foreign(path, foreign, manifest)


def _best(
    path: str, seen: Mapping[tuple[str, int], _Attempt], everything: Mapping[tuple[str, int], _Attempt] | None
) -> Iterator[Problem]:
    for (task, sample), attempt in seen.items():
        if attempt.reward < 1 - CLOSE:
            yield Problem(path, f"has attempt {sample} at {task} with reward {attempt.reward:g}, which is not 1")
    if everything is None:
        return
    best = {key: attempt for key, attempt in everything.items() if attempt.reward >= 1 - CLOSE}
    for task, sample in sorted(key for key in best.keys() | seen.keys() if best.get(key) != seen.get(key)):
        yield Problem(path, f"and the file of all attempts do not say the same of attempt {sample} at {task}")


def _pairs(
    path: str, pairs: Iterable[Pair], manifest: Manifest, everything: Mapping[tuple[str, int], _Attempt] | None
) -> Iterator[Problem]:
    foreign: Counter[str] = Counter()
    seen: set[str] = set()
    known = None
    if everything is not None:
        known = {(task, attempt.messages, attempt.reward) for (task, _), attempt in everything.items()}
    for pair in pairs:
        if not _is_train(manifest, pair.task):
            foreign[pair.task] += 1
            continue
        if pair.task in seen:
            yield Problem(path, f"has more than one pair of {pair.task}")
        seen.add(pair.task)
        if pair.chosen_reward <= pair.rejected_reward:
            yield Problem(path, f"prefers an attempt at {pair.task} that is not the better one")
        for messages, reward in ((pair.chosen, pair.chosen_reward), (pair.rejected, pair.rejected_reward)):
            if known is not None and (pair.task, of_messages(messages), reward) not in known:
                yield Problem(path, f"has an attempt at {pair.task} with reward {reward:g} that is not among all")
    yield from _foreign(path, foreign, manifest)


def _is_train(manifest: Manifest, task: str) -> bool:
    return task in manifest.tasks and manifest.tasks[task].side == "train"


def _foreign(path: str, foreign: Counter[str], manifest: Manifest) -> Iterator[Problem]:
    for task, rows in sorted(foreign.items()):
        what = "is held out" if task in manifest.tasks else "is not in this delivery"
        yield Problem(path, f"has attempts at {task!r} ({rows}), which {what}")


def _report(manifest: Manifest, report: Report) -> Iterator[str]:
    """What the report says against the manifest or against itself."""
    tasks = manifest.tasks
    sides = {side: {name for name, each in tasks.items() if each.side == side} for side in ("train", "heldout")}
    if report.parts.keys() != {side for side, names in sides.items() if names}:
        yield "does not have the sides that there are"
    for side, part in report.parts.items():
        yield from (f"{side}: {message}" for message in _part(manifest, side, part))
    if report.removed != manifest.removed:
        yield f"does not say what {MANIFEST} says about what was left out"
    if both := sorted({each.task for each in report.removed} & tasks.keys()):
        yield f"lists as left out what is there: {', '.join(both)}"
    if report.largest != max(Counter(each.group for each in tasks.values()).values(), default=1):
        yield f"says that {report.largest} tasks are in the largest group, which is not so"
    for one, two, _ in report.twins:
        if one not in tasks or two not in tasks or tasks[one].group != tasks[two].group:
            yield f"says that {one} and {two} were kept together as twins, and they are not in one group"
    for kind, times in Counter(proof.kind for proof in report.proofs).items():
        if times > 1:
            yield f"has {times} rows on {kind}"
    for proof in report.proofs:
        named = [*proof.open, *proof.stale, *proof.untried]
        if len(set(named)) < len(named) or not tasks.keys() >= set(named):
            yield f"{proof.kind}: names a task twice, or one that is not there"
        if proof.holds < 0 or proof.holds + len(named) != len(tasks):
            yield f"{proof.kind}: {proof.holds} that hold and {len(named)} that do not are not all {len(tasks)} tasks"


def _part(manifest: Manifest, side: Side, part: Part) -> Iterator[str]:
    its = [each for each in manifest.tasks.values() if each.side == side]
    for what, told, there in (
        ("categories", part.categories, counted(each.category for each in its)),
        ("difficulties", part.difficulties, counted(each.difficulty for each in its)),
    ):
        if told != there:
            yield f"its {what} are not those of the tasks that are there"
    names = [row.name for row in part.baseline]
    if len(set(names)) < len(names) or not {*names} <= {"overall", *(each.category for each in its)}:
        yield "its baseline names a category twice, or one that is not there"
    if part.baseline and manifest.provenance.run is None:
        yield "it has figures of an agent, though no run is named"
    if sum(band.tasks for band in part.bands) > len(its) or any(band.tasks < 0 for band in part.bands):
        yield "its bands do not count the tasks that are there"
    for row in part.baseline:
        if not _is_sound(row):
            yield f"the baseline of {row.name} contradicts itself"
    parts = [row for row in part.baseline if row.name != "overall"]
    for row in part.baseline:
        if row.name == "overall" and any(
            sum(getattr(each, of) for each in parts) > getattr(row, of) for of in ("rollouts", "ungraded", "solved")
        ):
            yield "the baseline of its categories has more attempts than that of all"


def _is_sound(row: Standing) -> bool:
    """Whether the numbers of a row can be those of any attempts at all."""
    known = row.reward is not None
    rates = [*row.pass_at.values(), *row.pass_all.values(), row.reward, *(row.interval or ())]
    inside = all(rate is None or -NEAR <= rate <= 1 + NEAR for rate in rates)
    around = row.interval is None or (known and row.interval[0] <= row.interval[1])
    rated = (row.pass_at.get(1) or 0) > 0
    return (
        0 <= row.solved <= row.rollouts
        and row.ungraded >= 0
        and known == (row.rollouts > 0)
        and rated == (row.solved > 0)
        and inside
        and around
    )


def _figures(manifest: Manifest, report: Report, attempts: Mapping[tuple[str, int], _Attempt]) -> Iterator[str]:
    """Whether the figures of the training tasks are those of the attempts that are there."""
    part = report.parts.get("train")
    if part is None:
        return
    tried: dict[str, list[_Attempt]] = {}
    for (task, _), attempt in sorted(attempts.items()):
        tried.setdefault(task, []).append(attempt)
    train = {name: each for name, each in manifest.tasks.items() if each.side == "train"}
    there = figures(train, tried)
    if part.bands != there.bands:
        yield f"train: how often tasks were solved is not what {FOLDER}/ says"
    rows = {row.name: row for row in there.baseline}
    told = {row.name: row for row in part.baseline}
    for name in [*told, *(name for name in rows if name not in told)]:
        # A row of tasks without any graded attempt has none in what is counted.
        if not _same(told.get(name), rows.get(name)):
            yield f"train: the baseline of {name} is not what {FOLDER}/ says: {_shown(rows.get(name))}"


def _same(told: Standing | None, there: Standing | None) -> bool:
    if told is None or there is None:
        return there is None and (told is None or told.rollouts == 0)
    pairs = [(told.reward, there.reward), (told.pass_at.get(1), there.pass_at[1])]
    pairs += [(told.pass_all.get(1), there.pass_all[1])]
    pairs += [*zip(told.interval or (None, None), there.interval or (None, None), strict=True)]
    return (told.rollouts, told.solved) == (there.rollouts, there.solved) and all(_near(*pair) for pair in pairs)


def _near(one: float | None, two: float | None) -> bool:
    return one is two if one is None or two is None else math.isclose(one, two, abs_tol=NEAR)


def _shown(row: Standing | None) -> str:
    if row is None or row.reward is None:
        return "no attempt"
    return f"{row.rollouts} attempts, {row.solved} solved, mean reward {row.reward:.3f}"


def _texts(folder: Path, files: set[str], manifest: Manifest, report: Report) -> Iterator[Problem]:
    """What people read is what `report.json` says. Charts are left out: their bytes are the drawing package's."""
    try:
        charts = charts_of(report)
        made = {"report.md": report_of(manifest, report, charts), "README.md": card_of(manifest, report)}
    except (KeyError, ValueError) as error:
        yield Problem(REPORT, f"can't be shown: {error!r}")
        return
    same = manifest.provenance.versions.get("rubricgrade") == __version__
    for path, text in made.items():
        if path in files and (folder / path).read_bytes() != text.encode():
            if same:
                yield Problem(path, f"does not say what {REPORT} and {MANIFEST} say")
            else:
                yield Problem(path, f"could not be compared: another version wrote it; read {REPORT}", open=True)
