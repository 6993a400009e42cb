"""``pytest``: a sealed suite that imports the agent's code; value 1 if every planned test passes, else 0.

Each test (or each group of them, where the rubric says so) runs in a fresh fork, with pytest and the test from our side
and only the allowed part of the agent's work. Where it can be had, a twin that must fail runs in another fork: whoever
passes both has tampered.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import PurePosixPath
from typing import Any

from rubricgrade.checks.inside.case import AgentFault, AuthorFault, Case, CheckResult, Seen
from rubricgrade.checks.inside.compare import cut
from rubricgrade.checks.inside.planning import Planned, asks_for, is_covered_in_part, place_of, planned, run_of, twin_of
from rubricgrade.checks.inside.tested import Setting, Tested, TestRun
from rubricgrade.checks.inside.twins import FAMILY, RANDOM

MOST_SHOWN = 20
LEAST_SHARE = 10.0
"""Seconds that each test may take, however many there are: starting one on a busy host takes some of it."""
PATIENCE = 60.0
"""Seconds of each run without the agent's work, which must not fail for want of time."""
MOST_SENT = 16 << 20
"""Characters of modules in one message, unless a single group has more."""
LEAST_PAIRS = FAMILY
"""Twins in all of each list, where there are any: with fewer, a guess which run is the wrong one is right too often."""
LEAST_EACH, FEW = 2, 12
"""Twins of each test (or group) that is to pass, while there are so few: only one may need to be guessed, if the others
pass without any work."""
SINGLES = 2
"""Further twins of a group, each with one test wrong: whoever knows one answer must not know the others by it."""
NO_FIXTURE = re.compile(r"fixture '(\w+)' not found")
TOGETHER = {"file": "those of a file share a process", "suite": "all share a process"}
PROBE = TestRun("def test_nothing():\n    pass\n", "test_nothing.py", "test_nothing")


def check(case: Case, spec: Mapping[str, Any]) -> CheckResult:
    """Run every planned test and its twins, and count.

    Raises:
        AgentFault: A twin passed: the agent's code tampers with its tests.
        AuthorFault: The plan names what is not there, or no test can run here whatever the agent does.
    """
    files = {place_of(path, spec.get("root")): case.sealed.joinpath(path).read_bytes() for path in spec["files"]}
    lists = {key: planned(spec.get(key, ()), files) for key in ("fail_to_pass", "pass_to_pass")}
    suite = _Suite(case, spec, files, lists)
    passed, twinned = suite.run()
    total = len(suite.tests)
    share = len(passed) / total
    message = f"{len(passed)} of {total} planned tests pass"
    if (together := TOGETHER.get(spec.get("isolate", "test"))) is not None:
        message = f"{message}; {together}"
    failed = [f"{test.name}: {suite.results[test].message}" for test in suite.tests if test not in passed]
    alone = [test.name for test in suite.tests if test not in twinned]
    evidence = [Seen(message), *(Seen(cut(text, 480)) for text in failed[:MOST_SHOWN])]
    if len(failed) > MOST_SHOWN:
        evidence.append(Seen(f"and {len(failed) - MOST_SHOWN} more"))
    if alone:
        evidence.append(Seen(cut(f"without a twin, so code that tampers could pass them: {', '.join(alone)}", 480)))
    in_part = [test.name for test in suite.tests if test in twinned and is_covered_in_part(test, files)]
    if in_part:
        evidence.append(
            Seen(cut(f"only some of their assertions have a wrong value in a twin: {', '.join(in_part)}", 480))
        )
    fields = {key: sum(test in passed for test in tests) / len(tests) for key, tests in lists.items() if tests}
    return CheckResult(
        len(passed) == total,
        measured=share,
        fields=fields,
        evidence=evidence,
        message=message,
        passed=len(passed),
        total=total,
        faulted=sum(result.faulted for result in suite.results.values()),
        twinned=not alone,
    )


@dataclass(frozen=True, slots=True)
class _Twin:
    """A group of tests as it is run once more, with wrong expected values.

    Attributes:
        tests: The tests.
        runs: What is run of each.
        wrong: Those whose run has a wrong value; the others are there so that the group looks as it always does.
    """

    tests: tuple[Planned, ...]
    runs: tuple[TestRun, ...]
    wrong: frozenset[Planned]


