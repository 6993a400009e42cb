"""Programs in the solution's sandbox, compared in the checker's."""

from __future__ import annotations

from typing import Any

import pytest

from rubricgrade.sandbox import Limits, base_template
from tests.checks.conftest import Ask, Episode


def sh(script: str, **more: Any) -> dict[str, Any]:
    return {"command": {"run": ["sh", "-c", script], **more}}


MET: list[dict[str, Any]] = [
    sh("exit 0"),
    sh("exit 3", exit_code=3),
    {"command": "cat notes.txt"},
    sh("cat notes.txt", equals="hello"),
    sh("echo 48.35", equals=48.2) | {"within": "0.5%"},
    sh("echo TOTAL=48.2", matches=r"^TOTAL=\d", contains="48"),
    sh("echo '{\"a\": [1, 2]}'", json={"at": "$.a[1]", "equals": 2}),
    sh("cat", stdin="given", equals="given"),
    sh("pwd", cwd="sub", equals="/work/sub"),
    sh("echo $LIMIT", env={"LIMIT": "{{ vars.limit }}"}, equals=3),
    sh("printf 'ok \\377\\376\\n'; exit 0", contains="ok"),
    {"command": {"run": ["./tool.sh"], "equals": "tool"}},
    {"not": sh("exit 1")},
]
NOT_MET: list[tuple[dict[str, Any], str]] = [
    (sh("echo broken >&2; exit 2"), "exit code 2, expected 0"),
    (sh("exit 0", exit_code=3), "exit code 0, expected 3"),
    (sh("echo 49", equals=48.2), "expected 48.2"),
    (sh("echo hello there", equals="hello"), "expected"),
    (sh("echo x", matches="^y"), "does not match"),
    (sh("echo x", contains="y"), "is not in"),
    (sh("echo x", json={}), "no JSON"),
    (sh("echo '[NaN]'", json={"at": "$[0]"}), "no JSON"),
    (sh("echo '{\"a\": true}'", json={"at": "$.a", "equals": 1}), "expected 1"),
    (sh("nothing-of-the-kind"), "exit code 127"),
]
AGENTS: list[tuple[dict[str, Any], str]] = [
    ({"command": {"run": ["./missing.sh"]}}, "not found"),
    ({"command": {"run": ["/work/missing.sh"]}}, "not found"),
    ({"command": {"run": ["./notes.txt"]}}, "can't be run"),
    ({"command": ["python3", "hang.py"], "timeout": 1}, "timed out after 1"),
    ({"not": {"command": ["python3", "hang.py"], "timeout": 1}}, "timed out"),
    ({"command": ["python3", "flood.py"], "timeout": 20}, "wrote more than"),
]
GRADERS: list[tuple[dict[str, Any], str]] = [
    ({"command": "pyhton x.py"}, "not found: pyhton"),
    ({"command": ["/opt/none/python"]}, "not found: /opt/none/python"),
    ({"command": ["sleep", "60"], "timeout": 2}, "also when nothing of the agent's is there"),
    (sh("exit 0", env={"A": "{{ vars.unknown }}"}), "unknown template variable"),
    (sh("exit 0", cwd="../.."), "no path inside the work folder"),
]


EATER: dict[str, Any] = {"command": ["python3", "memory.py"], "timeout": 60}


def prepare(workspace: Any) -> None:
    (workspace / "tool.sh").chmod(0o755)


@pytest.fixture(scope="module")
def outcomes(ask: Ask) -> dict[str, Any]:
    files = {
        "notes.txt": "hello\n",
        "sub/x": "x",
        "tool.sh": "#!/bin/sh\necho tool\n",
        "hang.py": "import time\ntime.sleep(1000)\n",
        "flood.py": "while True:\n    print('y' * 100_000)\n",
        "memory.py": "x = []\nwhile True:\n    x.append(bytearray(1 << 24))\n    x[-1][::4096] = b'x' * 4096\n",
    }
    checks = [*MET, *(check for check, _ in (*NOT_MET, *AGENTS, *GRADERS)), EATER]
    template = base_template(limits=Limits(memory=256 << 20))
    found = ask.all(checks, episode=Episode(files, prepare=prepare), template=template, vars={"limit": 3})
    return {str(check): outcome for check, outcome in zip(checks, found, strict=True)}


@pytest.mark.parametrize("check", MET, ids=str)
def test_met(outcomes: dict[str, Any], check: dict[str, Any]) -> None:
    outcome = outcomes[str(check)]
    assert (outcome.value, outcome.fault) == (1.0, None), outcome.message
    spec = check.get("command", {})
    compares = {"equals", "contains", "matches", "json"} & set(spec) if isinstance(spec, dict) else set[str]()
    assert outcome.isolation == ("out-of-process" if compares else "in-process")


