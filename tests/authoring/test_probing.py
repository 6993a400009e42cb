"""What agents earn that did not do the work."""

from __future__ import annotations

import asyncio
from pathlib import Path

from rubricgrade.authoring.impostors import IMPOSTORS, files_asked_for
from rubricgrade.authoring.probing import Probe, probe
from rubricgrade.grading.judges import Judges
from rubricgrade.judge.options import JudgeOptions
from rubricgrade.loading import load_rubric, parse_rubric
from tests.authoring.calling import run
from tests.cli.program import write_rubric

QUIET = "{id: quiet, points: 1, description: says nothing rude, check: {not: {trajectory: {final_message: {contains: rude}}}}}"
SHORT = "{id: short, points: 3, description: the summary names Lisbon, check: {trajectory: {final_message: {contains: lisbon}}}}"
FILE = "{id: has-report, points: 4, description: a report is there, check: {exists: 'out/*.md'}}"


def probed(folder: Path, *criteria: str) -> Probe:
    rubric = load_rubric(write_rubric(folder, criteria=criteria))
    return asyncio.run(probe(rubric, judge=Judges(JudgeOptions(offline=True, cache=False))))


def test_points_for_doing_nothing_are_a_concern(tmp_path: Path) -> None:
    done = probed(tmp_path, QUIET, SHORT)
    nothing = done.earned[0]
    assert (nothing.agent, nothing.score, nothing.concern, nothing.given) == ("does nothing", 0.25, True, ("quiet",))


def test_each_impostor_earns_by_what_it_does(tmp_path: Path) -> None:
    done = probed(tmp_path, SHORT, FILE)
    earned = {one.agent: (one.score, one.given) for one in done.earned}
    assert len(earned) == len(IMPOSTORS)
    assert earned["does nothing"] == (0, ())
    assert earned["writes at length and says nothing"] == (0, ())
    assert earned["strings the rubric's words together"][1] == ("short",)
    assert set(earned["leaves every file that is asked for, hollow"][1]) == {"short", "has-report"}


def test_without_a_judge_only_bounds_are_known(tmp_path: Path) -> None:
    done = probed(tmp_path, "{id: polite, points: 1, description: thanks the user, judge: {}}")
    assert {one.concern for one in done.earned} == {None}
    assert {one.bounds for one in done.earned} == {(0, 1)}
    assert {one.cause for one in done.earned} == {"no_judge"}


def test_names_of_files_stay_inside() -> None:
    rubric = parse_rubric(
        "id: r\njudge: {artifacts: ['**/*.pdf', 'a?.txt']}\ncriteria:\n"
        "  - {id: a, points: 1, description: d, check: {not: {json: {path: x/y.json, equals: 1}}}}\n"
    )
    assert files_asked_for(rubric) == ["x/y.json", "xx.pdf", "ax.txt"]


def test_the_command_warns_and_fails_only_when_it_is_told_to(tmp_path: Path) -> None:
    path = write_rubric(tmp_path, criteria=[QUIET, SHORT])
    done = run("probe", path)
    assert done.code == 0
    assert "TOO MUCH  does nothing" in done.out
    assert "warning: an agent that does nothing earns 0.25 or more  from quiet" in done.err
    assert run("probe", path, "--strict").code == 1
    judged = write_rubric(tmp_path / "judged", criteria=["{id: a, points: 1, description: d, judge: {}}"])
    assert run("probe", judged, "--strict").code == 3
    assert run("probe", judged, "--json").json["schema"] == "rubricgrade.probe/1"
