"""``cases``: the agent's function or program against sealed inputs and expected values; value = passed / total."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from rubricgrade.checks.inside.case import AuthorFault, Called, Case, CheckResult, Ran, Seen
from rubricgrade.checks.inside.compare import cut, same, show

MOST_SHOWN = 20
LEAST_SHARE = 5.0

Finding = tuple[bool, bool, str]
"""Whether a case passed, whether it ended by a fault of the solution, and what was seen."""


def check(case: Case, spec: Mapping[str, Any]) -> CheckResult:
    """Ask the solution case by case, each in a fresh process; those with files in a fresh copy of the template.

    A case may take its share of the check's timeout, though at least five seconds of it, so that one that hangs does
    not cost the others their time.
    """
    cases: list[Mapping[str, Any]] = spec["cases"]
    if not cases:
        raise AuthorFault(f"{spec['file']} has no cases")
    share = min(case.timeout, max(LEAST_SHARE, case.timeout / len(cases)))
    one = _function if spec.get("function") is not None else _program
    findings = [one(case, spec, each, share) for each in cases]
    passed = sum(met for met, _, _ in findings)
    message = f"{passed} of {len(findings)} cases pass"
    failed = [f"case {number}: {text}" for number, (met, _, text) in enumerate(findings, 1) if not met]
    evidence = [Seen(message), *(Seen(text) for text in failed[:MOST_SHOWN])]
    if len(failed) > MOST_SHOWN:
        evidence.append(Seen(f"and {len(failed) - MOST_SHOWN} more"))
    return CheckResult(
        passed / len(findings),
        evidence=evidence,
        message=message,
        passed=passed,
        total=len(findings),
        faulted=sum(faulted for _, faulted, _ in findings),
    )


def _function(case: Case, spec: Mapping[str, Any], each: Mapping[str, Any], share: float) -> Finding:
    args, kwargs = each.get("args", []), each.get("kwargs", {})
    if ("expected" in each) == ("raises" in each):
        raise AuthorFault(f"a case of {spec['file']} needs exactly one of 'expected' and 'raises'")
    called = case.solution.ask(
        spec["function"], args, kwargs, forbid=spec.get("forbid", ()), cwd=spec.get("cwd"), timeout=share
    )
    asked = ", ".join([*map(show, args), *(f"{name}={show(value)}" for name, value in kwargs.items())])
    name = f"{spec['function'].rpartition(':')[2]}({cut(asked, 200)})"
    if "raises" in each:
        met = each["raises"] in called.kinds
        return met, called.faulted, f"{name}: {_told(called)}, expected {each['raises']}"
    met = called.raised is None and _equal(case, spec, called.value, each["expected"])
    return met, called.faulted, f"{name}: {_told(called)}, expected {show(each['expected'])}"


def _program(case: Case, spec: Mapping[str, Any], each: Mapping[str, Any], share: float) -> Finding:
    argv = [*spec["program"], *each.get("args", [])]
    files: Mapping[str, str] = each.get("files", {})
    ran = case.solution.run(
        argv, stdin=each.get("stdin", ""), files=files, cwd=spec.get("cwd"), timeout=share, fresh=bool(files)
    )
    name = cut(" ".join(argv), 200)
    if ran.fault:
        return False, True, f"{name}: {ran.fault}"
    lacks = _lacks(case, spec, each, ran)
    return not lacks, False, f"{name}: {'; '.join(lacks)}"


def _lacks(case: Case, spec: Mapping[str, Any], each: Mapping[str, Any], ran: Ran) -> list[str]:
    lacks: list[str] = []
    # Who says nothing about the exit code may still not take a crash for an answer.
    wanted = each.get("exit_code", 0)
    if ran.code != wanted:
        lacks.append(f"exit code {ran.code}, expected {wanted}: {cut(ran.stderr.strip(), 300)}")
    if "stdout" in each and not _equal(case, spec, ran.stdout.rstrip("\n"), each["stdout"].rstrip("\n")):
        lacks.append(f"printed {show(ran.stdout)}, expected {show(each['stdout'])}")
    if "lines" in each:
        lines = [line.strip() for line in ran.stdout.splitlines() if line.strip()]
        if not _equal(case, spec, lines, [line.strip() for line in each["lines"]]):
            lacks.append(f"printed {show(lines)}, expected {show(each['lines'])}")
    return lacks


def _equal(case: Case, spec: Mapping[str, Any], found: Any, expected: Any) -> bool:
    match spec.get("compare", "exact"):
        case "unordered":
            return _unordered(case, _items(found), _items(expected))
        case "text":
            return _text(found) is not None and _text(found) == _text(expected)
        case _:
            return same(found, expected, case.within)


def _items(value: Any) -> Any:
    """A text counts by its lines."""
    return value.splitlines() if isinstance(value, str) else value


def _unordered(case: Case, found: Any, expected: Any) -> bool:
    if not (isinstance(found, list) and isinstance(expected, list)):
        return same(found, expected, case.within)
    left, wanted = cast("list[Any]", found[:]), cast("list[Any]", expected)
    for one in wanted:
        at = next((index for index, item in enumerate(left) if same(item, one, case.within)), None)
        if at is None:
            return False
        del left[at]
    return not left


def _text(value: object) -> str | None:
    """A text with all white space as one blank; lines as one text; a number as JSON writes it; None for the rest."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return show(value)
    lines = cast("list[object]", value) if isinstance(value, list) else [value]
    texts = [line for line in lines if isinstance(line, str)]
    return " ".join(" ".join(texts).split()) if len(texts) == len(lines) else None


def _told(called: Called) -> str:
    if called.raised is None:
        return f"returned {show(called.value)}"
    if called.faulted:
        return cut(called.message, 300)
    return f"raised {called.raised}: {cut(called.message, 200)}"
