"""What people decided: labels that `rubricgrade agreement` reads, in and out, and recorded verdicts to grade by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from rubricgrade.agreement import Label
from rubricgrade.errors import Fault, InputError
from rubricgrade.result import Evidence
from rubricgrade.review.desk import Desk
from rubricgrade.review.items import Item
from rubricgrade.review.opinions import Opinion, majority, settled
from rubricgrade.review.records import REVIEWER, Adjudicated, Decided, new_id, now
from rubricgrade.review.redaction import redacted
from rubricgrade.review.tables import LABEL, RECORD, Form, csv_of, label_rows, parquet_of, record_rows
from rubricgrade.store.recorded import HAND, RecordedQuote, Verdict

Which = Literal["first", "final", "settled"]
WHICH: tuple[Which, ...] = ("first", "final", "settled")
"""Verdicts given before the judge's was seen; those that people hold now; adjudications."""


def labels_of(desk: Desk, which: Which = "first") -> list[Label]:
    """The labels of all reviewers, in the order of the episodes and of the rubric."""
    return [
        Label(trajectory=item.episode, criterion=item.criterion, verdict=act.verdict, by=name, why=act.why)
        for item in desk.items.values()
        for name, opinion in sorted(desk.opinions(item).items())
        if (act := _act(opinion, which)) is not None
    ]


def labels_file(labels: Sequence[Label], form: Form = "jsonl", *, redact: bool = False) -> bytes:
    """Labels as a file that `rubricgrade.agreement.read_labels` takes.

    Args:
        labels: What to write.
        form: JSON lines, or a table.
        redact: Whether to hide secrets and personal data in notes. What names the episode stays, or it names none.

    Raises:
        MissingExtraError: What writes this form is not installed.
    """
    kept = [label.model_copy(update={"why": redacted(label.why)}) for label in labels] if redact else labels
    match form:
        case "csv":
            return csv_of(LABEL, label_rows(kept))
        case "parquet":
            return parquet_of(LABEL, label_rows(kept))
        case "jsonl":
            return "".join(label.model_dump_json() + "\n" for label in kept).encode(errors="replace")


def verdicts_of(desk: Desk) -> tuple[list[Verdict], int]:
    """What holds by people's word, as recorded verdicts by hand, which grading takes in a judge's place.

    Returns:
        The verdicts, and for how many no question is known, because nobody came to be asked when it was graded.
    """
    found: list[Verdict] = []
    unknown = 0
    for item in desk.items.values():
        episode = desk.episodes[item.episode]
        if (said := _said(desk.opinions(item))) is None:
            continue
        names, act = said
        record = episode.results[item.criterion].judge
        if record is None or not record.question:
            unknown += 1
            continue
        quotes = act.evidence if isinstance(act, Decided) else ()
        found.append(
            Verdict(
                question=record.question,
                rubric=episode.rubric.id,
                criterion=item.criterion,
                asked=item.text,
                trajectory=episode.grade.trajectory.id,
                answer=act.verdict,
                reasoning=act.why,
                # One that stands nowhere would leave the verdict open, whoever gave it.
                evidence=tuple(RecordedQuote(quote=each.quote, where=each.where) for each in quotes if _stands(each)),
                recorded_by=f"{HAND}{names}",
                recorded_at=act.at,
            )
        )
    return found, unknown


def _said(opinions: Mapping[str, Opinion]) -> tuple[str, Decided | Adjudicated] | None:
    """Who says what holds, and an act that says it; None where the judge's verdict stands, or nothing does."""
    if (act := settled(opinions.values())) is not None:
        return act.by, act
    verdict, _ = majority(opinions.values())
    acts = {name: each.final for name, each in opinions.items() if each.final and each.final.verdict == verdict}
    if not acts:
        return None
    return ", ".join(sorted(acts)), max(acts.values(), key=lambda act: (len(act.evidence), act.at))


def _stands(quote: Evidence) -> bool:
    return quote.verified in ("verified", "near")


def records_file(desk: Desk, form: Form = "jsonl", *, redact: bool = False) -> bytes:
    """Every record of every reviewer as a file.

    Args:
        desk: Whose records.
        form: JSON lines as they stand in the files, or a table.
        redact: Whether to hide secrets and personal data.

    Raises:
        MissingExtraError: What writes this form is not installed.
    """
    match form:
        case "csv":
            return csv_of(RECORD, record_rows(desk, redact=redact))
        case "parquet":
            return parquet_of(RECORD, record_rows(desk, redact=redact))
        case "jsonl":
            return _record_lines(desk, redact=redact).encode(errors="replace")


def _record_lines(desk: Desk, *, redact: bool) -> str:
    lines = "".join(
        record.model_dump_json() + "\n"
        for episode in desk.episodes.values()
        for _, records in sorted(desk.records(episode).items())
        for record in records
    )
    return redacted(lines) if redact else lines


def import_labels(desk: Desk, labels: Sequence[Label], file: str = "") -> int:
    """Write labels as verdicts of the people that they name; what is there already stays.

    Returns:
        How many were written.

    Raises:
        InputError: A label names nothing here, gives an answer that its criterion does not have, or differs from what
            its person decided here; every such label is named, and nothing is written.
        StoreError: They can't be written.
    """
    wanted: list[tuple[Item, Label]] = []
    faults: list[Fault] = []
    for label in labels:
        items = [item for item in desk.items.values() if desk.names(item, label)]
        if (why := _wrong(desk, items, label)) is not None:
            faults.append(Fault(why, file, label.line))
        elif desk.opinion(items[0], label.by).first is None:
            wanted.append((items[0], label))
    if faults:
        raise InputError(faults)
    for item, label in wanted:
        desk.add(item, [_decided(desk, item, label)])
    return len(wanted)


def _act(opinion: Opinion, which: Which) -> Decided | Adjudicated | None:
    return {"first": opinion.first, "final": opinion.final, "settled": opinion.adjudicated}[which]


def _wrong(desk: Desk, items: Sequence[Item], label: Label) -> str | None:
    if len(items) != 1:
        what = "nothing that people decide" if not items else f"{len(items)} things"
        return f"{label.criterion} of {label.trajectory} names {what} here"
    if label.verdict not in items[0].verdicts:
        return f"{label.verdict!r} is no verdict on {label.criterion}; one of {', '.join(sorted(items[0].verdicts))} is"
    if not REVIEWER.match(label.by):
        return f"{label.by!r} can't name a file of records: up to 60 of a-z, 0-9, dot, dash and underscore"
    first = desk.opinion(items[0], label.by).first
    if first is not None and first.verdict != label.verdict:
        return f"{label.by} decided {label.criterion} of {label.trajectory} differently here: {first.verdict}"
    return None


def _decided(desk: Desk, item: Item, label: Label) -> Decided:
    grade = desk.episodes[item.episode].grade
    return Decided(
        id=new_id(),
        at=now(),
        by=label.by,
        trajectory=grade.trajectory.hash,
        rubric=grade.rubric.hash,
        criterion=item.criterion,
        question=item.question,
        verdict=label.verdict,
        # Labels are what people decided by themselves; one who has seen the judge's verdict here has not.
        blind=not desk.opinion(item, label.by).seen,
        why=label.why,
        imported=True,
    )


def reviewers_of(desk: Desk) -> Iterator[str]:
    """Everybody who recorded anything, by name."""
    yield from sorted({name for episode in desk.episodes.values() for name in desk.records(episode)})
