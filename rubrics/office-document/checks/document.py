"""Whether there is a document to read at all."""

from __future__ import annotations

from rubricgrade import Case, CheckResult

KINDS = ("md", "txt", "docx", "pdf", "pptx", "xlsx")


def left_a_document(case: Case) -> CheckResult:
    """At least one file of an office kind, in any folder, with something in it."""
    found = [path for kind in KINDS for path in case.glob(f"**/*.{kind}")]
    filled = [path for path in found if case.size(path)]
    return CheckResult(bool(filled), message=f"documents: {', '.join(filled) or 'none'}")
