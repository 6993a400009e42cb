"""The route to a model in this process: ``local:FILE.gguf``, served by llama.cpp on a loopback port of its own.

A model is loaded once per process. Small ones are for demos and plumbing; what they decide is no measure of quality.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import secrets
import threading
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rubricgrade.chat.compatible import Compatible
from rubricgrade.chat.contract import Request
from rubricgrade.chat.faults import Fault, Part
from rubricgrade.chat.finite import finite
from rubricgrade.chat.reading import Answer
from rubricgrade.errors import MissingExtraError

_OURS = ("n_ctx", "n_threads")
"""Settings in `extra` that are for loading the model and no part of a request."""

_LEAST_TIMEOUT = 900.0
"""Seconds. On a processor a long record takes minutes to read, and no network can be stuck."""

_REMEMBERED = 1024
"""MiB of prompts that were read and may come again, as those of several trajectories at a time do."""

_Key = tuple[int, str]
_locks: dict[_Key, threading.Lock] = {}
_served: dict[_Key, Served] = {}


@dataclass(frozen=True, slots=True)
class Served:
    """A model that runs: llama.cpp's server, which ends when it is let go, and the way to call it."""

    server: Any
    route: Compatible


class Local:
    """A model file. It answers greedily unless a request names a temperature, and its texts and lists have an end.

    Args:
        path: A ``.gguf`` file.
        extra: Fields of every request, and how to load: `n_ctx` (tokens of context; default: what the model was
            made for) and `n_threads` (default: half of the processors; more than are idle slow it down much).
    """

    def __init__(self, path: Path, extra: Mapping[str, Any]) -> None:
        self._path = path.expanduser().absolute()
        self._extra = extra

    @property
    def shown_base(self) -> str:
        """Where the model is."""
        return "this process"

    async def ready(self) -> None:
        """Load the model without holding up the event loop."""
        if self._key not in _served:
            await asyncio.to_thread(self._serve)

    async def send(self, request: Request, left_out: Collection[Part]) -> Answer:
        """As `Route.send`."""
        schema = None if request.schema is None else finite(request.schema)
        request = replace(request, schema=schema, timeout=max(request.timeout, _LEAST_TIMEOUT))
        return await _served[self._key].route.send(request, left_out)

    @property
    def _key(self) -> _Key:
        return os.getpid(), str(self._path)

    def _serve(self) -> None:
        with _locks.setdefault(self._key, threading.Lock()):
            if self._key in _served:
                return
            if not self._path.is_file():
                raise Fault("not_found", f"there is no file {self._path}", sent=False)
            try:
                _served[self._key] = self._load()
            except ImportError:
                raise Fault(
                    "not_found", str(MissingExtraError("A judge in this process", "local")), sent=False
                ) from None
            except RuntimeError as error:
                why = str(error).rstrip(".")
                raise Fault("bad_request", f"llama.cpp can't load {self._path}: {why}", sent=False) from None

    def _load(self) -> Served:
        llama = importlib.import_module("xllamacpp")
        key = secrets.token_urlsafe()
        settings: Any = llama.CommonParams()
        settings.model.path = str(self._path)
        settings.model_alias = {self._path.name}
        settings.n_ctx = int(self._extra.get("n_ctx", 0))
        # One slot: several would each read the shared prefix for themselves.
        settings.n_parallel = 1
        settings.cache_ram_mib = _REMEMBERED
        threads = int(self._extra.get("n_threads", max(1, (os.cpu_count() or 1) // 2)))
        settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = threads
        settings.hostnames = ["127.0.0.1"]
        settings.port = 0
        settings.api_keys = [key]
        # It says what it holds most likely, and the same when asked again, unless the request names a temperature.
        settings.sampling.temp = 0.0
        settings.ui = False
        settings.verbosity = -1
        server: Any = llama.Server(settings)
        extra = {name: value for name, value in self._extra.items() if name not in _OURS}
        return Served(server, Compatible(f"{server.listening_address}/v1", self._path.name, key, extra=extra))
