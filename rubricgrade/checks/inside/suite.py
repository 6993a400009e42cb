"""``pytest``: a sealed suite that imports the agent's code; value 1 if every planned test passes, else 0.

Each test runs alone in a fresh fork, with pytest and the test from our side and only the allowed part of the agent's
work. Where it can be had, a twin that must fail runs in another fork: whoever passes both has tampered.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rubricgrade.checks.inside.case import AgentFault, AuthorFault, Case, CheckResult, Seen
from rubricgrade.checks.inside.compare import cut
from rubricgrade.checks.inside.planning import Planned, planned, run_of, twin_of
from rubricgrade.checks.inside.tested import Tested, TestRun

MOST_SHOWN = 20
LEAST_SHARE = 10.0
"""Seconds that each test may take, however many there are: starting one on a busy host takes some of it."""
PATIENCE = 60.0
"""Seconds of each run without the agent's work, which must not fail for want of time."""
LEAST_PAIRS = 5
"""Twins in all, where there are any: with fewer, a guess which of two tests is the wrong one is right too often."""
PROBE = TestRun("def test_nothing():\n    pass\n", "test_nothing.py", "test_nothing")


def check(case: Case, spec: Mapping[str, Any]) -> CheckResult:
    """Run every planned test and its twins, and count.

    Raises:
        AgentFault: A twin passed: the agent's code tampers with its tests.
        AuthorFault: The plan names what is not there, or no test can run here whatever the agent does.
    """
    files = {path: case.sealed.joinpath(path).read_bytes() for path in spec["files"]}
    lists = {key: planned(spec.get(key, ()), files) for key in ("fail_to_pass", "pass_to_pass")}
    suite = _Suite(case, spec, files, [test for tests in lists.values() for test in tests])
    passed, twinned = suite.run(keeps=lists["pass_to_pass"])
    total = len(suite.tests)
    share = len(passed) / total
    message = f"{len(passed)} of {total} planned tests pass"
    failed = [f"{test.name}: {suite.results[test].message}" for test in suite.tests if test not in passed]
    alone = [test.name for test in suite.tests if test not in twinned]
    evidence = [Seen(message), *(Seen(cut(text, 480)) for text in failed[:MOST_SHOWN])]
    if len(failed) > MOST_SHOWN:
        evidence.append(Seen(f"and {len(failed) - MOST_SHOWN} more"))
    if alone:
        evidence.append(Seen(cut(f"without a twin, so code that tampers could pass them: {', '.join(alone)}", 480)))
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


class _Suite:
    """The runs of one suite."""

    def __init__(self, case: Case, spec: Mapping[str, Any], files: Mapping[str, bytes], tests: list[Planned]) -> None:
        modules = {test.file for test in tests}
        self.tests = list(dict.fromkeys(tests))
        self.results: dict[Planned, Tested] = {}
        self._files = files
        # Beside a test lies what the suite needs, but no other module of tests.
        self._beside = {path: data for path, data in files.items() if path not in modules}
        self._case = case
        self._spec = spec

    def run(self, keeps: Sequence[Planned]) -> tuple[set[Planned], set[Planned]]:
        """The tests that pass, and those that had a twin."""
        twins = self._twins()
        runs = [*(run_of(test, self._files) for test in self.tests), *(twin for _, twin in twins)]
        results = self._ask(runs)
        self.results = dict(zip(self.tests, results, strict=False))
        passed = {test for test, result in self.results.items() if result.passed}
        suspects = [
            (test, twin)
            for (test, twin), result in zip(twins, results[len(self.tests) :], strict=True)
            if result.passed and test in passed
        ]
        doubtful = self._cleared(suspects)
        if not any(result.ran for result in self.results.values()):
            self._prove_that_tests_run(keeps)
        return passed, {test for test, _ in twins} - doubtful

    def _twins(self) -> list[tuple[Planned, TestRun]]:
        firsts = [(test, twin) for test in self.tests if (twin := twin_of(test, self._files)) is not None]
        each = math.ceil(LEAST_PAIRS / len(firsts)) if firsts else 0
        more = [(test, twin_of(test, self._files)) for test, _ in firsts for _ in range(each - 1)]
        return [*firsts, *((test, twin) for test, twin in more if twin is not None)]

    def _cleared(self, suspects: Sequence[tuple[Planned, TestRun]]) -> set[Planned]:
        """Tests whose twins pass with nothing of the agent's there either, so that they prove nothing.

        Raises:
            AgentFault: A twin passes with the agent's work only.
        """
        if not suspects:
            return set()
        controls = self._ask([twin for _, twin in suspects], pristine=True)
        caught = [test.name for (test, _), control in zip(suspects, controls, strict=True) if not control.passed]
        if caught:
            names = ", ".join(dict.fromkeys(caught))
            message = f"tampered: a wrong expected value passes as well as the right one: {names}"
            raise AgentFault(cut(message, 480), [Seen("tampered"), Seen(cut(message, 480))])
        return {test for test, _ in suspects}

    def _prove_that_tests_run(self, keeps: Sequence[Planned]) -> None:
        """When no test was run: make sure that this is not our doing. Raises `AuthorFault` when it is."""
        probe, *controls = self._ask([PROBE, *(run_of(test, self._files) for test in keeps)], pristine=True)
        if not probe.passed:
            raise AuthorFault(f"0 tests ran: pytest does not run in the solution's sandbox: {probe.message}")
        if controls and not any(control.ran for control in controls):
            raise AuthorFault(f"0 tests ran, nor do they without the agent's work: {controls[0].message}")

    def _ask(self, runs: Sequence[TestRun], *, pristine: bool = False) -> list[Tested]:
        share = min(self._case.timeout, max(LEAST_SHARE, self._case.timeout / len(self.tests)))
        return self._case.solution.tests(
            runs,
            files=self._beside,
            allow=self._spec.get("allow", ()),
            pythonpath=self._spec.get("pythonpath", (".",)),
            timeout=PATIENCE if pristine else share,
            pristine=pristine,
        )