@pytest.mark.parametrize(("check", "why"), NOT_MET, ids=str)
def test_not_met(outcomes: dict[str, Any], check: dict[str, Any], why: str) -> None:
    outcome = outcomes[str(check)]
    assert (outcome.value, outcome.fault) == (0.0, None), outcome.message
    assert why in outcome.message


@pytest.mark.parametrize(("check", "why"), AGENTS, ids=str)
def test_a_solution_that_does_not_end_by_itself_is_the_agents_fault(
    outcomes: dict[str, Any], check: dict[str, Any], why: str
) -> None:
    outcome = outcomes[str(check)]
    assert (outcome.value, outcome.fault, outcome.cause) == (None, "agent", None), outcome.message
    assert why in outcome.message


@pytest.mark.parametrize(("check", "why"), GRADERS, ids=str)
def test_a_command_that_can_not_be_run_is_the_graders_fault(
    outcomes: dict[str, Any], check: dict[str, Any], why: str
) -> None:
    outcome = outcomes[str(check)]
    assert (outcome.value, outcome.fault, outcome.cause) == (None, "grader", "check_error"), outcome.message
    assert why in outcome.message


def test_a_program_that_eats_memory_is_stopped_at_its_limit(outcomes: dict[str, Any]) -> None:
    outcome = outcomes[str(EATER)]
    said = f"{outcome.message} {[item.quote for item in outcome.evidence]}"
    assert not outcome.value
    assert outcome.fault != "grader"
    # Where there are no control groups, Python itself is refused the memory, and says so.
    assert "ran out of memory, of which it may have 256 MiB" in said or "MemoryError" in said


def test_the_output_is_evidence(outcomes: dict[str, Any]) -> None:
    outcome = outcomes[str(NOT_MET[0][0])]
    assert [(item.quote, item.where) for item in outcome.evidence][1:] == [("broken", "stderr")]
    assert outcomes[str(MET[10])].evidence[1].quote == "ok \ufffd\ufffd"


def test_endless_output_keeps_its_head_and_tail(ask: Ask) -> None:
    script = "echo first; head -c 3000000 /dev/zero | tr '\\0' x; echo; echo last"
    outcome = ask.one(sh(script, matches=r"\Afirst\nx", contains="x\nlast"))
    assert outcome.value == 1.0, outcome.message
    assert ask.one(sh(script, contains=" of 3,000,012 bytes]")).value == 1.0


def test_each_check_starts_from_what_the_agent_left(ask: Ask) -> None:
    first, second = ask.all(
        [sh("echo changed > a.txt; cat a.txt", equals="changed"), sh("cat a.txt", equals="as left")],
        {"a.txt": "as left"},
    )
    assert (first.value, second.value) == (1.0, 1.0)


def test_only_declared_artifacts_come_into_the_solutions_sandbox(ask: Ask) -> None:
    files = {"a.py": "x", "conftest.py": "x", "src/deep/b.py": "x", "src/c.txt": "x"}
    episode = Episode(
        files, prepare=lambda folder: (folder / "l.py").symlink_to("a.py"), artifacts=("a.py", "src/**/*.py")
    )
    find = sh("find . -not -type d | sort | tr '\\n' ' '", equals="./a.py ./src/deep/b.py")
    assert ask.one(find, episode=episode).value == 1.0
    assert ask.one({"exists": "conftest.py"}, episode=episode).value == 1.0


def test_the_template_is_what_the_agents_code_runs_in(ask: Ask) -> None:
    template = base_template(workdir="/app", env={"STAGE": "test"})
    outcome = ask.one(
        sh("cat /app/a.txt; pwd; echo $STAGE", matches=r"^left\n/app\ntest"), {"a.txt": "left\n"}, template=template
    )
    assert outcome.value == 1.0, outcome.message


def test_a_program_that_the_agent_was_to_put_on_the_path_is_its_own_fault(ask: Ask) -> None:
    template = base_template(env={"PATH": "/work/bin:/usr/bin:/bin"})
    outcome = ask.one({"command": "tool"}, template=template)
    assert (outcome.fault, outcome.cause) == ("agent", None)


def test_without_a_workspace_there_is_nothing_to_run(ask: Ask) -> None:
    outcome = ask.one(sh("exit 0"), episode=Episode(files=None))
    assert (outcome.fault, outcome.cause) == ("grader", "check_error")
    assert "no workspace" in outcome.message
