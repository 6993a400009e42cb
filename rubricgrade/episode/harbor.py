"""What a Harbor ``task.toml`` asks for beyond a plain container: followed where it can be, refused where it can't."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any, cast

from pydantic import BaseModel, ConfigDict

from rubricgrade.errors import Fault, InputError
from rubricgrade.loading import read_data

NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,99}\Z")
"""The name of a task, and of a step."""
COMPOSE = ("docker-compose.yaml", "docker-compose.yml")
CANARY = re.compile(r"(<!--.*canary.*-->|#.*canary.*)\s*\Z", re.IGNORECASE)
VARIABLE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
SECONDS = 600.0


class Verifier(BaseModel):
    """How a plain Harbor task is verified.

    Attributes:
        apart: Whether only declared artifacts reach the verifier, in an environment of its own.
        env: Environment of the test script.
        seconds: What the script may take.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    apart: bool = False
    env: dict[str, str] = {}
    seconds: float = SECONDS


def read_instruction(file: Path, faults: list[Fault]) -> str:
    """What an agent is told: a text, without the lines at its top that mark a benchmark's files."""
    try:
        text = _without_canary(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        faults.append(Fault(f"can't be read as text: {error}", str(file)))
        return ""
    if not text:
        faults.append(Fault("is empty: it is all that the agent is told", str(file)))
    return text


def _without_canary(text: str) -> str:
    lines = text.split("\n")  # not at form feeds and the like, which are a part of the text
    while lines and (CANARY.match(lines[0].strip()) or not lines[0].strip()):
        del lines[0]
    return "\n".join(lines).strip()


def read_verifier(about: Mapping[str, Any], file: str, faults: list[Fault]) -> Verifier:
    """``[verifier]``; its own image counts as apart, as it does in Harbor."""
    verifier = table(about, "verifier")
    if verifier.get("collect"):
        faults.append(Fault("verifier.collect: such commands are not followed here", file))
    if table(verifier, "environment").get("docker_image"):
        faults.append(Fault("verifier.environment.docker_image: images are not fetched; give tests/Dockerfile", file))
    mode = verifier.get("environment_mode") or ("separate" if "environment" in verifier else "shared")
    seconds = verifier.get("timeout_sec")
    return Verifier(
        apart=mode == "separate",
        env=environment_of(verifier, "verifier.env", file, faults),
        seconds=float(seconds) if isinstance(seconds, int | float) and seconds > 0 else SECONDS,
    )


def environment_of(section: Mapping[str, Any], name: str, file: str, faults: list[Fault]) -> dict[str, str]:
    """The ``env`` of a section. A sandbox is given nothing of this host's own environment, only defaults."""
    found: dict[str, str] = {}
    for key, value in table(section, "env").items():
        text = str(value)
        if bare := [match[1] for match in VARIABLE.finditer(text) if match[2] is None]:
            faults.append(Fault(f"{name}.{key}: ${{{bare[0]}}} is of this host, which no sandbox is shown", file))
        found[key] = VARIABLE.sub(lambda match: match[2] or "", text)
    return found


def refuse(about: Mapping[str, Any], folder: Path, faults: list[Fault]) -> None:
    """Add a fault for everything that would make another task of it if it were left out."""
    file = str(folder / "task.toml")
    environment = table(about, "environment")
    asked = {
        "environment.mcp_servers: MCP servers are not started here": environment.get("mcp_servers"),
        "environment.healthcheck: no service is started that could be waited for": environment.get("healthcheck"),
        "environment.gpus: sandboxes have no GPU": environment.get("gpus"),
        "environment.tpu: sandboxes have no TPU": environment.get("tpu"),
        "environment.os: only linux is supported": str(environment.get("os", "linux")).lower() != "linux",
        "environment.skills_dir: skills are not installed here": environment.get("skills_dir"),
    }
    faults += [Fault(message, file) for message, wanted in asked.items() if wanted]
    if environment.get("docker_image") and not (folder / "environment" / "Dockerfile").is_file():
        faults.append(Fault("environment.docker_image: images are not fetched; give environment/Dockerfile", file))
    if (folder / "trajectory.json").exists():
        faults.append(Fault("an earlier conversation can't be gone on with here", str(folder / "trajectory.json")))
    for place in ("environment", "tests"):
        faults += [fault for name in COMPOSE for fault in _services(folder / place / name)]


def _services(file: Path) -> list[Fault]:
    """Why a compose file can't be left aside: it has other services than the agent's own container."""
    if not file.is_file():
        return []
    try:
        data = read_data(file.read_bytes(), str(file))
    except InputError as error:
        return [*error.faults, Fault("can't be read as one container", str(file))]
    others = (
        sorted(table(cast("Mapping[str, Any]", data), "services").keys() - {"main"}) if isinstance(data, dict) else []
    )
    return [Fault(f"starts {', '.join(others)} beside the agent, which is not done here", str(file))] if others else []


def read_artifacts(about: Mapping[str, Any], workdir: str, file: str, faults: list[Fault]) -> tuple[str, ...]:
    """Globs of the work folder for what is declared as the agent's work: texts, or Harbor's tables with ``source``."""
    given: Any = about.get("artifacts", [])
    globs: list[str] = []
    for item in cast("list[Any]", given) if isinstance(given, list) else [given]:
        entry = cast("Mapping[str, Any]", item) if isinstance(item, dict) else {"source": item}
        source: Any = entry.get("source")
        if not isinstance(source, str) or not source:
            faults.append(Fault(f"artifacts: a path, or a table with 'source', is needed, not {item!r}", file))
        elif entry.get("service", "main") != "main":
            faults.append(Fault(f"artifacts: {source} is of the service {entry['service']!r}, which is not here", file))
        else:
            globs += _globs(source, workdir, file, faults)
    return tuple(globs)


def _globs(source: str, workdir: str, file: str, faults: list[Fault]) -> list[str]:
    path = PurePosixPath(source)
    if not path.is_absolute():
        return [source]
    if not path.is_relative_to(workdir):
        message = (
            f"artifacts: {source} lies outside the work folder {workdir}, where nothing is kept of the agent's work"
        )
        faults.append(Fault(message, file))
        return []
    if path == PurePosixPath(workdir):
        return ["**"]
    inside = str(path.relative_to(workdir))
    return [inside, f"{inside}/**"]


def megabytes(environment: Mapping[str, Any]) -> int | None:
    """Bytes of memory of ``memory_mb``, or of its older form ``memory = "2G"``."""
    amount: Any = environment.get("memory_mb")
    if isinstance(amount, int | float) and amount > 0:
        return int(amount) << 20
    text = str(environment.get("memory", "")).strip().upper().removesuffix("B")
    if text[-1:] in UNITS and text[:-1].replace(".", "", 1).isdigit():
        return int(float(text[:-1]) * UNITS[text[-1]]) or None
    return None


def table(section: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A table of a table; empty when there is none."""
    found = section.get(name)
    return dict(cast("dict[str, Any]", found)) if isinstance(found, dict) else {}
