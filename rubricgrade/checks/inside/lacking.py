"""Whether our own code could not import what it needs: the environment is broken, whatever the agent has left."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import CodeType, TracebackType

from rubricgrade.checks.inside.wire import SEALED

OURS = f"{Path(__file__).parents[2]}/"
MACHINERY = ("<frozen importlib", importlib.__file__)


def is_lacking(error: BaseException) -> bool:
    """Whether an exception came up in an import that a file of this package asked for.

    No file of the agent's is read by an import, so nothing that it has left can break one. But what it has left may
    have taken the memory or the open files that an import needs too.
    """
    if not isinstance(error, Exception) or isinstance(error, MemoryError | OSError | RecursionError):
        return False
    ran = _ran(error.__traceback__)
    last = max((at for at, code in enumerate(ran) if code.co_filename.startswith((OURS, f"{SEALED}/"))), default=-1)
    if last < 0 or not ran[last].co_filename.startswith(OURS):
        return False
    below = ran[last + 1 :]
    # Python leaves most frames of the import itself out.
    is_import = below and (below[0].co_name == "<module>" or below[0].co_filename.startswith(MACHINERY))
    return bool(is_import) if below else isinstance(error, ImportError | SyntaxError)


def _ran(at: TracebackType | None) -> list[CodeType]:
    """What was running when it came up, outermost first."""
    found: list[CodeType] = []
    while at is not None:
        found.append(at.tb_frame.f_code)
        at = at.tb_next
    return found
