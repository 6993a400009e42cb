"""``exists``: a file (or one of a glob) is there and not empty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rubricgrade.checks.inside.artifacts import is_glob
from rubricgrade.checks.inside.case import Case, CheckResult, Seen


def check(case: Case, spec: Mapping[str, Any]) -> CheckResult:
    """Met when a regular file of at least ``min_bytes`` is at the path; measures its size."""
    path, least = spec["path"], spec.get("min_bytes", 1)
    found = {name: case.size(name) for name in (case.glob(path) if is_glob(path) else [path])}
    files = {name: size for name, size in found.items() if size is not None}
    large = {name: size for name, size in files.items() if size >= least}
    if large:
        name, size = max(large.items(), key=lambda item: item[1])
        message = f"{name} has {size:,} bytes"
        return CheckResult(value=True, measured=size, evidence=[Seen(message, name)], message=message)
    if not files:
        case.no_file(path)
    message = f"{path}: {len(files)} found, none with {least:,} bytes or more" if files else f"{path} is missing"
    return CheckResult(value=False, measured=0, evidence=[Seen(message, path)], message=message)
