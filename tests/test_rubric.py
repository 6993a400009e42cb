"""The rubric as a value: its rules, its hash, its wording."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from pydantic import ValidationError

from rubricgrade.rubric import Check, Judge, Problem, Rubric, problems
from rubricgrade.rubric.wording import fill, unknown_names

CHECK = {"command": ["true"]}
SCALE = [{"choice": "none", "value": 0}, {"choice": "all", "value": 1}]


def item(name: str, **more: Any) -> dict[str, Any]:
    way = {} if {"check", "human", "criteria", "judge"} & set(more) else {"judge": {}}
    return {"id": name, "description": f"is {name}", **({} if "veto" in more else {"points": 1}), **way, **more}


def build(*criteria: dict[str, Any], **more: Any) -> Rubric:
    return Rubric.build({"id": "r", "criteria": list(criteria), **more}, {})


def broken(*criteria: dict[str, Any], **more: Any) -> list[Problem]:
    return problems(build(*criteria, **more))


@pytest.mark.parametrize(
    ("criteria", "more", "place", "words"),
    [
        ([item("a"), item("a")], {}, ("criteria", 1, "id"), "taken"),
        ([item("a")], {"gates": [{"id": "a", "description": "d", "check": CHECK}]}, ("criteria", 0, "id"), "taken"),
        ([item("g", criteria=[item("x")]), item("x")], {}, ("criteria", 1, "id"), "taken"),
        ([{"id": "a", "description": "d", "points": 1}], {}, ("criteria", 0), "has none"),
        ([item("a", check=CHECK, judge={})], {}, ("criteria", 0), "has check and judge"),
        ([item("a", check="cases")], {"checks": {"case": CHECK}}, ("criteria", 0, "check"), "did you mean 'case'"),
        ([item("a", pick="f1")], {}, ("criteria", 0, "pick"), "no check"),
        ([item("a", points=None), item("b")], {}, ("criteria", 0), "has no points"),
        ([item("a", points=-1)], {}, ("criteria",), "no criterion has positive points"),
        ([item("a", points=0)], {}, ("criteria",), "no criterion has positive points"),
        ([item("a", when="vars.lang")], {"vars": {"land": 1}}, ("criteria", 0, "when"), "did you mean 'land'"),
        ([item("a"), item("v", veto=True, points=1)], {}, ("criteria", 1, "points"), "a veto has no points"),
        ([item("a", criteria=[item("b"), item("v", veto=True)])], {}, ("criteria", 0, "criteria", 1, "veto"), "top level"),
        ([item("a"), item("v", veto=True, judge={"scale": SCALE})], {}, ("criteria", 1, "veto"), "'at_least'"),
        ([item("a", needs=["b"])], {}, ("criteria", 0, "needs", 0), "no criterion is called 'b'"),
        ([item("a", needs=["a"])], {}, ("criteria", 0, "needs"), "circle: a -> a"),
        ([item("a", needs=["b"]), item("b", needs=["a"])], {}, ("criteria", 0, "needs"), "circle"),
        ([item("a", criteria=[item("b", needs=["a"])])], {}, ("criteria", 0, "criteria", 0, "needs", 0), "contain"),
        ([item("a", criteria=[item("b")], needs=["b"])], {}, ("criteria", 0, "needs", 0), "contain"),
        ([item("a", needs=["bad"]), item("bad", points=-1)], {}, ("criteria", 0, "needs", 0), "a penalty"),
        ([item("a", full_at=2)], {}, ("criteria", 0, "full_at"), "belongs to a group"),
        ([item("a", criteria=[item("b", points=-1)])], {}, ("criteria", 0, "criteria"), "always worth 0"),
        ([item("a", bands=[{"at_least": 1, "value": 1}])], {}, ("criteria", 0, "bands"), "no check here"),
        ([item("a", check=CHECK, for_each={"vars": "x", "if_none": "met"})], {"vars": {"x": ["i"]}},
         ("criteria", 0, "for_each"), "no judge here"),
        ([item("a", for_each={"vars": "x", "if_none": "met"})], {"vars": {"x": "i"}}, ("criteria", 0, "for_each", "vars"),
         "is no list"),
        ([item("a", examples=[{"text": "t", "expect": "yes"}])], {}, ("criteria", 0, "examples", 0, "expect"), "met, not_met"),
        ([item("a", judge={"scale": SCALE}, examples=[{"text": "t", "expect": "met"}])], {},
         ("criteria", 0, "examples", 0, "expect"), "none, all"),
        ([item("a", check=CHECK, examples=[{"text": "t", "expect": "met", "show": True}])], {},
         ("criteria", 0, "examples"), "no judge"),
        ([item("a", description="in {{ vars.city }}")], {}, ("criteria", 0, "description"), "'a' has an unknown"),
        ([item("a", description="each {{ item }}")], {}, ("criteria", 0, "description"), "{{ item }}"),
        ([item("a", description="{{ cycler.__init__.__globals__.os.getcwd() }}")], {}, ("criteria", 0, "description"),
         "only names are looked up"),
        ([item("a", judge={"guidance": "{{ vars.x }}"})], {}, ("criteria", 0, "judge", "guidance"), "no vars"),
        ([item("a")], {"judge": {"reference": "{{ y }}"}}, ("judge", "reference"), "{{ y }}"),
        ([item("a", check={"not": {"exists": "../a"}})], {}, ("criteria", 0, "check", "not", "exists", "path"), "leads out"),
        ([item("a", judge={"artifacts": ["b", "/a/*"]})], {}, ("criteria", 0, "judge", "artifacts", 1), "leads out"),
        ([item("a", check={"command": {"run": ["x"], "env": {"CITY": "{{ vars.city }}"}}})], {},
         ("criteria", 0, "check", "command", "env", "CITY"), "'a' has an unknown template variable"),
        ([item("a")], {"judge": {"world": ["a/../../b"]}}, ("judge", "world", 0), "leads out"),
        ([item("a")], {"checks": {"c": {"not": CHECK, "within": 1}}}, ("checks", "c", "within"), "inside 'not'"),
    ],
)  # fmt: skip
def test_broken_rules_have_their_place(
    criteria: list[dict[str, Any]], more: dict[str, Any], place: tuple[str | int, ...], words: str
) -> None:
    (found,) = broken(*criteria, **more)
    assert found.place == place
    assert words in found.message


def test_a_good_rubric_has_no_problems() -> None:
    assert (
        broken(
            item("a", description="{{ vars.city }} and {{vars.n}}", when="not vars.n"),
            item(
                "b", needs=["a", "c"], criteria=[item("b1", points=2), item("b2", points=-1, needs=["b1"])], full_at=1
            ),
            item("c", check="shared", pick="f1", bands=[{"at_least": 1, "value": 0.5}, {"at_least": 2, "value": 1}]),
            item("d", description="about {{ item }}", for_each={"vars": "list", "if_none": "met"}),
            item("v", veto=True),
            vars={"city": "Bern", "n": None, "list": ["x"]},
            checks={"shared": {"not": {"exists": "a.txt"}}},
        )
        == []
    )


def test_every_circle_is_found() -> None:
    chain = [item(f"c{n}", needs=[f"c{(n + 1) % 3}" if n < 3 else f"c{n ^ 1}"]) for n in (0, 1, 2, 4, 5)]
    circles = [problem.message for problem in broken(*chain)]
    assert len(circles) == 2
    assert any("c4" in message and "c5" in message for message in circles)


@pytest.mark.parametrize(
    ("bands", "words"),
    [
        ([{"at_least": 1, "value": 0.5}, {"at_most": 9, "value": 1}], "not both"),
        ([{"at_least": 1, "value": 0.5}, {"at_least": 1, "value": 1}], "same bound"),
        ([{"at_least": 1, "value": 0.5}, {"at_least": 2, "value": 0.5}], "worth no more"),
        ([{"at_most": 1, "value": 0.5}, {"at_most": 2, "value": 1}], "worth no more"),
    ],
)
def test_bands_that_could_never_decide(bands: list[dict[str, float]], words: str) -> None:
    (found,) = broken(item("a", check=CHECK, bands=bands))
    assert words in found.message


def test_a_rubric_built_in_code_obeys_the_same_rules() -> None:
    with pytest.raises(ValidationError, match="taken"):
        Rubric.model_validate({"id": "r", "criteria": [item("a"), item("a")]})
    with pytest.raises(ValidationError, match="neither gates nor criteria"):
        Rubric.model_validate({"id": "r"})


@pytest.mark.parametrize("points", [float("nan"), float("inf"), True, "1", 10**400])
def test_points_are_finite_numbers(points: object) -> None:
    with pytest.raises(ValidationError):
        build(item("a", points=points))


@pytest.mark.parametrize(
    "scale",
    [
        [{"choice": "a", "value": 0}],
        [{"choice": "a", "value": 0}, {"choice": "b", "value": 0}],
        [{"choice": "a", "value": 1}, {"choice": "b", "value": 0}],
        [{"choice": "a", "value": 0}, {"choice": "a", "value": 1}],
        [{"choice": "a", "value": 0}, {"choice": "cannot_tell", "value": 1}],
        [{"choice": "a", "value": 0}, {"choice": "b", "value": 10}],
    ],
)
def test_scales_increase_from_0_to_1(scale: list[dict[str, Any]]) -> None:
    with pytest.raises(ValidationError):
        Judge.model_validate({"scale": scale})


def test_a_check_has_exactly_one_kind() -> None:
    for bad in (
        {},
        {"timeout": 3},
        {"exists": "a", "python": "a.py:f"},
        {"exists": "a", "with": {"x": 1}},
        {"exists": "a", "within": 1},
    ):
        with pytest.raises(ValidationError):
            Check.model_validate(bad)
    assert Check.model_validate({"not": {"json": {"path": "a.json", "at": "$.x", "equals": 3}}}).kind == "not"


@pytest.mark.parametrize(
    ("given", "run"), [("pytest -q", ("pytest", "-q")), (["sh", "-c", "a | b"], ("sh", "-c", "a | b"))]
)
def test_short_forms_of_a_command(given: object, run: tuple[str, ...]) -> None:
    check = Check.model_validate({"command": given})
    assert check.command is not None
    assert check.command.run == run


def test_no_shell_is_guessed() -> None:
    with pytest.raises(ValidationError, match="no shell"):
        Check.model_validate({"command": "a | b"})


def test_the_hash_follows_what_can_change_a_grade() -> None:
    plain = build(item("a"), vars={"x": 1})
    assert plain.hash == build(item("a"), vars={"x": 1}, title="T", version="2", format=1).hash
    others = [
        build(item("a", points=2), vars={"x": 1}),
        build(item("a", description="other"), vars={"x": 1}),
        build(item("a"), vars={"x": 2}),
        build(item("a"), vars={"x": True}),
        plain.with_sealed({"checks/a.py": b""}),
        plain.with_sealed({"checks/a.py": b"x"}),
        plain.with_sealed({"checks/b.py": b"x"}),
    ]
    assert len({plain.hash, *(other.hash for other in others)}) == len(others) + 1


def test_sealed_bytes_stay_with_their_rubric() -> None:
    plain = build(item("a"))
    sealed = plain.with_sealed({"checks/a.py": b"x"})
    assert (dict(plain.sealed), dict(sealed.sealed)) == ({}, {"checks/a.py": b"x"})
    copy = pickle.loads(pickle.dumps(sealed))
    assert (copy, dict(copy.sealed), copy.hash) == (sealed, dict(sealed.sealed), sealed.hash)


def test_when_reads_task_facts() -> None:
    of = build(item("a", when="vars.x"), item("b", when="not vars.x"), item("c"), vars={"x": False})
    assert [of.applies(top) for top in of.tops] == [False, True, True]


def test_names_are_filled_in_once() -> None:
    text = "{{ vars.a }} {{vars.n}} {{ vars.on }} {{ vars.l }} ${#arr[@]} {# {% if %} {{ item }}"
    variables = {"a": "{{ vars.n }}", "n": 1.5, "on": True, "l": ("x", "y")}
    assert fill(text, variables) == "{{ vars.n }} 1.5 true x, y ${#arr[@]} {# {% if %} {{ item }}"
    assert fill("{{ item }}", {}, "{{ vars.a }}") == "{{ vars.a }}"


def test_only_names_are_looked_up() -> None:
    text = "{{ vars.a }} {{ vars.b }} {{ item }} {{ vars.a.b }} {{ vars['a'] }} {{ 1 + 1 }} {{}}"
    assert list(unknown_names(text, {"a": 1}, item=False)) == ["vars.b", "item", "vars.a.b", "vars['a']", "1 + 1", ""]


def test_a_criterions_judge_completes_itself_from_the_default() -> None:
    default = Judge.model_validate({"votes": 3, "guidance": "g", "world": ["a"]})
    mine = Judge.model_validate({"votes": "adaptive", "world": []}).over(default)
    assert (mine.votes, mine.guidance, mine.world, mine.render) == ("adaptive", "g", (), None)
