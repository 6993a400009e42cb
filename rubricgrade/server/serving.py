"""Running a server until it is told to stop, and then until everything that it took has its answer."""

from __future__ import annotations

import asyncio
import logging
import resource
import signal
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager

import uvicorn

from rubricgrade.collecting import collect_seldom
from rubricgrade.errors import InputError
from rubricgrade.server.app import make_app
from rubricgrade.server.connections import Connection
from rubricgrade.server.desk import Desk
from rubricgrade.server.service import opened
from rubricgrade.server.settings import Settings

LOG = logging.getLogger("rubricgrade.server")

BACKLOG = 4096
"""Connections that may wait to be taken: a trainer opens hundreds at once."""
KEEP_ALIVE = 75
"""Seconds that an idle connection stays; longer than clients keep theirs, so that none is closed under a request."""
MOST_FILES = 65536
LAST_WORDS = 10
"""Seconds in which the last answers have to be read by their clients."""


class _Server(uvicorn.Server):
    """One that tells the desk when it is to stop, and leaves the signal's exit code to us."""

    def __init__(self, config: uvicorn.Config, desk: Desk, drain: float) -> None:
        super().__init__(config)
        self._desk = desk
        self._drain = drain

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        loop = asyncio.get_running_loop()
        signals = (signal.SIGINT, signal.SIGTERM)
        for each in signals:
            loop.add_signal_handler(each, self._stop)
        try:
            yield
        finally:
            for each in signals:
                loop.remove_signal_handler(each)

    def _stop(self) -> None:
        again = ", a second signal ends the wait" if not self.should_exit else ", not waiting any longer"
        LOG.warning("stopping: %d waiting, %d in work%s", self._desk.waiting, self._desk.in_flight, again)
        self.should_exit = True
        self._desk.stop(self._drain)


def serve(settings: Settings, started: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT; returns when all that was taken is answered.

    Args:
        settings: What with.
        started: Called with the server's URL once it takes requests.

    Raises:
        InputError: The address can't be listened on, or a rubric, the judge or the template can't be used.
    """
    _allow_many_files()
    listening = _listen(settings.host, settings.port)
    with listening:
        asyncio.run(_serve(settings, listening, started))


async def _serve(settings: Settings, listening: socket.socket, started: Callable[[str], None]) -> None:
    async with opened(settings) as service:
        limits = settings.limits

        class Patient(Connection):
            head_seconds = limits.read_timeout

        config = uvicorn.Config(
            make_app(service),
            http=Patient,
            lifespan="off",
            ws="none",
            log_config=None,
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            backlog=BACKLOG,
            timeout_keep_alive=KEEP_ALIVE,
            timeout_graceful_shutdown=int(limits.drain + limits.read_timeout) + LAST_WORDS,
        )
        collect_seldom()
        started(_url(listening))
        await _Server(config, service.desk, limits.drain).serve(sockets=[listening])


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise InputError(f"can't listen on {host}, port {port}: {error.strerror or error}") from error


def _allow_many_files() -> None:
    """Every client, every call to a judge and every sandbox takes some; a common limit of 1024 is soon reached."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = MOST_FILES if hard == resource.RLIM_INFINITY else min(MOST_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def _url(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
