"""The record: all that a criterion may see of an episode, whole, before it is fitted to any judge's room."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from rubricgrade import digest
from rubricgrade.evidence import Document, Place, Sources, one_line, select, visible
from rubricgrade.judge.pictures import Picture, pages_of, pictures_of, showable
from rubricgrade.judge.suspicion import suspicions
from rubricgrade.rubric import Judge
from rubricgrade.rubric.judge import DEFAULT_SEES
from rubricgrade.trajectory import Trajectory

MARGIN = "| "
READ_AT_MOST = 8_000_000
"""Characters of an agent's work that are read unless the author says otherwise."""

ORDINARY = 200_000
"""Characters of an agent's work that every judge is to read, however small its room; of more, the agent left much."""

FileSection = Literal["artifacts", "world"]
FILE_SECTIONS: tuple[FileSection, ...] = ("artifacts", "world")
_DEFAULT_SEES = tuple(sorted(DEFAULT_SEES))


@dataclass(frozen=True, slots=True)
class Sight:
    """What criteria must have in common to share a record.

    Attributes:
        sees: Parts of the trajectory, sorted.
        artifacts: Globs of workspace files.
        world: Globs of files that tools keep.
        render: How documents are to be shown.
        read_at_most: Characters of the agent's work that are read, in pieces if need be; None: `READ_AT_MOST`.
        chosen: Whether the author named the parts; what he asked for and nobody has is then missing, not just absent.
    """

    sees: tuple[str, ...]
    artifacts: tuple[str, ...] = ()
    world: tuple[str, ...] = ()
    render: str = "text"
    read_at_most: int | None = None
    chosen: bool = False

    @property
    def identity(self) -> list[object]:
        """Its part of a question's identity."""
        return [self.sees, self.artifacts, self.world, self.render]

    def globs(self, section: FileSection) -> tuple[str, ...]:
        """Which files a section shows."""
        return self.artifacts if section == "artifacts" else self.world


def sight_of(settings: Judge, trajectory: Trajectory) -> Sight:
    """What a criterion sees. Without `artifacts` of its own: those that the task declares, if a workspace was kept."""
    declared = trajectory.artifacts if trajectory.workspace is not None else ()
    return Sight(
        sees=tuple(sorted(settings.sees)) if settings.sees else _DEFAULT_SEES,
        artifacts=declared if settings.artifacts is None else settings.artifacts,
        world=settings.world or (),
        render=settings.render or "text",
        read_at_most=settings.read_at_most,
        chosen=settings.sees is not None,
    )


@dataclass(frozen=True)
class Record:
    """What a sight holds.

    Attributes:
        trajectory: What is judged.
        sight: What is shown of it.
        files: The files that the sight's globs match, as text, and in pictures if need be.
        seeing: Whether every judge takes pictures.
    """

    trajectory: Trajectory
    sight: Sight
    files: tuple[Document, ...] = ()
    seeing: bool = False

    @cached_property
    def pictures(self) -> tuple[Picture, ...]:
        """The pictures that are to be shown and can be; none unless the criterion asks for them."""
        if self.sight.render == "text" or not self.seeing:
            return ()
        return showable((*pictures_of(self.trajectory, self.places), *pages_of(self.files)))

    @cached_property
    def places(self) -> tuple[Place, ...]:
        """Every part, uncut, in order."""
        return select(self.trajectory, self.files, self.sight.sees)

    @cached_property
    def sources(self) -> Sources:
        """All of it, to look up quotes of people, who may have seen all of it."""
        return Sources(self.places)

    @cached_property
    def bodies(self) -> dict[str, str]:
        """Each part as it stands in a prompt, by name."""
        return {place.name: margined(place.text) for place in self.places}

    @cached_property
    def suspicions(self) -> tuple[str, ...]:
        """Signs of talk to the grader."""
        return suspicions(
            {each.name: f"{each.where}\n{self.bodies[each.name]}" for each in self.places if _suspect(each)}
        )

    @cached_property
    def members(self) -> Mapping[str, bytes]:
        """Its part of the identity of every question about it, as `digest.members`."""
        documents = [[one_line(each.path), each.digest or _hash(each.text)] for each in self.files]
        return digest.members({"sees": self.sight.identity, "documents": documents, "trajectory": self.trajectory.hash})

    @cached_property
    def circumstances(self) -> str:
        """Hash of what a view of it depends on besides its `members`: how files were read, and what is missing."""
        files = [[each.path, _hash(each.text), each.note, each.complete] for each in self.files]
        pictures = [digest.of_bytes(picture) for each in self.files for picture in each.pictures]
        return digest.of_value([files, pictures, self.seeing, self.lacks, self.withheld])

    @cached_property
    def lacks(self) -> tuple[str, ...]:
        """What was asked for and is not there, for reasons of ours, in words."""
        return tuple(_lacks(self))

    @cached_property
    def withheld(self) -> tuple[str, ...]:
        """What was asked for and is not there by the agent's own doing, in words."""
        return tuple(
            f"a part of file_{n} ({one_line(file.note, 200)})" for n, file in _incomplete(self.files, by_agent=True)
        )

    @cached_property
    def overlong(self) -> str:
        """Why it is not read to its end, if the agent has made it longer than what is read; else empty."""
        most = self.sight.read_at_most or READ_AT_MOST
        size = self.by_agent
        return f"{size:,} characters of the agent's work, of which {most:,} are read" if size > most else ""

    @cached_property
    def pieces(self) -> dict[int, list[tuple[Place, ...]]]:
        """The pieces in which it is read, by their room; empty until they are made, once for all criteria."""
        return {}

    @cached_property
    def work(self) -> tuple[Place, ...]:
        """The parts that the agent could have written."""
        return tuple(place for place in self.places if _suspect(place))

    @cached_property
    def by_agent(self) -> int:
        """Characters that these take in a prompt."""
        return sum(self.sizes[place.name] for place in self.work)

    def missing(self, section: FileSection) -> str:
        """Why there are no files of a section at all; empty if there can be."""
        if section == "artifacts":
            return "" if self.trajectory.workspace is not None else "the workspace was not kept"
        return "" if self.trajectory.world is not None else "no state of tools was kept"

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Characters that each part takes in a prompt, uncut, by name."""
        return {name: len(body) + len(name) for name, body in self.bodies.items()}


def margined(text: str) -> str:
    """Text of others, made visible, each line behind a bar."""
    return MARGIN + visible(text).replace("\n", f"\n{MARGIN}")


def _hash(text: str) -> str:
    return digest.of_bytes(text.encode(errors="surrogatepass"))


def _suspect(place: Place) -> bool:
    """Whether the agent could have written it."""
    return place.section != "task" and place.about not in ("system", "user")


def _lacks(record: Record) -> Iterator[str]:
    for section in FILE_SECTIONS:
        if record.sight.globs(section) and (missing := record.missing(section)):
            yield f"{section}: {missing}"
    yield from (f"a part of file_{number}" for number, _ in _incomplete(record.files, by_agent=False))
    if record.sight.render != "text":
        wanted = pictures_of(record.trajectory, record.places)
        if missing := [each.where for each in wanted if each not in record.pictures]:
            why = "" if record.seeing else " (not every judge sees)"
            yield f"pictures of {', '.join(dict.fromkeys(missing))}{why}"
    if record.sight.chosen and "diff" in record.sight.sees:
        yield "diff: not recorded with this trajectory"


def _incomplete(files: Sequence[Document], *, by_agent: bool) -> Iterator[tuple[int, Document]]:
    for number, document in enumerate(files, 1):
        if not document.complete and document.withheld == by_agent:
            yield number, document
