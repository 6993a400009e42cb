"""Says which recorded verdicts had no use: whoever changed a criterion's wording would not notice else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rubricgrade.cli.output import note

if TYPE_CHECKING:
    from rubricgrade.result import Grade
    from rubricgrade.rubric import Rubric


def say_unused(files: Sequence[Path], graded: Iterable[tuple[Rubric, Grade]]) -> list[dict[str, Any]]:
    """Warn on stderr of recorded verdicts that answered no question.

    Args:
        files: Of recorded verdicts.
        graded: Every grade that they were used for, with its rubric.

    Returns:
        The same for a JSON document: ``file``, ``lines``, ``of`` and ``why``, for each file that has any.
    """
    from rubricgrade.judge.recorded import unused

    found = unused(files, graded) if files else ()
    for each in found:
        note(f"warning: {each}")
    return [asdict(each) for each in found]
