"""``command``: a program run in the solution's sandbox; its exit code and output are compared here."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NoReturn

from rubricgrade.checks.inside.case import AgentFault, Case, CheckResult, Ran, Seen
from rubricgrade.checks.inside.compare import cut, number
from rubricgrade.checks.inside.expect import judged, unmet
from rubricgrade.checks.inside.json_value import Absent, pick

TAIL = 400
OF_ALL = re.compile(r"\(\?<?!|\\Z")
"""What a pattern has that looks at the whole of a text or for what is not in it."""


def check(case: Case, spec: Mapping[str, Any]) -> CheckResult:
    """Met when exit code and output are as asked. A program that does not come to its own end is the agent's fault.

    The host has made sure of that: it ran it twice, and once more with nothing of the agent's there.
    """
    argv: list[str] = spec["run"]
    ran = case.solution.run(argv, stdin=spec.get("stdin", ""), env=spec.get("env"), cwd=spec.get("cwd"))
    name = cut(" ".join(argv), 80)
    output = _tail(ran)
    if ran.fault:
        raise AgentFault(f"{name}: {ran.fault}", output)
    if "stdout" in ran.cut and not _decided(spec, ran.stdout):
        raise AgentFault(f"{name}: printed more than can be compared, so that its middle is not known", output)
    lacks: list[str] = []
    wanted = spec.get("exit_code", 0)
    if ran.code != wanted:
        lacks.append(f"exit code {ran.code}, expected {wanted}")
    lacks += [f"output: {lack}" for lack in unmet(case, spec, ran.stdout)]
    measured: float | None = None
    if spec.get("json") is not None:
        found = _json(case, spec["json"], ran.stdout)
        measured = found.measured
        if not found.value:
            lacks.append(f"output: {found.message}")
    elif (value := number(ran.stdout)) is not None:
        measured = float(value)
    message = f"{name}: {'; '.join(lacks) or f'exit code {ran.code}'}"
    return CheckResult(not lacks, measured=measured, evidence=[Seen(message), *output], message=message)


def _decided(spec: Mapping[str, Any], text: str) -> bool:
    """Whether a text whose middle is missing is enough: when it isn't looked at, or has what is looked for."""
    pattern: str = spec.get("matches") or ""
    found = (spec.get("contains") or "") in text and re.search(pattern, text, re.MULTILINE) is not None
    return found and not OF_ALL.search(pattern) and spec.keys().isdisjoint({"equals", "json"})


def _json(case: Case, spec: Mapping[str, Any], text: str) -> CheckResult:
    def constant(name: str) -> NoReturn:
        raise ValueError(f"{name} is no JSON")

    at = spec.get("at", "$")
    try:
        found = pick(json.loads(text, parse_constant=constant), at)
    except Absent as error:
        return CheckResult(value=False, message=f"{at} is not there: {error}")
    except (ValueError, RecursionError) as error:
        return CheckResult(value=False, message=f"no JSON: {error}")
    return judged(case, spec, found, name=at, where="stdout")


def _tail(ran: Ran) -> list[Seen]:
    streams = (("stdout", ran.stdout), ("stderr", ran.stderr))
    return [Seen(text.strip()[-TAIL:], name) for name, text in streams if text.strip()]
