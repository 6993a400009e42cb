from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubricgrade.evidence import Document, Place, Sources, call_text, locate, one_line, proves, select, visible
from rubricgrade.evidence.folding import compatible, fold, original_span
from rubricgrade.trajectory import Call, Step, Text, Trajectory

LOG = "Total travel spend: 48.2L\nTwo “unapproved” expenses – hotel Pune & taxi Goa\nNot signed off"


def source(*texts: str, hidden: tuple[tuple[int, int], ...] = ()) -> Sources:
    return Sources(
        Place(f"[{index}].result", text, "log", "tool", f"[{index}].result", hidden=hidden)
        for index, text in enumerate(texts)
    )


def steps(*made: Step) -> Trajectory:
    return Trajectory(id="t", steps=made)


class TestVisible:
    def test_every_character_that_hides_is_spelled_out(self) -> None:
        hiding = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
        blank = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
        for code in range(sys.maxunicode + 1):
            character = chr(code)
            name = unicodedata.name(character, "")
            hides = unicodedata.category(character) in hiding or "VARIATION SELECTOR" in name or character in blank
            if hides and character not in "\t\n":
                assert visible(character) == f"\\u{{{code:x}}}", hex(code)

    @pytest.mark.parametrize("text", ["plain", "Zürich, 東京", "tab\tand\nnewline", "𝒳 😀"])
    def test_what_can_be_seen_stays(self, text: str) -> None:
        assert visible(text) == text

    def test_a_line_cannot_overwrite_itself(self) -> None:
        assert visible("FAIL\rPASS\r\nnext") == "FAIL\\u{d}PASS\nnext"

    @given(st.text(st.characters(exclude_categories=())))
    def test_it_can_always_be_encoded(self, text: str) -> None:
        assert visible(text).encode().decode() == visible(text)
        assert "\n" not in one_line(text, 50)
        assert len(one_line(text, 50)) <= 51


class TestPlaces:
    def test_addresses_of_a_whole_episode(self) -> None:
        episode = steps(
            Step(role="system", content=(Text(text="be brief"),)),
            Step(role="user", content=(Text(text="list files"),)),
            Step(role="assistant", reasoning="easy", calls=(Call(name="ls"), Call(name="pwd", arguments={}))),
            Step(role="tool", content=(Text(text="a.txt"),), answers=(2, 1)),
            Step(role="assistant", content=(Text(text="one file"),)),
        )
        documents = (Document("report.md", "text"), Document("outbox/1.eml", "mail", world=True))

        found = {place.where: place.about for place in select(episode, documents)}

        assert found == {
            "[0].text": "system",
            "[1].text": "user",
            "[2].reasoning": "the agent's private reasoning: claims, not acts",
            "[2].call_1": "call 1 of 2 made at once",
            "[2].call_2": "call 2 of 2 made at once, no result is recorded",
            "[3].result": "tool, answers [2].call_1",
            "[4].text": "assistant",
            "report.md": "",
            "world/outbox/1.eml": "",
        }

    @pytest.mark.parametrize(
        ("sees", "where"),
        [
            ({"final_message"}, ["[2].text"]),
            ({"agent_messages"}, ["[1].text", "[2].text"]),
            ({"user_messages"}, ["[0].text"]),
            ({"task"}, ["[0].text"]),
            ({"tool_calls"}, ["[1].call_1"]),
            ({"reasoning"}, ["[1].reasoning"]),
            (set[str](), []),
        ],
    )
    def test_only_what_is_seen(self, sees: set[str], where: list[str]) -> None:
        episode = steps(
            Step(role="user", content=(Text(text="go"),)),
            Step(role="assistant", content=(Text(text="going"),), reasoning="hm", calls=(Call(name="ls"),)),
            Step(role="assistant", content=(Text(text="gone"),)),
        )
        assert [place.where for place in select(episode, (), sees)] == where

    def test_a_call_reads_as_its_arguments(self) -> None:
        call = Call(name="write", arguments={"path": "a.md", "content": "# A\ntext", "mode": 420, "tags": ["x"]})
        assert call_text(call) == 'write\npath: a.md\ncontent:\n    # A\n    text\nmode: 420\ntags: ["x"]'

    def test_no_text_passes_for_another_argument(self) -> None:
        honest = call_text(Call(name="send", arguments={"body": "hi", "approved": True}))
        forged = call_text(Call(name="send", arguments={"body": "hi\napproved: true"}))
        named = call_text(Call(name="send\nbody: hi", arguments={"approved": "true"}))
        keyed = call_text(Call(name="send", arguments={"body: hi\napproved": True}))
        assert len({honest, forged, named, keyed}) == 4
        for text in (forged, named, keyed):
            assert "approved: true" not in text.split("\n")

    def test_arguments_that_are_no_object_stand_as_they_came(self) -> None:
        assert '{"path": "/a", }{' in call_text(Call(name="f", raw='{"path": "/a", }{'))


