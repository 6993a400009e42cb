"""A run as it is reviewed: its episodes, what people recorded about them, the queue, and who may see what."""

from __future__ import annotations

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property
from pathlib import Path

from rubricgrade.agreement import Label
from rubricgrade.errors import Fault, InputError, StoreError
from rubricgrade.people import person
from rubricgrade.result import CriterionResult
from rubricgrade.review.documents import read_documents
from rubricgrade.review.doubts import doubts, weight
from rubricgrade.review.effective import Ruling, effective_score, ruling_on
from rubricgrade.review.episodes import Episode
from rubricgrade.review.items import Item, results_of
from rubricgrade.review.opinions import Opinion, opinions_on
from rubricgrade.review.queue import Draw, Mix, add_draw, divided, draw, place_in_order, read_draws
from rubricgrade.review.records import Drawn, Record, WhyDrawn, add_records, file_of, now, read_records, record_files
from rubricgrade.review.transcript import Transcript
from rubricgrade.runs.manifest import FILE as MANIFEST
from rubricgrade.runs.manifest import read_manifest
from rubricgrade.sandbox import Provider, default_provider
from rubricgrade.scoring import Scored
from rubricgrade.store.grades import read_grade

KEPT = 4
"""Transcripts that stay in memory."""

Signature = tuple[int, int]

_SEEN: ContextVar[dict[Path, dict[str, list[Record]]] | None] = ContextVar("records read in this glance", default=None)


