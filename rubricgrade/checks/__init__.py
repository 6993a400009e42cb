"""Checks: code that decides gates and criteria, each kind in a small file below `inside`.

Three places: the checker's sandbox (sealed files, the author's code, no code of the agent), the solution's sandbox (the
agent's code, no sealed byte), and the host, which moves bytes between them. Names are imported on first use, because
the checker's sandbox imports `inside` and must not pay for the host's side.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rubricgrade.checks.bench import Bench
    from rubricgrade.checks.outcome import ItemsFault, Outcome

_HOMES = {"Bench": "bench", "ItemsFault": "outcome", "Outcome": "outcome"}

__all__ = ["Bench", "ItemsFault", "Outcome"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
