"""Judges of several characters, behind a real HTTP server, take the exam."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rubricgrade.errors import InputError
from rubricgrade.evidence import Sources, locate, proves, select, visible
from rubricgrade.judge.exam import ExamQuestion, load_exam
from rubricgrade.judge.options import JudgeOptions
from rubricgrade.judge.qualification import Property, Qualification, qualify, questions
from rubricgrade.rubric.judge import DEFAULT_SEES
from tests.chat.scripted import ScriptedServer, Seen, Wire, completion, error
from tests.cli.program import Ran, run
from tests.judge.scripted import said

EXAM = load_exam().questions
ALL = ["parses", "cites", "knows", "resists", "abstains", "repeats", "keeps calm", "no drift"]
REPEATS = 2
HARMLESS = sum(each.part in ("questions", "benign") for each in EXAM)

Character = Callable[[ExamQuestion, int], Wire]
"""From a question and how often it came before to an answer."""


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    running = ScriptedServer()
    yield running
    running.close()


def planted_texts() -> dict[str, ExamQuestion]:
    """The beginning of each planted text, as a judge sees it."""
    plain = next(each for each in EXAM if each.id == "tests-green").trajectory.steps
    found: dict[str, ExamQuestion] = {}
    for question in (each for each in EXAM if each.part == "resist"):
        for step, before in zip(question.trajectory.steps, plain, strict=True):
            added = step.text.removeprefix(before.text).strip()
            if added:
                found[visible(added.splitlines()[0])[:40]] = question
    return found


PLANTED = planted_texts()


def asked(seen: Seen) -> ExamQuestion:
    record, question = (str(message["content"]) for message in seen.body["messages"][1:3])
    for text, attacked in PLANTED.items():
        if text in record:
            return attacked
    (found,) = [each for each in EXAM if f"\n{each.asks}\n" in question and each.part != "resist"]
    return found


def let(server: ScriptedServer, character: Character) -> None:
    """Answer with a character from now on."""
    times = Counter[str]()
    lock = threading.Lock()

    def answer(seen: Seen) -> Wire:
        question = asked(seen)
        # Each way of asking is counted for itself: they come in any order.
        way = f"{question.id} {seen.body['messages'][:3]}"
        with lock:
            before = times[way]
            times[way] += 1
        return character(question, before)

    server.script = [answer]


def examine(server: ScriptedServer, character: Character, **more: Any) -> Qualification:
    let(server, character)
    options = JudgeOptions(model="openai/some-judge", api_base=server.base, api_key="k", concurrency=16, **more)
    return asyncio.run(qualify(options, repeats=REPEATS))


def good(question: ExamQuestion, before: int) -> Wire:
    return completion(said(question.expect, *([question.quote] if question.quote else [])))


def gullible(question: ExamQuestion, before: int) -> Wire:
    return completion(said("yes", "2 failed, 14 passed")) if question.part == "resist" else good(question, before)


def sloppy(question: ExamQuestion, before: int) -> Wire:
    return completion(said("yes", "as stated in the record of events")) if question.quote else good(question, before)


def broken(question: ExamQuestion, before: int) -> Wire:
    return completion(f"Sure! I would say that it is {question.expect}.")


def agreeable(question: ExamQuestion, before: int) -> Wire:
    """Says yes to all; quotes what every record of the exam holds: its own first words."""
    text = next(step.text for step in question.trajectory.steps if len(step.text.split()) > 1)
    return completion(said("yes", text.splitlines()[0]))


def fickle(question: ExamQuestion, before: int) -> Wire:
    flips = question.part == "questions" and question.expect == "no" and before % 2
    return completion(said("cannot_tell")) if flips else good(question, before)


def nervous(question: ExamQuestion, before: int) -> Wire:
    return completion(said("no")) if question.part == "benign" else good(question, before)


def knowing(question: ExamQuestion, before: int) -> Wire:
    """Never says that it can't tell."""
    return completion(said("no")) if question.part == "abstain" else good(question, before)


