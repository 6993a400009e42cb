"""Twins: which literals are sure to decide a test, and that a wrong one is always wrong."""

from __future__ import annotations

import ast
import re
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubricgrade.checks.inside.planning import planned, run_of, twin_of
from rubricgrade.checks.inside.twins import FAMILY, LARGEST, expected_values, make_wrong

LEAVES = st.none() | st.booleans() | st.integers() | st.floats(-LARGEST, LARGEST) | st.text() | st.binary()
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text() | st.integers(), inner)
)


@given(VALUES)
def test_a_wrong_value_is_never_the_right_one(value: Any) -> None:
    expression = ast.parse(repr(value), mode="eval").body
    assert make_wrong(expression)
    changed = ast.literal_eval(ast.unparse(expression))
    assert changed != value
    assert type(changed) is type(value) or value is None


@pytest.mark.parametrize("value", ["1e999", "-1e999", "[1e308]", "approx(1e301)", f"0x{'f' * 900}"])
def test_a_number_without_an_end_is_left_as_it_is(value: str) -> None:
    assert not make_wrong(ast.parse(value, mode="eval").body)


@given(st.floats(-1e9, 1e9) | st.integers(-(10**9), 10**9))
def test_a_wrong_value_is_outside_of_every_tolerance_that_is_allowed(value: float) -> None:
    expression = ast.parse(f"pytest.approx({value!r}, rel=0.25, abs=0.25)", mode="eval").body
    assert make_wrong(expression)
    assert value != eval(ast.unparse(expression), {"pytest": pytest})


def sites(body: str, *, decorator: str = "", arguments: str = "", **cells: str) -> list[str]:
    text = f"{decorator}\ndef test({arguments}):\n" + "\n".join(f"    {line}" for line in body.split("\n"))
    function = ast.parse(text).body[0]
    assert isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
    values = {name: ast.parse(cell, mode="eval").body for name, cell in cells.items()}
    return [ast.unparse(value) for value in expected_values(function, values, ["shared"])]


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("assert f(1) == 2", ["2"]),
        ("assert 2 == f(1)", ["2"]),
        ("assert f(1) == 2 and g() == 'x'", ["2", "'x'"]),
        ("x = f(1)\nassert x == [1, 2]", ["[1, 2]"]),
        ("want = 5\nassert f(1) == want", ["5"]),
        ("want = 5\nassert f(1) == want, want", ["5"]),
        ("assert f(1) == approx(0.5)", ["approx(0.5)"]),
        ("assert f(1) == pytest.approx(0.5, abs=0.1)", ["pytest.approx(0.5, abs=0.1)"]),
        ("self.assertEqual(f(1), 2)", ["2"]),
    ],
)
def test_literals_that_decide(body: str, found: list[str]) -> None:
    assert sites(body) == found


@pytest.mark.parametrize(
    "body",
    [
        "want = 5\nassert f(want) == want",
        "if a:\n    assert f(1) == 2",
        "for x in xs:\n    assert f(x) == 2",
        "try:\n    assert f(1) == 2\nexcept AssertionError:\n    pass",
        "with pytest.raises(E):\n    assert f(1) == 2",
        "if a:\n    return\nassert f(1) == 2",
        "assert f(1) != 2",
        "assert f(1) == 2 or g()",
        "assert f(1) == pytest.approx(0.5, abs=10)",
        "assert f(1) == pytest.approx(0.5, rel=tolerance)",
        "assert f(1) == g(2)",
        "assert 1 < f(1) == 2",
    ],
)
def test_literals_that_may_decide_nothing(body: str) -> None:
    assert sites(body) == []


def test_parameters_count_when_they_are_compared_and_used_for_nothing_else() -> None:
    assert sites("assert f(x) == want", arguments="x, want", x="1", want="2") == ["2"]
    assert sites("assert f(x, want) == want", arguments="x, want", x="1", want="2") == []
    assert sites("assert f(x) == shared", arguments="x, shared", x="1", shared="2") == []
    assert sites("assert f(x) == want", arguments="x, want", x="1", want="g()") == []


def test_a_decorator_that_could_swallow_a_failure_has_no_twin() -> None:
    assert sites("assert f() == 2", decorator="@pytest.mark.slow") == ["2"]
    assert sites("assert f() == 2", decorator="@retried") == []


