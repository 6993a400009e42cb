"""``matches``: a text file matches a regular expression somewhere."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rubricgrade.checks.inside.case import Case, CheckResult, Seen
from rubricgrade.checks.inside.expect import line_of


def check(case: Case, spec: Mapping[str, Any]) -> CheckResult:
    """Met when the pattern is found (``^`` and ``$`` stand for lines); the evidence is what matched."""
    path, pattern = spec["path"], spec["pattern"]
    text = case.read_text(path)
    found = re.search(pattern, text, re.MULTILINE)
    if found is None:
        message = f"{path}: nothing matches /{pattern}/"
        return CheckResult(value=False, evidence=[Seen(message, path)], message=message)
    line = line_of(text, found.start())
    message = f"{path}: /{pattern}/ matches in line {line}"
    return CheckResult(value=True, evidence=[Seen(found.group(), f"{path}:{line}")], message=message)
