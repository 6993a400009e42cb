"""The record as a judge sees it: rendered once for all criteria that see the same, fenced, and what is not in it.

Every line of text that is not ours begins with a bar; the fence carries a code that depends on everything inside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from rubricgrade import digest
from rubricgrade.evidence import Document, Place, Sources, one_line, select, visible
from rubricgrade.evidence.places import final_step, first_user_step, separate_task
from rubricgrade.judge import wording
from rubricgrade.judge.fitting import fit
from rubricgrade.judge.suspicion import suspicions
from rubricgrade.rubric import Judge
from rubricgrade.rubric.judge import DEFAULT_SEES
from rubricgrade.trajectory import Image, Trajectory

MARGIN = "| "
_FileSection = Literal["artifacts", "world"]
_TITLES = {"artifacts": "FILES THAT THE AGENT LEFT", "world": "FILES THAT TOOLS KEPT"}
_NO_PICTURES = "pictures of documents: their text is shown"


@dataclass(frozen=True, slots=True)
class Sight:
    """What criteria must have in common to share a view.

    Attributes:
        sees: Parts of the trajectory, sorted.
        artifacts: Globs of workspace files.
        world: Globs of files that tools keep.
        render: How documents are to be shown.
        chosen: Whether the author named the parts; what he asked for and nobody has is then missing, not just absent.
    """

    sees: tuple[str, ...]
    artifacts: tuple[str, ...] = ()
    world: tuple[str, ...] = ()
    render: str = "text"
    chosen: bool = False

    @property
    def identity(self) -> list[object]:
        """Its part of a question's identity."""
        return [self.sees, self.artifacts, self.world, self.render]

    def globs(self, section: _FileSection) -> tuple[str, ...]:
        """Which files a section shows."""
        return self.artifacts if section == "artifacts" else self.world


@dataclass(frozen=True)
class View:
    """A rendered record.

    Attributes:
        text: The whole first message.
        sources: What can be quoted from it.
        parts: Characters by section.
        left_out: What is not shown, in words.
        incomplete: Something that a verdict could need is missing for reasons of ours, so that absence proves nothing.
        suspicions: Signs of talk to the grader.
        documents: Path and digest of each document, for the question's identity.
        sight: What was asked to be shown.
        trajectory: Hash of the trajectory.
    """

    text: str
    sources: Sources
    parts: dict[str, int]
    left_out: tuple[str, ...]
    incomplete: bool
    suspicions: tuple[str, ...]
    documents: tuple[tuple[str, str], ...]
    sight: Sight
    trajectory: str

    @cached_property
    def hash(self) -> str:
        """``sha256:...`` of the text."""
        return digest.of_bytes(self.text.encode())


def sight_of(settings: Judge, trajectory: Trajectory) -> Sight:
    """What a criterion sees. Without `artifacts` of its own: those that the task declares, if a workspace was kept."""
    declared = trajectory.artifacts if trajectory.workspace is not None else ()
    return Sight(
        sees=tuple(sorted(settings.sees or DEFAULT_SEES)),
        artifacts=declared if settings.artifacts is None else settings.artifacts,
        world=settings.world or (),
        render=settings.render or "text",
        chosen=settings.sees is not None,
    )


def make_view(trajectory: Trajectory, sight: Sight, documents: Sequence[Document], room: int) -> View:
    """Render the record.

    Args:
        trajectory: What is judged.
        sight: What is shown of it.
        documents: Text of the files that the sight's globs match.
        room: Characters that the view may take; long tool results are cut to fit.

    Raises:
        JudgeError: It does not fit.
    """
    chosen = select(trajectory, documents, sight.sees)
    bodies = {place.name: margined(place.text) for place in chosen}
    places = fit(chosen, [len(bodies[place.name]) + len(place.name) for place in chosen], room)
    rendered = {
        "task": "\n".join(_task(trajectory, sight, places, bodies)),
        "log": "\n".join(_log(trajectory, places, bodies)),
        "artifacts": "\n".join(_files("artifacts", trajectory, sight, places, bodies)),
        "world": "\n".join(_files("world", trajectory, sight, places, bodies)),
    }
    body = "\n\n".join(rendered.values())
    lacks = tuple(_lacks(trajectory, sight, documents))
    cuts = tuple(_cut_words(place) for place in places if place.hidden is not None)
    return View(
        text=_fenced(body, trajectory.hash),
        sources=Sources(places),
        parts={name: len(text) for name, text in rendered.items()},
        left_out=(*cuts, *lacks, *_by_choice(trajectory, sight)),
        incomplete=bool(cuts or lacks),
        suspicions=suspicions({each.name: f"{each.where}\n{bodies[each.name]}" for each in places if _suspect(each)}),
        documents=tuple((one_line(each.path), each.digest or _hash(each.text)) for each in documents),
        sight=sight,
        trajectory=trajectory.hash,
    )


