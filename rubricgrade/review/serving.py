"""Serving the review app on this machine, or on a network with a token."""

from __future__ import annotations

import socket
from collections.abc import Callable

import uvicorn

from rubricgrade.errors import Fault, InputError
from rubricgrade.review.web.app import make_app
from rubricgrade.review.web.front import Front


def serve(front: Front, host: str, port: int, ready: Callable[[str], None]) -> None:
    """Serve until interrupted.

    Args:
        front: What is served.
        host: Where to listen.
        port: Where to listen; 0 is any that is free.
        ready: Called with the address once connections are taken.

    Raises:
        InputError: The port can't be had.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, port))
        except OSError as error:
            raise InputError(Fault(f"can't listen on {host}, port {port}: {error.strerror or error}")) from error
        listening.listen()
        name = f"[{host}]" if ":" in host else host
        token = f"?token={front.access.token}" if front.access.token else ""
        ready(f"http://{name}:{listening.getsockname()[1]}/{token}")
        # Requests hold what reviewers read; nobody needs a log of them.
        config = uvicorn.Config(
            make_app(front), lifespan="off", log_level="warning", access_log=False, server_header=False
        )
        uvicorn.Server(config).run(sockets=[listening])
    finally:
        listening.close()
