"""What the data card says."""

from __future__ import annotations

import pytest

from rubricgrade.delivery.records import Delivered, Manifest, Part, Report, Sealing, Splitting
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
    assert any(line.startswith(said) for line in card(labels=labels))


@pytest.mark.parametrize(("sealing", "more"), [("none", ""), ("encrypted", " --key FILE"), ("apart", " --apart DIR")])
def test_the_card_says_how_to_check_all_of_it(sealing: Sealing, more: str) -> None:
    assert f"    rubricgrade deliver verify .{more}" in card(sealing=sealing)


def card(*, labels: tuple[str, ...] = (), sealing: Sealing = "none") -> list[str]:
    manifest = Manifest(
        name="july",
        split=Splitting(fraction=0.0, seed=0, threshold=0.35, labels=labels, sealing=sealing),
        tasks={"one": Delivered(side="train", group="one", hash="sha256:0")},
    )
    report = Report(parts={"train": Part(tasks=1, categories={}, difficulties={})})
    return card_of(manifest, report).splitlines()
