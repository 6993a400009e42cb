"""Property tests try the same examples on every machine, however slow it is.

`pytest --hypothesis-profile=default` tries something new.
"""

from __future__ import annotations

from contextlib import suppress

with suppress(ImportError):  # the environments of hosts have none
    from hypothesis import settings

    settings.load_profile("ci")
