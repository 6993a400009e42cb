"""`rubricgrade lint`: every fault of rubric files with its place, for people, programs and GitHub."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rubricgrade.cli import choices
from rubricgrade.cli.expecting import misplaced, unreadable
from rubricgrade.cli.interrupts import complete
from rubricgrade.cli.kinds import RUBRIC
from rubricgrade.cli.output import note, print_json
from rubricgrade.errors import Fault, JudgeError, RubricError
from rubricgrade.report.exits import Exit
from rubricgrade.report.numbers import count

if TYPE_CHECKING:
    from rubricgrade.loading.lint import Finding
    from rubricgrade.rubric import Rubric


class Format(StrEnum):
    """How findings are printed."""

    TEXT = "text"
    JSON = "json"
    GITHUB = "github"


def lint(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH", help="Rubric files, or folders to search.")],
    *,
    format_: Annotated[
        Format | None,
        typer.Option("--format", help="Default: text; github where GITHUB_ACTIONS is set.", show_default=False),
    ] = None,
    select: Annotated[
        list[str] | None,
        typer.Option(metavar="CODE", help="Only warnings whose code begins so (RG1, RG301). Commas, may be repeated."),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(metavar="CODE", help="No warnings whose code begins so. Errors (RG0) are always shown."),
    ] = None,
    llm: Annotated[
        bool, typer.Option("--llm", help="Let the judge read the wording too (RG9); without a judge, nothing is asked.")
    ] = False,
    judge: choices.Judge = None,
    api_base: choices.JudgeBaseFirst = None,
    judge_rpm: choices.JudgeRpm = None,
    max_cost: choices.MaxCost = None,
    cache: choices.Cache = None,
    strict: Annotated[bool, typer.Option("--strict", help="Warnings count too (exit code 1).")] = False,
) -> None:
    """Check rubrics without running anything. Exit code 2 for errors, 1 for warnings with --strict."""
    from rubricgrade.loading import check_rubric

    selected, ignored = _codes(select, "--select"), _codes(ignore, "--ignore")
    files = rubric_files(paths)
    second = _second_reader(judge, api_base, cache, judge_rpm, max_cost) if llm else None

    def more(rubric: Rubric) -> Iterator[Finding]:
        yield from _weak(rubric)
        if second is not None:
            yield from second(rubric)

    findings = [
        finding
        for file in files
        for finding in check_rubric(file, more=more)
        if not is_warning(finding) or _wanted(finding.code, selected, ignored)
    ]
    errors = [finding for finding in findings if not is_warning(finding)]
    if format_ is None:
        format_ = Format.GITHUB if os.environ.get("GITHUB_ACTIONS") == "true" else Format.TEXT
    if format_ is Format.JSON:
        print_json({"schema": "rubricgrade.lint/1", "files": len(files), "findings": _as_json(findings)})
    for finding in findings if format_ is not Format.JSON else ():
        typer.echo(_as_command(finding) if format_ is Format.GITHUB else _as_text(finding))
    warnings = len(findings) - len(errors)
    note(f"{count(len(files), 'rubric')}: {count(len(errors), 'error')}, {count(warnings, 'warning')}")
    if errors:
        raise typer.Exit(Exit.BAD_INPUT)
    if warnings and strict:
        raise typer.Exit(Exit.BELOW)


def _codes(given: Sequence[str] | None, option: str) -> tuple[str, ...]:
    """The beginnings of codes that an option names."""
    from rubricgrade.loading import codes

    named = tuple(code.strip().upper() for part in given or () for code in part.split(","))
    for name in named:
        if not name or not any(code.startswith(name) for code in codes.warnings()):
            raise typer.BadParameter(
                f"no warning's code begins with {name!r}; docs/lint.md lists them", param_hint=option
            )
    return named


def _wanted(code: str, selected: tuple[str, ...], ignored: tuple[str, ...]) -> bool:
    return (not selected or code.startswith(selected)) and not code.startswith(ignored)


def _weak(rubric: Rubric) -> Iterator[Finding]:
    from rubricgrade.checks.weaknesses import weaknesses
    from rubricgrade.loading import codes

    named = {
        "untwinned": codes.UNTWINNED,
        "twinned-in-part": codes.IN_PART,
        "shared-process": codes.SHARED,
        "runs-agent-code": codes.RUNS_AGENT,
        "always-fails": codes.FAILS,
    }
    for weakness in weaknesses(rubric):
        yield weakness.place, named[weakness.kind], weakness.message


def _second_reader(
    judge: str | None, api_base: str | None, cache: Path | None, rpm: float | None, max_cost: float | None
) -> Callable[[Rubric], list[Finding]] | None:
    """Asks a judge about a rubric's wording. What it could not be asked is said, and is no finding."""
    from rubricgrade.authoring.second_reader import second_reading
    from rubricgrade.judge.options import JudgeOptions

    if judge is None:
        note("no judge is named (--judge MODEL), so no model read the wording")
        return None
    options = JudgeOptions(model=judge, api_base=api_base, cache=cache, per_minute=rpm, max_cost=max_cost)

    def read(rubric: Rubric) -> list[Finding]:
        try:
            return complete(second_reading(rubric, options))
        except JudgeError as error:
            note(f"{rubric.id}: the judge could not read the wording: {error}")
            return []

    return read


