"""A record as a judge sees it: all of it or what fits, fenced, and what is not in it.

Every line of text that is not ours begins with a bar; the fence carries a code that depends on everything inside it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from rubricgrade import digest
from rubricgrade.evidence import Document, Place, Sources
from rubricgrade.evidence.places import final_step, first_user_step, separate_task
from rubricgrade.judge import wording
from rubricgrade.judge.fitting import fit
from rubricgrade.judge.pictures import Picture, content
from rubricgrade.judge.record import FileSection, Record, Sight, margined
from rubricgrade.rubric.judge import DEFAULT_SEES
from rubricgrade.trajectory import Image, Step, Trajectory

Strategy = Literal["whole", "trimmed", "retrieved", "mapped"]
"""How a record was fitted: not at all, by cutting tool results, by choosing parts, by reading all of it in pieces."""

_TITLES: Mapping[FileSection, str] = {
    "artifacts": "FILES THAT THE AGENT LEFT",
    "world": "FILES THAT TOOLS KEPT",
}


@dataclass(frozen=True)
class View:
    """A rendered record.

    Attributes:
        text: The whole first message.
        sources: What can be quoted from it.
        parts: Characters by section.
        left_out: What is not shown, in words.
        cut: A part that a verdict could need was left out to make it fit.
        strategy: How it was made to fit.
        record: What it was made from.
        pictures: Shown behind the text.
        beyond: Why more can't be shown, if the agent has left too much for it; else empty.
    """

    text: str
    sources: Sources
    parts: dict[str, int]
    left_out: tuple[str, ...]
    cut: bool
    strategy: Strategy
    record: Record
    pictures: tuple[Picture, ...] = ()
    beyond: str = ""

    @property
    def incomplete(self) -> bool:
        """Whether something is missing, for reasons of ours or of the agent's, so that absence proves nothing."""
        return self.cut or bool(self.record.lacks or self.record.withheld)

    @property
    def withheld(self) -> tuple[str, ...]:
        """What is missing by the agent's own doing, in words; empty if anything is missing for a reason of ours."""
        record = self.record
        beyond = record.overlong or self.beyond
        if record.lacks or (self.cut and not beyond):
            return ()
        return (*record.withheld, *([beyond] if self.cut else []))

    @cached_property
    def text_hash(self) -> str:
        """``sha256:...`` of the text."""
        return digest.of_bytes(self.text.encode())

    @cached_property
    def hash(self) -> str:
        """``sha256:...`` of the text and the pictures."""
        if not self.pictures:
            return self.text_hash
        return digest.of_value([self.text_hash, *(digest.of_bytes(each.image.data.encode()) for each in self.pictures)])

    @property
    def content(self) -> str | list[dict[str, Any]]:
        """The message: the text, and the pictures if there are any."""
        return content(self.text, self.pictures)


def make_view(trajectory: Trajectory, sight: Sight, documents: Sequence[Document], room: int) -> View:
    """Render a record; long tool results are cut to fit.

    Args:
        trajectory: What is judged.
        sight: What is shown of it.
        documents: Text of the files that the sight's globs match.
        room: Characters that the view may take.

    Raises:
        JudgeError: It does not fit.
    """
    return fitted(Record(trajectory, sight, tuple(documents)), room)


def fitted(record: Record, room: int) -> View:
    """The whole record, or with its long tool results cut to fit. Raises `JudgeError` if that is not enough."""
    places = fit(record.places, [record.sizes[place.name] for place in record.places], room)
    cut = any(place.hidden for place in places)
    return render(record, places, "trimmed" if cut else "whole", cut=cut)


def render(
    record: Record, places: Sequence[Place], strategy: Strategy, *, cut: bool, about: Sequence[str] = ()
) -> View:
    """Render some of a record's parts.

    Args:
        record: What they are of.
        places: The parts, in order; each may have hidden pieces.
        strategy: How they were chosen.
        cut: Whether what is missing could have been needed.
        about: Notes on the choice, for the list of what was left out.
    """
    shown = {place.name: place for place in places}
    sections = {
        "task": "\n".join(_task(record, shown)),
        "log": "\n".join(_log(record, shown)),
        "artifacts": "\n".join(_files("artifacts", record, shown)),
        "world": "\n".join(_files("world", record, shown)),
    }
    gaps = tuple(_gap_words(gap) for gap in _gaps(record.places, shown))
    cuts = tuple(_cut_words(place) for place in places if place.hidden)
    return View(
        text=fenced("\n\n".join(sections.values()), record.trajectory.hash, wording.RECORD),
        sources=Sources(places),
        parts={name: len(text) for name, text in sections.items()},
        left_out=(*about, *gaps, *cuts, *record.lacks, *record.withheld, *_by_choice(record)),
        cut=cut,
        strategy=strategy,
        record=record,
        pictures=tuple(each for each in record.pictures if each.where in shown),
    )


def fenced(body: str, identity: str, head: str) -> str:
    """A text between two lines with a code that nothing inside it can know; `head` introduces it."""
    number = 0
    nonce = _nonce(f"{identity} {body}")
    while nonce in body:
        number += 1
        nonce = _nonce(f"{identity} {number} {body}")
    begin, end = wording.BEGIN.format(nonce=nonce), wording.END.format(nonce=nonce)
    return f"{head.format(nonce=nonce)}\n\n{begin}\n{body}\n{end}"


