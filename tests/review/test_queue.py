from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rubricgrade.errors import InputError, StoreError
from rubricgrade.review.desk import Desk
from rubricgrade.review.queue import FILE, Mix, divided, draw, read_draws
from rubricgrade.review.versions import flipped
from tests.cli.program import run as program
from tests.review.acts import decide, item_of
from tests.review.made import Made, Said, desk_of, steps, write_made_grade

Name = tuple[str, str]


def names(count: int) -> list[Name]:
    return [(f"episode-{number // 3}", f"criterion-{number % 3}") for number in range(count)]


@pytest.mark.parametrize("text", ["60/30", "60/30/20", "a/b/c", "-10/60/50", "", "60/30/10/0"])
def test_a_mix_is_three_shares_of_a_hundred(text: str) -> None:
    with pytest.raises(InputError, match="add up to 100"):
        Mix.parse(text)


def test_the_most_doubtful_come_first_and_the_rest_by_chance() -> None:
    doubt = {name: number // 2 for number, name in enumerate(names(40))}
    found, covered = draw(doubt, [], [], size=10, mix=Mix(60, 40, 0), seed=1)
    reasons = {(place.episode, place.criterion): place.reason for place in found}
    assert Counter(reasons.values()) == {"uncertain": 6, "random": 4}
    assert {name for name, reason in reasons.items() if reason == "uncertain"} == set(names(40)[34:])
    assert covered


@settings(deadline=None, max_examples=20)
@given(
    st.lists(st.integers(0, 3), min_size=8, max_size=16),
    st.sampled_from([Mix(60, 30, 10), Mix(0, 100, 0), Mix(50, 25, 25), Mix(90, 10, 0)]),
    st.integers(3, 8),
)
def test_stated_probabilities_are_those_of_drawing(levels: list[int], mix: Mix, size: int) -> None:
    doubt = dict(zip(names(len(levels)), levels, strict=True))
    gold = names(len(levels))[:3]
    times, stated = Counter[Name](), dict[Name, float]()
    draws = 1500
    for seed in range(draws):
        found, _ = draw(doubt, gold, [], size=size, mix=mix, seed=seed)
        assert len(found) <= size
        assert len({(place.episode, place.criterion) for place in found}) == len(found)
        for place in found:
            name = (place.episode, place.criterion)
            times[name] += 1
            assert stated.setdefault(name, place.probability) == place.probability, "it does not depend on the luck"
    for name, probability in stated.items():
        assert times[name] / draws == pytest.approx(probability, abs=0.08)


def test_weighted_by_inverse_probability_a_draw_stands_for_all() -> None:
    """The judge errs where it is doubtful: what was drawn errs much more often than all there is."""
    population = names(300)
    doubt = {name: 5 if number % 10 == 0 else 0 for number, name in enumerate(population)}
    wrong = {name for number, name in enumerate(population) if number % 10 == 0 and number % 20}
    plain: list[float] = []
    weighted: list[float] = []
    for seed in range(200):
        found, covered = draw(doubt, [], [], size=60, mix=Mix(50, 50, 0), seed=seed)
        assert covered
        errs = [((place.episode, place.criterion) in wrong, 1 / place.probability) for place in found]
        plain.append(sum(err for err, _ in errs) / len(errs))
        weighted.append(sum(err * weight for err, weight in errs) / sum(weight for _, weight in errs))
    truth = len(wrong) / len(population)
    assert sum(plain) / len(plain) > 3 * truth
    assert sum(weighted) / len(weighted) == pytest.approx(truth, rel=0.1)


def test_a_draw_without_chance_says_that_it_stands_for_nothing_else() -> None:
    doubt = dict.fromkeys(names(20), 1)
    assert not draw(doubt, [], [], size=5, mix=Mix(100, 0, 0), seed=0)[1]


def test_a_share_that_can_not_be_filled_goes_to_chance() -> None:
    found, _ = draw(dict.fromkeys(names(20), 0), [], [], size=10, mix=Mix(60, 30, 10), seed=0)
    assert Counter(place.reason for place in found) == {"random": 10}


def test_a_queue_is_kept_with_reason_and_probability_and_goes_into_the_record(run: Path) -> None:
    desk = desk_of(run)
    assert len(desk.queue()) == 10, "without a draw everything is in it"
    drawn = desk.draw("anna", size=3, mix=Mix(67, 33, 0), seed=3)
    assert read_draws(run) == [drawn]
    listed = {(item.episode, item.criterion): how for item, how in desk.queue()}
    assert {name for name, how in listed.items() if how.reason == "human"} == {("one", "approved"), ("two", "approved")}
    uncertain = {name for name, how in listed.items() if how.reason == "uncertain"}
    assert uncertain == {("one", "complete"), ("two", "polite")}, "split votes, and a quote that is not there"
    decide(desk, "one", "complete", "met")
    first = desk.opinion(item_of(desk, "one", "complete"), "anna").first
    assert first is not None
    assert first.drawn == listed["one", "complete"]


def test_doubts(run: Path) -> None:
    desk = desk_of(run)
    assert desk.doubts(item_of(desk, "one", "complete")) == ("split votes",)
    assert desk.doubts(item_of(desk, "two", "polite")) == ("quote not found",)
    assert desk.doubts(item_of(desk, "one", "polite")) == ()
    changed = Made(steps(), {"polite": Said("not_met"), "complete": Said("cannot_tell")})
    write_made_grade(run / "one", desk.episodes["one"].rubric, changed)
    again = desk_of(run)
    assert again.doubts(item_of(again, "one", "polite")) == ("changed since the last grade",)
    assert again.doubts(item_of(again, "one", "complete")) == ("no verdict", "changed since the last grade")


def test_the_order_does_not_depend_on_the_judge(run: Path, tmp_path: Path) -> None:
    order = [item.id for item, _ in desk_of(run).queue()]
    for name in ("one", "two"):
        write_made_grade(
            run / name,
            desk_of(run).episodes[name].rubric,
            Made(steps(), {"polite": Said("not_met", votes=("yes", "no"))}),
        )
    assert [item.id for item, _ in desk_of(run).queue()] == order


def test_the_next_item_is_one_that_waits(run: Path) -> None:
    desk = desk_of(run)
    listed = [item for item, _ in desk.queue()]
    decide(desk, listed[1].episode, listed[1].criterion, listed[1].answers[0].verdict)
    assert desk.neighbours(listed[0], "anna") == (None, listed[2])
    assert desk.neighbours(listed[-1], "anna") == (listed[-2], listed[0])


def test_a_damaged_draw_is_named(run: Path) -> None:
    (run / FILE).write_text("{}\n")
    with pytest.raises(StoreError, match=r"review-queue\.jsonl:1: is no draw"):
        desk_of(run).queue()


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 60), st.integers(2, 4), st.floats(0, 1), st.integers(0, 9))
def test_a_divided_draw_gives_every_item_to_one_reviewer_and_a_share_to_two(
    count: int, people: int, overlap: float, seed: int
) -> None:
    found, _ = draw(dict.fromkeys(names(count), 1), [], [], size=count, mix=Mix(100, 0, 0), seed=seed)
    reviewers = [f"r{number}" for number in range(people)]
    places = divided(found, reviewers, overlap=overlap, seed=seed)
    assert sorted((place.episode, place.criterion) for place in places) == sorted(names(count))
    assert {len(set(place.to)) for place in places} <= {1, 2}
    shared = sum(len(place.to) == 2 for place in places)
    assert abs(shared - overlap * count) <= 1.5, "up to half of one episode's three items"
    for episode in {place.episode for place in places}:
        assert len({place.to for place in places if place.episode == episode}) == 1
    loads = Counter(name for place in places for name in place.to)
    assert max(loads.values()) - min(loads[name] for name in reviewers) <= 3


