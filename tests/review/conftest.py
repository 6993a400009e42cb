from __future__ import annotations

from pathlib import Path

import pytest

from tests.review.made import Made, Said, steps, write_run


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Two episodes; the judge quotes word for word in one, and invents a quote in the other."""
    return write_run(
        tmp_path / "replies",
        {
            "one": Made(
                steps(
                    "Where is my parcel?", "Good morning! It left on Monday and arrives tomorrow. Thank you for asking."
                ),
                {
                    "polite": Said("met", "It greets and thanks.", ["Thank you for asking"]),
                    "complete": Said("met", "The date is given.", ["arrives tomorrow"], votes=("yes", "no", "yes")),
                },
            ),
            "two": Made(
                steps("Can I pay later, and how?", "No."),
                {
                    "polite": Said("met", "It is short but fine.", ["with kind regards from us"]),
                    "complete": Said("not_met", "It does not say how."),
                    "tone": Said("cold"),
                },
            ),
        },
    )
