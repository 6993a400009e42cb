"""``contains``: a text file contains a text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rubricgrade.checks.inside.case import Case, CheckResult, Seen
from rubricgrade.checks.inside.compare import show
from rubricgrade.checks.inside.expect import line_of


def check(case: Case, spec: Mapping[str, Any]) -> CheckResult:
    """Met when the text is there; measures how often. The evidence is the first line that has it."""
    path, wanted = spec["path"], spec["text"]
    text = case.read_text(path)
    # Lower case letter by letter keeps positions, which case folding (ß to ss) would not.
    searched = text.lower() if spec.get("ignore_case") else text
    sought = wanted.lower() if spec.get("ignore_case") else wanted
    position, count = searched.find(sought), searched.count(sought)
    if position < 0:
        message = f"{path}: {show(wanted)} is not there"
        return CheckResult(value=False, measured=0, evidence=[Seen(message, path)], message=message)
    line = line_of(searched, position)
    quote = text.split("\n")[line - 1]
    message = f"{path}: {show(wanted)} stands there {count} time{'s' * (count != 1)}, first in line {line}"
    return CheckResult(value=True, measured=count, evidence=[Seen(quote, f"{path}:{line}")], message=message)
