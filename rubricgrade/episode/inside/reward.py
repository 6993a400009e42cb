"""The check of a plain Harbor task: runs its test scripts beside the agent's files and reads the rewards they wrote."""

from __future__ import annotations

import io
import json
import math
import shlex
import tarfile
from pathlib import Path
from typing import Any, cast

from rubricgrade import Case, CheckResult
from rubricgrade.checks.inside.artifacts import glob_regex

TESTS = ".harness-tests"
WORK = ".harness-work.tar.gz"
STANDS_IN = "uv uvx pip pip3 apt-get apt apk curl wget"
# Harbor's own template asks pytest for a report in a format that takes a plugin; without it every test would be lost.
SCRIPT = f"""
mkdir -p /tests/.bin
cp -r {TESTS}/. /tests/ && rm -rf {TESTS} && chmod -R u+rwx /tests && rm -f /logs/verifier/reward.*
for name in {STANDS_IN}; do mv -f /tests/.installer /tests/.bin/$name; cp /tests/.bin/$name /tests/.installer; done
rm /tests/.installer
[ -e "$HOME/.local/bin/env" ] || {{ mkdir -p "$HOME/.local/bin" && : > "$HOME/.local/bin/env"; }} 2> /dev/null
export PATH=/tests/.bin:$PATH
if ! python3 -c 'import pytest_json_ctrf' 2> /dev/null; then
  mkdir /tests/.plugin
  echo 'def pytest_addoption(parser): parser.addoption("--ctrf")' > /tests/.plugin/harness_ctrf.py
  export PYTHONPATH=/tests/.plugin PYTEST_PLUGINS=harness_ctrf
fi
bash /tests/test.sh
"""
# The work folder as it was after a step, in place of what it is at the end.
RESTORE = f"""
mv {WORK} /tests/{WORK} && chmod -R u+rwx .
find . -mindepth 1 -not -path './{TESTS}' -not -path './{TESTS}/*' -delete
tar -xzf /tests/{WORK} --no-same-owner && rm /tests/{WORK}
"""


def reward(case: Case) -> CheckResult:
    """The rewards of the scripts, 0 to 1: of one, or the mean or the last of those of several steps.

    A reward that is missing or no number is the script's fault. The agent's steps end where one fell short.
    """
    sealed = case.sealed / "sealed"
    steps: list[str] = case.args["steps"]
    if not steps:
        value, said = _graded(case, [sealed])
        return CheckResult(value=value, measured=value, message=said[0], evidence=said[1:])
    made = [step for step in steps if case.exists(f"steps/{step}.tar.gz", world=True)]
    if not made:
        raise RuntimeError("no step of the task was carried out")
    rewards: dict[str, float] = {}
    evidence: list[str] = []
    for step in made:
        work = _declared(case.read_bytes(f"steps/{step}.tar.gz", world=True), case.args["artifacts"])
        rewards[step], (first, *rest) = _graded(case, [sealed / "shared", sealed / "steps" / step], work)
        evidence += [f"{step}: {first}", *rest]
    value = rewards[made[-1]] if case.args["final"] else math.fsum(rewards.values()) / len(rewards)
    told = ", ".join(f"{step} {number:g}" for step, number in rewards.items())
    return CheckResult(
        value=value,
        measured=value,
        message=f"{len(made)} of {len(steps)} steps: {told}",
        fields=rewards,
        evidence=evidence,
    )


def _graded(case: Case, folders: list[Path], work: bytes | None = None) -> tuple[float, list[str]]:
    """Run a test script; its reward, and what there is to say about it.

    Args:
        case: The case.
        folders: Of the tests; a later one's files take the place of an earlier one's.
        work: The work folder as an archive, in place of what the agent left at its end.
    """
    names = {
        path.relative_to(folder): path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file()
    }
    files: dict[str, Any] = {f"{TESTS}/{name.as_posix()}": path.read_bytes() for name, path in names.items()}
    files[f"{TESTS}/.installer"] = (case.sealed / "checks" / "installer.sh").read_bytes()
    script = SCRIPT if work is None else RESTORE + SCRIPT
    if work is not None:
        files[WORK] = work
    given = " ".join(shlex.quote(f"{name}={value}") for name, value in case.args["env"].items())
    script = f"export {given}\n{script}" if given else script
    ran = case.solution.run(["bash", "-c", script], files=files, fresh=True)
    tail = (ran.stdout + ran.stderr).strip()[-500:]
    evidence = [tail] if tail else []
    if ran.timed_out:
        return 0.0, ["the test script did not end in time", *evidence]
    value = _reward(case, tail)
    return value, [f"test.sh rewards {value:g}", *evidence]


def _declared(work: bytes, globs: list[str]) -> bytes:
    """An archive with only what is declared to be the agent's work, where anything is."""
    if not globs:
        return work
    wanted = [glob_regex(glob) for glob in globs]
    kept = io.BytesIO()
    with (
        tarfile.open(fileobj=io.BytesIO(work), mode="r:gz") as whole,
        tarfile.open(fileobj=kept, mode="w:gz") as part,
    ):
        for member in whole:
            name = member.name.removeprefix("./")
            if member.isfile() and any(pattern.fullmatch(name) for pattern in wanted):
                part.addfile(member, whole.extractfile(member))
    return kept.getvalue()


def _reward(case: Case, tail: str) -> float:
    found = case.solution.run(["cat", "/logs/verifier/reward.json"])
    if found.code == 0:
        number = _of_several(json.loads(found.stdout))
    else:
        found = case.solution.run(["cat", "/logs/verifier/reward.txt"])
        if found.code != 0:
            raise RuntimeError(f"tests/test.sh wrote no reward file. It said: {tail}")
        number = float(found.stdout)
    if isinstance(number, bool) or not isinstance(number, int | float) or not 0 <= number <= 1:
        raise ValueError(f"the reward is {number!r}, not a number from 0 to 1")
    return float(number)


def _of_several(rewards: Any) -> Any:
    """The one reward of a ``reward.json``, or the one that is called so; how others add up nobody has said."""
    if not isinstance(rewards, dict):
        raise TypeError("tests/test.sh wrote a reward.json that is no map of names to rewards")
    named = cast("dict[str, Any]", rewards)
    if "reward" in named or len(named) == 1:
        return named.get("reward", next(iter(named.values())))
    names = ", ".join(sorted(named)) or "nothing"
    raise ValueError(f"tests/test.sh rewards {names}: call one of them 'reward', or give the task a tests/rubric.yaml")
