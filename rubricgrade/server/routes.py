"""The server's routes: our own, those of hosts, and those of probes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from rubricgrade import tree
from rubricgrade.errors import RubricgradeError
from rubricgrade.result import Grade
from rubricgrade.rewards import nemo_gym, openrlhf
from rubricgrade.rewards.conversation import from_responses
from rubricgrade.rewards.packing import REQUEST
from rubricgrade.rewards.rewarded import Rewarded, cause_of
from rubricgrade.server.desk import Episode, Place
from rubricgrade.server.episodes import episodes_of, one_episode, timeout_of
from rubricgrade.server.readers import TooLate
from rubricgrade.server.reading import Body, gone, read_body
from rubricgrade.server.refusing import Refused
from rubricgrade.server.scratch import Scratch
from rubricgrade.server.service import Service
from rubricgrade.server.shelf import Shelf
from rubricgrade.trajectory import Trajectory

Work = Callable[[Service, "_Arrived"], Coroutine[Any, Any, Response]]
Read = Callable[[Body, Shelf, Scratch, tree.Budget], list[Episode]]

GRADES = "rubricgrade.grades/1"
CLIENT_GONE = 499
"""What nobody reads any more; the number that web servers log for it."""


def routes(service: Service) -> list[Route]:
    """The routes of a service."""

    def post(path: str, work: Work) -> Route:
        async def endpoint(request: Request) -> Response:
            return await _taken(service, request, work)

        return Route(path, endpoint, methods=["POST"])

    async def health(_request: Request) -> Response:
        on = service.alarm.on
        status = HTTPStatus.SERVICE_UNAVAILABLE if on else HTTPStatus.OK
        return JSONResponse({"status": "degraded" if on else "ok", "ungraded_share": service.alarm.share}, status)

    async def ready(_request: Request) -> Response:
        stopping = service.desk.stopping
        status = HTTPStatus.SERVICE_UNAVAILABLE if stopping else HTTPStatus.OK
        return JSONResponse({"status": "stopping" if stopping else "ready"}, status)

    async def metrics(_request: Request) -> Response:
        return Response(service.metrics.text(), media_type=CONTENT_TYPE_LATEST)

    async def seed(_request: Request) -> Response:
        # NeMo Gym's agents open a session before they verify; here is none to open.
        return JSONResponse({})

    found = [
        post("/grade", _one),
        post("/grade/batch", _batch),
        post("/verify", _verify),
        post("/verify/{rubric}", _verify),
        Route("/seed_session", seed, methods=["POST"]),
        Route("/health", health),
        Route("/ready", ready),
        Route("/metrics", metrics),
    ]
    if service.settings.ungraded_reward is not None:
        found += [post("/openrlhf", _openrlhf), post("/openrlhf/{rubric}", _openrlhf)]
    return found


@dataclass(frozen=True, slots=True)
class _Arrived:
    """A request that has arrived whole.

    Attributes:
        request: As the framework has it.
        body: Read.
        scratch: What it holds.
        place: Its place at the desk.
        since: The event loop's time when its head was there: all that it may take counts from then.
    """

    request: Request
    body: Body
    scratch: Scratch
    place: Place
    since: float


async def _taken(service: Service, request: Request, work: Work) -> Response:
    """Read a request and work on it for as long as its client waits."""
    since = asyncio.get_running_loop().time()
    try:
        # A full desk says so before anything is read.
        with service.desk.place() as place, service.scratch() as scratch:
            body = await read_body(request, service.settings.limits, scratch, service.readers)
            return await _while_there(request, work(service, _Arrived(request, body, scratch, place, since)))
    except Refused as error:
        service.metrics.refused(error.code)
        raise
    except RubricgradeError:
        service.metrics.refused("bad_request")
        raise
    except ClientDisconnect:
        service.metrics.refused("client_gone")
        return Response(status_code=CLIENT_GONE)


async def _while_there(request: Request, work: Coroutine[Any, Any, Response]) -> Response:
    """What comes of the work; it is told to end when the client goes away.

    Raises:
        ClientDisconnect: It did.
    """
    working, watching = asyncio.create_task(work), asyncio.create_task(gone(request))
    try:
        await asyncio.wait({working, watching}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnect
        return await working
    finally:
        watching.cancel()
        working.cancel()
        await asyncio.wait({working, watching})


async def _one(service: Service, arrived: _Arrived) -> Response:
    (grade,) = await _grades(service, arrived, one_episode)
    # Whatever the client calls its request, for it to know the answer by.
    name = arrived.request.headers.get(REQUEST)
    headers = {} if name is None else {REQUEST: name}
    return Response(grade.model_dump_json(), headers=headers, media_type="application/json")


async def _batch(service: Service, arrived: _Arrived) -> Response:
    grades = await _grades(service, arrived, episodes_of)
    joined = ",".join(grade.model_dump_json() for grade in grades)
    return Response(f'{{"schema":"{GRADES}","grades":[{joined}]}}', media_type="application/json")


async def _grades(service: Service, arrived: _Arrived, read: Read) -> list[Grade]:
    limits = service.settings.limits
    until = arrived.since + min(limits.timeout, timeout_of(arrived.body) or limits.timeout)
    budget = tree.Budget(total=limits.unpacked, file=limits.unpacked)
    reading = partial(read, arrived.body, service.shelf, arrived.scratch, budget)
    episodes = await service.readers.read(reading, arrived.scratch, until)
    arrived.scratch.share.grow(arrived.scratch.unpacked)
    return await service.desk.grades(episodes, until, arrived.place)


async def _openrlhf(service: Service, arrived: _Arrived) -> Response:
    builds, rows = openrlhf.samples(arrived.body.value)
    found = await _rewarded(service, arrived, builds, rows)
    return JSONResponse(openrlhf.reply(found, ungraded=service.settings.ungraded_reward or 0.0))


async def _verify(service: Service, arrived: _Arrived) -> Response:
    value = dict(arrived.body.value)
    (found,) = await _rewarded(service, arrived, [lambda: from_responses(value)], [value])
    return JSONResponse(nemo_gym.reply(value, found))


async def _rewarded(
    service: Service, arrived: _Arrived, builds: Sequence[Callable[[], Trajectory]], rows: Sequence[Mapping[str, Any]]
) -> list[Rewarded]:
    """What came of a host's episodes; one that can't be used is an outcome like any other."""
    clock = asyncio.get_running_loop().time
    until = arrived.since + service.settings.limits.timeout
    shelf = service.shelf
    path = arrived.request.path_params.get("rubric")
    if path is not None and not shelf.knows(path):
        raise Refused(HTTPStatus.NOT_FOUND, "unknown_rubric", f"there is no rubric {path!r} here")

    service.desk.take(arrived.place, len(rows))

    def episode(build: Callable[[], Trajectory], row: Mapping[str, Any]) -> Episode | Rewarded:
        if clock() > until:
            raise TooLate
        name = path or shelf.named_by(row)
        try:
            return Episode(build(), shelf.of_row(name, row), name, arrived.scratch)
        except RubricgradeError as error:
            return Rewarded(None, cause_of(error), str(error))

    def episodes() -> list[Episode | Rewarded]:
        return [episode(build, row) for build, row in zip(builds, rows, strict=True)]

    try:
        found = await service.readers.read(episodes, arrived.scratch, until)
    except TooLate as late:
        found = [Rewarded(None, "timeout", late.message) for _ in rows]
    graded = [each for each in found if isinstance(each, Episode)]
    grades = iter(await service.desk.grades(graded, until, arrived.place))
    for each in found:
        if isinstance(each, Rewarded):
            service.unread(path or "", each.cause or "fault")
    return [each if isinstance(each, Rewarded) else Rewarded.of(next(grades)) for each in found]
