"""How much a prompt may hold, and how many tokens a text is, without a model's own tokenizer.

A token is 3 to 5 bytes of UTF-8 in nearly all texts and models: so many a byte range tells, and no more is claimed.
"""

from __future__ import annotations

from collections.abc import Iterable

from rubricgrade.chat.prices import listing

MOST = 400_000
"""Characters of a prompt, whatever the model takes: about 100,000 tokens."""

LEAST = 4_000
"""Characters below which nothing is fitted any more."""

VIEW_SHARE = 0.75
"""Of a prompt's characters; the rest is for the question."""

_FEWEST_BYTES, _MOST_BYTES = 3, 5


def token_range(text_bytes: int) -> tuple[int, int]:
    """Fewest and most tokens of a text of so many bytes of UTF-8."""
    return text_bytes // _MOST_BYTES, -(-text_bytes // _FEWEST_BYTES)


def room_of(models: Iterable[str], reply: int) -> int:
    """Characters that a prompt may have for all of some models.

    Args:
        models: By their litellm names; one that no list knows is taken to have room for `MOST`.
        reply: Tokens that a reply may take.
    """
    known = [listing(model).get("max_input_tokens") for model in models]
    takes = [(int(tokens) - reply) * _FEWEST_BYTES for tokens in known if isinstance(tokens, int | float)]
    return max(LEAST, min([MOST, *takes]))
