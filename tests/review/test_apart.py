"""Grades that `grade -o` keeps apart from their trajectories: their folder says where those and the rubric lay."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from urllib.request import urlopen

import pytest

from rubricgrade.errors import InputError, StoreError
from rubricgrade.readers import load_trajectory
from rubricgrade.review.desk import Desk
from rubricgrade.review.episodes import Episode, find_episodes, require_trajectories
from tests.cli.program import POLITE, SAYS_TOTAL, write_episode, write_rubric
from tests.cli.program import run as program
from tests.review.acts import decide
from tests.review.serving import served

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


@pytest.fixture
def rubric(tmp_path: Path) -> Path:
    return write_rubric(tmp_path / "rubrics" / "travel", criteria=(SAYS_TOTAL, POLITE))


@pytest.fixture
def episode(tmp_path: Path) -> Path:
    return write_episode(tmp_path / "episodes" / "first")


@pytest.fixture
def grades(rubric: Path, episode: Path, tmp_path: Path) -> Path:
    return graded(rubric, episode, tmp_path / "elsewhere" / "grades")


def graded(rubric: Path, episodes: Path, into: Path, *options: str) -> Path:
    done = program("grade", rubric, episodes, "--offline", "-o", into, *options)
    assert done.code == 3, done.err
    return into


def found(grades: Path) -> tuple[Episode, ...]:
    episodes = find_episodes(grades)
    require_trajectories(episodes)
    return episodes


def test_the_commands_of_the_readme(tmp_path: Path) -> None:
    grade = re.search(r"^rubricgrade (grade .* -o /tmp/mis-grades)$", README, re.MULTILINE)
    review = re.search(r"`rubricgrade review /tmp/mis-grades (--reviewer \w+)`", README)
    assert grade is not None
    assert review is not None
    grades = tmp_path / "mis-grades"
    assert program(*shlex.split(grade[1].replace("/tmp/mis-grades", str(grades))), cwd=ROOT).code == 0
    with served(grades, *shlex.split(review[1])) as address:
        with urlopen(address + "queue") as response:
            items = sorted(set(re.findall(r"/review/\w+", response.read().decode())))
        assert len(items) > 1
        for item in items:
            with urlopen(address.rstrip("/") + item) as page:
                assert page.status == 200
                assert "cfo@acme.test" in page.read().decode()


def test_trajectory_and_rubric_are_found_where_they_lay(grades: Path, episode: Path) -> None:
    (one,) = found(grades)
    assert one.rubric.id == "travel"
    assert one.trajectory().folder == episode


def test_a_rubric_is_found_with_the_values_of_its_variables(rubric: Path, episode: Path, tmp_path: Path) -> None:
    criterion = "{id: polite, points: 4, description: 'thanks {{ vars.whom }}', judge: {}}"
    rubric.write_text(f'id: travel\nvars: {{whom: null, most: 2.50, what: ["7", "no"]}}\ncriteria:\n  - {criterion}\n')
    grades = graded(rubric, episode, tmp_path / "grades", "--vars", "whom=Anna")
    (one,) = found(grades)
    assert one.rubric.vars["whom"] == "Anna"


def test_a_rubric_that_is_named_takes_the_values_that_it_was_graded_with(
    rubric: Path, episode: Path, tmp_path: Path
) -> None:
    criterion = "{id: polite, points: 4, description: 'thanks {{ vars.whom }}', judge: {}}"
    rubric.write_text(f"id: travel\nvars: {{whom: null}}\ncriteria:\n  - {criterion}\n")
    grades = graded(rubric, episode, tmp_path / "grades", "--vars", "whom=Anna")
    moved = rubric.rename(tmp_path / "moved.yaml")
    labels = tmp_path / "labels.jsonl"
    values = tmp_path / "values.yaml"
    values.write_text("whom: Anna\n")
    for given in ("whom=Anna", str(values)):
        done = program("review", grades, "--rubric", moved, "--vars", given, "--labels-out", labels)
        assert (done.code, done.err) == (0, "0 labels written\n")
    done = program("review", grades, "--rubric", moved, "--vars", "whom=Ben", "--labels-out", labels)
    assert done.code == 2
    assert "with --vars if its variables had other values" in done.err
    assert "--rubric FILE" in program("review", grades, "--vars", "whom=Anna").err


def test_two_rubrics_in_one_folder(grades: Path, episode: Path, tmp_path: Path) -> None:
    other = write_rubric(tmp_path / "rubrics" / "other", criteria=(POLITE,))
    graded(other, episode, grades)
    assert len(list(grades.glob("first/*.sources.json"))) == 2
    (one,) = found(grades)
    assert [criterion.id for criterion in one.rubric.criteria or ()] == ["polite"]


def test_one_of_many_trajectories_in_a_file(rubric: Path, tmp_path: Path) -> None:
    lines = [
        {"id": name, "messages": [{"role": "user", "content": "How much?"}, {"role": "assistant", "content": name}]}
        for name in ("one", "two")
    ]
    file = tmp_path / "many.jsonl"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    episodes = found(graded(rubric, file, tmp_path / "grades"))
    assert [each.trajectory().id for each in episodes] == ["one", "two"]


def test_what_people_decided_makes_the_next_grade(episode: Path, tmp_path: Path) -> None:
    total = "{id: total, points: 3, description: says the total, judge: {}}"
    rubric = write_rubric(tmp_path / "r", criteria=(total, POLITE))
    grades = graded(rubric, episode, tmp_path / "grades")
    desk = Desk(grades, found(grades))
    decide(desk, "first", "total", "met", quotes=("The total is 48.2 lakh.", "The total is 999."))
    decide(desk, "first", "polite", "not_met", why="curt", quotes=("Go away.",))
    file = tmp_path / "people.jsonl"
    done = program("review", grades, "--verdicts-out", file)
    assert done.err.startswith(f"2 verdicts written; grade by them: --verdicts {file}")
    assert program("review", grades, "--verdicts-out", tmp_path / "no", "--redact").code == 2
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert {line["recorded_by"] for line in lines} == {"hand: anna"}
    again = tmp_path / "again"
    assert program("grade", rubric, episode, "--verdicts", file, "-o", again).code == 0
    (one,) = found(again)
    results = {result.id: (result.verdict, result.reasoning) for result in one.grade.criteria}
    assert results == {"total": ("met", ""), "polite": ("not_met", "curt")}
    assert one.grade.score == pytest.approx(3 / 7)


def test_what_is_gone_is_said_before_a_page_is_opened(grades: Path, episode: Path) -> None:
    moved = episode.rename(episode.with_name("moved"))
    done = program("review", grades, "--reviewer", "anna", "--port", "0")
    assert done.code == 2
    assert f"{episode}, where it lay, is gone or has changed since" in done.err
    assert "--episodes FILE" in done.err
    with served(grades, "--episodes", str(moved), "--reviewer", "anna") as address:
        assert address


def test_another_trajectory_in_its_place_is_not_taken_for_it(grades: Path, episode: Path) -> None:
    episode.rename(episode.with_name("moved"))
    write_episode(episode, reply="The total is 50 lakh.")
    with pytest.raises(InputError, match="has changed since; name what was graded: --episodes FILE"):
        found(grades)


def test_another_rubric_in_its_place_is_not_taken_for_it(grades: Path, rubric: Path) -> None:
    rubric.write_text(rubric.read_text().replace("points: 4", "points: 5"))
    with pytest.raises(InputError, match="it has changed since; grade again"):
        found(grades)
    rubric.unlink()
    with pytest.raises(InputError, match="name its file, --rubric FILE"):
        found(grades)


def test_how_many_are_missing(rubric: Path, episode: Path, tmp_path: Path) -> None:
    write_episode(episode.with_name("second"))
    grades = graded(rubric, episode.parent, tmp_path / "grades")
    for note in grades.glob("*/*.sources.json"):
        note.unlink()
    episodes = find_episodes(grades, rubrics=[rubric])
    with pytest.raises(InputError, match=r"holds no trajectory beside its grades \(one of 2 such episodes\); name"):
        require_trajectories(episodes)
    require_trajectories(find_episodes(grades, rubrics=[rubric], trajectories=[load_trajectory(episode)])[:1])


def test_a_note_that_is_none(grades: Path) -> None:
    (note,) = grades.glob("first/*.sources.json")
    note.write_text('{"schema": "rubricgrade.sources/1"}')
    with pytest.raises(StoreError, match="does not say where a grade's sources lay: has no 'trajectory'; delete it"):
        found(grades)


def test_a_link_is_not_followed(grades: Path, tmp_path: Path) -> None:
    (note,) = grades.glob("first/*.sources.json")
    note.rename(tmp_path / "note.json")
    note.symlink_to(tmp_path / "note.json")
    with pytest.raises(InputError, match="--rubric FILE"):
        found(grades)


def test_nothing_is_noted_beside_a_trajectory(rubric: Path, episode: Path) -> None:
    assert program("grade", rubric, episode, "--offline").code == 3
    assert sorted(path.name for path in episode.iterdir()) == ["grades", "trajectory.json"]
