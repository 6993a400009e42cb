"""Judging one trajectory with one rubric: criteria in, verdicts out; recorded, cached or asked, in this order."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from rubricgrade import errors
from rubricgrade.chat.contract import AskFailed, Chat
from rubricgrade.judge.aside import Aside
from rubricgrade.judge.asking import ROOM, Cast, cause_of
from rubricgrade.judge.canaries import Canaries
from rubricgrade.judge.case import Asking, Case
from rubricgrade.judge.estimating import Planned
from rubricgrade.judge.mapping import beyond, map_pieces
from rubricgrade.judge.memory import Memory
from rubricgrade.judge.need import Need
from rubricgrade.judge.options import JudgeOptions, models_of
from rubricgrade.judge.pictures import sees
from rubricgrade.judge.planning import Planner
from rubricgrade.judge.polling import NO_JUDGE, NOT_RECORDED, Polling, prompt_length
from rubricgrade.judge.question import Question, Questions, too_long_to_ask
from rubricgrade.judge.record import sight_of
from rubricgrade.judge.retrieving import retrieve
from rubricgrade.judge.room import VIEW_SHARE, room_of
from rubricgrade.judge.shelf import Documents, Shelf
from rubricgrade.judge.verdict import Judged, Spent, Votes, concluded, opened, preceded
from rubricgrade.judge.view import View, fitted, render
from rubricgrade.judge.warming import Warming
from rubricgrade.result import NO_USAGE, Cause
from rubricgrade.rubric import Criterion, Rubric
from rubricgrade.rubric.wording import ITEM
from rubricgrade.store.recorded import Verdict
from rubricgrade.store.verdicts import VerdictCache
from rubricgrade.trajectory import Trajectory

_MOST_BATCH = 100


class Judging:
    """Decides the judged criteria of one grade.

    Args:
        trajectory: What is judged.
        rubric: Whose criteria.
        options: Of the caller.
        chat: Asks models; None if no judge is configured, or none may be asked.
        verdicts: The cache; None for none.
        documents: Gives the text of files; None if there can be none.
        questions: Of the same rubric and style, to be shared by many grades.

    Raises:
        InputError: A file of recorded verdicts can't be used.
    """

    def __init__(
        self,
        trajectory: Trajectory,
        rubric: Rubric,
        options: JudgeOptions,
        *,
        chat: Chat | None = None,
        verdicts: VerdictCache | None = None,
        documents: Documents | None = None,
        questions: Questions | None = None,
    ) -> None:
        self._trajectory = trajectory
        self._rubric = rubric
        self._options = options
        self._models = options.models
        self._questions = questions or Questions(rubric, options.style)
        self._chat = None if options.offline or chat is None else Warming(chat)
        self._memory = Memory(trajectory, rubric, options, verdicts)
        self._polling = Polling(self._chat, self._memory, options)
        self._canaries: Canaries | None = None
        if options.canary and self._chat is not None:
            self._canaries = Canaries(partial(self._aside, self._chat), options.style)
        models = self._all_models()
        self._shelf = Shelf(
            trajectory,
            documents,
            options.max_characters or room_of(models, ROOM),
            seeing=bool(models) and all(map(sees, models)),
        )
        self._deciding = 0

    @property
    def unanswered(self) -> tuple[Verdict, ...]:
        """A skeleton for every question that had no verdict because no model could be asked."""
        return self._memory.unanswered

    async def decide(self, criterion: Criterion, item: str | None = None) -> Judged:
        """Decide a criterion, or one item of it.

        Args:
            criterion: A judged one.
            item: Of a `for_each`.

        Returns:
            The verdict. What goes wrong on our side leaves it open, with a cause.
        """
        self._deciding += 1
        try:
            judged = await self._decide(criterion, item)
        finally:
            self._deciding -= 1
        trouble = () if self._deciding else await self._polling.written()
        return preceded(judged, Spent(notes=trouble)) if trouble else judged

    async def plan(self, asked: Sequence[tuple[Criterion, str | None]]) -> list[Planned]:
        """What deciding some criteria, or items of them, will take. Asks nobody.

        Raises:
            RubricgradeError: A record or a question can't be made.
        """
        planner = Planner(self._shelf, self._memory, self._options)
        return planner.plan([await self._case(criterion, item) for criterion, item in asked])

    async def _decide(self, criterion: Criterion, item: str | None) -> Judged:
        if self._chat is None and not self._options.offline and not self._memory.recorded:
            return opened("no_judge", NO_JUDGE, self._model(criterion))
        if item is not None and too_long_to_ask(item):
            judged = opened("cannot_tell", f"an item has more than the {ITEM:,} characters that are asked about", None)
            return replace(judged, verdict="cannot_tell")
        try:
            with self._polling.gathering.coming:
                case = await self._case(criterion, item)
            if casts := self._memory.recall(case.question, case.record):
                cut = self._was_cut(case, casts)
                about = (
                    ("the record was cut, or may have been, for the model whose verdict is recorded",) if cut else ()
                )
                view = render(case.record, case.record.places, "whole", cut=cut, about=about)
                asking = Asking(criterion, item, view, case.question)
                votes = Votes(tuple(casts), len(casts))
                return concluded(case.question, view, votes, model=case.model, prompt=asking.prompt)
            key = self._memory.conclusion_key(case, self._shelf.room)
            # A canary is asked about what is shown now.
            if self._canaries is None and (known := self._memory.concluded(key, case.question)):
                return known
            judged = await self._shown(case)
            self._memory.conclude(key, judged)
            trouble = await self._canary_trouble()
        except errors.RubricgradeError as error:
            return opened(_cause(error), str(error), self._model(criterion))
        if self._canaries is not None:
            judged = preceded(judged, Spent(self._canaries.take()))
        if trouble is not None:
            return replace(judged, verdict="error", value=None, cause="judge_failed", message=trouble)
        return judged

    async def _case(self, criterion: Criterion, item: str | None) -> Case:
        settings = self._questions.settings(criterion)
        record = await self._shelf.of(sight_of(settings, self._trajectory))
        if settings.prompt is None:
            question = self._questions.of(criterion, record, item)
        else:
            # Bounded, but many of them could hold up everything else that runs here.
            question = await asyncio.to_thread(self._questions.of, criterion, record, item)
        batch = self._options.batch or settings.batch or 1
        return Case(
            criterion,
            item,
            record,
            question,
            models=self._panel(criterion),
            votes=self._options.votes or settings.votes or 1,
            batch=_MOST_BATCH if batch == "all" else batch,
        )

    def _was_cut(self, case: Case, casts: Sequence[Cast]) -> bool:
        """Whether a model among those who recorded verdicts saw less than the whole, or may have."""
        models = [cast for cast in casts if not cast.by_hand]
        if any(cast.cut for cast in models):
            return True
        unknown = [cast.recorded_by or "" for cast in models if cast.cut is None]
        if not unknown:
            return False
        room = min(self._shelf.room, room_of(unknown, ROOM))
        try:
            return fitted(case.record, int(room * VIEW_SHARE)).cut
        except errors.JudgeError:
            return True

    def _panel(self, criterion: Criterion) -> tuple[str, ...]:
        own = criterion.judge.model if criterion.judge is not None else None
        return self._models or models_of(own or self._rubric.judge.model)

    def _model(self, criterion: Criterion) -> str | None:
        """The panel, as a grade names it."""
        return ",".join(self._panel(criterion)) or None

    async def _shown(self, case: Case) -> Judged:
        """The verdict, on as much of the record as the judge takes."""
        while True:
            room = self._shelf.room
            judged = await self._on_parts(case)
            if not judged.too_long:
                return judged
            if not self._shelf.shrink(room, judged.record.shown.characters):
                if judged.value is not None:
                    return judged  # the other votes have decided
                return replace(judged, message=f"{judged.message}; nor does a prompt of {room:,} characters fit")

    async def _on_parts(self, case: Case) -> Judged:
        """The verdict on what fits; where more could change it, on chosen parts; then on all, read in pieces."""
        aside = None if self._chat is None or not case.models else self._aside(self._chat, case.models[0])
        verdicts: list[Judged] = []
        try:
            for make in (self._fitted, retrieve, map_pieces):
                need = Need(case.record, case.question, self._shelf.view_room, aside)
                view = await make(need)
                if view is None:
                    continue
                if view.cut and not view.beyond and (why := beyond(case.record, need.room)):
                    view = replace(view, beyond=why)
                verdicts.append(await self._on_view(case, view))
                if not _unsettled(case.question, verdicts[-1], view):
                    break
                case = replace(case, batch=1)
        except errors.JudgeError as error:
            too_long = isinstance(error, AskFailed) and error.kind == "too_long"
            failed = replace(opened(cause_of(error), str(error), case.model), too_long=too_long)
            verdicts.append(failed)
        verdict = verdicts[-1] if verdicts else self._unseen(case)
        if aside is None and len(verdicts) <= 1:
            return verdict
        usage = sum((judged.record.usage for judged in verdicts[:-1]), aside.usage if aside else NO_USAGE)
        return preceded(verdict, Spent(usage, aside.trouble if aside else ()))

    async def _fitted(self, need: Need) -> View | None:
        view = self._shelf.fitted(need.record)
        return None if isinstance(view, errors.JudgeError) else view

    async def _on_view(self, case: Case, view: View) -> Judged:
        if self._canaries is not None:
            for model in case.models:
                self._canaries.ask(view, model)
        asking = Asking(case.criterion, case.item, view, case.question, case.batch)
        votes = await self._polling.votes(asking, case.models, case.votes, self._shelf.room)
        judged = concluded(case.question, view, votes, model=case.model, prompt=asking.prompt)
        return replace(judged, too_long=True) if any(cast.too_long for cast in votes.casts) else judged

    def _unseen(self, case: Case) -> Judged:
        """The verdict on a record that could not be shown at all."""
        if self._chat is None or not case.models:
            self._memory.miss(case.criterion, case.item, case.question)
            return opened("no_judge", NOT_RECORDED if self._options.offline else NO_JUDGE, case.model)
        message = str(self._shelf.fitted(case.record))
        # In a room that is too small for any record it is no matter how much the agent has left.
        askable = prompt_length(self._shelf.view_room, case.question) <= self._shelf.room
        if askable and (why := beyond(case.record, self._shelf.view_room)):
            judged = opened("cannot_tell", f"{message}, by the agent's own doing: {why}", case.model)
            return replace(judged, verdict="cannot_tell")
        return opened("judge_failed", message, case.model)

    async def _canary_trouble(self) -> str | None:
        """Wait for the canaries of all records of the trajectory; why no verdict on it counts, if there is a reason."""
        if self._canaries is None:
            return None
        for leaf in self._rubric.leaves():
            if leaf.judge is None or not self._rubric.applies(leaf):
                continue
            settings = self._questions.settings(leaf)
            view = self._shelf.fitted(await self._shelf.of(sight_of(settings, self._trajectory)))
            for model in self._panel(leaf):
                if not isinstance(view, errors.JudgeError):
                    self._canaries.ask(view, model)
        return await self._canaries.trouble()

    def _aside(self, chat: Chat, model: str) -> Aside:
        return Aside(chat.ask, self._polling.request, self._memory, model)

    def _all_models(self) -> tuple[str, ...]:
        """Every model that may be asked."""
        judged = [self._rubric.judge, *(leaf.judge for leaf in self._rubric.leaves() if leaf.judge is not None)]
        named = self._models or tuple(model for each in judged for model in models_of(each.model))
        return (*named, self._options.escalate) if self._options.escalate else named


def _unsettled(question: Question, judged: Judged, view: View) -> bool:
    """Whether a verdict could be another one if more of the record were shown."""
    # Who quotes what was not shown may have missed just that.
    unproved = judged.verdict == "cannot_tell" and judged.cause in ("cannot_tell", "judge_unparseable")
    sums_up = question.sums_up and judged.verdict == question.names[question.highest]
    return view.cut and (judged.blind or unproved or sums_up)


def _cause(error: errors.RubricgradeError) -> Cause:
    match error:
        case errors.SandboxUnavailable():
            return "sandbox_unavailable"
        case errors.SandboxError():
            return "sandbox_lost"
        case errors.TemplateError():
            return "template_missing"
        case errors.TrajectoryError():
            return "trajectory_invalid"
        case errors.CheckError():
            return "check_error"
        case errors.JudgeError():
            return cause_of(error)
        case _:
            return "judge_failed"
