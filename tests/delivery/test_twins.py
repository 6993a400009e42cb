"""Near twins and the split: what is planted is found and never parted, what is unlike is left alone."""

from __future__ import annotations

import itertools
import runpy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rubricgrade.delivery.shingles import Sketch, code, jaccard, prose, sketch
from rubricgrade.delivery.splitting import Item, split
from rubricgrade.delivery.twins import THRESHOLD, crossing, likeness, near_twins
from tests.delivery.conftest import World

TOP = Path(__file__).resolve().parents[2]
MADE = runpy.run_path(str(TOP / "benchmarks/twins.py"))["made"]


@pytest.fixture(scope="module")
def plan() -> Any:
    return MADE(1000)


def test_a_thousand_tasks_are_split_without_parting_a_planted_pair(plan: Any) -> None:
    pairs = list(near_twins(plan.sketches))
    parts = split(plan.items, [(pair.one, pair.two) for pair in pairs], fraction=0.2)
    held = {*parts.heldout}
    assert [pair for pair in plan.twins if (pair[0] in held) != (pair[1] in held)] == []
    assert len(plan.twins) == 200
    assert 0.18 <= len(held) / 1000 <= 0.22
    by_name = {each.task: each for each in plan.sketches}
    across = crossing([by_name[name] for name in parts.heldout], [by_name[name] for name in parts.train[:200]])
    assert list(across) == []


def test_the_mix_is_the_same_on_both_sides(plan: Any) -> None:
    parts = split(plan.items, plan.twins, fraction=0.2)
    held = {*parts.heldout}
    for stratum in {item.stratum for item in plan.items}:
        its = [item.task for item in plan.items if item.stratum == stratum]
        assert abs(sum(task in held for task in its) - 0.2 * len(its)) <= 3


def test_pairs_that_nobody_planted_are_not_called_twins(plan: Any) -> None:
    linked = {frozenset(pair) for pair in plan.twins}
    family = {name for pair in plan.twins for name in pair}
    found = [pair for pair in near_twins(plan.sketches) if frozenset((pair.one, pair.two)) not in linked]
    assert [pair for pair in found if not {pair.one, pair.two} <= family] == []


@pytest.mark.parametrize(
    "other",
    [
        "Invoice totals are off by three cents when a line item ends in half a cent. Fix it without changing the API.",
        "INVOICE totals are off by one cent, when a line item ends in half a cent: fix it, without changing the API!",
        "Bill totals are off by one cent if a line item ends with half a cent. Repair it without changing the API.",
    ],
)
def test_renumbered_and_reworded_instructions_are_twins(other: str) -> None:
    one = "Invoice totals are off by one cent when a line item ends in half a cent. Fix it without changing the API."
    assert jaccard(prose(one), prose(other)) >= THRESHOLD


def test_renamed_code_is_the_same_code_and_other_code_is_not() -> None:
    one = "def total(items):\n    result = 0\n    for item in items:\n        result += item.price * 3\n    return result\n"
    renamed = "def betrag(posten):\n    x = 7\n    for p in posten:  # all\n        x += p.preis * 12\n    return x\n"
    other = (
        "class Stack:\n    def __init__(self):\n        self.a = []\n    def push(self, x):\n        self.a.append(x)\n"
    )
    assert jaccard(code(one), code(renamed)) == 1
    assert jaccard(code(one), code(other)) < 0.1


def test_tiny_solutions_and_shared_files_alone_make_no_twins() -> None:
    files = code("FROM python:3.13-slim\nWORKDIR /work\nRUN pip install pytest requests flask\n" * 3)
    one = Sketch("one", prose("Add two numbers and return their sum"), code("return a + b"), files)
    two = Sketch("two", prose("Join a path with its parent folder"), code("return x + y"), files)
    assert likeness(one, two)[0] < THRESHOLD
    assert list(near_twins([one, two])) == []


def test_nothing_is_like_nothing() -> None:
    empty = Sketch("a", frozenset()), Sketch("b", frozenset())
    assert likeness(*empty)[0] == 0
    assert list(near_twins(empty)) == []


def test_the_families_of_the_example_are_found(world: World) -> None:
    sketches = [sketch(task.id, task.folder) for task in world.tasks]
    pairs = list(near_twins(sketches))
    assert {(world.families[pair.one], world.families[pair.two]) for pair in pairs} == {
        (name, name) for name in world.families.values()
    }
    parts = split([Item(each.task) for each in sketches], [(pair.one, pair.two) for pair in pairs], fraction=0.25)
    assert {tuple(sorted({world.families[name] for name in group})) for group in parts.groups} == {
        (name,) for name in world.families.values()
    }


labelled = st.lists(
    st.tuples(st.sampled_from("ab"), st.sampled_from("xy"), st.sampled_from(["", "r1", "r2", "r3"])), max_size=30
)


@settings(max_examples=60, deadline=None)
@given(labelled, st.data(), st.floats(0, 0.9))
def test_a_split_parts_no_group_whatever_links_there_are(
    rows: list[tuple[str, str, str]], data: st.DataObject, fraction: float
) -> None:
    items = [Item(f"t{n}", c, d, {"repo": r} if r else {}) for n, (c, d, r) in enumerate(rows)]
    names = [item.task for item in items]
    links = data.draw(st.lists(st.tuples(st.sampled_from(names), st.sampled_from(names)), max_size=5)) if names else []
    parts = split(items, links, fraction=fraction, seed=3)
    shuffled = split(data.draw(st.permutations(items)), links, fraction=fraction, seed=3)
    assert parts == shuffled
    held = {*parts.heldout}
    assert sorted([*parts.train, *parts.heldout]) == sorted(names)
    assert all((one in held) == (two in held) for one, two in links)
    for one, two in itertools.combinations(items, 2):
        if one.labels and one.labels == two.labels:
            assert (one.task in held) == (two.task in held)


def test_another_seed_draws_another_split(plan: Any) -> None:
    one, two = (split(plan.items, plan.twins, fraction=0.2, seed=seed) for seed in (0, 1))
    assert one.heldout != two.heldout
