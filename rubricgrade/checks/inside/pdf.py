"""``pdf``: how many pages a PDF has, and text in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rubricgrade.checks.inside.case import Case, CheckResult, Seen
from rubricgrade.checks.inside.compare import show


def check(case: Case, spec: Mapping[str, Any]) -> CheckResult:
    """Met when page count and text are as asked; measures the pages. White space in the text counts as one blank."""
    path = spec["path"]
    pages = case.read_pdf(path)
    count = len(pages)
    lacks: list[str] = []
    if spec.get("pages") is not None and count != spec["pages"]:
        lacks.append(f"expected {spec['pages']} pages")
    if spec.get("at_least") is not None and count < spec["at_least"]:
        lacks.append(f"expected at least {spec['at_least']} pages")
    if spec.get("at_most") is not None and count > spec["at_most"]:
        lacks.append(f"expected at most {spec['at_most']} pages")
    where = path
    if spec.get("contains") is not None:
        wanted = " ".join(spec["contains"].split())
        having = [number for number, text in enumerate(pages, 1) if wanted in " ".join(text.split())]
        if having:
            where = f"{path}:page {having[0]}"
        else:
            lacks.append(f"{show(wanted)} is on none of them")
    message = f"{path}: {count} pages" + "".join(f"; {lack}" for lack in lacks)
    return CheckResult(not lacks, measured=count, evidence=[Seen(message, where)], message=message)
