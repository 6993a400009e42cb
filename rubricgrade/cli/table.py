"""How a run goes, while it goes: one live table on a terminal, one plain line per attempt elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Generator
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live
from rich.table import Table

from rubricgrade.plural import count
from rubricgrade.report.numbers import money, number
from rubricgrade.report.visible import one_line
from rubricgrade.runs.lines import Line
from rubricgrade.runs.running import Lost
from rubricgrade.runs.statistics import mean

WIDTH = 100


class Board:
    """Counts what is done.

    Args:
        total: Attempts to be made.
        at_once: Attempts at a time.
        plain: Whether to write lines; otherwise somebody shows `table`.
    """

    def __init__(self, total: int, at_once: int, *, plain: bool) -> None:
        self._total = total
        self._at_once = at_once
        self._plain = plain
        self._started = time.monotonic()
        self._rewards: list[float] = []
        self._costs: list[float | None] = []
        self._done = 0
        self._failed = 0

    def done(self, line: Line) -> None:
        """An attempt has a line."""
        self._done += 1
        self._costs.append(line.usage.cost)
        if line.reward is not None:
            self._rewards.append(line.reward)
        if self._plain:
            reward = f"reward {number(line.reward)}" if line.reward is not None else f"ungraded ({line.cause})"
            ended = "" if line.end == "done" else f", ended: {line.end}"
            told = f"{line.task} #{line.sample}: {reward} ({line.passed}/{line.total})"
            sys.stdout.write(f"{told} in {count(line.steps, 'step')}{ended}\n")
            sys.stdout.flush()

    def lost(self, lost: Lost) -> None:
        """An attempt could not be made."""
        self._failed += 1
        sys.stderr.write(f"{lost.task} #{lost.sample}: not made: {one_line(lost.why, 500)}\n")

    def table(self) -> Table:
        """What there is to see now."""
        over = self._done + self._failed
        left = self._total - over
        spent = time.monotonic() - self._started
        average = mean(self._rewards)
        table = Table(show_edge=False, pad_edge=False)
        for name in ("done", "running", "lost", "mean reward", "cost", "left"):
            table.add_column(name, justify="right")
        table.add_row(
            f"{self._done}/{self._total}",
            str(min(left, self._at_once)),
            str(self._failed),
            "-" if average is None else number(average),
            money(None if None in self._costs else sum(cost for cost in self._costs if cost is not None)),
            f"{spent / over * left:.0f} s" if over else "?",
        )
        return table


@contextmanager
def board(total: int, at_once: int, *, shown: bool) -> Generator[Board]:
    """Show how a run goes while the context lasts."""
    live = shown and sys.stderr.isatty()
    counts = Board(total, at_once, plain=shown and not live)
    if not live:
        yield counts
        return
    with Live(get_renderable=counts.table, console=Console(stderr=True), refresh_per_second=4):
        yield counts