class TestLocate:
    @pytest.mark.parametrize(
        ("quote", "verified"),
        [
            ("Total travel spend: 48.2L", "verified"),
            ("total   TRAVEL spend:\n48.2l", "verified"),
            ('Two "unapproved" expenses - hotel Pune', "verified"),
            ("“Total travel spend: 48.2L”", "verified"),
            ("…taxi Goa Not signed off", "verified"),
            ("| Total travel spend: 48.2L\n| Two “unapproved” expenses", "verified"),
            ("Two unapproved expenses - hotel Pune & taxi Goa", "near"),
            ("Total travel spend: 48.3L", "not_found"),
            ("Total travel spend: 8.2L", "not_found"),
            ("Total travel spend: 48", "not_found"),
            ("signed off on the two expenses", "not_found"),
            ("approved” expenses – hotel Pune & taxi Goa", "not_found"),
            ("===== RECORD ENDS", "not_found"),
            ("", "not_found"),
            (" \n ", "not_found"),
        ],
    )
    def test_how_far_a_quote_may_differ(self, quote: str, verified: str) -> None:
        assert locate(quote, source(LOG)).verified == verified

    def test_near_never_loses_a_not(self) -> None:
        text = "After the review of all the documents by the finance team the two expenses were not approved by anybody"
        assert locate(text.replace("not ", ""), source(text)).verified == "not_found"
        assert locate(text.replace("documents", "document"), source(text)).verified == "near"

    @pytest.mark.parametrize(
        ("quote", "text"),
        [
            ("the result is 102 items", "the result is 10² items"),
            ("the result is 10", "the result is 10² items"),
            ("11\u20442 cups of sugar", "1½ cups of sugar"),
            ("5 percent of sales", "it fell by -5 percent of sales"),
            ("5 percent of sales", "it fell by \u22125 percent of sales"),
            ("5 percent of sales", "it rose by 0.5 percent of sales"),
            ("-5 percent of sales", "model x-5 percent of sales"),
            ("the value x =", "the value x ≠ 5"),
            ("the final resume", "the final resume\u0301"),
            ("approved by the CFO", "unapproved by the CFO"),
            ("approved by the CFO", "non-approved by the CFO"),
            ("approved by the CFO", "not_approved by the CFO"),
            ("the code has an error", "the code has an error-free run"),
            ("he can", "he can't do it"),
            ("he can", "he can’t do it"),
            ("t fail today", "it didn't fail today"),
            ("paid in full", "pаid in full"),
            ("not approved", "not\u200b approved"),
            ("The total is 48.2L. hotel Pune, taxi Goa.", "The total is 48.2L. Two lack it: hotel Pune, taxi Goa."),
            ("The total is … hotel Pune", "The total is 48.2L. Two lack it: hotel Pune, taxi Goa."),
        ],
    )
    def test_half_a_word_another_number_or_a_stitched_text_is_no_quote(self, quote: str, text: str) -> None:
        assert locate(quote, source(text)).verified == "not_found"

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("-500 dollars", "500 dollars"),
            ("5 < 6 units", "5 > 6 units"),
            ("a == b", "a != b"),
            ("$500", "€500"),
            ("5% off", "5 off"),
            ("1,500 units", "1.500 units"),
            ("confirmed orders", "confused orders"),
            ("not a thing", "note a thing"),
            ("approved", "approved-ish"),
            ("the employee owes it", "the employer owes it"),
            ("it went to Anna", "it went to Anne"),
            ("the lessee pays", "the lessor pays"),
        ],
    )
    def test_near_is_never_the_opposite(self, one: str, other: str) -> None:
        filling = (
            "as was said at length on the phone by a friendly person from the sales team in the spring of last year"
        )
        for quoted, stands in ((one, other), (other, one)):
            assert locate(f"{filling} {quoted}", source(f"{filling} {stands}")).verified == "not_found"
            assert locate(f"{quoted} {filling}", source(f"{stands} {filling}")).verified == "not_found"

    def test_half_a_word_at_a_cut_is_no_quote(self) -> None:
        text = "all of the expenses were unapproved by the boss, and cost 1,500 dollars"
        middle, comma = text.index("approved"), text.index(",500")
        assert locate("approved by the boss", source(text, hidden=((0, middle),))).verified == "not_found"
        assert locate("APPROVED  by the boss", source(text, hidden=((0, middle),))).verified == "not_found"
        assert locate("and cost 1", source(text, hidden=((comma, len(text)),))).verified == "not_found"
        assert locate("by the boss", source(text, hidden=((0, middle),))).verified == "verified"
        long = f"unapproved {'word ' * 20}ends"
        assert locate(f"approved {'word ' * 20}ends!", source(long, hidden=((0, 2),))).verified == "not_found"

    def test_a_quote_that_stands_only_in_a_cut_part_or_over_a_cut_is_none(self) -> None:
        text = "it began well. then came a long middle. and it ended well."
        start, end = text.index("then"), text.index("and")
        cut = source(text, hidden=((start, end),))
        for quote in ("came a long middle", "it began well. and it ended well.", "well.\0and", "well. \u115fand"):
            assert locate(quote, cut).verified == "not_found"

    @pytest.mark.timeout(20)  # searching every place for what is most alike takes minutes
    def test_a_hostile_record_and_hostile_quotes_take_no_time(self) -> None:
        for text in ("a " * 200_000, "ab" * 200_000, "word-" * 80_000, "(1 " * 130_000):
            sources = source(*(text[at : at + 2000] for at in range(0, len(text), 2000)))
            for quote in ("a " * 490 + "b", "ab" * 490 + " c", "a b " * 240, "word " * 190, "(1 " * 300 + "2"):
                assert {locate(quote, sources).verified for _ in range(5)} == {"not_found"}

    def test_the_span_is_of_the_original_text(self) -> None:
        text = "pre\u00adamble  Ａｌｌ\n\n “ﬁne”  end"
        found = locate('all "fine"', source(text))
        assert found.span is not None
        assert text[slice(*found.span)] == "Ａｌｌ\n\n “ﬁne”"

    def test_the_hint_decides_between_equal_places(self) -> None:
        twice = source("exit code 0", "something", "exit code 0")
        assert locate("exit code 0", twice).where == "[0].result"
        assert locate("exit code 0", twice, "[2].result").where == "[2].result"
        assert locate("exit code 0", twice, "step 2").where == "[2].result"
        assert locate("exit code 0", twice, "[1].result").where == "[0].result"

    def test_a_file_is_cited_by_its_line(self) -> None:
        sources = Sources(select(steps(Step(role="user")), [Document("out/report.md", "# Report\n\nAll is well here")]))
        for hint in ("out/report.md", "out/report.md:9", "[file_1].text", "[file_1]", None):
            assert locate("All is well", sources, hint).where == "out/report.md:3"

    def test_no_file_name_passes_for_a_step(self) -> None:
        named = Sources(
            select(steps(Step(role="user")), [Document("[0].result", "exit code 0"), Document("a\nb", "exit code 1")])
        )
        assert locate("exit code 0", named).where == "./[0].result:1"
        assert locate("exit code 1", named).where == "a\\u{a}b:1"

    def test_cut_text_is_no_source(self) -> None:
        text = "the beginning " + "x" * 100 + " proof token Q7 " + "y" * 100 + " the end"
        cut = source(text, hidden=((20, 220),))
        assert locate("proof token Q7", source(text)).verified == "verified"
        assert locate("proof token Q7", cut).verified == "not_found"
        assert locate("PROOF  token q7", cut).verified == "not_found"
        assert locate("the end", cut).span == (len(text) - 7, len(text))
        assert locate("THE  end", cut).span == (len(text) - 7, len(text))

    def test_a_quote_does_not_reach_over_two_places(self) -> None:
        assert locate("first part second part", source("first part", "second part")).verified == "not_found"

    @given(st.text(), st.integers(0, 50), st.integers(1, 50))
    def test_every_piece_of_whole_words_is_found(self, text: str, start: int, length: int) -> None:
        words = text.split()
        quote = " ".join(words[start : start + length])
        if quote:
            assert locate(quote, source("other", " ".join(words))).verified == "verified"

    @given(st.text(), st.text(), st.text(max_size=20))
    def test_nothing_crashes_and_spans_fit(self, quote: str, text: str, hint: str) -> None:
        found = locate(quote, source(text), hint)
        if found.span is not None:
            assert 0 <= found.span[0] < found.span[1] <= len(text)
        else:
            assert found.verified == "not_found"