def margined(text: str) -> str:
    """Text of others, made visible, each line behind a bar."""
    return MARGIN + visible(text).replace("\n", f"\n{MARGIN}")


def _hash(text: str) -> str:
    return digest.of_bytes(text.encode(errors="surrogatepass"))


def _fenced(body: str, identity: str) -> str:
    number = 0
    nonce = _hash(f"{identity} {body}")[-16:]
    while nonce in body:
        number += 1
        nonce = _hash(f"{identity} {number} {body}")[-16:]
    begin, end = wording.BEGIN.format(nonce=nonce), wording.END.format(nonce=nonce)
    return f"{wording.RECORD.format(nonce=nonce)}\n\n{begin}\n{body}\n{end}"


def _task(trajectory: Trajectory, sight: Sight, places: Sequence[Place], bodies: dict[str, str]) -> Iterator[str]:
    yield "TASK"
    first = first_user_step(trajectory)
    if "task" not in sight.sees:
        yield "not shown"
    elif separate_task(trajectory) is not None:
        yield from (_entry(place, bodies) for place in places if place.section == "task")
    else:
        yield "none" if first is None else f"see [{first}].text"


def _log(trajectory: Trajectory, places: Sequence[Place], bodies: dict[str, str]) -> Iterator[str]:
    yield f"LOG OF {len(trajectory.steps)} STEPS, numbered from 0"
    log = [place for place in places if place.section == "log"]
    yield from (_entry(place, bodies) for place in log)
    if not log:
        yield "none of it is shown"
    final = final_step(trajectory)
    if final is None:
        yield "FINAL MESSAGE: none, the episode did not end with a message of the agent"
    elif any(place.where == f"[{final}].text" for place in log):
        yield f"FINAL MESSAGE: [{final}].text"


def _files(
    section: _FileSection, trajectory: Trajectory, sight: Sight, places: Sequence[Place], bodies: dict[str, str]
) -> Iterator[str]:
    yield _TITLES[section]
    globs = sight.globs(section)
    shown = [place for place in places if place.section == section]
    if not globs:
        yield "not shown"
    elif missing := _missing(trajectory, section):
        yield f"not available: {missing}"
    elif not shown:
        yield f"none: no file matches {', '.join(globs)}"
    for place in shown:
        yield f"[{place.name}].path\n{margined(place.where)}"
        if place.note:
            yield f"[{place.name}].note\n{margined(place.note)}"
        yield f"[{place.name}].text\n{bodies[place.name]}" if place.text else f"[{place.name}].text: none"


def _entry(place: Place, bodies: dict[str, str]) -> str:
    heading = place.name if place.name.startswith("[") else f"[{place.name}]"
    if place.about:
        heading += f" ({place.about})"
    if not place.text:
        return f"{heading}: empty"
    if place.hidden is None:
        return f"{heading}\n{bodies[place.name]}"
    start, end = place.hidden
    head, tail = margined(place.text[:start]), margined(place.text[end:])
    return f"{heading}\n{head}\n(CUT HERE: {_cut_words(place)})\n{tail}"


def _suspect(place: Place) -> bool:
    """Whether the agent could have written it."""
    return place.section != "task" and place.about not in ("system", "user")


def _cut_words(place: Place) -> str:
    start, end = place.hidden or (0, 0)
    return f"{end - start:,} of the {len(place.text):,} characters of {place.name} are not shown"


def _missing(trajectory: Trajectory, section: _FileSection) -> str:
    if section == "artifacts":
        return "" if trajectory.workspace is not None else "the workspace was not kept"
    return "" if trajectory.world is not None else "no state of tools was kept"


def _lacks(trajectory: Trajectory, sight: Sight, documents: Sequence[Document]) -> Iterator[str]:
    """What was asked for and is not there, for reasons of ours."""
    sections: tuple[_FileSection, ...] = ("artifacts", "world")
    for section in sections:
        if sight.globs(section) and (missing := _missing(trajectory, section)):
            yield f"{section}: {missing}"
    for number, document in enumerate(documents, 1):
        if not document.complete:
            yield f"a part of file_{number}"
    if sight.chosen and "diff" in sight.sees:
        yield "diff: not recorded with this trajectory"


def _by_choice(trajectory: Trajectory, sight: Sight) -> Iterator[str]:
    hidden = [part for part in (*DEFAULT_SEES, "reasoning") if part not in sight.sees]
    if "reasoning" in hidden and not any(step.reasoning for step in trajectory.steps):
        hidden.remove("reasoning")
    yield from (f"{part}: not among what this criterion sees" for part in hidden)
    pictures = [
        f"[{index}]" for index, step in enumerate(trajectory.steps) if any(isinstance(p, Image) for p in step.content)
    ]
    if pictures:
        yield f"pictures of {', '.join(pictures)}: named, not shown"
    if sight.render != "text":
        yield _NO_PICTURES
