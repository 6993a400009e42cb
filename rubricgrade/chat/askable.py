"""Whether a model can be asked at all, found out without the network and before anything is begun.

What only its provider knows (is the key valid, is there a model of this name) shows itself with the first call.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rubricgrade.chat.connecting import Options, wrong_extra
from rubricgrade.chat.contract import AskFailed
from rubricgrade.chat.faults import Fault
from rubricgrade.chat.prices import listed, listing, price_of
from rubricgrade.chat.routing import LOCAL, find_endpoint, is_local, pick
from rubricgrade.errors import MissingExtraError

_KEYS: Mapping[str, tuple[str, ...]] = {
    "openai": ("OPENAI_",),
    "anthropic": ("ANTHROPIC_",),
    "cerebras": ("CEREBRAS_",),
    "cohere": ("COHERE_", "CO_"),
    "cohere_chat": ("COHERE_", "CO_"),
    "deepinfra": ("DEEPINFRA_",),
    "deepseek": ("DEEPSEEK_",),
    "fireworks_ai": ("FIREWORKS_", "FIREWORKSAI_"),
    "gemini": ("GEMINI_", "GOOGLE_"),
    "groq": ("GROQ_",),
    "mistral": ("MISTRAL_",),
    "moonshot": ("MOONSHOT_",),
    "nvidia_nim": ("NVIDIA_NIM_", "NVIDIA_"),
    "openrouter": ("OPENROUTER_", "OR_"),
    "perplexity": ("PERPLEXITYAI_", "PERPLEXITY_"),
    "replicate": ("REPLICATE_",),
    "together_ai": ("TOGETHERAI_", "TOGETHER_"),
    "xai": ("XAI_",),
}
"""Providers that answer nobody without a key, and how the variables begin that litellm finds it in.

``<first of them>API_KEY`` is the one to set. Providers whose credentials also come from files, roles or services of a
cloud (Azure, Bedrock, Vertex AI) are left out, since what is there can't be known without the network.
"""

_MODULES: Mapping[str, tuple[str, str]] = {
    "bedrock": ("boto3", "boto3"),
    "sagemaker": ("boto3", "boto3"),
    "vertex_ai": ("google.auth", "google-auth"),
}
"""What litellm needs besides itself for some providers: the module, and the package that holds it."""

_ANSWERING = frozenset({None, "chat", "completion", "responses"})
"""Modes of the price list whose models answer questions in words."""


def trouble(model: str, how: Options, *, here: bool = True) -> str | None:
    """Why a model can't be asked as it is named, and what to do; None if nothing speaks against it.

    It may import litellm, which takes seconds, where a name is one that the price list does not know.

    Args:
        model: As the caller wrote it.
        how: The settings that it would be called with; the model that they name does not matter.
        here: Whether it is this machine that will ask: otherwise keys, files and packages may be where it is done.
    """
    if words := wrong_extra(how.extra):
        return f"{model}: {words}."
    if is_local(model):
        return _of_file(model) if here else None
    if words := _unreachable(model, how.api_base, how.api_key, how.extra, here=here):
        return words
    if how.max_cost is not None and price_of(model, how.extra) is None:
        return (
            f"{model}: its price is not known, so no cap of costs can be kept. Give it (--judge-price for a judge, "
            "--price for an agent, in Python input_cost_per_token and output_cost_per_token in `extra`), or set no cap."
        )
    return None


def _unreachable(model: str, base: str | None, key: str | None, extra: Mapping[str, Any], *, here: bool) -> str | None:
    mode = listing(model).get("mode")
    if base is None and mode not in _ANSWERING:
        return f"{model}: is a model for {str(mode).replace('_', ' ')}, which can't be asked a question."
    endpoint = find_endpoint(model, base)
    if endpoint is not None:
        if not here and endpoint.base is None:
            return None
        try:
            pick(model, base=base, key=key, extra=extra)
        except AskFailed as error:
            return None if error.kind == "auth" and not here else str(error)
        return None
    provider = model.partition("/")[0] if "/" in model else str(listing(model).get("litellm_provider", ""))
    if provider not in _providers() and (stranger := _stranger(model, base)):
        return stranger
    given = base or key or any(_is_credential(name) for name in extra)
    return None if given or not here else _of_provider(model, provider)


def _of_file(model: str) -> str | None:
    path = Path(model.removeprefix(LOCAL)).expanduser().absolute()
    if not path.is_file():
        near = get_close_matches(path.name, [file.name for file in path.parent.glob("*.gguf")], 1)
        return f"{model}: there is no file {path}{_meant(near)}"
    try:
        with path.open("rb") as opened:
            begins = opened.read(4)
    except OSError as error:
        return f"{model}: {path} can't be read: {error.strerror}."
    if begins != b"GGUF":
        return f"{model}: {path} is no model file that llama.cpp takes (GGUF)."
    if not _installed("xllamacpp"):
        return f"{model}: {MissingExtraError('A judge in this process', 'local')}."
    return None


def _of_provider(model: str, provider: str) -> str | None:
    """What a known provider wants that is not there."""
    starts = _KEYS.get(provider)
    if starts is not None and not any(_is_credential(name) and name.startswith(starts) for name in _set_variables()):
        return f"{model}: no API key was given; set {starts[0]}API_KEY."
    wanted = next((needs for name, needs in _MODULES.items() if provider.startswith(name)), None)
    if wanted is not None and not _installed(wanted[0]):
        return f"{model}: {provider} is called with a package that is absent: pip install {wanted[1]}"
    return None


def _stranger(model: str, base: str | None) -> str | None:
    """What to say of a name whose provider the price list does not know; None if litellm itself knows it."""
    from rubricgrade.chat.providers import knows  # noqa: PLC0415 - imports litellm, for those who need it

    try:
        if knows(model, base):
            return None
    except Fault as fault:
        return f"{model}: {fault.detail}"
    provider, slash, name = model.partition("/")
    if slash:
        near = [f"{match}/{name}" for match in get_close_matches(provider, _providers(), 1)]
    else:
        near = get_close_matches(model, [each for each, mode in listed().items() if mode in _ANSWERING], 1)
    return (
        f"{model}: no provider is known for this name{_meant(near)} Write PROVIDER/MODEL as litellm does, or, for an "
        f"OpenAI-compatible endpoint of your own, openai/NAME and its API base."
    )


def _meant(near: list[str]) -> str:
    return f"; did you mean {near[0]}?" if near else "."


def _providers() -> frozenset[str]:
    """Providers whose names begin the names of listed models."""
    return frozenset(name.partition("/")[0] for name in listed() if "/" in name) | {*_KEYS, *_MODULES}


def _set_variables() -> list[str]:
    return [name for name, value in os.environ.items() if value]


def _is_credential(name: str) -> bool:
    return name.lower().endswith(("key", "token", "credentials", "headers"))


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ModuleNotFoundError, ValueError):  # the package around it is absent; its import is forbidden
        return False
