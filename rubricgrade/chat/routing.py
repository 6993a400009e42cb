"""Which route a model is called by, from its name alone; keys and addresses come from the caller or the environment."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from rubricgrade.chat.calling import Route
from rubricgrade.chat.contract import AskFailed
from rubricgrade.chat.prices import is_rate, listing

Forced = Literal["auto", "compatible", "litellm"]

OPENAI = "https://api.openai.com/v1"
LOCAL = "local:"
"""Begins the name of a model that runs in this process; a file's path follows."""

_KEYS_AND_BASES: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "openai": (("OPENAI_API_KEY",), ("OPENAI_BASE_URL", "OPENAI_API_BASE")),
    "custom_openai": (("OPENAI_API_KEY",), ("OPENAI_BASE_URL", "OPENAI_API_BASE")),
    "openai_like": (("OPENAI_LIKE_API_KEY",), ("OPENAI_LIKE_API_BASE",)),
    "hosted_vllm": (("HOSTED_VLLM_API_KEY",), ("HOSTED_VLLM_API_BASE",)),
    "lm_studio": (("LM_STUDIO_API_KEY",), ("LM_STUDIO_API_BASE",)),
}
"""Providers that speak OpenAI's protocol, with litellm's environment variables for their keys and bases."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A model at an OpenAI-compatible endpoint: its provider, its name there, and the base if one is known."""

    provider: str
    name: str
    base: str | None


def is_local(model: str) -> bool:
    """Whether a model runs in this process."""
    return model.startswith(LOCAL)


def find_endpoint(model: str, base: str | None) -> Endpoint | None:
    """The endpoint that a model name stands for, or None when only litellm can call it.

    Args:
        model: As the caller wrote it.
        base: The caller's API base.
    """
    provider, slash, name = model.partition("/")
    if not slash or provider not in _KEYS_AND_BASES:
        # A bare name is OpenAI's if the list says so, and anybody's at an address of the caller's if no list knows it.
        listed = listing(model).get("litellm_provider")
        if slash or not (listed == "openai" or (listed is None and base)):
            return None
        provider, name = "openai", model
    if listing(model).get("mode", "chat") != "chat" or name.startswith("responses/"):
        return None
    base = base or _environment(_KEYS_AND_BASES[provider][1]) or (OPENAI if provider == "openai" else None)
    return Endpoint(provider, name, base)


def base_of(model: str, base: str | None) -> str | None:
    """The API base at which a model is asked, from the caller or the environment; None if only litellm knows."""
    endpoint = None if is_local(model) else find_endpoint(model, base)
    found = base if endpoint is None else endpoint.base
    return found.rstrip("/") if found else None


def pick(
    model: str, *, base: str | None, key: str | None, extra: Mapping[str, Any], forced: Forced = "auto"
) -> tuple[Route, str]:
    """The route of a model, and the name of the place whose slots it shares.

    Raises:
        AskFailed: What the route needs is missing.
    """
    extra = {name: value for name, value in extra.items() if not is_rate(name)}
    if is_local(model):
        from rubricgrade.chat.local import Local  # noqa: PLC0415 - for those who need it

        return Local(Path(model.removeprefix(LOCAL)), extra), model
    endpoint = find_endpoint(model, base) if forced != "litellm" else None
    if endpoint is not None:
        return _compatible(model, endpoint, key, extra)
    if forced == "compatible":
        raise AskFailed(f"{model} has no OpenAI-compatible endpoint that is known; name its API base.", "not_found")
    from rubricgrade.chat.providers import Provider  # noqa: PLC0415 - for those who need it

    listed = str(listing(model).get("litellm_provider", ""))
    provider = model.partition("/")[0] if "/" in model else listed
    claude = "claude" in model.lower()
    route = Provider(
        model,
        base,
        key,
        extra,
        breakpoints=provider == "anthropic" or (claude and provider.startswith(("bedrock", "vertex_ai"))),
        routing=provider == "openai" and listed == "openai",
    )
    return route, _origin(base) if base else provider or model


def _compatible(model: str, endpoint: Endpoint, key: str | None, extra: Mapping[str, Any]) -> tuple[Route, str]:
    from rubricgrade.chat.compatible import Compatible  # noqa: PLC0415 - aiohttp takes a third of a second to import

    keys, bases = _KEYS_AND_BASES[endpoint.provider]
    if endpoint.base is None:
        raise AskFailed(f"{model} needs the API base of its server, from the caller or {bases[0]}.", "not_found")
    base = endpoint.base.rstrip("/").removesuffix("/chat/completions")
    parts = urlsplit(base)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise AskFailed(f"{model}: the API base is no http(s) URL.", "not_found")
    key = key or _environment(keys)
    if base == OPENAI and not key:
        raise AskFailed(f"{model}: no API key was given; set {keys[0]}.", "auth")
    fields = {name: value for name, value in extra.items() if name not in ("extra_headers", "extra_body")}
    fields.update(extra.get("extra_body", {}))
    try:
        json.dumps(fields)
    except (TypeError, ValueError) as error:
        raise AskFailed(f"{model}: the judge's extra settings can't be sent as JSON: {error}.", "bad_request") from None
    route = Compatible(
        base,
        endpoint.name,
        key,
        {str(name): str(value) for name, value in extra.get("extra_headers", {}).items()},
        fields,
        proxy=_proxy(base),
        official=base == OPENAI,
        cache_keys=base == OPENAI or listing(model).get("litellm_provider") == "openai",
    )
    return route, _origin(base)


def _origin(base: str) -> str:
    """Scheme, host and port of a URL."""
    parts = urlsplit(base)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def _proxy(base: str) -> str | None:
    """The proxy that the environment names for a URL; never one for this machine itself."""
    proxies = getproxies()
    if not proxies:
        return None
    parts = urlsplit(base)
    host = parts.hostname or ""
    if host in ("localhost", "127.0.0.1", "::1") or proxy_bypass(host):
        return None
    return proxies.get(parts.scheme) or proxies.get("all")


def _environment(names: tuple[str, ...]) -> str | None:
    return next((value for name in names if (value := os.environ.get(name))), None)
