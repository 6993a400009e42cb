"""How often Python looks for garbage in a program that is ours, or in one whose main work is to grade."""

from __future__ import annotations

import gc

_SELDOM = (20_000, 20, 100)


def collect_seldom() -> None:
    """Leave what is loaded by now out of every later search for garbage, and search less often.

    Grading makes many objects at once that are in use until a grade is written. Looking through all of them after every
    few hundred new ones, as Python does by itself, took a sixth of the time of a run, and a quarter of a server's. Call
    it once, when rubrics and trajectories are loaded; what is a garbage cycle by then stays until the process ends.
    """
    gc.freeze()
    gc.set_threshold(*_SELDOM)
