"""Where a run lives: a folder on this machine, or one in any store that fsspec reaches, such as ``s3://bucket/runs/x``.

A store has no append and no lock. There, each attempt's line is an object of its own, made only if it is not there, and
only after everything else of the attempt: what was cut half-way is nowhere to be seen.
"""

from rubricgrade.runs.places.choosing import Where, place_of
from rubricgrade.runs.places.contract import Claim, Place

__all__ = ["Claim", "Place", "Where", "place_of"]