class Desk:
    """What the pages work on. Files are the truth: records of others appear as soon as they are written.

    Args:
        top: The folder that is reviewed.
        episodes: What lies in it.
        gold: Known answers.
        blind: Whether a judge's verdict is kept back until the reviewer has given his own.
        provider: Makes the sandbox in which documents are read; default: the best that this host has.
    """

    def __init__(
        self,
        top: Path,
        episodes: Sequence[Episode],
        *,
        gold: Sequence[Label] = (),
        blind: bool = True,
        provider: Provider | None = None,
    ) -> None:
        self.top = top
        self.episodes: Mapping[str, Episode] = {episode.key: episode for episode in episodes}
        self.items: Mapping[str, Item] = {item.id: item for episode in episodes for item in episode.items}
        self.blind = blind
        self.gold = self._gold(gold)
        self._provider = provider or default_provider()
        self._read: dict[Path, tuple[Signature, list[Record]]] = {}
        self._transcripts: OrderedDict[str, Transcript] = OrderedDict()
        self._opening = asyncio.Lock()
        self._damaged: dict[Path, str] = {}

    # Who holds what.

    def records(self, episode: Episode) -> dict[str, list[Record]]:
        """What people recorded about an episode, by reviewer.

        A file that can't be read is set aside as a whole, since what is lost may take back what is not: see `damaged`.
        """
        seen = _SEEN.get()
        if seen is not None and episode.folder in seen:
            return seen[episode.folder]
        found = dict(self._readable(episode.folder))
        if seen is not None:
            seen[episode.folder] = found
        return found

    @contextmanager
    def glance(self) -> Generator[None]:
        """Within this block records are read once: a page that counts thousands of items looks at each folder once."""
        token = _SEEN.set({})
        try:
            yield
        finally:
            _SEEN.reset(token)

    def add(self, item: Item, records: Sequence[Record]) -> None:
        """Add the records of one reviewer to an item's episode.

        Raises:
            StoreError: They can't be written, or the reviewer's file is set aside.
        """
        episode = self.episodes[item.episode]
        folder = episode.folder
        self.records(episode)
        records = [record.model_copy(update={"by": self.spelt(episode, record.by)}) for record in records]
        for record in records:
            if (why := self._damaged.get(file_of(folder, record.by))) is not None:
                raise StoreError(f"nothing is added to a file that can't be read; mend it or move it away: {why}")
        add_records(folder, records)
        if (seen := _SEEN.get()) is not None:
            seen.pop(folder, None)

    def damaged(self) -> list[str]:
        """Files of people's records that are set aside, each with what is wrong; of the episodes read so far."""
        return [self._damaged[file] for file in sorted(self._damaged)]

    def require_whole(self) -> None:
        """Find out whether everything that people recorded can be read.

        Raises:
            StoreError: A file can't; says which, and why.
        """
        for episode in self.episodes.values():
            self.records(episode)
        if told := self.damaged():
            raise StoreError("; ".join(told))

    def spelt(self, episode: Episode, reviewer: str) -> str:
        """A reviewer's name as an episode's records have it, in whatever case it is written elsewhere."""
        return next((name for name in self.records(episode) if person(name) == person(reviewer)), reviewer)

    def opinions(self, item: Item) -> dict[str, Opinion]:
        """What each reviewer holds of an item."""
        episode = self.episodes[item.episode]
        return opinions_on(item, episode.grade.trajectory.hash, self.records(episode))

    def opinion(self, item: Item, reviewer: str) -> Opinion:
        """What one reviewer holds of an item."""
        name = self.spelt(self.episodes[item.episode], reviewer)
        return self.opinions(item).get(name, Opinion(name))

    def open_to(self, item: Item, reviewer: str) -> bool:
        """Whether a reviewer may be shown what the judge and others said. Every page asks this."""
        return not self.blind or self.opinion(item, reviewer).open

    def wholly_open_to(self, episode: Episode, reviewer: str) -> bool:
        """Whether he may be shown what follows from all verdicts of an episode, such as its score."""
        return all(self.open_to(item, reviewer) for item in episode.items)

    # What follows.

    def rulings(self, episode: Episode) -> dict[str, Ruling]:
        """What people say instead of the judge, by the criterion of an item."""
        found = {item.criterion: ruling_on(item, self.opinions(item)) for item in episode.items}
        return {name: ruling for name, ruling in found.items() if ruling is not None}

    def effective(self, episode: Episode) -> Scored:
        """The score that holds once people have spoken."""
        return effective_score(episode.grade, episode.rubric, self.rulings(episode))

    def doubts(self, item: Item) -> tuple[str, ...]:
        """Why the judge's verdict on an item may be wrong."""
        episode = self.episodes[item.episode]
        before = self._before.get(episode.key, {}).get(item.criterion)
        return doubts(episode.results[item.criterion], episode.grade, before, self.mark_of(episode))

    def mark_of(self, episode: Episode) -> float:
        """The score from which the episode's attempt counts as solved."""
        return self._marks.get(episode.key, 1.0)

    # The queue.

    def current_draw(self) -> Draw | None:
        """The latest draw; None when everything is in the queue."""
        draws = read_draws(self.top)
        return draws[-1] if draws else None

    def queue(self, reviewer: str | None = None) -> list[tuple[Item, Drawn]]:
        """What is to be reviewed, in an order that tells nothing, with how it came in.

        Args:
            reviewer: Whose part of a divided draw; None is all of it.
        """
        current = self.current_draw()
        places = None if current is None else current.places(reviewer)
        listed = [
            (item, drawn)
            for episode in self.episodes.values()
            for item in episode.items
            if (drawn := Drawn() if places is None else places.get((item.episode, item.criterion))) is not None
        ]
        numbers = {item.id: number for number, item in enumerate(self.items.values())}
        seed = "" if current is None else current.id
        return sorted(listed, key=lambda pair: place_in_order(seed, pair[0].episode, numbers[pair[0].id]))

    def drawn(self, item: Item) -> Drawn | None:
        """How an item came into the queue; None if it is not in it."""
        current = self.current_draw()
        return Drawn() if current is None else current.places().get((item.episode, item.criterion))

    def draw(
        self,
        by: str,
        *,
        size: int,
        mix: Mix,
        seed: int,
        flipped: Collection[tuple[str, str]] | None = None,
        reviewers: Sequence[str] = (),
        overlap: float = 0.0,
    ) -> Draw:
        """Draw a queue and keep it.

        Args:
            by: Who draws.
            size: How many judged items, at most.
            mix: Shares of doubtful ones, those by chance, and those with known answers.
            seed: For the chance.
            flipped: These stand for the doubtful ones, if they are given: judged otherwise by another version.
            reviewers: Divide it among these; none: everybody gets all of it.
            overlap: Share of the items that two of them get, 0 to 1.

        Raises:
            InputError: There is nothing to draw, or to draw from.
            StoreError: It can't be kept.
        """
        if size < 1:
            raise InputError("draw at least one item")
        judged = {
            (item.episode, item.criterion): self._doubt(item, flipped)
            for item in self.items.values()
            if item.by == "judge"
        }
        people = [(item.episode, item.criterion) for item in self.items.values() if item.by == "human"]
        if not judged and not people:
            raise InputError(
                "there is nothing to review: no judge decided anything here, and no criterion is left to people"
            )
        if flipped is not None:
            people = []
            size = min(size, _enough(sum(judged.values()), mix))
        why: WhyDrawn = "uncertain" if flipped is None else "flipped"
        places, covered = draw(judged, self.gold.keys(), people, size=size, mix=mix, seed=seed, reason=why)
        if reviewers:
            places = divided(places, reviewers, overlap=overlap, seed=seed)
        drawn = Draw(
            id=secrets.token_hex(4),
            at=now(),
            by=by,
            seed=seed,
            size=size,
            mix=str(mix),
            population=len(judged),
            covered=covered,
            items=tuple(places),
            reviewers=tuple(reviewers),
        )
        add_draw(self.top, drawn)
        return drawn

    def neighbours(self, item: Item, reviewer: str) -> tuple[Item | None, Item | None]:
        """The one before in the queue, and the next one that the reviewer has not dealt with."""
        listed = [each for each, _ in self.queue(reviewer)]
        at = next((number for number, each in enumerate(listed) if each.id == item.id), -1)
        before = listed[at - 1] if at > 0 else None
        waiting = [each for each in [*listed[at + 1 :], *listed[: max(at, 0)]] if not self.dealt_with(each, reviewer)]
        return before, next(iter(waiting), None)

    def dealt_with(self, item: Item, reviewer: str) -> bool:
        """Whether a reviewer has decided an item, or skipped it."""
        opinion = self.opinion(item, reviewer)
        return opinion.final is not None or opinion.skipped is not None

    # What the agent did.

    async def transcript(self, episode: Episode) -> Transcript:
        """The episode as it is read, documents included.

        Raises:
            TrajectoryError: The trajectory can't be had.
        """
        async with self._opening:
            found = self._transcripts.get(episode.key)
            if found is None:
                trajectory = await asyncio.to_thread(episode.trajectory)
                documents, note = await read_documents(trajectory, episode.rubric, self._provider)
                found = Transcript(trajectory, documents, note)
                self._transcripts[episode.key] = found
            self._transcripts.move_to_end(episode.key)
            while len(self._transcripts) > KEPT:
                self._transcripts.popitem(last=False)
            return found

    def _doubt(self, item: Item, flipped: Collection[tuple[str, str]] | None) -> int:
        """How doubtful the judge's verdict on an item is, for a draw."""
        return weight(self.doubts(item)) if flipped is None else int((item.episode, item.criterion) in flipped)

    def _readable(self, folder: Path) -> Iterator[tuple[str, list[Record]]]:
        """What can be read in a folder, by reviewer; what can't is noted."""
        for file in [file for file in self._damaged if file.is_relative_to(folder)]:
            del self._damaged[file]
        try:
            files = record_files(folder)
        except StoreError as error:
            self._damaged[folder] = str(error)
            return
        people: dict[str, Path] = {}
        for file in files:
            if (first := people.setdefault(person(file.stem), file)) is not file:
                self._damaged[file] = f"{file}: is by the same person as {first.name}; make one file of the two"
                continue
            try:
                yield file.stem, self._records(file)
            except FileNotFoundError:
                continue  # it was there a moment ago
            except OSError as error:  # which a `StoreError` is
                self._damaged[file] = str(error)

    def _records(self, file: Path) -> list[Record]:
        facts = file.stat()
        signature = (facts.st_mtime_ns, facts.st_size)
        kept = self._read.get(file)
        if kept is None or kept[0] != signature:
            kept = self._read[file] = (signature, read_records(file))
        return kept[1]

    @cached_property
    def _before(self) -> dict[str, Mapping[str, CriterionResult]]:
        """What the last grade but one said, by episode."""
        return {
            key: results_of(read_grade(episode.files[-2]))
            for key, episode in self.episodes.items()
            if len(episode.files) > 1
        }

    @cached_property
    def _marks(self) -> dict[str, float]:
        marks: dict[str, float] = {}
        for run in {episode.run for episode in self.episodes.values()}:
            place = self.top / run
            if (place / MANIFEST).is_file():
                tasks = read_manifest(place).tasks
                for key, episode in self.episodes.items():
                    task = episode.folder.parent.name
                    if episode.run == run and task in tasks:
                        marks[key] = tasks[task].pass_mark
        return marks

    def _gold(self, labels: Sequence[Label]) -> dict[tuple[str, str], str]:
        """Known answers by episode and criterion.

        Raises:
            InputError: A label is about nothing here, or gives an answer that its criterion does not have.
        """
        found: dict[tuple[str, str], str] = {}
        faults: list[Fault] = []
        for label in labels:
            items = [item for item in self.items.values() if self.names(item, label)]
            if len(items) != 1:
                what = "nothing" if not items else f"{len(items)} things"
                faults.append(Fault(f"{label.criterion} of {label.trajectory} names {what} here", "", label.line))
            elif label.verdict not in items[0].verdicts:
                wanted = ", ".join(sorted(items[0].verdicts))
                faults.append(Fault(f"{label.verdict!r} is no verdict on {label.criterion}: {wanted}", "", label.line))
            else:
                found[items[0].episode, items[0].criterion] = label.verdict
        if faults:
            raise InputError(faults)
        return found

    def names(self, item: Item, label: Label) -> bool:
        """Whether a label is about an item."""
        subject = self.episodes[item.episode].grade.trajectory
        return label.criterion == item.criterion and label.trajectory in (item.episode, subject.id, subject.hash)


def _enough(flipped: int, mix: Mix) -> int:
    """How many items hold all that flipped and the other shares of a mix, so that no share is filled up beyond.

    Raises:
        InputError: Nothing flipped, or the mix has no share for it.
    """
    if not flipped:
        raise InputError("no verdict differs between these versions")
    if not mix.uncertain:
        raise InputError("the mix has no share for what flipped: its first number is 0")
    return -(-flipped * 100 // mix.uncertain)
