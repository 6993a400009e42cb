"""What a small model in this process is worth as a judge, what it takes, and what our defences do to its answers.

    python benchmarks/local_judge.py [MODEL.gguf ...] [--style direct reasoned] [--episodes N] [--max-tokens N]

It is asked about facts that code decides as well (`tests/local/facts`), in recorded tau-bench episodes without the
agent's instructions, with our prompt as it is and with its defences taken out: nothing in these records is an attack,
so they ought to change nothing. Without a model, those that the tests fetched are asked. It prints

* the share of right answers with Wilson's interval; an answer that is open or "cannot tell" is not right;
* kappa, sensitivity and specificity over what was answered, kappa with an interval by drawing episodes;
* CPU seconds, loading included, and how much of the prompts was read from llama.cpp's cache;
* for each model and style what the defences cost: the difference in right answers, with an interval in the same way.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from rubricgrade import JudgeOptions, Rubric, Trajectory, grade_all, load_rubric, load_trajectories
from rubricgrade.agreement import Decision, Estimate, summarise
from rubricgrade.chat import connect
from rubricgrade.judge.judging import Judging
from rubricgrade.judge.options import Style
from rubricgrade.judge.undefended import Undefended
from rubricgrade.result import Usage
from rubricgrade.runs.statistics import interval, wilson

ROOT = Path(__file__).resolve().parents[1]
FACTS = ROOT / "tests/local/facts"
EPISODES = ROOT / "examples/tau-bench-airline/episodes.json"
FETCHED = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rubricgrade-tests"


@dataclass(frozen=True)
class Setting:
    """One way to ask one model."""

    model: Path
    style: Style
    defended: bool
    max_tokens: int


@dataclass(frozen=True)
class Measured:
    """What came of it; decisions are in the same order for every setting."""

    decisions: tuple[Decision, ...]
    usage: Usage
    cpu: float

    @property
    def right(self) -> list[bool]:
        """Of each decision, whether it is code's."""
        return [each.judge == each.person for each in self.decisions]


def episodes(most: int) -> list[Trajectory]:
    """Recorded episodes without the agent's instructions, which are the same in all and as long as the rest."""
    found = load_trajectories(EPISODES)[:most]
    return [
        each.model_copy(update={"steps": tuple(step for step in each.steps if step.role != "system")}) for each in found
    ]


def truth(asked: Sequence[Trajectory]) -> list[Mapping[str, str]]:
    """What code says about each episode: its verdict by the criterion's id."""
    graded = grade_all(asked, load_rubric(FACTS / "truth.yaml"))
    return [{item.id: item.verdict for item in grade.criteria} for grade in graded]


def measure(setting: Setting, asked: Sequence[Trajectory], labels: Sequence[Mapping[str, str]]) -> Measured:
    """Ask about every fact of every episode. In a process of its own, so that nothing was read before."""
    rubric = load_rubric(FACTS / "rubric.yaml")
    options = JudgeOptions(
        model=f"local:{setting.model}",
        style=setting.style,
        max_tokens=setting.max_tokens,
        timeout=600,
        cache=False,
        extra={"n_threads": 1},
    )
    started = time.process_time()
    decisions, usage = asyncio.run(_decide(options, rubric, asked, labels, defended=setting.defended))
    return Measured(decisions, usage, time.process_time() - started)


async def _decide(
    options: JudgeOptions,
    rubric: Rubric,
    asked: Sequence[Trajectory],
    labels: Sequence[Mapping[str, str]],
    *,
    defended: bool,
) -> tuple[tuple[Decision, ...], Usage]:
    chat = connect(options)
    decisions: list[Decision] = []
    usage = Usage()
    for trajectory, label in zip(asked, labels, strict=True):
        judging = Judging(trajectory, rubric, options, chat=chat if defended else Undefended(chat))
        for criterion in rubric.tops:
            judged = await judging.decide(criterion)
            usage += judged.record.usage
            said = judged.verdict if judged.verdict in ("met", "not_met", "cannot_tell") else None
            decisions.append(Decision(trajectory.id or "", criterion.id, said, (("code", label[criterion.id]),)))
    return tuple(decisions), usage