class _Suite:
    """The runs of one suite."""

    def __init__(
        self, case: Case, spec: Mapping[str, Any], files: Mapping[str, bytes], lists: Mapping[str, Sequence[Planned]]
    ) -> None:
        self.tests = list(dict.fromkeys(chain(*lists.values())))
        self._fails, self._keeps = {*lists["fail_to_pass"]}, lists["pass_to_pass"]
        modules = {test.file for test in self.tests}
        self._seeds = {test: RANDOM.getrandbits(128) for test in self.tests}
        self.results: dict[Planned, Tested] = {}
        self._groups = _groups(self.tests, spec.get("isolate", "test"))
        self._files = files
        shown = {place_of(path, spec.get("root")) for path in spec.get("shown", ())}
        config = spec.get("config")
        self._setting = Setting(
            # Beside a test lies what the suite needs, but no other module of tests that the agent has not seen.
            {path: data for path, data in files.items() if path not in modules or path in shown},
            in_place=spec.get("root") is not None,
            config=case.sealed.joinpath(config).read_text("utf-8", "replace") if config else "",
            **{key: spec[key] for key in ("allow", "keep", "pythonpath", "plugins") if key in spec},
        )
        self._case = case

    def run(self) -> tuple[set[Planned], set[Planned]]:
        """The tests that pass, and those that had a twin."""
        twins = self._twins()
        own = [[run_of(test, self._files) for test in group] for group in self._groups]
        results = self._ask([*own, *(twin.runs for twin in twins)])
        self.results = dict(zip(chain(*self._groups), chain(*results), strict=False))
        passed = {test for test, result in self.results.items() if result.passed}
        suspects = [
            (twin, suspected)
            for twin, found in zip(twins, results[len(own) :], strict=True)
            if (suspected := _passed(twin, found) & passed)
        ]
        doubtful = self._cleared(suspects)
        self._prove_that_fixtures_are_there()
        if not any(result.ran for result in self.results.values()):
            self._prove_that_tests_run()
        return passed, {test for twin in twins for test in twin.wrong} - doubtful

    def _twins(self) -> list[_Twin]:
        firsts = [twin for group in self._groups if (twin := self._twin(group, 0)).wrong]
        # Whoever breaks nothing passes what passed before, and would only have to guess at the others.
        aimed = [twin for twin in firsts if self._fails & {*twin.tests}]
        kept = [twin for twin in firsts if not self._fails & {*twin.tests}]
        each = LEAST_EACH if len(aimed) <= FEW else 1
        more = [
            self._twin(twin.tests, number)
            for twins, least in ((aimed, each), (kept, 1))
            for twin in twins
            for number in range(1, max(least, math.ceil(LEAST_PAIRS / len(twins))))
        ]
        singles = [
            self._twin([test], RANDOM.randrange(FAMILY), beside=twin.tests)
            for twin in firsts
            if len(twin.wrong) > 1
            for test in RANDOM.sample([test for test in twin.tests if test in twin.wrong], SINGLES)
        ]
        return [*firsts, *more, *singles]

    def _twin(self, tests: Sequence[Planned], number: int, beside: Sequence[Planned] = ()) -> _Twin:
        """Some tests with wrong values, as far as they can have one, in a group with others that are as they are."""
        twins = {test: twin_of(test, self._files, self._seeds[test], number) for test in tests}
        wrong = {test: twin for test, twin in twins.items() if twin is not None}
        tests = beside or tests
        runs = tuple(wrong.get(test) or run_of(test, self._files) for test in tests)
        return _Twin(tuple(tests), runs, frozenset(wrong))

    def _cleared(self, suspects: Sequence[tuple[_Twin, set[Planned]]]) -> set[Planned]:
        """Tests whose twins pass with nothing of the agent's there either, so that they prove nothing.

        Raises:
            AgentFault: A twin passes with the agent's work only.
        """
        if not suspects:
            return set()
        controls = self._ask([twin.runs for twin, _ in suspects], pristine=True)
        caught: set[Planned] = set()
        for (twin, suspected), control in zip(suspects, controls, strict=True):
            caught |= suspected - _passed(twin, control)
        if caught:
            names = ", ".join(test.name for test in self.tests if test in caught)
            message = f"tampered: a wrong expected value passes as well as the right one: {names}"
            raise AgentFault(cut(message, 480), [Seen("tampered"), Seen(cut(message, 480))])
        return {test for _, suspected in suspects for test in suspected}

    def _prove_that_fixtures_are_there(self) -> None:
        """No agent can bring a fixture. Raises `AuthorFault` for one that a test asks for and that is not there."""
        wanted: dict[tuple[str, str], Planned] = {}
        for test in self.tests:
            # What is said may be the agent's word, so it is only a reason to look.
            said = NO_FIXTURE.search(self.results[test].message)
            if said is not None and said[1] in asks_for(test, self._files):
                wanted.setdefault((test.file, said[1]), test)
        probes = [TestRun(f"def test_nothing({name}):\n    pass\n", file, "test_nothing") for file, name in wanted]
        controls = self._ask([[probe] for probe in probes], pristine=True) if probes else []
        for ((_, name), test), (control,) in zip(wanted.items(), controls, strict=True):
            if NO_FIXTURE.search(control.message):
                raise AuthorFault(f"{test.name}: no sealed file and no plugin that is listed has the fixture {name!r}")

    def _prove_that_tests_run(self) -> None:
        """When no test was run: make sure that this is not our doing. Raises `AuthorFault` when it is."""
        groups = [[PROBE], *([run_of(test, self._files)] for test in self._keeps)]
        probe, *controls = chain(*self._ask(groups, pristine=True))
        if not probe.passed:
            raise AuthorFault(f"0 tests ran: pytest does not run in the solution's sandbox: {probe.message}")
        if controls and not any(control.ran for control in controls):
            raise AuthorFault(f"0 tests ran, nor do they without the agent's work: {controls[0].message}")

    def _ask(self, groups: Sequence[Sequence[TestRun]], *, pristine: bool = False) -> list[list[Tested]]:
        share = min(self._case.timeout, max(LEAST_SHARE, self._case.timeout / len(self.tests)))
        found: dict[int, list[Tested]] = {}
        for batch in _batches(groups):
            results = self._case.solution.tests(
                [list(_in_files_of_their_own(groups[index])) for index in batch],
                setting=self._setting,
                timeout=PATIENCE if pristine else share,
                most=max(PATIENCE, self._case.timeout) if pristine else self._case.timeout,
                pristine=pristine,
            )
            found |= zip(batch, results, strict=True)
        return [found[index] for index in range(len(groups))]


