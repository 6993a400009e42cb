"""What a judge was sent for one criterion, word for word, from the store that keeps prompts by their hash."""

from __future__ import annotations

import sys
from pathlib import Path

from rubricgrade.errors import Fault, InputError
from rubricgrade.report.visible import visible
from rubricgrade.result import CriterionResult, ItemResult
from rubricgrade.store.verdicts import VerdictCache


def print_prompts(item: ItemResult, cache: Path | None) -> None:
    """Print the prompt of a judged criterion; of each item, if it was asked one question per item.

    Args:
        item: From a grade.
        cache: The verdict cache's file; None for the user's own.

    Raises:
        InputError: No judge was asked about it, or the prompt is not in the cache.
    """
    hashes = list(dict.fromkeys(_hashes(item)))
    if not hashes:
        raise InputError(f"no judge was asked about {item.id!r}: {_instead(item)}")
    store = VerdictCache(cache)
    for digest in hashes:
        texts = store.prompt(digest)
        if texts is None:
            raise InputError(
                Fault(
                    f"the prompt {digest} is not kept here{_elsewhere(item)}; another cache is named by --cache FILE",
                    str(store.path),
                )
            )
        for place, text in enumerate(texts, 1):
            sys.stdout.write(f"[message {place} of {len(texts)}]\n{visible(text, lines=True)}\n")


def _instead(item: ItemResult) -> str:
    """What stands there in place of a question."""
    if not isinstance(item, CriterionResult) or item.by == "check":
        return "a check decides it"
    return "people decide it" if item.by == "human" else item.message or item.cause or item.verdict


def _elsewhere(item: ItemResult) -> str:
    """Who was asked in another place than here."""
    recorded_by = item.judge.recorded_by if isinstance(item, CriterionResult) and item.judge is not None else None
    return f": the verdict was recorded by {recorded_by}" if recorded_by is not None else ""


def _hashes(item: ItemResult) -> list[str]:
    if not isinstance(item, CriterionResult):
        return []
    own = [item.judge.prompt] if item.judge is not None and item.judge.prompt else []
    return own + [digest for part in item.parts for digest in _hashes(part)]
