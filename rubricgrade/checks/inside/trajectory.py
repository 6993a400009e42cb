"""``trajectory``: what the agent did: tools used, with which arguments and results, how often, in which order."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from rubricgrade.checks.inside.case import AgentFault, Call, Case, CheckResult, Seen
from rubricgrade.checks.inside.compare import cut, same, show
from rubricgrade.checks.inside.expect import unmet

MOST_SHOWN = 10


def check(case: Case, spec: Mapping[str, Any]) -> CheckResult:
    """Met when everything that is asked holds; measures how many calls fit, or how many steps there were."""
    findings: list[tuple[bool, str, list[Seen]]] = []
    measured: float | None = None
    if spec.get("tool") is not None:
        calls = case.calls(spec["tool"])
        if spec.get("arguments") or spec.get("argument_matches"):
            _clear(calls)
        fitting = [call for call in calls if _fits(case, spec, call)]
        measured = len(fitting)
        findings.append(_counted(spec, fitting))
        findings += _ordered(case, spec, fitting)
    if spec.get("order"):
        findings.append(_sequence(case.calls(), spec["order"]))
    if spec.get("max_steps") is not None:
        steps = sum(step.role == "assistant" for step in case.steps)
        measured = steps if measured is None else measured
        findings.append(
            (steps <= spec["max_steps"], f"{steps} step{'s' * (steps != 1)}, at most {spec['max_steps']} allowed", [])
        )
    if spec.get("final_message") is not None:
        findings.append(_final(case, spec["final_message"]))
    failed = [text for met, text, _ in findings if not met]
    message = "; ".join(failed or [text for _, text, _ in findings])
    evidence = [seen for _, _, found in findings for seen in found] or [Seen(message)]
    return CheckResult(not failed, measured=measured, evidence=evidence, message=message)


def _clear(calls: Sequence[Call]) -> None:
    """Make sure that no call has arguments which its tool may have read and we did not, such as those of a key twice.

    What is no JSON object to anybody fits nothing. What is one, and was kept as text, could fit or not: an agent could
    pass a ban with it.
    """
    for call in calls:
        if call.arguments is None and _is_object(call.raw or ""):
            message = (
                f"{call.name} at {call.address}: its arguments are a JSON object that can't be read in one way only"
            )
            raise AgentFault(message, (_seen(call),))


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text, parse_int=str), dict)
    except RecursionError:
        return True
    except ValueError:
        return False


def _fits(case: Case, spec: Mapping[str, Any], call: Call) -> bool:
    arguments: Mapping[str, Any] = call.arguments or {}
    same_arguments: Mapping[str, Any] = spec.get("arguments") or {}
    patterns: Mapping[str, str] = spec.get("argument_matches") or {}
    for name, wanted in same_arguments.items():
        if name not in arguments or not same(arguments[name], wanted, case.within):
            return False
    for name, pattern in patterns.items():
        if name not in arguments:
            return False
        value = arguments[name]
        # All of it: what is cut out is a place to hide in.
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        if not re.search(pattern, text, re.MULTILINE):
            return False
    if spec.get("result") is not None:
        return call.result is not None and not unmet(case, spec["result"], call.result)
    return True


def _counted(spec: Mapping[str, Any], fitting: Sequence[Call]) -> tuple[bool, str, list[Seen]]:
    most = 0 if spec.get("never") else spec.get("at_most")
    least = spec.get("at_least")
    if least is None:
        least = 0 if most is not None else 1
    wanted = f"at least {least}" if most is None else f"at most {most}" if not least else f"{least} to {most}"
    text = f"{spec['tool']} called {len(fitting)} times as described, {wanted} wanted"
    met = len(fitting) >= least and (most is None or len(fitting) <= most)
    return met, text, [_seen(call) for call in fitting[:MOST_SHOWN]]


def _ordered(case: Case, spec: Mapping[str, Any], fitting: Sequence[Call]) -> list[tuple[bool, str, list[Seen]]]:
    """``before`` and ``after``: a fitting call lies before (after) the first call of another tool.

    Before a tool that is never called everything lies; after one, nothing.
    """
    findings: list[tuple[bool, str, list[Seen]]] = []
    if spec.get("before") is not None:
        others = case.calls(spec["before"])[:1]
        met = not others or any(_place(call) < _place(others[0]) for call in fitting)
        findings.append((met, f"{spec['tool']} before {spec['before']}", [_seen(call) for call in others]))
    if spec.get("after") is not None:
        others = case.calls(spec["after"])[:1]
        met = bool(others) and any(_place(call) > _place(others[0]) for call in fitting)
        findings.append((met, f"{spec['tool']} after {spec['after']}", [_seen(call) for call in others]))
    return findings


def _sequence(calls: Sequence[Call], order: Sequence[str]) -> tuple[bool, str, list[Seen]]:
    found: list[Call] = []
    for call in calls:
        if len(found) < len(order) and call.name == order[len(found)]:
            found.append(call)
    met = len(found) == len(order)
    text = f"order {', '.join(order)}" + ("" if met else f": {order[len(found)]} does not follow")
    return met, text, [_seen(call) for call in found]


def _final(case: Case, spec: Mapping[str, Any]) -> tuple[bool, str, list[Seen]]:
    if case.final_message is None:
        return False, "there is no final message", []
    lacks = unmet(case, spec, case.final_message)
    last = max(step.index for step in case.steps if step.role == "assistant")
    seen = Seen(cut(case.final_message, 300), f"[{last}].text")
    return not lacks, f"final message: {'; '.join(lacks) or 'as expected'}", [seen]


def _place(call: Call) -> tuple[int, int]:
    return call.step, call.number


def _seen(call: Call) -> Seen:
    arguments = call.raw if call.arguments is None else show(call.arguments, 300)
    return Seen(f"{call.name} {arguments or ''}".rstrip(), call.address)