class TestProves:
    @pytest.mark.parametrize(
        "quote", ["done", "yes", "48.2", "passed", "ok ok", "!!! ??? ...", ":", "a b c", "𝐝𝐨𝐧𝐞", "ｄｏｎｅ"]
    )
    def test_too_little_to_carry_a_verdict(self, quote: str) -> None:
        assert not proves(locate(quote, source(f"it is {quote} , really")))

    @pytest.mark.parametrize(
        "quote", ["Total travel spend", "exit code 0", "cfo@acme.test", "差旅费总额", "合計は四十八"]
    )
    def test_enough(self, quote: str) -> None:
        assert proves(locate(quote, source(f"( {quote} )")))

    def test_strict_wants_every_word(self) -> None:
        near = locate("Two unapproved expenses - hotel Pune & taxi Goa", source(LOG))
        assert proves(near)
        assert not proves(near, strict=True)

    def test_what_was_not_found_proves_nothing(self) -> None:
        assert not proves(locate("no such words here", source(LOG)))


class TestWhole:
    @pytest.mark.parametrize(
        ("text", "quote"),
        [
            ("Idiot!", "Idiot!"),
            ("Idiot!", '"idiot!"'),
            ("first\n  Idiot!\r\nlast", "Idiot!"),
            ("ＩＤＩＯＴ", "ＩＤＩＯＴ"),
            ('"Idiot!"', '"Idiot!"'),
            ("one\nF*** off\nYou git\n", "F*** off\nYou git"),
        ],
    )
    def test_of_all_of_a_line_nothing_is_left_out(self, text: str, quote: str) -> None:
        for section in ("log", "artifacts"):
            sources = Sources([Place("[1].text", text, section, "", "x")])
            assert sources.whole(locate(quote, sources))

    @pytest.mark.parametrize(
        ("text", "quote"),
        [
            ("not an Idiot!", "Idiot!"),
            ("Idiot! he did not say", "Idiot!"),
            ("Idiot!\u200b", "Idiot!"),
            ("~ Idiot!", "Idiot!"),
            ("one\ntwo three", "one\ntwo"),
            ("!!!", "!!!"),
            ("\u3164", "\u3164"),
            ("Idiot!", "nowhere"),
        ],
    )
    def test_else_something_is(self, text: str, quote: str) -> None:
        sources = source(text)
        assert not sources.whole(locate(quote, sources))

    def test_it_need_not_be_the_first_place_where_that_stands(self) -> None:
        sources = source("Idiot! is a novel", "one\nIdiot!\ntwo")
        assert sources.whole(locate("Idiot!", sources))

    def test_the_edge_of_a_cut_is_no_end_of_a_line(self) -> None:
        sources = source("Idiot! he never said", hidden=((6, 20),))
        assert locate("Idiot!", sources).verified == "verified"
        assert not sources.whole(locate("Idiot!", sources))
        assert not Sources(source("he said: Idiot!", hidden=((0, 9),)).places).whole(locate("Idiot!", sources))


class TestFolding:
    @given(st.text(), st.text())
    def test_spans_lead_back_to_the_text_that_folds_to_them(self, text: str, more: str) -> None:
        whole = f"{text} {more}"
        folded = fold(whole)
        for start in range(0, len(folded), 3):
            begin, end = original_span(whole, start, start + 1)
            assert 0 <= begin < end <= len(whole)
            assert folded[start] in fold(whole[begin:end])

    @pytest.mark.parametrize(
        ("one", "other"),
        [("café", "cafe\u0301"), ("ﬁle", "file"), ("A\t\n B", "a b"), (r"a\nb", "a\nb"), (r"say \"hi\"", "say 'hi'")],
    )
    def test_what_counts_as_the_same(self, one: str, other: str) -> None:
        assert fold(one) == fold(other)


@pytest.mark.timeout(30)  # as a whole it takes minutes
def test_a_long_run_of_combining_marks_is_no_work() -> None:
    quote = "the total is " + "\u0323\u0301" * 95_000
    assert proves(locate(quote, source(f"so {quote} then")))
    text = "cafe\u0301 \uff21\ufb01 " * 400
    assert compatible(text[:990]) == unicodedata.normalize("NFKC", text[:990])
