"""What judging shares between many grades: the way to the model, the verdict cache, the budget."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from types import TracebackType
from typing import Self

from rubricgrade import digest
from rubricgrade.chat import Chat, Shared, connect, preload
from rubricgrade.errors import InputError
from rubricgrade.grading.asked import check_judge, judged_criteria, names_judge
from rubricgrade.judge import Documents, JudgeOptions, Judging
from rubricgrade.judge.options import models_of
from rubricgrade.judge.question import Questions
from rubricgrade.result import RECORDED, Subject
from rubricgrade.rubric import Rubric
from rubricgrade.store.recorded import Verdict
from rubricgrade.store.verdicts import VerdictCache
from rubricgrade.trajectory import Trajectory

MOST_KEPT = 256
"""Rubrics whose questions are kept worded: a server may be sent another one with every request."""


class Judges:
    """Open it once, grade many: every grade inside shares one client, one cache and one budget.

    Attributes:
        options: Settings of judging.
        unanswered: A skeleton for every question that nobody could be asked, by question.
    """

    def __init__(self, options: JudgeOptions, *, shared: Shared | None = None) -> None:
        """Take the settings, and limits that other processes keep too."""
        self.options = options
        self.unanswered: dict[str, Verdict] = {}
        self._chat: Chat | None = None
        self._shared = shared
        self._cache = VerdictCache.of(options.cache)
        self._questions: dict[str, Questions] = {}
        self._admitted: set[str] = set()
        self._users = 0

    @classmethod
    def of(cls, judge: str | JudgeOptions | Judges | None) -> Judges:
        """From whatever a caller may give as its judge.

        Raises:
            InputError: It is something else.
        """
        if isinstance(judge, Judges):
            return judge
        return cls(_options(judge))

    async def __aenter__(self) -> Self:
        self._users += 1
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._users -= 1
        if not self._users and self._cache is not None:
            self._cache.close()

    def check(self, rubrics: Iterable[Rubric] | None, *, here: bool = True, varying: bool = False) -> None:
        """Find out that everybody who may be asked can be; remembered, so that what changes later is an open verdict.

        Args:
            rubrics: What will be graded with; None if that is not known yet.
            here: As in `check_judge`.
            varying: As in `check_judge`.

        Raises:
            InputError: As `check_judge`.
        """
        rubrics = None if rubrics is None else tuple(rubrics)
        check_judge(self.options, rubrics, here=here, varying=varying)
        if len(self._admitted) >= MOST_KEPT:
            self._admitted.clear()
        self._admitted.update(self._asked_by(rubric) for rubric in rubrics or ())

    def admits(self, rubric: Rubric) -> bool:
        """Whether `check` has found whoever may be asked about a rubric."""
        return self._asked_by(rubric) in self._admitted

    def _asked_by(self, rubric: Rubric) -> str:
        """What decides whom a rubric's criteria are asked of: the options alone, if they name a model."""
        return f"judged: {any(judged_criteria(rubric))}" if self.options.model else rubric.hash

    def judging(self, trajectory: Trajectory, rubric: Rubric, documents: Documents) -> Judging:
        """The judge of one grade."""
        model = self._model(rubric)
        if model and self._chat is None and not self.options.offline:
            for name in (*models_of(model), self.options.escalate):
                preload(replace(self.options, model=name))
            self._chat = connect(replace(self.options, model=model), shared=self._shared)
        return Judging(
            trajectory,
            rubric,
            self.options,
            chat=self._chat,
            verdicts=self._cache,
            documents=documents,
            questions=self._questions_of(rubric),
        )

    def _questions_of(self, rubric: Rubric) -> Questions:
        found = self._questions.get(rubric.hash)
        if found is None:
            if len(self._questions) >= MOST_KEPT:
                self._questions.clear()
            found = self._questions[rubric.hash] = Questions(rubric, self.options.style)
        return found

    def done(self, judging: Judging) -> None:
        """Take note of what one grade could not ask."""
        for verdict in judging.unanswered:
            self.unanswered[verdict.question] = verdict

    def subject(self, rubric: Rubric) -> Subject | None:
        """Which judge was asked for, by content; None when nothing is judged, or nobody could be asked."""
        if not _judged(rubric):
            return None
        options = self.options
        name = RECORDED if options.offline or options.verdicts else None
        name = self._model(rubric) or name
        if name is None:
            return None
        return Subject(id=name, hash=digest.of_value({**options.identity(), "model": name}))

    def _model(self, rubric: Rubric) -> str | None:
        """The caller's choice, else the first model that the rubric names (each criterion may name its own)."""
        return self.options.model or names_judge(rubric)


def _options(judge: object) -> JudgeOptions:
    if isinstance(judge, JudgeOptions):
        return judge
    if judge is not None and not isinstance(judge, str):
        # Not what it holds: that can be a key.
        raise InputError(f"judge must be the name of a model, or JudgeOptions(model=...), not {type(judge).__name__}")
    return JudgeOptions(model=judge)


def _judged(rubric: Rubric) -> bool:
    return any(leaf.judge is not None for leaf in rubric.leaves())
