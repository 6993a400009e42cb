"""Telling a caller who looks at scores alone that some are missing, how many and why: once, by a warning in the log."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence

from rubricgrade.result import Grade

LOG = logging.getLogger("rubricgrade.grading")


def why_open(grade: Grade) -> str:
    """What the first open gate or criterion says; empty if none says anything."""
    return next((item.message for item in [*grade.gates, *grade.leaves()] if item.open and item.message), "")


def tell_ungraded(grades: Sequence[Grade]) -> None:
    """Warn if the grader failed on some; what waits for a reviewer is as its author wanted it."""
    failed = [grade for grade in grades if grade.status == "ungraded" and grade.cause != "needs_review"]
    if not failed:
        return
    causes = Counter(grade.cause for grade in failed)
    counts = ", ".join(f"{cause} {count}" for cause, count in causes.most_common())
    LOG.warning(
        "%d of %d have no score (None, which is not 0): %s; the first: %r",
        len(failed),
        len(grades),
        counts,
        why_open(failed[0])[:500],
    )