def _nonce(text: str) -> str:
    return digest.of_bytes(text.encode(errors="surrogatepass"))[-16:]


def _task(record: Record, shown: Mapping[str, Place]) -> Iterator[str]:
    yield "TASK"
    first = first_user_step(record.trajectory)
    if "task" not in record.sight.sees:
        yield "not shown"
    elif separate_task(record.trajectory) is not None:
        yield from _entries(record, "task", shown)
    else:
        yield "none" if first is None else f"see [{first}].text"


def _log(record: Record, shown: Mapping[str, Place]) -> Iterator[str]:
    yield f"LOG OF {len(record.trajectory.steps)} STEPS, numbered from 0"
    entries = list(_entries(record, "log", shown))
    yield from entries
    if not entries:
        yield "none of it is shown"
    final = final_step(record.trajectory)
    if final is None:
        yield "FINAL MESSAGE: none, the episode did not end with a message of the agent"
    elif f"[{final}].text" in shown:
        yield f"FINAL MESSAGE: [{final}].text"


def _files(section: FileSection, record: Record, shown: Mapping[str, Place]) -> Iterator[str]:
    yield _TITLES[section]
    globs = record.sight.globs(section)
    if not globs:
        yield "not shown"
    elif missing := record.missing(section):
        yield f"not available: {missing}"
    elif not any(place.section == section for place in record.places):
        yield f"none: no file matches {', '.join(globs)}"
    yield from _entries(record, section, shown)


def _entries(record: Record, section: str, shown: Mapping[str, Place]) -> Iterator[str]:
    """The parts of a section; a run of parts that are not shown is one line."""
    gap: list[Place] = []
    for place in (place for place in record.places if place.section == section):
        if place.name not in shown:
            gap.append(place)
            continue
        if gap:
            yield f"(NOT SHOWN: {_gap_words(gap)})"
            gap = []
        yield _entry(shown[place.name], record)
    if gap:
        yield f"(NOT SHOWN: {_gap_words(gap)})"


def _entry(place: Place, record: Record) -> str:
    if place.section in ("artifacts", "world"):
        lines = [f"[{place.name}].path\n{margined(place.where)}"]
        if place.note:
            lines.append(f"[{place.name}].note\n{margined(place.note)}")
        heading = f"[{place.name}].text"
        lines.append(f"{heading}\n{_body(place, record)}" if place.text else f"{heading}: none")
        return "\n".join(lines)
    heading = place.name if place.name.startswith("[") else f"[{place.name}]"
    if place.about:
        heading += f" ({place.about})"
    return f"{heading}\n{_body(place, record)}" if place.text else f"{heading}: empty"


def _body(place: Place, record: Record) -> str:
    if not place.hidden:
        return record.bodies[place.name]
    lines: list[str] = []
    done = 0
    for start, end in place.hidden:
        if start > done:
            lines.append(margined(place.text[done:start]))
        lines.append(f"(CUT HERE: {end - start:,} of the {len(place.text):,} characters of {place.name})")
        done = end
    if done < len(place.text):
        lines.append(margined(place.text[done:]))
    return "\n".join(lines)


def _cut_words(place: Place) -> str:
    return f"{place.missing:,} of the {len(place.text):,} characters of {place.name} are not shown"


def _gaps(places: Sequence[Place], shown: Mapping[str, Place]) -> Iterator[list[Place]]:
    gap: list[Place] = []
    for place in places:
        if place.name not in shown:
            gap.append(place)
        elif gap:
            yield gap
            gap = []
    if gap:
        yield gap


def _gap_words(gap: Sequence[Place]) -> str:
    characters = sum(len(place.text) for place in gap)
    if len(gap) == 1:
        return f"{gap[0].name}, {characters:,} characters"
    return f"{gap[0].name} to {gap[-1].name}, {len(gap)} parts, {characters:,} characters"


def _by_choice(record: Record) -> Iterator[str]:
    trajectory, sight = record.trajectory, record.sight
    hidden = [part for part in (*DEFAULT_SEES, "reasoning") if part not in sight.sees]
    if "reasoning" in hidden and not any(step.reasoning for step in trajectory.steps):
        hidden.remove("reasoning")
    yield from (f"{part}: not among what this criterion sees" for part in hidden)
    if sight.render == "text":
        if pictures := [f"[{index}]" for index, step in enumerate(trajectory.steps) if _has_picture(step)]:
            yield f"pictures of {', '.join(pictures)}: named, not shown"
        return
    pages = Counter(picture.where for picture in record.pictures)
    for number, file in enumerate(record.files, 1):
        shown, drawn = pages[f"file_{number}"], len(file.pictures)
        if not shown:
            yield f"pictures of file_{number}: its text is shown"
        elif shown < drawn:
            yield f"pictures of pages {shown + 1} to {drawn} of file_{number}: their text is shown"


def _has_picture(step: Step) -> bool:
    return bool([part for part in step.content if isinstance(part, Image)])
