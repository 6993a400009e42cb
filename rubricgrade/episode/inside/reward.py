"""The check of a plain Harbor task: runs its test script beside the agent's files and reads the reward it wrote."""

from __future__ import annotations

import json
import math

from rubricgrade import Case, CheckResult

TESTS = ".harness-tests"
# Harbor's own template asks pytest for a report in a format that takes a plugin; without it every test would be lost.
SCRIPT = f"""
cp -r {TESTS}/. /tests/ && rm -rf {TESTS} && chmod -R u+rwx /tests && rm -f /logs/verifier/reward.*
if ! python3 -c 'import pytest_json_ctrf' 2> /dev/null; then
  mkdir /tests/.plugin
  echo 'def pytest_addoption(parser): parser.addoption("--ctrf")' > /tests/.plugin/harness_ctrf.py
  export PYTHONPATH=/tests/.plugin PYTEST_PLUGINS=harness_ctrf
fi
bash /tests/test.sh
"""


def reward(case: Case) -> CheckResult:
    """The script's reward, 0 to 1. A reward that is missing or no number is the script's fault."""
    tests = case.sealed / "sealed"
    names = [path for path in sorted(tests.rglob("*")) if path.is_file()]
    files = {f"{TESTS}/{path.relative_to(tests).as_posix()}": path.read_bytes() for path in names}
    ran = case.solution.run(["bash", "-c", SCRIPT], files=files)
    tail = (ran.stdout + ran.stderr).strip()[-500:]
    if ran.timed_out:
        return CheckResult(value=0.0, message="the test script did not end in time", evidence=[tail])
    value = _reward(case, tail)
    return CheckResult(
        value=value, measured=value, message=f"test.sh rewards {value:g}", evidence=[tail] if tail else []
    )


def _reward(case: Case, tail: str) -> float:
    found = case.solution.run(["cat", "/logs/verifier/reward.json"])
    if found.code == 0:
        values = json.loads(found.stdout)
        number = values["reward"] if "reward" in values or len(values) != 1 else next(iter(values.values()))
    else:
        found = case.solution.run(["cat", "/logs/verifier/reward.txt"])
        if found.code != 0:
            raise RuntimeError(f"tests/test.sh wrote no reward file. It said: {tail}")
        number = float(found.stdout)
    if isinstance(number, bool) or not math.isfinite(number) or not 0 <= number <= 1:
        raise ValueError(f"the reward is {number!r}, not a number from 0 to 1")
    return float(number)
