"""What the data card says."""

from __future__ import annotations

import pytest

from rubricgrade.delivery.records import Delivered, Manifest, Part, Report, Splitting
from rubricgrade.delivery.writing import card_of


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ((), "The split keeps near twins (likeness 0.35 and more) together: see `groups.jsonl`."),
        (
            ("repo", "template"),
            "The split keeps tasks together that share repo, template, or that are near twins (likeness",
        ),
    ],
)
def test_the_card_says_what_is_kept_together(labels: tuple[str, ...], said: str) -> None:
    manifest = Manifest(
        name="july",
        split=Splitting(fraction=0.0, seed=0, threshold=0.35, labels=labels),
        tasks={"one": Delivered(side="train", group="one", hash="sha256:0")},
    )
    report = Report(parts={"train": Part(tasks=1, categories={}, difficulties={})})
    assert any(line.startswith(said) for line in card_of(manifest, report).splitlines())
