from __future__ import annotations

import pytest

from rubricgrade.evidence import Document
from rubricgrade.result import Evidence
from rubricgrade.review.marking import Mark
from rubricgrade.review.transcript import HEAD, LONG, PAGE, TAIL, Block, Transcript
from rubricgrade.review.web.quotes import quotes_of
from rubricgrade.trajectory import Call, Step, Text, Trajectory


def made(*texts: str) -> Trajectory:
    steps = [
        Step(role="user" if number % 2 == 0 else "assistant", content=(Text(text=text),))
        for number, text in enumerate(texts)
    ]
    return Trajectory(id="one", steps=tuple(steps))


def drawn(transcript: Transcript, marks: dict[str, list[Mark]] | None = None, **how: object) -> list[Block]:
    numbers = range(transcript.pages[-1][1])
    return list(
        transcript.blocks(numbers, marks or {}, redact=bool(how.get("redact")), whole=str(how.get("whole", "")))
    )


def plain(block: Block) -> str:
    return "".join(piece.text for part in block.parts for piece in part.pieces)


def test_everything_is_shown_in_order() -> None:
    trajectory = Trajectory(
        id="one",
        steps=(
            Step(role="user", content=(Text(text="sum it"),)),
            Step(role="assistant", reasoning="hm", calls=(Call(id="a", name="bash", arguments={"command": "ls"}),)),
            Step(role="tool", content=(Text(text="a.txt"),), answers=(1, 1)),
        ),
    )
    documents = (Document("a.txt", "1\n2\n"), Document("mail.eml", "hello", world=True))
    blocks = drawn(Transcript(trajectory, documents))
    assert [(block.role, [part.kind for part in block.parts]) for block in blocks] == [
        ("user", ["text"]),
        ("assistant", ["reasoning", "call"]),
        ("tool", ["result"]),
        ("document", ["document"]),
        ("document", ["document"]),
    ]
    assert blocks[2].tool == "bash"
    assert plain(blocks[4]) == "hello"
    assert len({part.anchor for block in blocks for part in block.parts}) == 6


def test_marks_may_overlap_and_lose_no_text() -> None:
    text = "the total is 48.2 lakh, sent on Monday"
    marks = [Mark(4, 20, "q1", "a"), Mark(13, 30, "q2", "b"), Mark(13, 17, "q3", "c"), Mark(30, 999, "no", "beyond")]
    (block,) = drawn(Transcript(made(text)), {"[0].text": marks})
    assert plain(block) == text
    begun = [name for piece in block.parts[0].pieces for name in piece.begins]
    assert sorted(begun) == ["q1", "q2", "q3"], "each once, and what lies outside not at all"
    for name, wanted in (("q1", text[4:20]), ("q2", text[13:30]), ("q3", text[13:17])):
        assert "".join(p.text for p in block.parts[0].pieces if name in {mark.name for mark in p.marks}) == wanted


def test_a_mark_over_something_hidden_shows_nothing_of_it() -> None:
    text = "write to jane.doe@example.com soon"
    marks = [Mark(6, 20, "q1", "a")]
    (block,) = drawn(Transcript(made(text)), {"[0].text": marks}, redact=True)
    assert plain(block) == "write to  soon"
    assert [piece.hidden for piece in block.parts[0].pieces if piece.hidden] == ["e-mail"], "once"


def test_long_texts_are_folded_and_unfolded() -> None:
    text = "a" * LONG + "b" * LONG
    transcript = Transcript(made(text))
    (block,) = drawn(transcript)
    assert plain(block) == text[:HEAD] + text[-TAIL:]
    assert block.parts[0].folded == 2 * LONG - HEAD - TAIL
    (block,) = drawn(transcript, whole=block.parts[0].anchor)
    assert plain(block) == text


def test_a_quote_in_what_is_folded_is_shown_with_what_stands_around() -> None:
    text = "a" * LONG + " the needle " + "b" * LONG
    at = text.index("the needle")
    (block,) = drawn(Transcript(made(text)), {"[0].text": [Mark(at, at + 10, "q1", "x")]})
    assert [piece.text for piece in block.parts[0].pieces if piece.marks] == ["the needle"]
    assert sum(piece.left_out > 0 for piece in block.parts[0].pieces) == 2


def test_pages_hold_everything_once_and_places_are_found_on_them() -> None:
    transcript = Transcript(made(*("x" * 9000 for _ in range(100))))
    assert len(transcript.pages) > 3
    numbers = [number for page in transcript.pages for number in range(*page)]
    assert numbers == list(range(100))
    sizes = [
        sum(len(plain(block)) for block in transcript.blocks(range(*page), {}, redact=False))
        for page in transcript.pages
    ]
    assert max(sizes) <= PAGE
    for number, (first, _) in enumerate(transcript.pages):
        assert transcript.page_of(f"step-{first}") == number
        assert transcript.page_of(f"at-{first}-text") == number or first % 2 == 0
    assert transcript.page_of("nowhere") == 0


def test_searching() -> None:
    trajectory = Trajectory(
        id="one",
        steps=(
            Step(role="user", content=(Text(text="Find the Parcel"),)),
            Step(role="assistant", calls=(Call(id="a", name="search", arguments={"q": "parcel"}),)),
            Step(role="tool", content=(Text(text="none"),), answers=(1, 1)),
            Step(role="assistant", content=(Text(text="It is lost."),)),
        ),
    )
    transcript = Transcript(trajectory)
    assert transcript.tools == ("search",)
    assert transcript.having("PARCEL", "") == [0, 1]
    assert transcript.having("", "search") == [1, 2]
    assert transcript.having("none", "search") == [2]
    assert transcript.having("absent", "") == []


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ("[1].text", "[1].text"),
        ("a.txt:2", "a.txt"),
        ("world/out/1.eml:9", "world/out/1.eml"),
        ("out/1.eml", "world/out/1.eml"),
        ("out/1.eml/report.pdf", "world/out/1.eml"),
        ("[9].text", None),
        ("../../etc/passwd", None),
        (None, None),
    ],
)
def test_addresses_of_evidence(where: str | None, found: str | None) -> None:
    documents = (Document("a.txt", "1\n2\n"), Document("out/1.eml", "hello", world=True))
    place = Transcript(made("x", "y"), documents).place(where)
    assert (place and place.where) == found


def test_a_span_that_does_not_fit_marks_nothing() -> None:
    transcript = Transcript(made("short"))
    evidence = [
        Evidence(quote="x", where="[0].text", span=(2, 99), verified="verified"),
        Evidence(quote="sho", where="[0].text", span=(0, 3), verified="verified"),
        Evidence(quote="y", verified="not_found"),
    ]
    quotes, marks = quotes_of(evidence, transcript, prefix="q", title="", style="judge")
    assert [quote.target for quote in quotes] == ["at-0-text", "q2", ""]
    assert [mark.name for mark in marks["[0].text"]] == ["q2"]
