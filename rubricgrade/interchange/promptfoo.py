"""promptfoo: the assertions of each test; ``llm-rubric`` goes to a judge, simple ones on the output become checks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rubricgrade.errors import Fault, InputError
from rubricgrade.interchange.draft import Draft, Imported
from rubricgrade.interchange.lists import entries
from rubricgrade.readers.shapes import as_list, as_object, as_text

NAME = re.compile(r"\{\{\s*([A-Za-z_]\w*)\s*\}\}")
SET = "assert-set"
JUDGED = {"llm-rubric", "g-eval", "factuality", "model-graded-closedqa"}


def matches(value: Any) -> bool:
    """Whether it is a configuration with tests, a list of tests, or a list of assertions."""
    fields = as_object(value)
    if fields is None:
        return bool(entries(value)) and all("type" in one or "assert" in one for one in entries(value))
    tests = [test for test in map(as_object, as_list(fields.get("tests")) or []) if test is not None]
    return bool(tests) or bool(entries(fields.get("assert"))) or "defaultTest" in fields


def read(value: Any, name: str) -> list[Imported]:
    """One rubric for each test that asserts something with a counterpart here, with what the default test asserts.

    Raises:
        InputError: No test does, or one of them can't be a rubric.
    """
    listed = {"tests" if any("assert" in one for one in entries(value)) else "assert": value}
    fields = as_object(value) or listed
    usual = as_object(fields.get("defaultTest")) or {}
    given = as_list(fields.get("tests")) or ([fields["tests"]] if "tests" in fields else [])
    tests = [test for test in map(as_object, given) if test is not None] or [{"assert": fields.get("assert")}]
    elsewhere = [str(test)[:200] for test in given if as_object(test) is None]
    left_out = [f"the tests in {place!r} were not read: convert that file too" for place in elsewhere]
    made: list[Imported] = []
    for number, test in enumerate(tests, 1):
        title = as_text(test.get("description"))
        found, lost = _test(test, usual, title or (name if len(tests) == 1 else f"{name}-{number}"))
        if found is None:
            left_out += [f"test {number}{f' ({title})' if title else ''} was left out: {what}" for what in lost]
        else:
            made.append(found)
    if not made:
        raise InputError([Fault(what) for what in left_out] or [Fault("holds no criteria")])
    return [replace(made[0], lost=(*made[0].lost, *left_out)), *made[1:]]


def _test(test: dict[str, Any], usual: dict[str, Any], name: str) -> tuple[Imported | None, list[str]]:
    """The rubric of a test, if there is anything in it; and what was lost."""
    draft = Draft(name)
    variables = {**(as_object(usual.get("vars")) or {}), **(as_object(test.get("vars")) or {})}
    for key in sorted((test.keys() | usual.keys()) - {"assert", "vars", "description"}):
        draft.lose(f"{key!r} of a test has no place here")
    asserts = [*entries(usual.get("assert")), *entries(test.get("assert"))]
    made = [one for one in (_assertion(each, variables, draft) for each in asserts) if one is not None]
    if not made:
        draft.lose("it asserts nothing that has a counterpart here")
        return None, draft.lost
    return draft.finish(made), draft.lost


def _set(one: dict[str, Any], variables: Mapping[str, Any], draft: Draft) -> dict[str, Any] | None:
    """A set of assertions as a group: its weighted mean, from the threshold on where there is one."""
    parts = [made for each in entries(one.get("assert")) if (made := _assertion(each, variables, draft)) is not None]
    if not any(part["points"] > 0 for part in parts):
        draft.lose("an assertion of type 'assert-set' holds nothing that has a counterpart here")
        return None
    tags = [one["metric"]] if as_text(one.get("metric")) else []
    text, least = "the set of assertions holds", one.get("threshold")
    return draft.criterion(text, one.get("weight", 1), tags=tags, parts=parts, at_least=1.0 if least is None else least)


def _assertion(one: dict[str, Any], variables: Mapping[str, Any], draft: Draft) -> dict[str, Any] | None:
    kind = str(one.get("type", ""))
    if kind == SET:
        return _set(one, variables, draft)
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