def _groups(tests: Sequence[Planned], isolate: str) -> list[list[Planned]]:
    """The tests that share a process."""
    groups: dict[object, list[Planned]] = {}
    for test in tests:
        key = {"test": test, "file": test.file, "suite": ""}[isolate]
        groups.setdefault(key, []).append(test)
    return list(groups.values())


def _batches(groups: Sequence[Sequence[TestRun]]) -> Iterator[list[int]]:
    """Groups by their numbers, so many at a time as one message holds, in an order that nobody can foresee."""
    batch: list[int] = []
    size = 0
    for index in RANDOM.sample(range(len(groups)), len(groups)):
        more = sum(len(run.module) for run in groups[index])
        if batch and size + more > MOST_SENT:
            yield batch
            batch, size = [], 0
        batch.append(index)
        size += more
    yield batch


def _passed(twin: _Twin, results: Sequence[Tested]) -> set[Planned]:
    """Tests that pass in spite of a wrong value."""
    return {test for test, result in zip(twin.tests, results, strict=True) if result.passed and test in twin.wrong}


def _in_files_of_their_own(group: Sequence[TestRun]) -> Iterator[TestRun]:
    for number, run in enumerate(group):
        path = PurePosixPath(run.file)
        yield run if len(group) == 1 else replace(run, file=str(path.with_stem(f"{path.stem}__{number}")))
