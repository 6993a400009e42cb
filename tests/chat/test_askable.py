"""Whether a model can be asked, found out without the network: names, keys, addresses, files and packages."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from rubricgrade.chat import askable
from tests.chat.asking import Settings


def trouble(model: str, *, here: bool = True, **given: Any) -> str | None:
    settings: dict[str, Any] = {"api_key": None, **given}
    return askable.trouble(model, Settings(**settings), here=here)


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.endswith(("_KEY", "_TOKEN", "_API_BASE", "_BASE_URL")):
            monkeypatch.delenv(name)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("gpt5", "gpt5: no provider is known for this name; did you mean gpt-5?"),
        ("antropic/claude-sonnet-4-5", "did you mean anthropic/claude-sonnet-4-5?"),
        ("wholly/unheard-of", "PROVIDER/MODEL"),
        ("openai/gpt-5-mini", "set OPENAI_API_KEY"),
        ("gpt-5-mini", "set OPENAI_API_KEY"),
        ("anthropic/claude-sonnet-4-5", "set ANTHROPIC_API_KEY"),
        ("claude-sonnet-4-5", "set ANTHROPIC_API_KEY"),
        ("openrouter/anthropic/claude-sonnet-4.5", "set OPENROUTER_API_KEY"),
        ("gemini/gemini-2.5-pro", "set GEMINI_API_KEY"),
        ("hosted_vllm/small", "HOSTED_VLLM_API_BASE"),
        ("openai/text-embedding-3-small", "is a model for embedding"),
    ],
)
def test_what_speaks_against_a_model_and_what_to_do(model: str, words: str) -> None:
    said = trouble(model)
    assert said is not None
    assert said.startswith(model)
    assert words in said


@pytest.mark.parametrize(
    ("model", "variable"),
    [
        ("openai/not-on-any-list-yet", "OPENAI_API_KEY"),
        ("anthropic/claude-sonnet-4-5", "ANTHROPIC_AUTH_TOKEN"),
        ("gemini/gemini-2.5-pro", "GOOGLE_API_KEY"),
        ("together_ai/some/model", "TOGETHER_API_KEY"),
        ("nvidia_nim/some/model", "NVIDIA_NIM_API_KEY"),
    ],
)
def test_a_key_by_any_of_its_names_is_enough(model: str, variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert trouble(model)
    monkeypatch.setenv(variable, "")
    assert trouble(model), "an empty variable is none"
    monkeypatch.setenv(variable, "k")
    assert trouble(model) is None


@pytest.mark.parametrize(
    "given",
    [{"api_key": "k"}, {"api_base": "http://proxy.test"}, {"extra": {"extra_headers": {"x-api-key": "k"}}}],
    ids=["key", "base", "headers"],
)
def test_what_the_caller_gives_counts(given: dict[str, Any]) -> None:
    assert trouble("anthropic/claude-sonnet-4-5", **given) is None


@pytest.mark.parametrize(
    "model", ["azure/my-deployment", "ollama/llama3", "litellm_proxy/any", "github_copilot/gpt-4o"]
)
def test_providers_whose_credentials_come_from_elsewhere_are_let_pass(model: str) -> None:
    assert trouble(model) is None


def test_a_name_at_an_address_of_the_callers_own_needs_no_list() -> None:
    assert trouble("gpt5", api_base="http://127.0.0.1:8000/v1") is None
    assert "no http(s) URL" in (trouble("gpt5", api_base="127.0.0.1:8000") or "")


def test_a_package_that_a_provider_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(askable.__dict__["_MODULES"], "bedrock", ("no_such_package.inside", "no-such-package"))
    assert "pip install no-such-package" in (trouble("bedrock/some-model") or "")
    monkeypatch.setitem(askable.__dict__["_MODULES"], "bedrock", ("json", "json"))
    assert trouble("bedrock/some-model") is None


def test_a_model_in_this_process_has_its_file_and_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "small-q4.gguf"
    file.write_bytes(b"GGUF")
    said = trouble(f"local:{tmp_path}/small-q5.gguf")
    assert f"there is no file {tmp_path}/small-q5.gguf; did you mean small-q4.gguf?" in (said or "")
    other = tmp_path / "weights.bin"
    other.write_bytes(b"no model")
    assert f"{other} is no model file that llama.cpp takes (GGUF)" in (trouble(f"local:{other}") or "")
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    assert "rubricgrade[local]" in (trouble(f"local:{file}") or "")


def test_elsewhere_keys_files_and_addresses_may_be_there() -> None:
    for model in ("openai/gpt-5-mini", "anthropic/claude-sonnet-4-5", "hosted_vllm/small", "local:/nowhere.gguf"):
        assert trouble(model)
        assert trouble(model, here=False) is None
    assert "no provider" in (trouble("wholly/unheard-of", here=False) or "")


def test_a_cap_needs_a_price() -> None:
    given: dict[str, Any] = {"api_base": "http://127.0.0.1:8000/v1", "max_cost": 1.0}
    assert "its price is not known, so no cap of costs can be kept" in (trouble("small", **given) or "")
    price = {"input_cost_per_token": 1e-6, "output_cost_per_token": 1e-6}
    assert trouble("small", **given, extra=price) is None
    assert trouble("gpt-4o", **given) is None


def test_settings_that_would_undo_what_is_promised() -> None:
    assert "can't hold num_retries" in (trouble("openai/x", api_key="k", extra={"num_retries": 3}) or "")