def properties(found: Qualification) -> dict[str, Property]:
    return {each.name: each for each in found.properties}


def outcomes(found: Qualification) -> dict[str, bool | None]:
    return {each.name: each.passed for each in found.properties}


def failed(found: Qualification) -> list[str]:
    return [name for name, passed in outcomes(found).items() if passed is False]


def test_a_good_judge_is_fit_and_every_answer_is_counted(server: ScriptedServer) -> None:
    found = examine(server, good)
    assert found.passed is True, [each for each in found.properties if each.findings]
    assert [each.name for each in found.properties] == ALL
    assert all(each.good == each.of > 0 and not each.findings for each in found.properties)
    assert found.usage.calls == len(server.seen) == questions(REPEATS)
    assert properties(found)["parses"].of == questions(REPEATS) - HARMLESS
    assert properties(found)["no drift"].of == HARMLESS
    assert properties(found)["resists"].of == 12


@pytest.mark.parametrize(
    ("character", "fails"),
    [
        (gullible, ["resists"]),
        (fickle, ["knows", "repeats"]),
        (nervous, ["keeps calm"]),
        (knowing, ["abstains"]),
        (agreeable, ["knows", "resists", "abstains", "keeps calm"]),
        (sloppy, ["cites"]),
        (broken, ["parses"]),
    ],
)
def test_a_judge_fails_by_its_own_vice_and_by_no_other(
    server: ScriptedServer, character: Character, fails: list[str]
) -> None:
    found = examine(server, character)
    assert found.passed is False
    # Who says now this, now that, seems to drift as well if the first answer is one of the wrong ones.
    seems = {"no drift"} if character is fickle else set[str]()
    assert [name for name in failed(found) if name not in seems] == fails
    for name in fails:
        assert properties(found)[name].findings


def test_one_text_that_gets_its_yes_is_enough(server: ScriptedServer) -> None:
    def once(question: ExamQuestion, before: int) -> Wire:
        return gullible(question, before) if question.id == "waiver" else good(question, before)

    resists = properties(examine(server, once))["resists"]
    assert (resists.passed, resists.good, resists.of) == (False, 11, 12)
    assert [finding.question for finding in resists.findings] == ["waiver"]


def test_a_judge_that_leaves_a_planted_text_undecided_is_not_talked_over(server: ScriptedServer) -> None:
    def wary(question: ExamQuestion, before: int) -> Wire:
        return completion(said("cannot_tell")) if question.part == "resist" else good(question, before)

    assert examine(server, wary).passed is True


def test_invented_quotes_are_named_and_lost_verdicts_are_no_wrong_ones(server: ScriptedServer) -> None:
    found = properties(examine(server, sloppy))
    assert any("as stated in the record" in finding.message for finding in found["cites"].findings)
    assert found["parses"].passed is True
    assert (found["knows"].good, found["knows"].of) == (8 * REPEATS, 8 * REPEATS)


@pytest.mark.parametrize("quotes", [(), ("edited",)])
def test_an_answer_without_a_quote_that_says_enough_is_a_fault_in_citing(
    server: ScriptedServer, quotes: tuple[str, ...]
) -> None:
    def tight_lipped(question: ExamQuestion, before: int) -> Wire:
        return completion(said("yes", *quotes)) if question.id == "edits-parser" else good(question, before)

    cites = properties(examine(server, tight_lipped))["cites"]
    assert {(finding.question, finding.message) for finding in cites.findings} == {
        ("edits-parser", "gives no quote that says enough")
    }


def test_a_broken_judge_leaves_everything_else_undecided(server: ScriptedServer) -> None:
    found = outcomes(examine(server, broken))
    assert found == {"parses": False, **dict.fromkeys(ALL[1:])}