def line(setting: Setting, found: Measured) -> str:
    """A row of the table."""
    pooled = summarise(found.decisions).pooled
    right, asked = sum(found.right), len(found.right)
    low, high = wilson(right, asked) or (0.0, 1.0)
    kappa = pooled.kappa
    shown = "undefined" if kappa.value is None else f"{kappa.value:.2f} [{kappa.low or 0:.2f}, {kappa.high or 0:.2f}]"
    return (
        f"{setting.model.name[:12]:<14}{setting.style:<10}{'ours' if setting.defended else 'bare':<6}"
        f"{right:>4}/{asked} {right / asked:.2f} [{low:.2f}, {high:.2f}]  {shown:<20}"
        f"{_rate(pooled.sensitivity)} {_rate(pooled.specificity)}"
        f"{pooled.abstained:>6}{pooled.undecided:>6}"
        f"{found.cpu:>8.0f}{found.usage.cached_tokens / found.usage.input_tokens:>8.0%}"
    )


def by_fact(found: Measured) -> str:
    """How many answers about each fact are right, and how many are ``met``."""
    right = Counter(each.criterion for each in found.decisions if each.judge == each.person)
    met = Counter(each.criterion for each in found.decisions if each.judge == "met")
    asked = Counter(each.criterion for each in found.decisions)
    return ", ".join(f"{fact} {right[fact]}/{of} ({met[fact]} met)" for fact, of in asked.items())


def drift(ours: Measured, bare: Measured) -> str:
    """What the defences change in the share of right answers, in words."""
    pairs = list(zip(ours.right, bare.right, strict=True))
    by_episode: dict[str, list[float]] = {}
    for decision, (with_them, without) in zip(ours.decisions, pairs, strict=True):
        by_episode.setdefault(decision.trajectory, []).append(with_them - without)
    low, high = interval(list(by_episode.values())) or (-1.0, 1.0)
    lost, gained = pairs.count((False, True)), pairs.count((True, False))
    change = (gained - lost) / len(pairs)
    same = sum(one.judge == other.judge for one, other in zip(ours.decisions, bare.decisions, strict=True))
    return (
        f"{change:+.2f} [{low:+.2f}, {high:+.2f}] of right answers "
        f"({lost} lost, {gained} gained); {same} of {len(pairs)} answers are the same"
    )


def _rate(estimate: Estimate) -> str:
    return "   -" if estimate.value is None else f"{estimate.value:>5.2f}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=Path, metavar="MODEL", help="GGUF files; default: those of the tests")
    parser.add_argument("--style", nargs="+", choices=get_args(Style), default=["direct"])
    parser.add_argument("--episodes", type=int, default=16, help="the first so many of 16")
    parser.add_argument("--max-tokens", type=int, default=200, help="of one reply; a cut one gets four times as many")
    arguments = parser.parse_args()
    models = arguments.models or sorted(FETCHED.glob("*.gguf"))
    if not models:
        print("no model is named, and the tests have fetched none: `make test-local` or `make test-qwen` does")
        return
    asked = episodes(arguments.episodes)
    labels = truth(asked)
    always = Counter(verdict for label in labels for verdict in label.values())
    answer, most = always.most_common(1)[0]
    print(
        f"{len(asked)} episodes, {always.total()} facts; always {answer} would be right in {most / always.total():.2f}"
    )
    print(
        f"{'model':<14}{'style':<10}{'prompt':<6}{'right [95 %]':>27}  {'kappa [95 %]':<20}"
        f"{'sens':>5} {'spec':>5}{'abst':>6}{'open':>6}{'CPU s':>8}{'cached':>8}"
    )
    changes: list[str] = []
    for model in models:
        for style in arguments.style:
            ours, bare = _both(model, style, arguments.max_tokens, asked, labels)
            changes.append(f"{model.name[:12]}, {style}: {drift(ours, bare)}")
    print("what the defences change:")
    print("\n".join(changes))


def _both(
    model: Path, style: Style, max_tokens: int, asked: Sequence[Trajectory], labels: Sequence[Mapping[str, str]]
) -> list[Measured]:
    """With the defences and without, one after the other, each printed when it is there."""
    found: list[Measured] = []
    for defended in (True, False):
        setting = Setting(model, style, defended, max_tokens)
        # A fresh process each: what one setting read would be in llama.cpp's cache for the next.
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as alone:
            found.append(alone.submit(measure, setting, asked, labels).result())
        print(line(setting, found[-1]), flush=True)
        print(f"    right: {by_fact(found[-1])}", flush=True)
    return found


if __name__ == "__main__":
    main()
