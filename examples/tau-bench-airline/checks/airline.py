"""The airline's policy as far as code can see it: what was looked up, changed and said, and in which order."""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta
from typing import Any, cast

from rubricgrade import Case, CheckResult

NOW = datetime(2024, 5, 15, 15, 0)  # noqa: DTZ001 - the policy's clock and the bookings share one zone, never named
WRITES = frozenset(
    {
        "book_reservation",
        "cancel_reservation",
        "send_certificate",
        "update_reservation_baggages",
        "update_reservation_flights",
        "update_reservation_passengers",
    }
)
YES = re.compile(r"\b(yes|yeah|sure|please proceed|go ahead|i confirm|confirmed|looks good)\b", re.IGNORECASE)
TIER = re.compile(r"\b(as a|you are (currently |confirmed as )?a) (regular|silver|gold) member", re.IGNORECASE)


def allowed_cancellations(case: Case) -> CheckResult:
    """Every cancelled reservation was seen before, and policy lets it be cancelled."""
    faults: list[tuple[str, str]] = []
    for call in case.calls("cancel_reservation"):
        name = (call.arguments or {}).get("reservation_id")
        seen = _seen(case, name, call.step)
        if seen is None:
            faults.append((f"cancels {name} without having looked it up", call.address))
        elif not _may_be_cancelled(seen):
            why = f"cancels {name}: {seen['cabin']}, booked {seen['created_at']}, insurance {seen['insurance']}"
            faults.append((why, call.address))
    return _kept(faults, "cancellations against policy")


def keeps_basic_economy_flights(case: Case) -> CheckResult:
    """A basic economy ticket may be upgraded with its flights as they are; only then may they change."""
    faults: list[tuple[str, str]] = []
    for call in case.calls("update_reservation_flights"):
        arguments = call.arguments or {}
        seen = _seen(case, arguments.get("reservation_id"), call.step)
        if seen is None:
            faults.append(("changes a reservation without having looked it up", call.address))
        elif seen["cabin"] == "basic_economy" and _numbers(arguments.get("flights")) != _numbers(seen["flights"]):
            faults.append((f"changes the flights of {seen['reservation_id']}, which is basic economy", call.address))
    return _kept(faults, "changes against policy")


def confirms_writes(case: Case) -> CheckResult:
    """Each writing call comes with nothing but the agent's own doing between it and a customer's yes."""
    faults: list[tuple[str, str]] = []
    for call in case.calls():
        if call.name in WRITES:
            said = next((step.text for step in reversed(case.steps[: call.step]) if step.role == "user"), "")
            if not YES.search(said):
                faults.append((f"{call.name} after the customer said: {said}", call.address))
    return _kept(faults, "writes without a yes")


def one_thing_at_a_time(case: Case) -> CheckResult:
    """Messages that call a tool hold one call and no text."""
    faults = [
        (step.text or f"{len(step.calls)} calls at once", step.address)
        for step in case.steps
        if step.calls and (step.text.strip() or len(step.calls) > 1)
    ]
    return _kept(faults, "messages with more than one thing")


def unverified_tier(case: Case) -> CheckResult:
    """A sentence such as "as a gold member" before the profile was read."""
    profile = min((call.step for call in case.calls("get_user_details")), default=len(case.steps))
    told = [
        (found.group(0), step.address)
        for step in case.steps[:profile]
        if step.role == "assistant" and (found := TIER.search(step.text))
    ]
    return CheckResult(value=bool(told), evidence=told, message=f"{len(told)} statements of a tier never looked up")


def _kept(faults: list[tuple[str, str]], what: str) -> CheckResult:
    return CheckResult(value=not faults, evidence=faults, message=f"{len(faults)} {what}")


def _seen(case: Case, name: Any, before: int) -> dict[str, Any] | None:
    """The reservation as the tool last showed it before a step; None if it was not shown."""
    shown: dict[str, Any] | None = None
    for call in case.calls("get_reservation_details"):
        asked = (call.arguments or {}).get("reservation_id")
        if asked == name and call.result_step is not None and call.result_step < before:
            shown = _reservation(call.result)
    return shown


def _reservation(text: str | None) -> dict[str, Any] | None:
    """A tool's answer if it is a reservation; an error message is none."""
    try:
        value = json.loads(text or "")
    except ValueError:
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) and "cabin" in value else None


def _may_be_cancelled(reservation: dict[str, Any]) -> bool:
    # Insurance pays only for some reasons; whether the customer's is one of them, code can't see.
    recent = NOW - datetime.fromisoformat(reservation["created_at"]) <= timedelta(hours=24)
    return recent or reservation["cabin"] == "business" or reservation["insurance"] == "yes"


def _numbers(flights: Any) -> list[Any]:
    listed = cast("list[Any]", flights) if isinstance(flights, list) else []
    return [cast("dict[str, Any]", each).get("flight_number") if isinstance(each, dict) else each for each in listed]
