"""A real model in this process: plumbing only, since the smallest ones answer no better than chance."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest

from rubricgrade.chat import AskFailed, connect, preload
from rubricgrade.chat.prices import price_of
from rubricgrade.chat.tokens import Tokens
from rubricgrade.errors import MissingExtraError
from tests.chat.asking import SCHEMA, Settings, question

MODEL = os.environ.get("RUBRICGRADE_TEST_GGUF", "")


def test_without_llama_cpp_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    monkeypatch.setattr("rubricgrade.chat.connecting.find_spec", lambda _name: None)
    with pytest.raises(MissingExtraError, match=r"rubricgrade\[local\]"):
        connect(Settings(model="local:model.gguf"))


def test_a_model_in_this_process_is_free_and_needs_no_litellm(monkeypatch: pytest.MonkeyPatch) -> None:
    price = price_of("local:x.gguf", {})
    assert price is not None
    assert price.cost(Tokens(1000, 10, 0, 1000)) == 0.0
    monkeypatch.setattr("threading.Thread.start", lambda _thread: pytest.fail("nothing is to be imported"))
    preload(Settings(model="local:x.gguf"))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    model = f"local:{tmp_path}/none.gguf"
    with pytest.raises(AskFailed) as caught:
        asyncio.run(connect(Settings(model=model)).ask(question(model=model)))
    assert caught.value.kind == "not_found"
    assert caught.value.usage.calls == 0


def test_a_file_that_is_no_model(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    (tmp_path / "bad.gguf").write_bytes(b"no model")
    model = f"local:{tmp_path}/bad.gguf"
    with pytest.raises(AskFailed) as caught:
        asyncio.run(connect(Settings(model=model)).ask(question(model=model)))
    assert caught.value.kind == "bad_request"


@pytest.mark.skipif(not Path(MODEL).is_file(), reason="RUBRICGRADE_TEST_GGUF names no model file")
def test_a_real_model_keeps_to_the_schema_and_reads_the_prefix_once() -> None:
    pytest.importorskip("xllamacpp")
    model = f"local:{MODEL}"
    chat = connect(Settings(model=model, extra={"n_ctx": 2048, "n_threads": 1}))
    prefix = {"role": "system", "content": "The record. " + "It went well. " * 60, "cache": True}

    async def main() -> None:
        for asked in ("Did it go well?", "Was there a storm?"):
            messages = (prefix, {"role": "user", "content": asked})
            reply = await chat.ask(question(model=model, messages=messages, schema=SCHEMA, max_tokens=64))
            assert json.loads(reply.text)["answer"] in ("yes", "no")
            assert (reply.finish, reply.usage.cost) == ("stop", 0.0)
            assert reply.model == Path(MODEL).name
        assert reply.usage.cached_tokens > 100
        with pytest.raises(AskFailed) as caught:
            await chat.ask(question(model=model, messages=({"role": "user", "content": "word " * 5000},)))
        assert caught.value.kind == "too_long"

    asyncio.run(main())
