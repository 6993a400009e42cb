from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubricgrade.chat import encoding
from rubricgrade.chat.encoding import Encoder

message = st.fixed_dictionaries(
    {"role": st.sampled_from(["system", "user"]), "content": st.text()},
    optional={"cache": st.booleans(), "name": st.text()},
)


@given(st.lists(st.lists(message, max_size=4), max_size=4), st.dictionaries(st.text(), st.integers(), min_size=1))
def test_a_body_is_its_messages_and_fields(requests: list[list[dict[str, object]]], fields: dict[str, int]) -> None:
    fields.pop("messages", None)
    fields["model"] = 1
    encoder = Encoder()
    for messages in requests:
        plain = [{name: value for name, value in one.items() if name != "cache"} for one in messages]
        assert json.loads(encoder.body(messages, fields)) == {"messages": plain, **fields}


def test_it_forgets_before_it_grows_without_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "KEPT", 1000)
    encoder = Encoder()
    for number in range(100):
        encoder.body([{"role": "user", "content": f"{number:0>100}", "cache": True}], {"model": "m"})
    assert sum(map(len, encoder._messages.values())) <= 1000
