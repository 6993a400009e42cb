"""An episode as it is read: steps and documents in order, long texts folded, all of it in pages that load one by one.

How it is folded and paged depends on the episode alone, so that it tells nothing about what a judge quoted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath

from rubricgrade.evidence import Document, Place, Sources, select
from rubricgrade.evidence.places import WORLD
from rubricgrade.review.marking import Mark, Piece, cut
from rubricgrade.trajectory import Step, Trajectory

LONG = 12_000
"""Characters of a text that is shown whole; of a longer one its beginning and its end are."""

HEAD, TAIL = 8_000, 2_000
AROUND = 600
"""Characters around a quote that lies in what is folded."""

PAGE = 200_000
"""Characters of a page, folded."""

MOST_LANDMARKS = 12

_STEP = re.compile(r"\[(\d+)\]\.(\w+)\Z")
_LINE = re.compile(r":\d+\Z")


@dataclass(frozen=True, slots=True)
class Part:
    """A text of a block.

    Attributes:
        where: Its address.
        anchor: Its name in a page.
        kind: ``text``, ``call``, ``result``, ``reasoning`` or ``document``.
        about: A remark, in words of ours.
        pieces: What is shown of it.
        folded: Characters that are not.
    """

    where: str
    anchor: str
    kind: str
    about: str
    pieces: tuple[Piece, ...]
    folded: int


@dataclass(frozen=True, slots=True)
class Block:
    """A step, the task, or a document, ready to be drawn."""

    anchor: str
    role: str
    title: str
    tool: str
    failed: bool
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class _Raw:
    anchor: str
    role: str
    title: str
    tool: str
    failed: bool
    places: tuple[Place, ...]

    @property
    def size(self) -> int:
        return sum(min(len(place.text), HEAD + TAIL) for place in self.places)


@dataclass(frozen=True)
class Transcript:
    """An episode.

    Attributes:
        trajectory: What the agent did.
        documents: Files that it left, or that tools kept.
        note: Why documents are missing; empty if none are.
    """

    trajectory: Trajectory
    documents: tuple[Document, ...] = ()
    note: str = ""

    @cached_property
    def places(self) -> tuple[Place, ...]:
        """Everything that can be quoted."""
        return select(self.trajectory, self.documents)

    @cached_property
    def sources(self) -> Sources:
        """The same, to look quotes up in."""
        return Sources(self.places)

    @cached_property
    def pages(self) -> tuple[tuple[int, int], ...]:
        """First block of each page and the one behind its last."""
        pages: list[tuple[int, int]] = []
        first, size = 0, 0
        for index, raw in enumerate(self._raw):
            if size and size + raw.size > PAGE:
                pages.append((first, index))
                first, size = index, 0
            size += raw.size
        return (*pages, (first, len(self._raw)))

    @property
    def tools(self) -> tuple[str, ...]:
        """Names of the tools that were called."""
        return tuple(sorted({call.name for _, _, call in self.trajectory.calls()}))

    @cached_property
    def landmarks(self) -> tuple[tuple[str, str], ...]:
        """What a reader goes to first, and its name in a page: the agent's last word, and files."""
        last = next((raw for raw in reversed(self._raw) if raw.role == "assistant"), None)
        files = [(raw.places[0].where, raw.anchor) for raw in self._raw if raw.role == "document"]
        return ((("last message", last.anchor),) if last else ()) + tuple(files[:MOST_LANDMARKS])

    @property
    def separate_task(self) -> bool:
        """Whether the task is recorded apart from the messages; then it is a block of its own."""
        return self._raw[0].role == "task"

    def page_of(self, anchor: str) -> int:
        """The page that a place is on, by its name in a page; the first if it is on none."""
        for number, (first, end) in enumerate(self.pages):
            for raw in self._raw[first:end]:
                if raw.anchor == anchor or any(anchor_of(place) == anchor for place in raw.places):
                    return number
        return 0

    def place(self, where: str | None) -> Place | None:
        """The place of an address as evidence has it; of a document also with a line, or of a part of it."""
        if where is None:
            return None
        if where in self._by_address:
            return self._by_address[where]
        path = PurePosixPath(_LINE.sub("", where))
        # A check names a file of the world without saying so, and an attachment as if it lay in its mail.
        names = [str(name) for one in (path, *path.parents) for name in (one, f"{WORLD}{one}")]
        return next((self._by_address[name] for name in names if name in self._by_address), None)

    def blocks(
        self,
        numbers: Iterable[int],
        marks: Mapping[str, Sequence[Mark]],
        *,
        redact: bool,
        whole: str = "",
    ) -> Iterator[Block]:
        """Blocks ready to be drawn.

        Args:
            numbers: Which.
            marks: By the address of a place.
            redact: Whether to hide secrets and personal data.
            whole: The name of a part that is not to be folded.
        """
        for number in numbers:
            raw = self._raw[number]
            parts = tuple(
                _part(place, marks.get(place.where, ()), redact=redact, whole=whole == anchor_of(place))
                for place in raw.places
            )
            yield Block(raw.anchor, raw.role, raw.title, raw.tool, raw.failed, parts)

    def having(self, text: str, tool: str) -> list[int]:
        """Numbers of the blocks that hold a text (in any case) and belong to a tool; empty strings are no condition."""
        wanted = text.casefold()
        return [
            number
            for number, raw in enumerate(self._raw)
            if (not tool or raw.tool == tool or self._calls(raw, tool))
            and (not wanted or any(wanted in place.text.casefold() for place in raw.places))
        ]

    def block_with(self, where: str) -> int | None:
        """The number of the block that a place is in."""
        return next(
            (number for number, raw in enumerate(self._raw) if any(place.where == where for place in raw.places)), None
        )

    def _calls(self, raw: _Raw, tool: str) -> bool:
        match = re.match(r"step-(\d+)\Z", raw.anchor)
        return match is not None and any(call.name == tool for call in self.trajectory.steps[int(match[1])].calls)

    @cached_property
    def _by_address(self) -> dict[str, Place]:
        return {place.where: place for place in self.places}

    @cached_property
    def _raw(self) -> tuple[_Raw, ...]:
        by_step: dict[int, list[Place]] = {}
        task: list[_Raw] = []
        files: list[_Raw] = []
        for place in self.places:
            if place.section == "task":
                task.append(_Raw("task", "task", "Task", "", failed=False, places=(place,)))
            elif (address := _address(place)) is not None:
                by_step.setdefault(address[0], []).append(place)
            else:
                title = "Kept by tools" if place.section == "world" else "Left by the agent"
                files.append(_Raw(anchor_of(place), "document", title, "", failed=False, places=(place,)))
        steps = [_of_step(self.trajectory, number, tuple(places)) for number, places in by_step.items()]
        return (*task, *steps, *files)


