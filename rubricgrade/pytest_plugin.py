"""A rubric as a test in a project of its user: the fixtures `grade_episode`, `try_rubric` and `graded`.

    def test_the_agent(grade_episode):
        grade_episode("rubric.yaml", "episodes/first").must_score(at_least=0.8)

An episode that could not be graded is an error, never a failure and never a 0. Importing this costs next to nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from rubricgrade.authoring.graded import Graded
    from rubricgrade.authoring.session import Session

MARKER = (
    "rubric(path, *episodes, vars=None): grade each episode with a rubric, one test for each, for the fixture `graded`"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options that say who judges; all of them begin with ``--rubricgrade-``."""
    group = parser.getgroup("rubricgrade", "grading with rubrics")
    group.addoption(
        "--rubricgrade-judge",
        metavar="MODEL",
        help="the model that judges; default: $RUBRICGRADE_JUDGE, else verdicts.jsonl beside the rubric",
    )
    group.addoption("--rubricgrade-api-base", metavar="URL", help="its OpenAI-compatible endpoint")
    group.addoption("--rubricgrade-offline", action="store_true", help="ask no model, whatever is named")
    group.addoption(
        "--rubricgrade-max-cost", type=float, metavar="USD", help="stop judging at so many dollars for each rubric"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line("markers", MARKER)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one test of each episode that the marker names."""
    marker = metafunc.definition.get_closest_marker("rubric")
    if marker is None or "graded" not in metafunc.fixturenames:
        return
    if len(marker.args) < 2:  # noqa: PLR2004 - a rubric and an episode
        raise pytest.UsageError(f"{metafunc.definition.nodeid}: the marker 'rubric' names a rubric and episodes")
    place = metafunc.definition.path.parent
    rubric, *patterns = map(str, marker.args)
    episodes = [path for pattern in patterns for path in _episodes(place, pattern)]
    asked = [(_found(place, rubric), episode, marker.kwargs.get("vars")) for episode in episodes]
    metafunc.parametrize("graded", asked, indirect=True, ids=[path.name for path in episodes])


def _found(place: Path, given: Any) -> Any:
    """A path relative to the test's file, where something lies there; else as it was given, such as a ready rubric."""
    return place / given if isinstance(given, str | Path) and (place / given).exists() else given


def _episodes(place: Path, pattern: str) -> list[Path]:
    found = sorted(place.glob(pattern)) if any(sign in pattern for sign in "*?[") else [place / pattern]
    if not found:
        raise pytest.UsageError(f"the marker 'rubric': nothing fits {pattern!r} in {place}")
    return found


@pytest.fixture(scope="session")
def _rubricgrade(pytestconfig: pytest.Config) -> Session:
    from rubricgrade.authoring.session import Session  # noqa: PLC0415 - only for tests that grade

    option = pytestconfig.getoption
    return Session(
        model=option("--rubricgrade-judge") or os.environ.get("RUBRICGRADE_JUDGE") or None,
        base=option("--rubricgrade-api-base") or os.environ.get("RUBRICGRADE_API_BASE") or None,
        offline=bool(option("--rubricgrade-offline")),
        max_cost=option("--rubricgrade-max-cost"),
    )


@pytest.fixture
def grade_episode(request: pytest.FixtureRequest, _rubricgrade: Session) -> Callable[..., Graded]:
    """``grade_episode(rubric, episode, vars=None)``: the grade, to be asked with ``must_...``.

    Paths are relative to the test's file; an episode may also be a `Trajectory`.
    """
    place = request.path.parent

    def call(rubric: str | Path, episode: Any, *, vars: Mapping[str, Any] | None = None) -> Graded:  # noqa: A002 - the rubric's own word
        __tracebackhide__ = True
        return _rubricgrade.grade(_found(place, rubric), _found(place, episode), vars)

    return call


@pytest.fixture
def try_rubric(request: pytest.FixtureRequest, _rubricgrade: Session) -> Callable[..., None]:
    """``try_rubric(rubric, vars=None)``: fails unless every example of the rubric comes out as it expects."""
    place = request.path.parent

    def call(rubric: str | Path, *, vars: Mapping[str, Any] | None = None) -> None:  # noqa: A002 - the rubric's own word
        __tracebackhide__ = True
        _rubricgrade.try_rubric(_found(place, rubric), vars)

    return call


@pytest.fixture
def graded(request: pytest.FixtureRequest, _rubricgrade: Session) -> Graded:
    """The grade of one episode that the marker `rubric` names."""
    asked: Sequence[Any] | None = getattr(request, "param", None)
    if asked is None:
        raise pytest.UsageError(
            "the fixture 'graded' needs the marker: @pytest.mark.rubric('rubric.yaml', 'episodes/*')"
        )
    return _rubricgrade.grade(*asked)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    call: pytest.CallInfo[None],
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note on the report that the grader failed, not the agent."""
    report = yield
    if call.excinfo is not None and _is_ungraded(call.excinfo.value):
        report.user_properties.append(("rubricgrade", "ungraded"))
    return report


def pytest_report_teststatus(report: pytest.TestReport | pytest.CollectReport) -> tuple[str, str, str] | None:
    """An episode that could not be graded counts as an error wherever in a test that came out."""
    if (
        isinstance(report, pytest.TestReport)
        and report.failed
        and ("rubricgrade", "ungraded") in report.user_properties
    ):
        return "error", "E", "ERROR"
    return None


def _is_ungraded(error: BaseException) -> bool:
    # By name: a session that graded nothing has not imported the class.
    return type(error).__name__ == "Ungraded" and type(error).__module__.startswith("rubricgrade.")