def rubric_files(paths: Sequence[Path]) -> list[Path]:
    """The files to lint: those named, and every ``rubric.yaml`` and ``*.rubric.yaml`` below the folders named.

    Raises:
        RubricError: A path does not exist, or a folder has no rubric in it.
    """
    from rubricgrade.loading.rubric import rubric_file

    files: list[Path] = []
    faults: list[Fault] = []
    for path in paths:
        if fault := unreadable(path):
            faults.append(fault)
        elif path.is_dir():
            found = sorted({*path.rglob("rubric.yaml"), *path.rglob("*.rubric.yaml")})
            files += found
            if not found:
                nothing = Fault("no rubric.yaml and no *.rubric.yaml in this folder", str(path))
                faults.append(misplaced(path, RUBRIC) or nothing)
        elif fault := misplaced(path, RUBRIC):
            faults.append(fault)
        elif (file := rubric_file(path)).is_file():
            files.append(file)
        else:
            faults.append(Fault("no such file or folder, and no ready rubric of this name", str(path)))
    if faults:
        raise RubricError(faults)
    return list(dict.fromkeys(files))


def is_warning(finding: Fault) -> bool:
    """RG0xx are errors, everything above is a warning."""
    return not finding.code.startswith("RG0")


def _level(finding: Fault) -> str:
    return "warning" if is_warning(finding) else "error"


def _as_text(finding: Fault) -> str:
    from rubricgrade.report.visible import visible

    place = ":".join(str(part) for part in (finding.file, finding.line, finding.column) if part)
    return visible(f"{place}: {_level(finding)} {finding.code}: {finding.message}")


def _as_json(findings: Sequence[Fault]) -> list[dict[str, Any]]:
    return [
        {
            "file": finding.file,
            "line": finding.line,
            "column": finding.column,
            "code": finding.code,
            "level": _level(finding),
            "message": finding.message,
        }
        for finding in findings
    ]


def _as_command(finding: Fault) -> str:
    """A GitHub workflow command. Its syntax characters are escaped, so that no text can start another command."""
    from rubricgrade.report.visible import visible

    place = {"file": finding.file, "line": finding.line, "col": finding.column, "title": finding.code}
    properties = ",".join(f"{key}={_escaped(str(value), ':,')}" for key, value in place.items() if value)
    return f"::{_level(finding)} {properties}::{_escaped(visible(finding.message, lines=True))}"


def _escaped(text: str, also: str = "") -> str:
    for character in "%\r\n" + also:
        text = text.replace(character, f"%{ord(character):02X}")
    return text