@pytest.mark.parametrize(("reviewers", "overlap"), [(["anna"], 0.2), (["anna", "anna"], 0.2), (["anna", "ben"], 1.5)])
def test_what_can_not_be_divided_is_told(reviewers: list[str], overlap: float) -> None:
    with pytest.raises(InputError, match=r"two or more reviewers|a share from 0 to 1"):
        divided([], reviewers, overlap=overlap, seed=0)


def test_each_reviewer_has_a_part_of_a_divided_queue(run: Path) -> None:
    desk = desk_of(run)
    desk.draw("anna", size=8, mix=Mix(50, 50, 0), seed=0, reviewers=("anna", "ben"), overlap=0)
    parts = {name: {item.id for item, _ in desk.queue(name)} for name in ("anna", "ben", "carl")}
    assert parts["anna"] | parts["ben"] == {item.id for item, _ in desk.queue()}
    assert parts["anna"].isdisjoint(parts["ben"])
    assert all(parts[name] for name in ("anna", "ben"))
    assert not parts["carl"]
    last = [item for item, _ in desk.queue("anna")][-1]
    _, after = desk.neighbours(last, "anna")
    assert after is not None
    assert after.id in parts["anna"]


def changed(run: Path) -> Desk:
    """The run, graded again by another judge, which finds one reply impolite."""
    rubric = desk_of(run).episodes["one"].rubric
    for name, said in (("one", Said("not_met")), ("two", Said("met"))):
        judge = {"polite": said, "complete": Said("met" if name == "one" else "not_met")}
        tone = {"tone": Said("cold")} if name == "two" else {}
        write_made_grade(run / name, rubric, Made(steps(), judge | tone, model="other/judge"))
    return desk_of(run)


def test_what_flipped_is_queued_and_nothing_else(run: Path) -> None:
    desk = changed(run)
    flips = flipped(desk)
    assert flips == {("one", "polite")}
    drawn = desk.draw("anna", size=50, mix=Mix(100, 0, 0), seed=0, flipped=flips)
    assert [(place.episode, place.criterion, place.reason) for place in drawn.items] == [("one", "polite", "flipped")]
    assert not drawn.covered
    mixed = desk.draw("anna", size=50, mix=Mix(50, 50, 0), seed=0, flipped=flips)
    assert Counter(place.reason for place in mixed.items) == {"flipped": 1, "random": 1}
    assert mixed.covered
    with pytest.raises(InputError, match="no verdict differs"):
        desk.draw("anna", size=5, mix=Mix(), seed=0, flipped=())
    with pytest.raises(InputError, match="no share for what flipped"):
        desk.draw("anna", size=5, mix=Mix(0, 100, 0), seed=0, flipped=flips)


def test_without_a_second_version_nothing_flipped(run: Path) -> None:
    assert flipped(desk_of(run)) == set()


def test_draws_from_the_command_line(run: Path, tmp_path: Path) -> None:
    changed(run)
    labels = tmp_path / "labels.jsonl"
    done = program("review", run, "--draw", "9", "--flipped", "--mix", "100/0/0", "--labels-out", labels)
    assert (done.code, "drew 1 of 8" in done.err) == (0, True)
    done = program("review", run, "--draw", "9", "--among", "anna", "--among", "ben", "--labels-out", labels)
    assert done.code == 0
    assert read_draws(run)[-1].reviewers == ("anna", "ben")
    assert program("review", run, "--flipped").code == 2
    assert program("review", run, "--draw", "9", "--among", "anna", "--labels-out", labels).code == 2
