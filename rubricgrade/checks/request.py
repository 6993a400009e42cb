"""What a check is asked in the checker's sandbox, from the rubric's models to plain JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rubricgrade.errors import CheckError
from rubricgrade.loading import read_data
from rubricgrade.rubric import Check, Rubric
from rubricgrade.rubric.check import Cases, Command
from rubricgrade.rubric.wording import fill, unknown_names


def request_for(
    rubric: Rubric, body: Mapping[str, Any], check: Check | None = None, *, any_number: bool = False
) -> dict[str, Any]:
    """A request.

    Args:
        rubric: Its variables and sealed files.
        body: What to do.
        check: The check to carry out, if it is one.
        any_number: Whether all that use its value have bands.

    Raises:
        RubricError: A sealed file of cases can't be read.
        CheckError: A sealed file is missing, or a variable is unknown.
    """
    request: dict[str, Any] = {
        **body,
        "vars": dict(rubric.vars),
        "args": {},
        "within": None,
        "timeout": 120.0,
        "any_number": any_number,
    }
    if check is None:
        return request
    # Only what was given: `equals: null` is not the same as no `equals`.
    spec = check.spec.model_dump(mode="json", by_alias=True, exclude_unset=True)
    if isinstance(check.spec, Cases):
        spec["cases"] = _cases(rubric, check.spec.file)
    if isinstance(check.spec, Command):
        spec["env"] = {name: _filled(rubric, text) for name, text in check.spec.env.items()}
    return {
        **request,
        "kind": check.kind,
        "spec": spec,
        "args": check.model_dump(mode="json", include={"with_"}, by_alias=True)["with"],
        "within": check.within,
        "timeout": check.timeout,
    }


def compares(request: Mapping[str, Any]) -> bool:
    """Whether a check that runs the agent's code compares what that says, where that has no part in the comparison.

    Not so when it only looks at exit codes, nor in a suite that imports the agent's code.
    """
    spec: Mapping[str, Any] = request["spec"]
    match request["kind"]:
        case "command":
            return not spec.keys().isdisjoint({"equals", "contains", "matches", "json"})
        case "pytest":
            return False
        case "cases" if spec.get("program") is not None:
            return all("stdout" in case or "lines" in case for case in spec["cases"] if isinstance(case, dict))
        case _:
            return True


def _cases(rubric: Rubric, path: str) -> Any:
    """Cases are read by the rubric's own strict rules, also where they are YAML."""
    if path not in rubric.sealed:
        raise CheckError(f"the sealed file {path} is missing")
    return read_data(rubric.sealed[path], path)


def _filled(rubric: Rubric, text: str) -> str:
    """Variables go into a command's environment only where the author writes them: they may hold the answer."""
    for name in unknown_names(text, rubric.vars, item=False):
        raise CheckError(f"unknown template variable {{{{ {name} }}}} in the environment of a command")
    return fill(text, rubric.vars)
