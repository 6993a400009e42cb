"""Sandbox templates: `sandbox.yaml` in, an immutable entry of a store out, named by the hash of its content.

`reading` takes a definition from a folder, `building` makes it, `store` keeps it, `finding` looks it up for a grade.
`keeping` takes in templates that others have prepared.
"""

from rubricgrade.templates.building import build
from rubricgrade.templates.finding import named, opened
from rubricgrade.templates.identity import identify
from rubricgrade.templates.keeping import keep
from rubricgrade.templates.reading import Source, load_source
from rubricgrade.templates.store import Built, Store

__all__ = ["Built", "Source", "Store", "build", "identify", "keep", "load_source", "named", "opened"]
