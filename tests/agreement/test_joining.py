from __future__ import annotations

import pytest

from rubricgrade import digest
from rubricgrade.agreement import Decision, Joined, join
from rubricgrade.errors import InputError
from rubricgrade.result import GateResult, Grade
from tests.agreement.made import grade, judged, label

TWO = [("run/a", grade("a", judged("c", "met"))), ("run/b", grade("b", judged("c", "not_met")))]


def people(joined: Joined) -> dict[str, tuple[tuple[str, str], ...]]:
    return {f"{each.trajectory} {each.criterion}": each.people for each in joined.decisions if each.people}


@pytest.mark.parametrize("name", ["a", "run/a", digest.of_value(["trajectory", "a"])])
def test_a_trajectory_is_named_by_id_folder_or_hash(name: str) -> None:
    assert people(join(TWO, [label(name, "c", "not_met")])) == {"run/a c": (("ann", "not_met"),)}


def test_unlabelled_decisions_are_kept() -> None:
    joined = join(TWO, [label("a", "c", "met")])
    assert joined.decisions == (
        Decision("run/a", "c", "met", (("ann", "met"),)),
        Decision("run/b", "c", "not_met"),
    )


def test_an_id_that_two_have_must_be_told_apart() -> None:
    same = [("x/0", grade("0", judged("c", "met"))), ("y/0", grade("0", judged("c", "met")))]
    with pytest.raises(InputError, match="x/0, y/0"):
        join(same, [label("0", "c", "met", line=4)], file="l.jsonl")
    assert people(join(same, [label("y/0", "c", "met")])) == {"y/0 c": (("ann", "met"),)}


def test_one_person_decides_a_thing_once_whatever_it_is_called() -> None:
    with pytest.raises(InputError, match="another name"):
        join(TWO, [label("a", "c", "met"), label("run/a", "c", "not_met")])
    with pytest.raises(InputError, match="another name"):
        join(TWO, [label("a", "c", "met"), label("run/a", "c", "not_met", by="Ann ")])


def test_a_person_s_name_is_shown_as_it_is_written_first() -> None:
    joined = join(TWO, [label("a", "c", "met", by="Ann"), label("b", "c", "met"), label("b", "c", "met", by="bob")])
    assert people(joined) == {"run/a c": (("Ann", "met"),), "run/b c": (("Ann", "met"), ("bob", "met"))}


@pytest.mark.parametrize("verdict", ["yes", "Met", "partly_met", "error"])
def test_an_answer_that_the_criterion_does_not_have_is_a_fault(verdict: str) -> None:
    with pytest.raises(InputError) as caught:
        join(TWO, [label("a", "c", verdict, line=7)], file="l.jsonl")
    (fault,) = caught.value.faults
    assert (fault.file, fault.line) == ("l.jsonl", 7)
    assert "met, not_met, cannot_tell" in fault.message


def test_labels_that_fit_nothing_are_counted_by_the_reason() -> None:
    graded = grade(
        "a",
        judged("c", "met"),
        judged("code", "met", by="check", judge=None),
        judged("later", "not_applicable"),
        judged("many", "met", parts=(judged("many[1]", "met", points=None),)),
        judged("no-items", "met", judge=None),
        judged("group", "met", by="criteria", judge=None, parts=(judged("inside", "met"),)),
        gates=[GateResult(id="g", description="x", verdict="met", value=1)],
    )
    names = ["g", "code", "later", "many", "no-items", "group", "gone"]
    joined = join([("a", graded)], [*(label("a", name, "met") for name in names), label("z", "c", "met")])
    assert people(joined) == {}
    assert sum(joined.unmatched.values()) == len(joined.unmatched) == 8
    assert joined.unmatched["no grade of such a trajectory is here"] == 1


def test_the_first_of_those_is_named_with_what_is_near() -> None:
    given = [label("run/bb", "c", "met", line=3), label("zzz", "c", "met", line=4), label("a", "cc", "met", line=7)]
    joined = join(TWO, given, file="l.csv")
    assert joined.first_unmatched == {
        "no grade of such a trajectory is here": "l.csv:3: 'run/bb'; did you mean 'run/b'?",
        "the rubric has no such criterion": "l.csv:7: 'cc'; did you mean 'c'?",
    }


def test_an_open_verdict_is_no_abstention() -> None:
    verdicts = [
        judged("a", "cannot_tell", cause="cannot_tell"),
        judged("b", "cannot_tell", cause="judge_unparseable"),
        judged("c", "error", cause="judge_failed"),
        judged("d", "not_run", cause="gate_failed"),
        # The author has decided what a doubt is worth; the judge could not tell all the same.
        judged("e", "cannot_tell").model_copy(update={"value": 0.0}),
    ]
    joined = join([("t", grade("t", *verdicts))], [])
    assert [each.judge for each in joined.decisions] == ["cannot_tell", None, None, None, "cannot_tell"]


def test_groups_are_walked_into_and_items_share_a_row() -> None:
    items = tuple(judged(f"each[{number}]", verdict, points=None) for number, verdict in ((1, "met"), (2, "not_met")))
    group = judged("group", "met", by="criteria", judge=None, parts=(judged("each", "met", parts=items),))
    joined = join([("t", grade("t", group))], [label("t", "each[2]", "met")])
    assert [(each.criterion, each.judge, each.people) for each in joined.decisions] == [
        ("each", "met", ()),
        ("each", "not_met", (("ann", "met"),)),
    ]


def scale(*verdicts: str) -> list[tuple[str, Grade]]:
    return [(f"t{number}", grade(f"t{number}", judged("s", each))) for number, each in enumerate(verdicts)]


def test_a_scales_order_is_read_off_the_values() -> None:
    assert join(scale("all", "none", "some"), []).scales == {"s": ("none", "some", "all")}
    assert join(scale("all", "none"), [], scales={"s": ["none", "some", "all"]}).scales == {
        "s": ("none", "some", "all")
    }
    assert join(TWO, [], scales={"c": ["none", "some"]}).scales == {}


def test_a_word_that_is_not_on_a_scale_is_a_fault_where_the_scale_is_known_and_told_where_it_is_not() -> None:
    graded, given = scale("all", "none"), {"s": ["none", "some", "all"]}
    joined = join(graded, [label("t0", "s", "al"), label("t1", "s", "some")])
    assert joined.unseen == {"s": ("al", "some")}
    assert join(graded, [label("t1", "s", "some")], scales=given).unseen == {}
    with pytest.raises(InputError, match="'al' is no verdict on s; one of none, some, all, cannot_tell is"):
        join(graded, [label("t0", "s", "al")], scales=given)


def test_a_threshold_hides_the_order() -> None:
    graded = [
        ("t", grade("t", judged("s", "none"))),
        ("u", grade("u", judged("s", "some").model_copy(update={"value": 0}))),
    ]
    assert join(graded, []).scales == {"s": ()}
    # Nor does anybody know then what is on the scale.
    assert people(join(graded, [label("t", "s", "all")])) == {"t s": (("ann", "all"),)}


def test_a_scale_has_choices_and_no_met() -> None:
    with pytest.raises(InputError, match="none, all, cannot_tell"):
        join(scale("all", "none"), [label("t0", "s", "met")])
    assert people(join(scale("all", "none"), [label("t0", "s", "some")])) == {"t0 s": (("ann", "some"),)}


def test_who_judged_by_which_rubric_is_told() -> None:
    joined = join([("a", grade("a", judged("c", "met"))), ("b", grade("b", judged("c", "met"), rubric="q"))], [])
    assert joined.judges == ("openai/a",)
    assert [name.split()[0] for name in joined.rubrics] == ["q", "r"]
