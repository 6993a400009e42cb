"""Rubrics of other programs to ours and back. What the other side can't hold is listed, never dropped in silence."""

from rubricgrade.interchange.draft import Imported
from rubricgrade.interchange.exporting import EXPORTS, Exported, export_rubric
from rubricgrade.interchange.importing import IMPORTS, import_rubrics

__all__ = ["EXPORTS", "IMPORTS", "Exported", "Imported", "export_rubric", "import_rubrics"]
