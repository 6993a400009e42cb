from __future__ import annotations

import pytest

from rubricgrade.chat import AskFailed, connect, preload
from rubricgrade.chat.compatible import Compatible
from rubricgrade.chat.providers import Provider
from rubricgrade.chat.routing import pick
from rubricgrade.errors import InputError, JudgeError
from tests.chat.asking import Settings, ask, question


@pytest.mark.parametrize(
    ("model", "base", "expected"),
    [
        ("openai/gpt-4o-mini", None, "https://api.openai.com/v1"),
        ("gpt-4o-mini", None, "https://api.openai.com/v1"),
        ("gpt-4o-mini", "http://gateway:1/v1/", "http://gateway:1/v1"),
        ("local", "http://box:8080/v1/chat/completions", "http://box:8080/v1"),
        ("hosted_vllm/org/model", "http://vllm:8000/v1", "http://vllm:8000/v1"),
    ],
)
def test_what_speaks_openai_goes_the_short_way(model: str, base: str | None, expected: str) -> None:
    route, place = pick(model, base=base, key="k" * 10, extra={})
    assert isinstance(route, Compatible)
    assert route.base == expected
    assert expected.startswith(place)
    assert route.official is (base is None)
    assert route.cache_keys is ("gpt" in model)


@pytest.mark.parametrize(
    ("model", "base", "place"),
    [
        ("anthropic/claude-sonnet-4-5", None, "anthropic"),
        ("claude-sonnet-4-5", None, "anthropic"),
        ("claude-sonnet-4-5", "https://proxy.test/x", "https://proxy.test"),
        ("gemini/gemini-2.5-pro", None, "gemini"),
        ("azure/deployment", "https://me.openai.azure.com", "https://me.openai.azure.com"),
        ("openai/responses/gpt-5", None, "openai"),
        ("nobody-knows", None, "nobody-knows"),
    ],
)
def test_everything_else_goes_through_litellm(model: str, base: str | None, place: str) -> None:
    route, found = pick(model, base=base, key=None, extra={})
    assert isinstance(route, Provider)
    assert found == place


@pytest.mark.parametrize(
    ("model", "marks"),
    [
        ("anthropic/claude-sonnet-4-5", True),
        ("claude-sonnet-4-5", True),
        ("bedrock/anthropic.claude-3-5-sonnet-20241022-v2:0", True),
        ("vertex_ai/claude-sonnet-4-5", True),
        ("vertex_ai/gemini-2.5-pro", False),
        ("bedrock/meta.llama3-8b-instruct-v1:0", False),
        ("gemini/gemini-2.5-pro", False),
        ("openrouter/anthropic/claude-sonnet-4.5", False),
    ],
)
def test_who_gets_cache_breakpoints(model: str, marks: bool) -> None:
    route, _ = pick(model, base=None, key=None, extra={})
    assert isinstance(route, Provider)
    assert route.breakpoints is marks


def test_keys_and_bases_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "from-openai")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://gateway/v1")
    monkeypatch.setenv("HOSTED_VLLM_API_BASE", "http://vllm/v1")
    monkeypatch.delenv("HOSTED_VLLM_API_KEY", raising=False)
    route, _ = pick("openai/x", base=None, key=None, extra={})
    assert isinstance(route, Compatible)
    assert (route.base, route.key) == ("http://gateway/v1", "from-openai")
    route, _ = pick("hosted_vllm/x", base=None, key=None, extra={})
    assert isinstance(route, Compatible)
    assert (route.base, route.key) == ("http://vllm/v1", None)
    route, _ = pick("openai/x", base="http://other/v1", key="given", extra={})
    assert isinstance(route, Compatible)
    assert (route.base, route.key) == ("http://other/v1", "given")


def test_a_proxy_comes_from_the_environment_but_never_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://proxy:3128")
    monkeypatch.setenv("http_proxy", "http://proxy:3128")
    monkeypatch.setenv("no_proxy", "inside.test")
    for base, proxy in {
        "https://api.test/v1": "http://proxy:3128",
        "https://inside.test/v1": None,
        "http://127.0.0.1:1/v1": None,
        "http://localhost:1/v1": None,
    }.items():
        route, _ = pick("openai/x", base=base, key=None, extra={})
        assert isinstance(route, Compatible)
        assert route.proxy == proxy


@pytest.mark.parametrize(
    ("model", "base", "kind", "named"),
    [
        ("openai/gpt-4o-mini", None, "auth", "OPENAI_API_KEY"),
        ("hosted_vllm/x", None, "not_found", "HOSTED_VLLM_API_BASE"),
        ("openai/x", "ftp://host/v1", "not_found", "http"),
        ("openai/x", "localhost:8000", "not_found", "http"),
    ],
)
def test_what_is_missing_is_named_and_nothing_is_sent(
    model: str, base: str | None, kind: str, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HOSTED_VLLM_API_BASE", raising=False)
    chat = connect(Settings(model=model, api_base=base, api_key=None))
    with pytest.raises(AskFailed) as caught:
        ask(chat, question(model=model))
    assert caught.value.kind == kind
    assert named in str(caught.value)


def test_an_unknown_provider_is_named() -> None:
    with pytest.raises(AskFailed) as caught:
        ask(connect(Settings(model="nobody/x")), question(model="nobody/x"))
    assert caught.value.kind == "bad_request"
    assert "nobody/x" in str(caught.value)


def test_no_model_is_no_judge() -> None:
    with pytest.raises(JudgeError) as caught:
        connect(Settings(model=None))
    assert caught.value.cause == "no_judge"


@pytest.mark.parametrize("name", ["num_retries", "max_retries", "drop_params", "model", "api_base", "stream"])
def test_extra_settings_can_not_undo_what_is_promised(name: str) -> None:
    with pytest.raises(InputError, match=name):
        connect(Settings(extra={name: 3}))


def test_preloading_is_for_litellm_only(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[str] = []
    monkeypatch.setattr("threading.Thread.start", lambda thread: started.append(thread.name))
    preload(Settings(model="openai/gpt-4o-mini"))
    assert not started
    preload(Settings(model="anthropic/claude-sonnet-4-5"))
    assert len(started) == 1
