"""The process that carries out checks in the checker's sandbox, each in a child of its own, and tells how they went.

A check ends with one message: what was found, or a fault whose origin is ``agent``, ``grader`` or, when that can't be
told from here, ``unclear``.
"""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from rubricgrade.checks.inside import python
from rubricgrade.checks.inside.case import AgentFault, AuthorFault, Case, CheckResult, Seen
from rubricgrade.checks.inside.compare import cut
from rubricgrade.checks.inside.finding import QUOTE, Unusable
from rubricgrade.checks.inside.solution import Solution
from rubricgrade.checks.inside.wire import SEALED, WORKSPACE, WORLD, Wire
from rubricgrade.errors import is_of_the_host

MODULES = {"json": "json_value", "csv": "csv_cell", "xlsx": "xlsx_cell", "sqlite": "sqlite_query", "pytest": "suite"}
"""Where a kind's file is not called like the kind."""
MOST_EVIDENCE = 50
TOLD = 86
"""Exit code of a child that has told how its check went."""
TEXT = 300
"""Characters of an exception, which may be of the agent's choice: what is said behind it must not be lost."""
DEFECT = "this line fails whatever the agent has left; mend the check"
LACKING = "what reads such files can't be imported here; install rubricgrade anew"
SLIP = "this is no verdict whatever the agent has left; mend the check"
PATH = tuple(sys.path)
"""Where modules are looked for before any code of an author's has run."""


def main() -> None:
    """Hear what is asked and have a child carry it out, until the host hangs up or a child ends without telling."""
    wire = Wire.taken()
    while (request := wire.next()) is not None:
        child = os.fork()
        if not child:
            os.setpgid(0, 0)
            answer(request, wire)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # whatever the check has left running
        if code != TOLD:
            os._exit(code if code >= 0 else 128 - code)


def answer(request: Mapping[str, Any], wire: Wire) -> NoReturn:
    """Carry out what is asked, say how it went, and end this process."""
    code = 1
    try:
        try:
            wire.say(carry_out(request, wire))
        except BaseException as error:  # noqa: BLE001 - whatever happens is told to the host, which decides whose fault it is
            wire.say(fault_of(error))
        code = TOLD
    finally:
        sys.stderr.flush()
        # Threads and exit handlers of the author's code have no say any more.
        os._exit(code)


def carry_out(request: Mapping[str, Any], wire: Wire) -> dict[str, Any]:
    """Do what is asked and make the last message of it."""
    case = Case(request, Solution(wire))
    match request["do"]:
        case "items":
            return {"op": "listed", "items": python.items(case, request["function"])}
        case "documents":
            from rubricgrade.checks.inside.documents import documents  # noqa: PLC0415 - checks don't pay for it

            for message in documents(case, request):
                wire.say(message)
            return {"op": "ended"}
        case _:
            kind: str = request["kind"]
            module = importlib.import_module(f"rubricgrade.checks.inside.{MODULES.get(kind, kind)}")
            return as_message(module.check(case, request["spec"]))


def as_message(result: CheckResult) -> dict[str, Any]:
    """A result as JSON."""
    return {
        "op": "found",
        "value": result.value,
        "measured": result.measured,
        "fields": dict(result.fields),
        "evidence": as_evidence(result.evidence),
        "message": cut(result.message, QUOTE),
        "passed": result.passed,
        "total": result.total,
        "faulted": result.faulted,
        "twinned": result.twinned,
    }


def as_evidence(evidence: Sequence[str | tuple[str, str | None] | Seen]) -> list[dict[str, Any]]:
    """Evidence in any of the forms that an author may use, cut to what a grade keeps."""
    found: list[dict[str, Any]] = []
    for item in evidence[:MOST_EVIDENCE]:
        match item:
            case Seen(quote, where) | (quote, where):
                pass
            case _:
                quote, where = item, None
        place = None if where is None else cut(str(where), QUOTE)
        found.append({"quote": cut(str(quote), QUOTE), "where": place})
    return found


def fault_of(error: BaseException) -> dict[str, Any]:
    """An exception as a fault: what it is, whose it is as far as can be told, and the line that raised it."""
    if isinstance(error, AgentFault):
        return _fault("agent", error, str(error), error.evidence)
    if isinstance(error, OSError) and isinstance(error.filename, str) and _is_agents(error.filename):
        path = error.filename
        if is_of_the_host(error) and error.errno != errno.EROFS:  # who writes there fails on every host
            # Much that is left, or large, may bring a check to limits of its own.
            origin = "unclear" if error.errno in {errno.EMFILE, errno.ENOMEM} else "grader"
            return _fault(origin, error, f"{path}: {error.strerror}")
        return _fault("agent", error, f"{path}: {error.strerror}", (Seen(f"{path}: {error.strerror}", path),))
    if isinstance(error, AuthorFault):
        return _fault("grader", error, str(error))
    import traceback  # noqa: PLC0415 - slow to load, and needed for a fault only

    from rubricgrade.checks.inside.defects import has_agents_code, is_defect  # noqa: PLC0415 - as above
    from rubricgrade.checks.inside.lacking import is_lacking  # noqa: PLC0415 - as above
    from rubricgrade.checks.inside.returning import NoVerdict  # noqa: PLC0415 - as above

    if isinstance(error, NoVerdict):
        slip = error.slip and not has_agents_code(PATH)
        told = f"{error} ({error.place})" if error.place else str(error)
        told = f"{cut(told, TEXT)}: {SLIP}" if slip else told
        return _fault("grader" if slip else "unclear", error, told, place=error.place)
    frames = traceback.extract_tb(error.__traceback__)
    inside = [frame for frame in frames if frame.filename.startswith(f"{SEALED}/")]
    # The line of the author's code that raised it, when any of it did.
    place = f"{inside[-1].filename.removeprefix(f'{SEALED}/')}:{inside[-1].lineno}" if inside else ""
    if isinstance(error, Unusable):
        return _fault("unclear", error, str(error), place=place)
    told = cut(traceback.format_exception_only(error)[-1].strip(), TEXT)
    told = f"{told} ({place})" if place else told
    if is_lacking(error) and not has_agents_code(PATH):
        return _fault("grader", error, f"{told}: {LACKING}")
    if is_defect(error, PATH):
        return _fault("grader", error, f"{told}: {DEFECT}", place=place)
    return _fault("unclear", error, told, place=place)


def _fault(
    origin: str, error: BaseException, message: str, evidence: Sequence[Seen] = (), *, place: str = ""
) -> dict[str, Any]:
    name = type(error).__name__
    told, seen = cut(message, QUOTE), as_evidence(evidence)
    return {"op": "failed", "origin": origin, "kind": name, "message": told, "place": place, "evidence": seen}


def _is_agents(path: str) -> bool:
    return path.startswith((f"{WORKSPACE}/", f"{WORLD}/"))


if __name__ == "__main__":
    main()
