"""What a model in this process may write, at most."""

from __future__ import annotations

from typing import Any

from rubricgrade.chat.finite import LONGEST, MOST, finite
from rubricgrade.judge.wording import CHOOSE_SCHEMA, COLLECT_SCHEMA, batch_schema, reply_schema

CHOICES = ("no", "yes")


def test_texts_and_lists_of_them_come_to_an_end() -> None:
    found = finite(reply_schema(CHOICES, style="reasoned"))["properties"]
    assert found["reasoning"] == {"type": "string", "maxLength": LONGEST}
    assert found["evidence"]["maxItems"] == MOST
    assert found["evidence"]["items"]["properties"]["quote"]["maxLength"] == LONGEST
    assert finite(CHOOSE_SCHEMA)["properties"]["parts"]["maxItems"] == MOST
    assert finite(COLLECT_SCHEMA)["properties"]["passages"]["maxItems"] == MOST


def test_choices_and_one_answer_for_each_question_stay_as_they_are() -> None:
    direct = reply_schema(CHOICES, style="direct")
    assert finite(direct) == direct
    names = tuple(f"q{number}" for number in range(3 * MOST))
    for style in ("direct", "reasoned"):
        answers = finite(batch_schema(names, CHOICES, style=style))["properties"]["answers"]
        assert "maxItems" not in answers
        assert "maxLength" not in answers["items"]["properties"]["id"]
    assert answers["items"]["properties"]["evidence"]["maxItems"] == MOST


def test_bounds_of_the_schema_itself_are_kept() -> None:
    schema: dict[str, Any] = {"type": "array", "maxItems": 40, "items": {"type": "string", "maxLength": 9}}
    assert finite(schema) == schema