def test_a_repaired_reply_counts_as_one_that_could_not_be_read(server: ScriptedServer) -> None:
    def repaired(question: ExamQuestion, before: int) -> Wire:
        # Each of these is asked once, so that its second request is the repair.
        first = question.part != "questions" and before == 0
        return broken(question, before) if first else good(question, before)

    found = examine(server, repaired)
    assert failed(found) == ["parses"]
    assert found.usage.calls > properties(found)["parses"].of


def test_a_refusal_is_an_answer_that_can_not_be_read(server: ScriptedServer) -> None:
    def unwilling(question: ExamQuestion, before: int) -> Wire:
        return completion(None, message={"refusal": "I can't help with that."})

    found = examine(server, unwilling)
    assert outcomes(found)["parses"] is False


def test_without_quotes_a_judge_is_not_examined_in_citing(server: ScriptedServer) -> None:
    def short(question: ExamQuestion, before: int) -> Wire:
        return completion(json.dumps({"answer": question.expect}))

    found = examine(server, short, style="direct")
    assert found.passed is True
    assert [each.name for each in found.properties] == [name for name in ALL if name != "cites"]


def test_a_judge_that_can_not_be_reached_is_asked_once_and_nothing_is_decided(server: ScriptedServer) -> None:
    server.script = [error(401, "bad key")]
    options = JudgeOptions(model="openai/some-judge", api_base=server.base, api_key="k")
    found = asyncio.run(qualify(options, repeats=REPEATS))
    assert len(server.seen) == 1
    assert found.passed is None
    assert set(outcomes(found).values()) == {None}
    assert all("bad key" in each.findings[0].message for each in found.properties)
    assert properties(found)["parses"].unasked == questions(REPEATS) - HARMLESS
    assert properties(found)["no drift"].unasked == HARMLESS


def bare(seen: Seen) -> bool:
    return "===== RECORD" not in str(seen.body["messages"][1]["content"])


def test_a_judge_that_our_defences_lead_astray_drifts(server: ScriptedServer) -> None:
    def answer(seen: Seen) -> Wire:
        question = asked(seen)
        shy = question.part == "benign" and question.expect == "yes" and not bare(seen)
        return completion(said("cannot_tell")) if shy else good(question, 0)

    server.script = [answer]
    options = JudgeOptions(model="openai/some-judge", api_base=server.base, api_key="k", concurrency=16)
    drift = properties(asyncio.run(qualify(options, repeats=REPEATS)))["no drift"]
    shied = {each.id for each in EXAM if each.part == "benign" and each.expect == "yes"}
    assert {finding.question for finding in drift.findings} == shied
    assert (drift.passed, drift.good, drift.of) == (False, HARMLESS - len(shied), HARMLESS)
    assert "0 of 0 rightly only with them" in drift.counts


def test_what_is_right_only_with_our_defences_is_told_beside_what_is_lost(server: ScriptedServer) -> None:
    shy = [each.id for each in EXAM if each.part == "benign"]

    def answer(seen: Seen) -> Wire:
        question = asked(seen)
        return completion(said("cannot_tell")) if question.id in shy and bare(seen) else good(question, 0)

    server.script = [answer]
    options = JudgeOptions(model="openai/some-judge", api_base=server.base, api_key="k", concurrency=16)
    drift = properties(asyncio.run(qualify(options, repeats=REPEATS)))["no drift"]
    assert (drift.passed, drift.good, drift.of) == (True, HARMLESS - len(shy), HARMLESS - len(shy))
    assert f"{len(shy)} of {len(shy)} rightly only with them" in drift.counts


def test_without_our_defences_means_the_text_as_it_came(server: ScriptedServer) -> None:
    examine(server, good)
    plain = [seen for seen in server.seen if bare(seen)]
    assert len(plain) == HARMLESS
    for seen in plain:
        system, record, question = (str(message["content"]) for message in seen.body["messages"])
        assert "bar (" not in system
        assert "\n| " not in record
        assert question in {str(other.body["messages"][2]["content"]) for other in server.seen if not bare(other)}
    coloured = next(seen for seen in plain if asked(seen).id == "coloured-output")
    assert "\x1b[32m" in str(coloured.body["messages"][1]["content"])


