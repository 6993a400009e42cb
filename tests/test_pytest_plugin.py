"""The pytest plugin, as a project of its user has it."""

from __future__ import annotations

from importlib import import_module

import pytest

from tests.authoring.made import RUBRIC, write_episode, write_rubric

pytest_plugins = ["pytester"]

# Here already, so that the projects in this process need not load it one after the other.
import_module("rubricgrade.authoring.session")

JUDGED = "id: polite\ncriteria:\n  - {id: thanks, points: 1, description: thanks the user, judge: {}}\n"


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.delenv("RUBRICGRADE_JUDGE", raising=False)
    write_rubric(pytester.path)
    (pytester.path / "judged").mkdir()
    (pytester.path / "judged" / "rubric.yaml").write_text(JUDGED)
    return pytester


def ran(project: pytest.Pytester, test: str, *options: str) -> pytest.RunResult:
    project.makepyfile(test_it=test)
    return project.runpytest_inprocess("-p", "no:cacheprovider", "-p", "no:xdist", *options)


def test_scores_that_are_reached_pass_and_failures_quote_what_was_missed(project: pytest.Pytester) -> None:
    done = ran(
        project,
        """
        def test_good(grade_episode):
            grade = grade_episode("rubric.yaml", "good", vars={"mild": False})
            grade.must_score(0.8)
            grade.must_meet("answered", "says-total")
            grade.must_miss("curses")
            assert grade.score == 1

        def test_bad(grade_episode):
            grade_episode("rubric.yaml", "bad", vars={"mild": False}).must_score(0.8)

        def test_too_good(grade_episode):
            grade_episode("rubric.yaml", "good").must_score(at_most=0.5)

        def test_meets(grade_episode):
            grade_episode("rubric.yaml", "bad").must_meet("answered", "says-total")

        def test_misses(grade_episode):
            grade_episode("rubric.yaml", "good").must_miss("says-total")

        def test_unknown(grade_episode):
            grade_episode("rubric.yaml", "good").must_meet("says-totl")
        """,
    )
    done.assert_outcomes(passed=1, failed=5)
    text = done.stdout.str()
    assert "bad: score 0 (graded), asked for at least 0.8" in text
    assert "says-total: not_met: says the total" in text
    assert '"damn" [1].text' in text
    assert "good: score 1 (graded), asked for at most 0.5" in text
    assert "says-total: not met" in text
    assert "the rubric has no says-totl; it has answered, says-total, curses" in text
    # The reader sees his own line, not ours.
    assert "authoring/graded.py" not in text


def test_an_ungraded_episode_is_an_error_and_no_failure(project: pytest.Pytester) -> None:
    done = ran(
        project,
        """
        import pytest

        def test_called(grade_episode):
            grade_episode("judged", "good").must_score(at_most=0)

        @pytest.mark.rubric("judged", "good")
        def test_marked(graded):
            graded.must_score(at_most=0)
        """,
    )
    done.assert_outcomes(errors=2)
    assert done.ret == 1
    text = done.stdout.str()
    assert "ungraded (no_judge), the score lies in 0 to 1" in text
    assert "thanks: no_judge" in text


def test_the_marker_makes_a_test_of_each_episode(project: pytest.Pytester) -> None:
    write_episode(project.path / "runs" / "one", "it is 48.2 lakh")
    write_episode(project.path / "runs" / "two", "it is a lot")
    done = ran(
        project,
        """
        import pytest

        @pytest.mark.rubric("rubric.yaml", "runs/*", "good", vars={"mild": False})
        def test_all(graded):
            graded.must_score(at_least=1)
        """,
        "-v",
    )
    done.assert_outcomes(passed=2, failed=1)
    done.stdout.fnmatch_lines(["*test_all[[]one] PASSED*", "*test_all[[]two] FAILED*", "*test_all[[]good] PASSED*"])


@pytest.mark.parametrize(
    ("test", "told"),
    [
        ("@pytest.mark.rubric('rubric.yaml')\ndef test(graded): pass", "names a rubric and episodes"),
        ("@pytest.mark.rubric('rubric.yaml', 'none/*')\ndef test(graded): pass", "nothing fits 'none/*'"),
        ("def test(graded): pass", "needs the marker"),
    ],
)
def test_a_wrong_marker_says_so(project: pytest.Pytester, test: str, told: str) -> None:
    done = ran(project, f"import pytest\n\n{test}\n")
    assert done.ret != 0
    assert told in done.stdout.str() + done.stderr.str()


def test_paths_are_relative_to_the_test_and_ready_rubrics_go_by_name(project: pytest.Pytester) -> None:
    (project.path / "deep").mkdir()
    write_rubric(project.path / "deep" / "mine")
    (project.path / "deep" / "test_deep.py").write_text(
        "def test_near(grade_episode):\n    grade_episode('mine', 'mine/good').must_score(1)\n\n\n"
        "def test_ready(grade_episode):\n    grade_episode('agent-process', 'mine/good').must_score(at_most=0)\n"
    )
    done = project.runpytest_inprocess("-p", "no:cacheprovider", "-p", "no:xdist", "deep")
    done.assert_outcomes(passed=2)


def test_a_rubric_is_tried_by_its_examples(project: pytest.Pytester) -> None:
    (project.path / "wrong").mkdir()
    write_rubric(project.path / "wrong", RUBRIC.replace("expect: met, why", "expect: not_met, why"))
    done = ran(
        project,
        """
        def test_right(try_rubric):
            try_rubric("rubric.yaml")

        def test_wrong(try_rubric):
            try_rubric("wrong")

        def test_open(try_rubric):
            try_rubric("judged")
        """,
    )
    done.assert_outcomes(passed=1, failed=1, errors=1)
    assert "wrong/rubric.yaml:13:9: says-total: expected not_met, found met" in done.stdout.str()


def test_installed_it_is_there_and_without_its_fixtures_nothing_of_ours_is_loaded(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_it="""
        import sys

        def test_light(pytestconfig):
            assert pytestconfig.getoption("--rubricgrade-max-cost") is None
            ours = {name for name in sys.modules if name.startswith("rubricgrade")}
            assert ours == {"rubricgrade", "rubricgrade.version", "rubricgrade.pytest_plugin"}
        """
    )
    project.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=1)


def test_the_options_are_listed(project: pytest.Pytester) -> None:
    text = project.runpytest_inprocess("--help").stdout.str()
    for option in ("--rubricgrade-judge", "--rubricgrade-api-base", "--rubricgrade-offline", "--rubricgrade-max-cost"):
        assert option in text
