"""``cases``: the agent's function or program against sealed inputs and expected values; value = passed / total."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, cast

from rubricgrade.checks.inside.case import AuthorFault, Called, Case, CheckResult, Ran, Seen
from rubricgrade.checks.inside.compare import cut, same, show
from rubricgrade.checks.inside.finding import Unusable
from rubricgrade.checks.inside.python import load
from rubricgrade.checks.inside.returning import used

MOST_SHOWN = 20
LEAST_SHARE = 5.0

Finding = tuple[bool, bool, str]
"""Whether a case passed, whether it ended by a fault of the solution, and what was seen."""

Alike = Callable[[Any, Any], bool]
"""Whether what was found is what was expected."""


def check(case: Case, spec: Mapping[str, Any]) -> CheckResult:
    """Ask the solution case by case, each in a fresh process; those with files in a fresh copy of the template.

    With ``isolate: case`` each has a fresh copy, so that no case can leave anything for the next.

    A case may take its share of the check's timeout, though at least five seconds of it, so that one that hangs does
    not cost the others their time.
    """
    cases: list[Mapping[str, Any]] = spec["cases"]
    if not cases:
        raise AuthorFault(f"{spec['file']} has no cases")
    share = min(case.timeout, max(LEAST_SHARE, case.timeout / len(cases)))
    one = _function if spec.get("function") is not None else _program
    alike = _comparison(case, spec)
    findings = [one(case, spec, each, share, alike) for each in cases]
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


def _function(case: Case, spec: Mapping[str, Any], each: Mapping[str, Any], share: float, alike: Alike) -> Finding:
    args, kwargs = each.get("args", []), each.get("kwargs", {})
    if ("expected" in each) == ("raises" in each):
        raise AuthorFault(f"a case of {spec['file']} needs exactly one of 'expected' and 'raises'")
    called = case.solution.ask(
        spec["function"],
        args,
        kwargs,
        forbid=spec.get("forbid", ()),
        cwd=spec.get("cwd"),
        timeout=share,
        fresh=_apart(spec),
    )
    asked = ", ".join([*map(show, args), *(f"{name}={show(value)}" for name, value in kwargs.items())])
    name = f"{spec['function'].rpartition(':')[2]}({cut(asked, 200)})"
    if "raises" in each:
        met = each["raises"] in called.kinds
        return met, called.faulted, f"{name}: {_told(called)}, expected {each['raises']}"
    met = called.raised is None and alike(called.value, each["expected"])
    return met, called.faulted, f"{name}: {_told(called)}, expected {show(each['expected'])}"


def _program(case: Case, spec: Mapping[str, Any], each: Mapping[str, Any], share: float, alike: Alike) -> Finding:
    argv = [*spec["program"], *each.get("args", [])]
    files: Mapping[str, str] = each.get("files", {})
    ran = case.solution.run(
        argv,
        stdin=each.get("stdin", ""),
        files=files,
        cwd=spec.get("cwd"),
        timeout=share,
        fresh=bool(files) or _apart(spec),
    )
    name = cut(" ".join(argv), 200)
    if ran.fault:
        return False, True, f"{name}: {ran.fault}"
    lacks = _lacks(each, ran, alike)
    return not lacks, False, f"{name}: {'; '.join(lacks)}"


def _apart(spec: Mapping[str, Any]) -> bool:
    return spec.get("isolate") == "case"


def _lacks(each: Mapping[str, Any], ran: Ran, alike: Alike) -> list[str]:
    lacks: list[str] = []
    # Who says nothing about the exit code may still not take a crash for an answer.
    wanted = each.get("exit_code", 0)
    if ran.code != wanted:
        lacks.append(f"exit code {ran.code}, expected {wanted}: {cut(ran.stderr.strip(), 300)}")
    if "stdout" in each and not alike(ran.stdout.rstrip("\n"), each["stdout"].rstrip("\n")):
        lacks.append(f"printed {show(ran.stdout)}, expected {show(each['stdout'])}")
    if "lines" in each:
        lines = [line.strip() for line in ran.stdout.splitlines() if line.strip()]
        if not alike(lines, [line.strip() for line in each["lines"]]):
            lacks.append(f"printed {show(lines)}, expected {show(each['lines'])}")
    return lacks


def _comparison(case: Case, spec: Mapping[str, Any]) -> Alike:
    match spec.get("compare", "exact"):
        case {"python": {"function": function}}:
            return _authors(load(case.sealed, function), function)
        case "unordered":
            return lambda found, expected: _unordered(case, _items(found), _items(expected))
        case "text":
            return lambda found, expected: _text(found) is not None and _text(found) == _text(expected)
        case _:
            return lambda found, expected: same(found, expected, case.within)


def _authors(decide: Callable[..., object], function: str) -> Alike:
    """The author's own comparison. What it raises is told as what any code of the author's raises.

    Raises:
        AuthorFault: It can't be called with two values.
    """
    try:
        inspect.signature(decide).bind(None, None)
    except TypeError:
        raise AuthorFault(f"{function} must take two values: what was found, and what was expected") from None

    def as_bool(verdict: object) -> bool:
        if not isinstance(verdict, bool):
            raise Unusable(f"{function} returned {show(verdict, 80)}; True or False is wanted")
        return verdict

    return lambda found, expected: used(as_bool, decide, decide(found, expected))


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
