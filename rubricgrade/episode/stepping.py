"""The steps of a Harbor task that has several: each has an instruction, tests, and a reward from which it goes on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel, ConfigDict

from rubricgrade.episode.harbor import NAME, read_instruction, table
from rubricgrade.errors import Fault


class Step(BaseModel):
    """One step. Its files lie in ``steps/<name>/``: ``instruction.md``, ``tests/``, ``solution/``, ``workdir/``.

    Attributes:
        name: The folder's.
        instruction: What the agent is told.
        seconds: Wall time of the agent in this step, if it is limited.
        least: The reward below which the episode ends after this step; None lets it always go on.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    instruction: str
    seconds: float | None = None
    least: float | None = None


def read_steps(about: Mapping[str, Any], folder: Path, faults: list[Fault]) -> tuple[Step, ...]:
    """``[[steps]]`` of a ``task.toml`` with what lies in ``steps/``."""
    given: Any = about.get("steps") or []
    file = str(folder / "task.toml")
    if not isinstance(given, list):
        faults.append(Fault("steps: a list of tables is needed", file))
        return ()
    steps: list[Step] = []
    for index, item in enumerate(cast("list[Any]", given), 1):
        entry = cast("dict[str, Any]", item) if isinstance(item, dict) else {}
        name: Any = entry.get("name")
        if not isinstance(name, str) or NAME.match(name) is None or name in {step.name for step in steps}:
            faults.append(Fault(f"steps[{index}].name: a folder's name of its own is needed, not {name!r}", file))
            continue
        if entry.get("healthcheck"):
            faults.append(Fault(f"steps[{index}].healthcheck: no service is started that could be waited for", file))
        if table(entry, "verifier").get("collect"):
            faults.append(Fault(f"steps[{index}].verifier.collect: such commands are not followed here", file))
        steps.append(
            Step(
                name=name,
                instruction=read_instruction(folder / "steps" / name / "instruction.md", faults),
                seconds=_number(table(entry, "agent").get("timeout_sec")),
                least=_least(entry.get("min_reward"), f"steps[{index}].min_reward", file, faults),
            )
        )
    return tuple(steps)


def _least(value: Any, name: str, file: str, faults: list[Fault]) -> float | None:
    """A threshold: a number, or a table with the one key ``reward``."""
    named = cast("Mapping[str, Any]", value) if isinstance(value, dict) else {"reward": value}
    if value is not None and (named.keys() != {"reward"} or _number(named["reward"]) is None):
        faults.append(Fault(f"{name}: a number for 'reward' is needed; no other reward is read here", file))
        return None
    return _number(named.get("reward"))


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