def anchor_of(place: Place) -> str:
    """A place's name in a page: of letters, digits, dashes and underscores only."""
    address = _address(place)
    return f"at-{address[0]}-{address[1]}" if address else place.name.replace("_", "-")


def _address(place: Place) -> tuple[int, str] | None:
    """Step and part of a place in the log; None for any other."""
    match = _STEP.match(place.where) if place.section == "log" else None
    return (int(match[1]), match[2]) if match else None


def _of_step(trajectory: Trajectory, number: int, places: tuple[Place, ...]) -> _Raw:
    step = trajectory.steps[number]
    tool = step.tool or _asked(trajectory, step) if step.role == "tool" else ""
    return _Raw(f"step-{number}", step.role, str(number), tool or "", failed=bool(step.failed), places=places)


def _asked(trajectory: Trajectory, step: Step) -> str:
    if step.answers is None:
        return ""
    asked, call = step.answers
    return trajectory.steps[asked].calls[call - 1].name


def _part(place: Place, marks: Sequence[Mark], *, redact: bool, whole: bool) -> Part:
    shown = [(0, len(place.text))] if whole or len(place.text) <= LONG else _windows(len(place.text), marks)
    pieces = tuple(cut(place.text, marks, shown, redact=redact))
    kind = "document" if place.section in ("artifacts", "world") else "text"
    if address := _address(place):
        kind = "call" if address[1].startswith("call_") else address[1]
    about = place.note if kind == "document" else place.about
    return Part(place.where, anchor_of(place), kind, about, pieces, sum(piece.left_out for piece in pieces))


def _windows(length: int, marks: Sequence[Mark]) -> list[tuple[int, int]]:
    """What is shown of a long text: its ends and what stands around marks, joined where they touch."""
    wanted = [(0, HEAD), (length - TAIL, length)]
    wanted += [(max(mark.start - AROUND, 0), min(mark.end + AROUND, length)) for mark in marks if mark.end <= length]
    joined: list[tuple[int, int]] = []
    for start, end in sorted(wanted):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined
