"""Recorded verdicts against the rubrics that they are used with: answers that nobody can give, and lines without a use.

A verdict counts where its question is asked word for word of the same episode. What answers nothing is silent else: its
criterion was worded anew, say, and the judge is paid for an answer that somebody has given.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rubricgrade.errors import Fault, InputError
from rubricgrade.evidence import one_line
from rubricgrade.judge.question import answers_of
from rubricgrade.result import Grade
from rubricgrade.rubric import Criterion, Rubric
from rubricgrade.store.recorded import Recorded, Verdict, read_recorded

_SHOWN = 80  # characters of a wording
_NAMED = 8  # lines that are named


@dataclass(frozen=True, slots=True)
class Unused:
    """Recorded verdicts of one file that answer no question of the rubrics that it was used with.

    Attributes:
        file: As it was named.
        lines: Where they stand, from 1.
        of: All recorded verdicts of the file; lines without an answer are none.
        why: What is wrong with the first, in words that go on after its number.
    """

    file: str
    lines: tuple[int, ...]
    of: int
    why: str

    def __str__(self) -> str:
        named = ", ".join(map(str, self.lines[:_NAMED]))
        rest = f" and {len(self.lines) - _NAMED} more" if len(self.lines) > _NAMED else ""
        answer, lines = ("answers", "line") if len(self.lines) == 1 else ("answer", "lines")
        told = f"{len(self.lines)} of {self.of} recorded verdicts {answer} no question of this rubric"
        return f"{self.file}: {told}: {lines} {named}{rest}; line {self.lines[0]} {self.why}"


def check_recorded(files: Iterable[Path], rubrics: Sequence[Rubric] | None) -> None:
    """Find out before anything is graded that recorded verdicts can be used.

    Args:
        files: Of recorded verdicts.
        rubrics: What they are used with; None if that is not known yet.

    Raises:
        InputError: A file can't be read, or an answer is none that its criterion takes; names every line.
    """
    faults: list[Fault] = []
    for file in files:
        try:
            lines = read_recorded(file).lines
        except InputError as error:
            faults += error.faults
            continue
        faults += [fault for rubric in rubrics or () for fault in _wrong_answers(file, lines, rubric)]
    if faults:
        raise InputError(faults)


def unused(files: Iterable[Path], graded: Iterable[tuple[Rubric, Grade]]) -> tuple[Unused, ...]:
    """Recorded verdicts that answer none of the questions that were asked, by file.

    One of an episode that is not among those graded is left out, and so is one whose criterion was not asked since a
    gate failed; neither is known to be of no use.

    Args:
        files: Of recorded verdicts; they can be read.
        graded: Every grade that they were used for, with its rubric.
    """
    seen = _Seen.of(graded)
    return tuple(found for file in files if (found := _unused(file, seen)) is not None)


def warn_of_unused(files: Sequence[Path], graded: Iterable[tuple[Rubric, Grade]]) -> None:
    """Warn a caller in Python of what is `unused`."""
    for each in unused(files, graded) if files else ():
        warnings.warn(str(each), stacklevel=2)


def _wrong_answers(file: Path, lines: Iterable[Recorded], rubric: Rubric) -> Iterator[Fault]:
    judged = {leaf.id: leaf for leaf in rubric.leaves() if leaf.judge is not None}
    for each in lines:
        verdict, criterion = each.verdict, judged.get(each.verdict.criterion)
        if verdict.open or criterion is None or verdict.rubric not in ("", rubric.id):
            continue
        answers = answers_of(criterion, rubric)
        if verdict.answer not in answers and not _reworded(verdict, criterion, rubric):
            told = f"{one_line(verdict.answer or '', _SHOWN)!r} is no answer to criterion {criterion.id}"
            yield Fault(f"{told}: write one of {', '.join(dict.fromkeys(answers.values()))}", str(file), each.line)


def _reworded(verdict: Verdict, criterion: Criterion, rubric: Rubric) -> bool:
    """Whether a criterion asks something else now. Of a `for_each` that can't be told: it is worded for every item."""
    return bool(verdict.asked) and criterion.for_each is None and verdict.asked != rubric.wording(criterion.description)


@dataclass(frozen=True, slots=True)
class _Seen:
    """What was asked in some grades.

    Attributes:
        rubrics: By id.
        questions: The identity of every question that had an answer.
        asked: Trajectory and criterion of all that came to be asked.
    """

    rubrics: dict[str, Rubric]
    questions: frozenset[str]
    asked: frozenset[tuple[str, str]]

    @classmethod
    def of(cls, graded: Iterable[tuple[Rubric, Grade]]) -> _Seen:
        rubrics: dict[str, Rubric] = {}
        questions: set[str] = set()
        asked: set[tuple[str, str]] = set()
        for rubric, grade in graded:
            rubrics[rubric.id] = rubric
            stopped = any(gate.open or gate.verdict == "not_met" for gate in grade.gates)
            for leaf in grade.leaves():
                records = [each.judge for each in (leaf, *leaf.parts) if each.judge is not None]
                questions |= {record.question for record in records}
                if leaf.by == "judge" and (records or not stopped) and leaf.verdict != "not_applicable":
                    asked.add((grade.trajectory.id, leaf.id))
        return cls(rubrics, frozenset(questions), frozenset(asked))


def _unused(file: Path, seen: _Seen) -> Unused | None:
    lines = [each for each in read_recorded(file).lines if not each.verdict.open]
    # Rubrics that lie together may share a file; where no line is for any of those that were used, it is the wrong one.
    shared = any(each.verdict.rubric in seen.rubrics for each in lines)
    why = {each.line: told for each in lines if (told := _why(each.verdict, seen, shared=shared))}
    return Unused(str(file), tuple(why), len(lines), next(iter(why.values()))) if why else None


def _why(verdict: Verdict, seen: _Seen, *, shared: bool) -> str:
    """Why a recorded verdict has no use; empty if it has one, or may have."""
    if verdict.question in seen.questions:
        return ""
    rubrics = [seen.rubrics[verdict.rubric]] if verdict.rubric in seen.rubrics else list(seen.rubrics.values())
    if verdict.rubric and verdict.rubric not in seen.rubrics:
        graded_by = ", ".join(seen.rubrics)
        return "" if shared else f"is for rubric {one_line(verdict.rubric, _SHOWN)!r}, and this is {graded_by}"
    found = [(leaf, rubric) for rubric in rubrics for leaf in rubric.leaves() if leaf.id == verdict.criterion]
    if verdict.criterion and not any(leaf.judge for leaf, _ in found):
        return f"is about {one_line(verdict.criterion, _SHOWN)!r}, which is no judged criterion"
    if found and all(_reworded(verdict, leaf, rubric) for leaf, rubric in found):
        now = found[0][1].wording(found[0][0].description)
        return (
            f"asks {one_line(verdict.asked, _SHOWN)!r}, and criterion {verdict.criterion} now asks "
            f"{one_line(now, _SHOWN)!r}"
        )
    if verdict.trajectory and (verdict.trajectory, verdict.criterion) not in seen.asked:
        return ""
    return (
        "asks in the same words about something else: the episode, or the criterion's guidance, scale or reference, is "
        "another one than it was recorded for"
    )
