"""Evidence: the places that a judge can quote from, and finding a quote in them by code."""

from rubricgrade.evidence.folding import dense, fold
from rubricgrade.evidence.locating import Sources, locate, proves
from rubricgrade.evidence.places import Document, Place, call_text, select
from rubricgrade.evidence.visible import one_line, visible

__all__ = [
    "Document",
    "Place",
    "Sources",
    "call_text",
    "dense",
    "fold",
    "locate",
    "one_line",
    "proves",
    "select",
    "visible",
]
