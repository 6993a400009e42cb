"""What customers said, as code can tell it."""

from __future__ import annotations

import re

from rubricgrade import Case


def asks_about_suitcases(case: Case) -> bool:
    """The only ones that speak of suitcases are those who ask how many they may take."""
    return _customer_says(case, r"suitcases")


def tells_of_a_death(case: Case) -> bool:
    """In these words, in all episodes that have it."""
    return _customer_says(case, r"wife passed away")


def gives_user_id(case: Case) -> bool:
    """A user ID is a first name, a last name and four digits."""
    return _customer_says(case, r"\b[a-z]+_[a-z]+_\d{4}\b")


def _customer_says(case: Case, pattern: str) -> bool:
    return any(re.search(pattern, step.text) for step in case.steps if step.role == "user")
