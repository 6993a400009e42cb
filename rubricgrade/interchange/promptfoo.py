"""promptfoo: the assertions of each test; ``llm-rubric`` goes to a judge, simple ones on the output become checks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rubricgrade.interchange.draft import Draft, Imported
from rubricgrade.interchange.lists import entries
from rubricgrade.readers.shapes import as_list, as_object, as_text

NAME = re.compile(r"\{\{\s*([A-Za-z_]\w*)\s*\}\}")
JUDGED = {"llm-rubric", "g-eval", "factuality", "model-graded-closedqa"}


def matches(value: Any) -> bool:
    """Whether it is a configuration with tests, or a list of assertions."""
    fields = as_object(value)
    if fields is None:
        return bool(entries(value)) and all("type" in one for one in entries(value))
    return any(entries(fields.get(key)) for key in ("tests", "assert")) or "defaultTest" in fields


def read(value: Any, name: str) -> list[Imported]:
    """One rubric for each test, with what the default test asserts."""
    fields = as_object(value) or {"assert": value}
    usual = as_object(fields.get("defaultTest")) or {}
    tests = entries(fields.get("tests")) or [{"assert": fields.get("assert")}]
    return [
        _test(test, usual, as_text(test.get("description")) or (name if len(tests) == 1 else f"{name}-{number}"))
        for number, test in enumerate(tests, 1)
    ]


def _test(test: dict[str, Any], usual: dict[str, Any], name: str) -> Imported:
    draft = Draft(name)
    variables = {**(as_object(usual.get("vars")) or {}), **(as_object(test.get("vars")) or {})}
    for key in sorted((test.keys() | usual.keys()) - {"assert", "vars", "description"}):
        draft.lose(f"{key!r} of a test has no place here")
    asserts = [*entries(usual.get("assert")), *entries(test.get("assert"))]
    made = [_assertion(one, variables, draft) for one in asserts]
    return draft.finish([one for one in made if one is not None])


def _assertion(one: dict[str, Any], variables: Mapping[str, Any], draft: Draft) -> dict[str, Any] | None:
    kind = str(one.get("type", ""))
    for key in sorted(one.keys() - {"type", "value", "weight", "metric", "threshold"}):
        draft.lose(f"{key!r} of an assertion has no place here")
    value = one.get("value")
    value = _filled(value, variables, draft) if isinstance(value, str) else value
    tags = [one["metric"]] if as_text(one.get("metric")) else []
    weight = one.get("weight", 1)
    bare = kind.removeprefix("not-")
    if bare in JUDGED and isinstance(value, str):
        if bare != "llm-rubric":
            draft.lose(f"{bare!r} is asked like any other question to a judge")
        judge = {"scale": [{"choice": "yes", "value": 0.0}, {"choice": "no", "value": 1.0}]} if bare != kind else {}
        return draft.criterion(value, weight, tags=tags, judge=judge, at_least=one.get("threshold") or None)
    check = _check(bare, value)
    if check is None:
        draft.lose(f"an assertion of type {kind!r} has no counterpart here")
        return None
    text = f"the output: {kind} {value}"
    return draft.criterion(text, weight, tags=tags, check={"not": check} if bare != kind else check)


def _check(kind: str, value: Any) -> dict[str, Any] | None:
    """A check of the agent's final message."""
    texts = [text for text in as_list(value) or [value] if isinstance(text, str) and text.strip()]
    if not texts:
        return None
    each = "|".join(re.escape(text) for text in texts)
    every = "".join(f"(?=.*{re.escape(text)})" for text in texts)
    match kind:
        case "contains" if len(texts) == 1:
            expect: dict[str, Any] = {"contains": texts[0]}
        case "equals" if len(texts) == 1:
            expect = {"equals": texts[0]}
        case "icontains" | "icontains-any":
            expect = {"matches": f"(?i){each}"}
        case "contains-any":
            expect = {"matches": each}
        case "contains-all":
            expect = {"matches": f"(?s){every}"}
        case "icontains-all":
            expect = {"matches": f"(?is){every}"}
        case "regex" if len(texts) == 1 and _compiles(texts[0]):
            expect = {"matches": texts[0]}
        case "starts-with" if len(texts) == 1:
            expect = {"matches": rf"\A{each}"}
        case _:
            return None
    return {"trajectory": {"final_message": expect}}


def _compiles(pattern: str) -> bool:
    """Whether a JavaScript pattern is one of Python's too."""
    try:
        re.compile(pattern)
    except re.error:
        return False
    return True


def _filled(text: str, variables: Mapping[str, Any], draft: Draft) -> str:
    def value(found: re.Match[str]) -> str:
        if found[1] not in variables:
            draft.lose(f"the variable {found[1]!r} has no value in the test")
            return found[0]
        return str(variables[found[1]])

    return NAME.sub(value, text)