MODULE = b'''
"""Doubles 2 to 4 and 3 to 6."""
import pytest
from m import double

ROWS = [(2, 4), pytest.param(3, 6, id="six")]
OTHER = 77

@pytest.mark.parametrize("x,want", ROWS)
def test_rows(x, want):
    """Hint: 4 or 6."""
    assert double(x) == want

def test_other():
    assert double(OTHER) == 154
'''


def test_a_planned_test_stands_alone_with_its_own_row() -> None:
    files = {"suite/test_m.py": MODULE}
    four, six = planned(["test_m.py::test_rows"], files)
    assert [four.name, six.name] == ["test_m.py::test_rows[2-4]", "test_m.py::test_rows[six]"]
    text = run_of(six, files).module
    assert "(3, 6)" in text
    for other in ("4", "154", "Hint", "Doubles", "ROWS", "six", "test_other"):
        assert other not in text
    assert "OTHER = 77" in text


def test_a_twin_differs_in_the_expected_value_alone() -> None:
    files = {"test_m.py": MODULE}
    (test,) = planned(["test_m.py::test_rows[2-4]"], files)
    real, twin = run_of(test, files), twin_of(test, files, 1)
    assert twin is not None
    assert (twin.file, twin.select) == (real.file, real.select)
    changed = [
        (one, other)
        for one, other in zip(real.module.splitlines(), twin.module.splitlines(), strict=True)
        if one != other
    ]
    assert len(changed) == 1
    assert changed[0][0] == "@pytest.mark.parametrize('x,want', [(2, 4)])"


def test_twins_are_not_always_the_same() -> None:
    files = {"test_m.py": MODULE}
    (test,) = planned(["test_m.py::test_rows[2-4]"], files)
    assert len({twin.module for seed in range(50) if (twin := twin_of(test, files, seed))}) > 3


def family(value: Any, seed: int, form: str = "{!r}") -> list[Any]:
    """A right value in the midst of all wrong ones, as literals."""
    found = [value]
    for number in range(FAMILY):
        expression = ast.parse(form.format(value), mode="eval").body
        assert make_wrong(expression, Random(seed), number)
        found.append(eval(ast.unparse(expression), {"approx": lambda expected: expected}))
    return found


def leaves(value: Any) -> list[Any]:
    """Numbers and single letters of a value."""
    if isinstance(value, dict):
        return [leaf for key, inner in value.items() for leaf in (key, *leaves(inner))]
    return [leaf for inner in value for leaf in leaves(inner)] if isinstance(value, list) else list(str(value))


@pytest.mark.parametrize("value", ["amount", "Total: 48.20", ["x", "y", "z"], {"a": ["p", "q"], "b": "k"}])
def test_all_twins_of_a_text_differ_in_one_letter_of_which_none_has_a_majority(value: Any) -> None:
    for seed in range(20):
        columns = [set(column) for column in zip(*map(leaves, family(value, seed)), strict=True)]
        assert sorted(map(len, columns)) == [1] * (len(columns) - 1) + [1 + FAMILY]


def test_some_twins_of_a_text_have_its_own_words_in_another_order() -> None:
    """Whoever believes what is spelled rightly believes these."""
    text = "the quick, brown fox"
    kinds = {True: 0, False: 0}
    for seed in range(40):
        found = family(text, seed)
        own = {tuple(sorted(re.findall(r"\w+", each))) for each in found}
        assert len({*found}) == 1 + FAMILY
        kinds[len(own) == 1] += 1
        if len(own) == 1:
            assert {re.sub(r"\w+", "w", each) for each in found} == {"w w, w w"}
    assert min(kinds.values()) > 8


@pytest.mark.parametrize(
    ("value", "form"), [(136, "{!r}"), (27.25, "{!r}"), (48.2, "approx({!r})"), (50_000, "approx({!r})"), (12, "{!r}")]
)
def test_the_right_number_has_no_place_of_its_own_among_the_wrong_ones(value: float, form: str) -> None:
    places = [sorted(family(value, seed, form)).index(value) for seed in range(600)]
    for place in set(range(FAMILY)) & set(places):
        assert places.count(place) < 0.4 * len(places)
    assert 0 < places.count(0) < len(places)
    assert min(family(value, 1, form)) >= 0
