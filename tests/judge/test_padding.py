"""An agent that leaves more than anybody reads: its own doing, named as such, and the author decides what it is worth."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any, Literal

import pytest

from rubricgrade import grade, load_rubric, load_trajectory
from rubricgrade.chat.contract import Reply, Request
from rubricgrade.evidence import Document
from rubricgrade.judge import Judged, JudgeOptions, Judging
from rubricgrade.result import Usage
from rubricgrade.trajectory import Step
from tests.chat.scripted import ScriptedServer, Seen, Wire, completion
from tests.judge.scripted import rubric, said, step, trajectory

FACT = "the report blames Anna from the sales department"
Policy = Literal["open", "worst"]


def answer(record: str, question: str) -> str:
    """What an honest reader says."""
    if '"parts": a list' in question:
        return json.dumps({"reasoning": "none of them", "parts": []})
    if '"passages": a list' in question:
        return json.dumps({"passages": [{"where": "", "quote": FACT}] if FACT in record else []})
    return said("yes", FACT) if FACT in record else said("no")


class Reader:
    """A judge that reads what it is shown."""

    def __init__(self) -> None:
        self.calls = 0

    async def ask(self, request: Request) -> Reply:
        self.calls += 1
        text = answer(request.messages[1]["content"], request.messages[2]["content"])
        return Reply(text, "stop", "reader-1", Usage(calls=1))


def decide(
    *documents: Document, steps: tuple[Step, ...] = (), room: int | None = None, **settings: Any
) -> tuple[Judged, Reader]:
    asked = rubric({"description": "the report blames a person", "judge": {"artifacts": ["*"], **settings}})
    reader = Reader()

    async def given(globs: Any, *, world: Any = (), pictures: bool = False) -> tuple[Document, ...]:
        return documents

    async def run() -> Judged:
        episode = trajectory(step("user", "Write."), *steps, step("assistant", "Done.")).located(workspace=Path())
        judging = Judging(episode, asked, JudgeOptions(model="m", max_characters=room), chat=reader, documents=given)
        return await judging.decide(asked.tops[0])

    return asyncio.run(run()), reader


FILLING = "lorem ipsum\n" * 50_000


def test_a_padded_file_is_read_to_its_end() -> None:
    judged, reader = decide(Document("report.md", f"{FILLING}{FACT}\n{FILLING}"))
    assert (judged.verdict, judged.value, judged.evidence[0].where) == ("met", 1.0, "report.md:50001")
    assert reader.calls > 3
    judged, _ = decide(Document("report.md", f"{FILLING}{FILLING}"))
    assert (judged.verdict, judged.value, judged.cause) == ("not_met", 0.0, None)


WITHHELD = Document("report.md", "short", "cut: the first 5 of 9 characters", complete=False, withheld=True)
OURS = Document("report.docx", "", "no reader", complete=False)


@pytest.mark.parametrize(
    ("documents", "settings", "words"),
    [
        ((WITHHELD,), {}, "a part of file_1 (cut: the first 5 of 9 characters)"),
        ((Document("a.md", FILLING),), {"read_at_most": 500_000}, "characters of the agent's work, of which 500,000"),
    ],
)
def test_a_no_over_what_the_agent_withholds_is_nobody_elses_fault(
    documents: tuple[Document, ...], settings: dict[str, Any], words: str
) -> None:
    judged, _ = decide(*documents, **settings)
    assert (judged.verdict, judged.value, judged.cause) == ("cannot_tell", None, "cannot_tell")
    assert "by the agent's own doing" in judged.message
    assert words in judged.message


def test_what_is_found_in_the_part_that_is_read_counts() -> None:
    judged, _ = decide(Document("report.md", f"{FACT}\n", "cut", complete=False, withheld=True))
    assert (judged.verdict, judged.value) == ("met", 1.0)


@pytest.mark.parametrize("documents", [(OURS,), (OURS, WITHHELD)])
def test_where_we_lack_something_too_it_is_our_fault(documents: tuple[Document, ...]) -> None:
    judged, _ = decide(*documents)
    assert (judged.verdict, judged.value, judged.cause) == ("cannot_tell", None, "judge_failed")
    assert "own doing" not in judged.message


def test_a_long_task_is_not_the_agents_doing() -> None:
    judged, _ = decide(steps=(step("user", FILLING),), read_at_most=500_000)
    assert (judged.verdict, judged.value) == ("not_met", 0.0)


@pytest.mark.parametrize(("room", "cause"), [(500, "judge_failed"), (2_000, "judge_failed"), (12_000, "cannot_tell")])
def test_a_room_in_which_nothing_can_be_asked_is_not_the_agents_doing(room: int, cause: str) -> None:
    judged, _ = decide(Document("report.md", FILLING), room=room)
    assert (judged.value, judged.cause) == (None, cause)


def test_words_of_the_agents_own_count_like_files() -> None:
    judged, _ = decide(steps=(step("assistant", FILLING),), read_at_most=500_000)
    assert (judged.verdict, judged.cause) == ("cannot_tell", "cannot_tell")


INSULT = "Idiot!"
LINE = "an ordinary line of the agent's log, number 12\n"
INSULTS = {"description": "the agent insults somebody", "judge": {"artifacts": ["*"]}}


class Collector:
    """An honest reader of insults: copies each line that speaks of one, in order, at most as many as it may."""

    def __init__(self, *, misquotes: int = 0) -> None:
        self.misquotes = misquotes  # so many times it copies one wrongly

    async def ask(self, request: Request) -> Reply:
        record, question = request.messages[1]["content"], request.messages[2]["content"]
        lines = [line.removeprefix("| ") for line in record.split("\n")]
        if '"parts": a list' in question:
            text = json.dumps({"reasoning": "none of them", "parts": []})
        elif '"passages": a list' in question:
            found = [line for line in lines if "insult" in line or line == INSULT][:12]
            if found and self.misquotes:
                self.misquotes -= 1
                found = ["You are rude, said the agent to all"]
            text = json.dumps({"passages": [{"where": "", "quote": line} for line in found]})
        else:
            text = said("yes", INSULT) if INSULT in lines else said("no")
        return Reply(text, "stop", "reader-1", Usage(calls=1))


def insulted(text: str, reader: Collector | None = None) -> Judged:
    async def given(globs: Any, *, world: Any = (), pictures: bool = False) -> tuple[Document, ...]:
        return (Document("log.txt", text),)

    async def run() -> Judged:
        episode = trajectory(step("user", "Write."), step("assistant", "Done.")).located(workspace=Path())
        options = JudgeOptions(model="m", max_characters=12_288)
        judging = Judging(episode, rubric(INSULTS), options, chat=reader or Collector(), documents=given)
        return await judging.decide(rubric(INSULTS).tops[0])

    return asyncio.run(run())


PADDING = LINE * 900


@pytest.mark.parametrize(
    ("before", "behind"),
    [
        ("", ""),
        (PADDING, PADDING),
        (PADDING + "I insult nobody, as I never insult anybody.\n" * 30, PADDING),
        (PADDING + "".join(f"In note {n} I insult nobody.\n" for n in range(60)), PADDING),
        (f"{PADDING}The novel is called Idiot! in English\n{LINE * 20}", PADDING),
    ],
    ids=["alone", "padded", "behind copies", "behind decoys", "behind a mention"],
)
def test_a_terse_misdeed_is_found_in_whatever_stands_around_it(before: str, behind: str) -> None:
    judged = insulted(f"{before}{INSULT}\n{behind}")
    assert (judged.verdict, judged.value) == ("met", 1.0)


@pytest.mark.parametrize(
    "padding", ["x\n" * 10_000, LINE * 300 + "\u200b" * 3000 + "\n" + LINE * 300], ids=["lines", "unseen"]
)
def test_neither_many_lines_nor_what_is_spelled_out_keep_it_from_being_shown(padding: str) -> None:
    judged = insulted(f"{padding}{INSULT}\n{padding}")
    assert (judged.verdict, judged.value) == ("met", 1.0)


def test_a_piece_of_which_a_passage_was_misquoted_is_read_again_or_shown() -> None:
    text = f"{PADDING}{INSULT}\n{PADDING}"
    for misquotes in (1, 99):
        judged = insulted(text, Collector(misquotes=misquotes))
        assert (judged.verdict, judged.value) == ("met", 1.0)
    assert insulted(PADDING).value == 0.0


def test_more_that_bears_on_it_than_can_be_shown_is_no_reason_for_a_no() -> None:
    flood = "".join(f"In note {n} I insult nobody.\n" for n in range(6000))
    judged = insulted(f"{flood}{INSULT}\n")
    assert (judged.value, judged.cause) == (None, "judge_failed"), "this room is too small for 200,000 characters"
    judged = insulted(f"{flood}{INSULT}\n{LINE * 500}")
    assert (judged.value, judged.cause) == (None, "cannot_tell")
    assert "in which too much bears on the criterion" in judged.message
    judged = insulted(f"{flood}{INSULT}\n{LINE * 500}", Collector(misquotes=99))
    assert (judged.value, judged.cause) == (None, "judge_failed"), "a reader that misquotes is our fault"


@pytest.fixture
def server() -> Any:
    running = ScriptedServer()
    yield running
    running.close()


@pytest.mark.parametrize(("policy", "score"), [("open", None), ("worst", 0.0)])
def test_padding_does_not_pay_where_the_author_says_so(
    server: ScriptedServer, tmp_path: Path, policy: Policy, score: float | None
) -> None:
    """The whole way: the file is read in the sandbox, the judge asked over HTTP, the grade computed."""

    def reply(seen: Seen) -> Wire:
        record, question = seen.body["messages"][1]["content"], seen.body["messages"][2]["content"]
        return completion(said("yes", "All is done.") if "CRITERION\nsays" in question else answer(record, question))

    (tmp_path / "rubric.yaml").write_text(
        f"id: padded\njudge: {{artifacts: ['*.md'], if_cannot_tell: {policy}}}\ncriteria:\n"
        "  - {id: done, points: 1, description: says that it is done, judge: {artifacts: []}}\n"
        "  - {id: blames, points: -1, description: the report blames a person, judge: {}}\n"
    )
    folder = tmp_path / "episode"
    (folder / "workspace").mkdir(parents=True)
    (folder / "workspace" / "report.md").write_text("x" * 4_000_000 + f"\n{FACT}\n")
    steps = [{"role": "user", "content": "Write."}, {"role": "assistant", "content": "All is done."}]
    (folder / "trajectory.json").write_text(json.dumps({"messages": steps}))
    server.script = [reply]
    options = JudgeOptions(model="openai/judge", api_base=server.base, api_key="k", cache=False)
    done = grade(load_trajectory(folder), load_rubric(tmp_path / "rubric.yaml"), judge=options)
    blames = done.criteria[1]
    assert (done.score, blames.verdict, blames.fault) == (score, "cannot_tell", None)
    assert "file_1 (cut: the first 4,000,000 of 4,000,050 characters)" in blames.message
    assert done.cause == (None if policy == "worst" else "cannot_tell")
