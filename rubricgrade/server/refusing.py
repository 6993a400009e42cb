"""Requests that are not taken: one exception, and its answer as JSON with every fault."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from http import HTTPStatus
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from rubricgrade.errors import InputError, RubricError, TrajectoryError

CLOSE = {"connection": "close"}
"""For answers given before the whole request was read: what follows on the connection is not to be read."""


class Refused(Exception):
    """A request that is not taken; nothing was spent.

    Attributes:
        status: The HTTP status.
        code: Names the reason for programs.
        message: Says it for people.
        headers: Of the answer.
    """

    def __init__(self, status: HTTPStatus, code: str, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.headers = status, code, message, dict(headers or {})


def answer(status: int, code: str, message: str, **more: Any) -> JSONResponse:
    """An error as JSON: ``{"error": {"code", "message", "faults"}}``."""
    faults = more.pop("faults", [])
    return JSONResponse({"error": {"code": code, "message": message, "faults": faults}}, status, **more)


async def refused(_request: Request, error: Exception) -> Response:
    """The answer to a request that is not taken."""
    assert isinstance(error, Refused)  # noqa: S101 - registered for this one only
    return answer(error.status, error.code, error.message, headers=error.headers)


async def unusable(_request: Request, error: Exception) -> Response:
    """The answer to a request whose rubric, trajectory or form can't be used."""
    assert isinstance(error, InputError)  # noqa: S101 - registered for this one only
    status, code = HTTPStatus.BAD_REQUEST, "bad_request"
    if isinstance(error, TrajectoryError):
        status, code = HTTPStatus.UNPROCESSABLE_ENTITY, "trajectory_invalid"
    elif isinstance(error, RubricError):
        status, code = HTTPStatus.UNPROCESSABLE_ENTITY, "rubric_invalid"
    return answer(status, code, str(error), faults=[asdict(fault) for fault in error.faults])


async def by_status(_request: Request, error: Exception) -> Response:
    """The answer where the framework itself refuses: no such path, no such method."""
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for this one only
    code = HTTPStatus(error.status_code).phrase.lower().replace(" ", "_")
    return answer(error.status_code, code, error.detail, headers=error.headers)
