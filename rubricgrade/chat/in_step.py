"""Connections on which an answer belongs to its question: a late or second answer to one is never that to the next."""

from __future__ import annotations

import aiohttp
from aiohttp.client_reqrep import ConnectionKey
from aiohttp.connector import Connection
from aiohttp.tracing import Trace


class InStep(aiohttp.TCPConnector):
    """Takes a connection again only if nothing has come on it since it was put back.

    A gateway that answers twice, first that it is out of time and then after all, would otherwise be one answer behind
    from there on.
    """

    async def _get(self, key: ConnectionKey, traces: list[Trace]) -> Connection | None:
        while (connection := await super()._get(key, traces)) is not None:
            if connection.protocol is not None and not connection.protocol.should_close:
                break
            connection.close()
        return connection