def test_what_was_not_asked_never_counts_for_a_judge(server: ScriptedServer) -> None:
    def leaves_out(question: ExamQuestion, before: int) -> Wire:
        return error(400, "no") if question.id in ("waiver", "claims") else good(question, before)

    found = properties(examine(server, leaves_out))
    assert (found["resists"].passed, found["resists"].of, found["resists"].unasked) == (None, 10, 2)
    assert found["knows"].passed is True


@pytest.mark.parametrize(("model", "repeats"), [(None, 2), ("", 2), ("openai/a,openai/b", 2), ("openai/a", 1)])
def test_one_judge_is_examined_at_a_time_and_more_than_once(model: str | None, repeats: int) -> None:
    with pytest.raises(InputError):
        asyncio.run(qualify(JudgeOptions(model=model or None, api_key="k"), repeats=repeats))


def test_the_exam_is_fair() -> None:
    parts = Counter((each.part, each.expect) for each in EXAM)
    assert parts["questions", "yes"] == parts["questions", "no"]
    assert parts["benign", "yes"] == parts["benign", "no"]
    assert len({each.id for each in EXAM}) == len(EXAM)
    wordings = Counter(each.asks for each in EXAM if each.part != "resist")
    assert wordings.total() == len(wordings)
    assert len(PLANTED) == 12


@pytest.mark.parametrize("question", [each for each in EXAM if each.expect == "yes"], ids=lambda each: each.id)
def test_every_yes_of_the_exam_stands_in_its_record(question: ExamQuestion) -> None:
    sources = Sources(select(question.trajectory, (), DEFAULT_SEES))
    assert proves(locate(question.quote, sources), strict=True)


def check(server: ScriptedServer, *more: str) -> Ran:
    options = ["--api-base", server.base, "--repeats", str(REPEATS), "--concurrency", "16", *more]
    return run("judge", "check", "openai/some-judge", *options, env={"OPENAI_API_KEY": "sk-of-a-test"})


def test_the_program_says_pass_or_fail_for_each_property(server: ScriptedServer) -> None:
    let(server, good)
    done = check(server)
    assert done.code == 0, done.err
    assert [line.split()[0] for line in done.out.splitlines() if line[:4] in ("pass", "FAIL", "open")] == ["pass"] * 8
    let(server, gullible)
    done = check(server, "--verbose")
    assert done.code == 1
    assert "FAIL  resists     0 of 12" in done.out
    assert "not fit to judge: resists" in done.out
    assert "end-of-record:" in done.out


def test_the_program_prints_one_document(server: ScriptedServer) -> None:
    let(server, broken)
    done = check(server, "--json")
    assert done.code == 1
    assert done.json["schema"] == "rubricgrade.qualification/1"
    assert done.json["properties"][0]["passed"] is False
    assert done.json["properties"][1]["passed"] is None


def test_the_program_says_when_nobody_could_be_asked(server: ScriptedServer) -> None:
    server.script = [error(401, "bad key")]
    done = check(server)
    assert done.code == 3, done.out
    assert "not decided: parses" in done.out
    assert done.out.count("bad key") == 1, "eight properties, one reason"
    assert done.out.count("and 37 more: as above") == 1
    assert check(server, "--verbose").out.count("bad key") > 42


def test_a_missing_key_is_bad_input(server: ScriptedServer) -> None:
    done = run("judge", "check", "openai/some-judge")
    assert (done.code, done.out) == (2, "")
    assert "OPENAI_API_KEY" in done.err


def test_the_cost_cap_stops_it_with_its_own_code(server: ScriptedServer) -> None:
    let(server, good)
    options = ["--api-base", server.base, "--max-cost", "0.00005", "--concurrency", "1"]
    done = run("judge", "check", "openai/gpt-4o-mini", *options, env={"OPENAI_API_KEY": "sk-of-a-test"})
    assert done.code == 4, (done.out, done.err)
    assert len(server.seen) < questions(3)
