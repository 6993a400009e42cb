"""A dry run: what deciding some cases will take, by the same records, questions, ballots and cache as deciding them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from rubricgrade.chat.prices import Price, price_of
from rubricgrade.errors import JudgeError
from rubricgrade.judge import wording
from rubricgrade.judge.asking import ROOM
from rubricgrade.judge.batching import Batch
from rubricgrade.judge.case import Asking, Case
from rubricgrade.judge.estimating import Estimate, Planned, call, total
from rubricgrade.judge.mapping import pieces_to_read
from rubricgrade.judge.memory import Memory
from rubricgrade.judge.options import JudgeOptions
from rubricgrade.judge.panel import Ballot, ballots
from rubricgrade.judge.shelf import Shelf
from rubricgrade.judge.view import View

CANARY = "(canary)"
"""Stands for a criterion's id where the canary's cost is named."""

RECORDED, CACHED = "recorded", "in the cache"
NOBODY = "no judge is named"
"""What it would take all the same is planned, for one model whose price and room are not known."""
OFFLINE = "offline: not recorded, and nobody is asked"
CUT = "too long to be shown whole"

_UNNAMED = ""  # stands for the model that nobody has named
_CANARY_BYTES = 1200  # of its question, about
_PICTURE_BYTES = 4500  # of text that takes about as many tokens as a picture


@dataclass(slots=True)
class Planner:
    """Of one trajectory.

    Attributes:
        shelf: What is shown.
        memory: What was decided before.
        options: Of the caller.
    """

    shelf: Shelf
    memory: Memory
    options: JudgeOptions
    _prices: dict[str, Price | None] = field(default_factory=dict[str, "Price | None"])
    _asked: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])

    def plan(self, cases: Sequence[Case]) -> list[Planned]:
        """What each case takes, in order, and what the canary does."""
        cases = [case if case.models else replace(case, models=(_UNNAMED,)) for case in cases]
        alone: list[Planned] = []
        together: defaultdict[tuple[str, Ballot, int], list[tuple[int, View]]] = defaultdict(list)
        canaries: dict[tuple[str, str], View] = {}
        for number, case in enumerate(cases):
            planned, view, waiting = self._alone(case)
            alone.append(planned)
            if view is not None:
                for ballot in waiting:
                    together[view.hash, ballot, case.batch].append((number, view))
                canaries.update({(view.hash, model): view for model in case.models})
        for (_, ballot, batch), members in together.items():
            for start in range(0, len(members), batch):
                self._in_one_call(cases, alone, ballot, members[start : start + batch])
        if self.options.canary:
            spent = [self._call(model, view, _CANARY_BYTES) for (_, model), view in canaries.items()]
            alone.append(Planned(CANARY, None, total(spent)))
        return alone

    def _alone(self, case: Case) -> tuple[Planned, View | None, list[Ballot]]:
        """What a case takes by itself; the view and the ballots that are cast together with those of others."""
        planned = Planned(case.criterion.id, case.item, Estimate())
        if self.memory.recall(case.question, case.record):
            return replace(planned, note=RECORDED), None, []
        nobody = [NOBODY] if case.models == (_UNNAMED,) else []
        view = self.shelf.fitted(case.record)
        if isinstance(view, JudgeError):
            if self.options.offline:
                return replace(planned, note=OFFLINE), None, []
            return replace(planned, estimate=self._long(case), note="; ".join([*nobody, CUT])), None, []
        asking = Asking(case.criterion, case.item, view, case.question, case.batch)
        first, more = ballots(case.models, case.votes)
        wanted = [ballot for ballot in first if not self._is_cached(asking, ballot)]
        if not wanted:
            return replace(planned, note=CACHED), None, []
        if self.options.offline:
            return replace(planned, note=OFFLINE), None, []
        perhaps = [more.model] if more is not None else []
        perhaps += [self.options.escalate] if self.options.escalate else []
        own = len(case.question.text.encode())
        later = [] if case.batch > 1 else [self._call(ballot.model, view, own) for ballot in wanted]
        later += [self._call(model, view, own).or_nothing for model in perhaps]
        later += [self._long(case).or_nothing] if view.cut else []
        note = "; ".join([*nobody, *([CUT] if view.cut else [])])
        return replace(planned, estimate=total(later), note=note), view, wanted if case.batch > 1 else []

    def _is_cached(self, asking: Asking, ballot: Ballot) -> bool:
        return self.memory.cached(self.memory.vote_key(asking, ballot), asking)[0] is not None

    def _in_one_call(
        self, cases: Sequence[Case], planned: list[Planned], ballot: Ballot, members: Sequence[tuple[int, View]]
    ) -> None:
        """Add a call's share to each of those that are asked in it; the call itself is counted at the first."""
        questions = tuple(cases[number].question for number, _ in members)
        text = questions[0].text if len(questions) == 1 else Batch(questions).text
        whole = self._call(ballot.model, members[0][1], len(text.encode()))
        for place, (number, _) in enumerate(members):
            share = replace(whole.shared(len(members)), calls=whole.calls if place == 0 else (0, 0))
            planned[number] = replace(planned[number], estimate=planned[number].estimate + share)

    def _call(self, model: str, view: View, own: int) -> Estimate:
        prefix = (model, view.hash)
        first = prefix not in self._asked
        self._asked.add(prefix)
        return self._priced(model, len(view.text.encode()) + _PICTURE_BYTES * len(view.pictures), own, first=first)

    def _long(self, case: Case) -> Estimate:
        """An index, a verdict on what was chosen; at most, besides, every piece and a verdict on what they gave."""
        model, own = case.models[0], len(case.question.text.encode())
        room = self.shelf.view_room
        least = self._priced(model, room, own, first=True)
        pieces = len(pieces_to_read(case.record, room))
        read = total([self._priced(model, room, own, first=True)] * (pieces + 1)) if pieces else Estimate()
        return total([least, least, read.or_nothing])

    def _priced(self, model: str, shared: int, own: int, *, first: bool) -> Estimate:
        if model not in self._prices:
            self._prices[model] = price_of(model, self.options.extra)
        longest = self.options.max_tokens or ROOM
        system = len(wording.SYSTEM.encode())
        return call(self._prices[model], system + shared, own, longest, self.options.style, first=first)
