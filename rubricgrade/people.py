"""Names of people: in another case, or with other space in it, a name is still the same person's."""

from __future__ import annotations

import unicodedata


def person(name: str) -> str:
    """What all spellings of a person's name have in common."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())
