"""Grades for a session of tests: each rubric is loaded once, and its episodes share one client, cache and budget."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rubricgrade.authoring.deciding import deciding
from rubricgrade.authoring.graded import Graded, as_expected, graded
from rubricgrade.authoring.testing import try_rubric
from rubricgrade.grading import grade
from rubricgrade.grading.judges import Judges
from rubricgrade.judge.options import JudgeOptions
from rubricgrade.loading import load_rubric
from rubricgrade.loading.document import read_document
from rubricgrade.loading.rubric import rubric_file
from rubricgrade.rubric import Rubric
from rubricgrade.trajectory import Trajectory

Variables = Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Session:
    """Who judges, and what is open.

    Attributes:
        model: The judge; None takes what the rubric names, else what is recorded beside it.
        base: Its endpoint.
        offline: Ask no model.
        max_cost: US dollars for each rubric, after which no call is made.
    """

    model: str | None = None
    base: str | None = None
    offline: bool = False
    max_cost: float | None = None
    _open: dict[tuple[Path, str], tuple[Rubric, Judges]] = field(
        default_factory=dict[tuple[Path, str], tuple[Rubric, Judges]]
    )

    def grade(self, rubric: str | Path, episode: str | Path | Trajectory, variables: Variables = None) -> Graded:
        """Grade one episode.

        Raises:
            Ungraded: The grader failed.
            InputError: The rubric or the episode can't be used.
        """
        __tracebackhide__ = True
        loaded, judges = self._opened(rubric, variables)
        return graded(grade(episode, loaded, judge=judges))

    def try_rubric(self, rubric: str | Path, variables: Variables = None) -> None:
        """Try a rubric's own examples.

        Raises:
            AssertionError: One did not come out as expected.
            Ungraded: One could not be decided.
            InputError: The rubric or an episode can't be used.
        """
        __tracebackhide__ = True
        loaded, judges = self._opened(rubric, variables)
        file = rubric_file(rubric)
        document = read_document(file.read_bytes(), str(file))
        as_expected(asyncio.run(try_rubric(loaded, document, judge=judges)))

    def _opened(self, rubric: str | Path, variables: Variables) -> tuple[Rubric, Judges]:
        file = rubric_file(rubric)
        key = (file.resolve(), repr(variables))
        if key not in self._open:
            loaded = load_rubric(rubric, vars=variables)
            given = JudgeOptions(model=self.model, api_base=self.base, offline=self.offline, max_cost=self.max_cost)
            options = deciding(loaded, file, given)
            self._open[key] = loaded, Judges(options)
        return self._open[key]
