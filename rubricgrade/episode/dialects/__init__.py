"""Tasks in other shapes, made into task directories: a vendor's folder, and rows of SWE-bench.

Their tests become a sealed suite wherever that can be, so that an agent can't change what decides.
"""

from rubricgrade.episode.dialects.making import Imported
from rubricgrade.episode.dialects.rows import import_rows, import_swe_bench
from rubricgrade.episode.dialects.vendors import import_vendor

__all__ = ["Imported", "import_rows", "import_swe_bench", "import_vendor"]
