"""The routes: pages, the JSON API with its description, and the live positions.

`ENDPOINTS` lists the API; routes and the OpenAPI document are both made from it.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp
from starlette.websockets import WebSocket, WebSocketDisconnect

from asynccfr import __version__
from asynccfr.errors import PlayerError
from asynccfr.web.guard import Guard, Rules
from asynccfr.web.lounge import Lounge, Refused
from asynccfr.web.messages import (
    Action,
    Advice,
    Estimate,
    GameOnOffer,
    NewTable,
    PlayOn,
    Position,
    Problem,
    Replay,
    Seat,
    ServerStatistics,
)

STATIC = Path(__file__).parent / "static"
BODY_BYTES = 16 * 1024
BODY_SECONDS = 10
SEND_SECONDS = 10


class Endpoint(NamedTuple):
    """A request of the API: `handle(lounge, token, body)` answers it."""

    method: str
    path: str
    summary: str
    handle: Callable[[Lounge, str, Any], Awaitable[Any]]
    answer: Any
    body: Any = None
    status: int = 200


async def games(lounge: Lounge, token: str, body: None) -> list[GameOnOffer]:
    return lounge.on_offer()


async def statistics(lounge: Lounge, token: str, body: None) -> ServerStatistics:
    return lounge.statistics()


async def new_table(lounge: Lounge, token: str, body: NewTable) -> Seat:
    return await lounge.new_table(body)


async def play_on(lounge: Lounge, token: str, body: PlayOn) -> Seat:
    return await lounge.play_on(body)


async def join(lounge: Lounge, token: str, body: None) -> Seat:
    return lounge.join(token)


async def position(lounge: Lounge, token: str, body: None) -> Position:
    return await lounge.position(lounge.find(token))


async def act(lounge: Lounge, token: str, body: Action) -> Position:
    seated = lounge.find(token)
    await lounge.act(seated, body)
    return await lounge.position(seated)


async def next_round(lounge: Lounge, token: str, body: None) -> Position:
    seated = lounge.find(token)
    await lounge.next_round(seated)
    return await lounge.position(seated)


async def undo(lounge: Lounge, token: str, body: None) -> Position:
    seated = lounge.find(token)
    await lounge.undo(seated)
    return await lounge.position(seated)


async def advice(lounge: Lounge, token: str, body: None) -> Advice:
    return await lounge.advice(lounge.find(token))


async def estimate(lounge: Lounge, token: str, body: None) -> Estimate:
    return await lounge.estimate(lounge.find(token))


async def replay(lounge: Lounge, token: str, body: Replay) -> list[Position]:
    return lounge.replay(body)


TABLE = "/api/tables/{token}"
ENDPOINTS = (
    Endpoint(
        "GET", "/api/games", "The games on offer and who plays them", games, list[GameOnOffer]
    ),
    Endpoint("GET", "/api/statistics", "Tables and forwards", statistics, ServerStatistics),
    Endpoint("POST", "/api/new", "Set up a table", new_table, Seat, NewTable, 201),
    Endpoint("POST", "/api/replay", "A round, step by step", replay, list[Position], Replay),
    Endpoint("POST", "/api/play-on", "Play on from a replay", play_on, Seat, PlayOn, 201),
    Endpoint("POST", "/api/join/{token}", "Sit down as a friend", join, Seat, None, 201),
    Endpoint("GET", TABLE, "What a chair knows, with its legal actions", position, Position),
    Endpoint("POST", TABLE + "/actions", "Play; the opponent answers", act, Position, Action),
    Endpoint("POST", TABLE + "/next", "Deal the match's next round", next_round, Position),
    Endpoint("POST", TABLE + "/undo", "Take a move back, as practice", undo, Position),
    Endpoint("GET", TABLE + "/policy", "What the agent would do here", advice, Advice),
    Endpoint("GET", TABLE + "/estimate", "What playouts expect of the round", estimate, Estimate),
)
PAGES = {
    "/": "index.html",
    "/table/{token}": "table.html",
    "/join/{token}": "join.html",
    "/replay": "replay.html",
    "/api": "api.html",
}


def application(lounge: Lounge, rules: Rules) -> ASGIApp:
    """The server's ASGI application."""
    routes = [
        *(Route(path, page(name)) for path, name in PAGES.items()),
        *(Route(each.path, answering(lounge, each), methods=[each.method]) for each in ENDPOINTS),
        Route("/api/openapi.json", openapi),
        WebSocketRoute(TABLE + "/live", live(lounge)),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]
    return Guard(Starlette(routes=routes), rules)


def page(name: str) -> Callable[[Request], Awaitable[Response]]:
    async def show(request: Request) -> Response:
        return FileResponse(STATIC / name)

    return show


def answering(lounge: Lounge, endpoint: Endpoint) -> Callable[[Request], Awaitable[Response]]:
    """Read the body, handle the request, and say clearly why it was refused."""

    async def answer(request: Request) -> Response:
        token = request.path_params.get("token", "")
        try:
            body = await body_of(request, endpoint.body) if endpoint.method == "POST" else None
            return as_json(await endpoint.handle(lounge, token, body), endpoint.status)
        except Refused as error:
            return as_json(Problem(error=str(error)), error.status)
        except PlayerError as error:
            return as_json(Problem(error=str(error)), 500)

    return answer


async def body_of(request: Request, kind: Any) -> Any:
    """The body as a message of that kind; None, whatever it is, where none is expected."""
    content = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for chunk in request.stream():
                content += chunk
                if len(content) > BODY_BYTES:
                    raise Refused(413, f"a body of more than {BODY_BYTES} bytes")
    except TimeoutError:
        raise Refused(408, f"the body took more than {BODY_SECONDS} seconds") from None
    except ClientDisconnect:
        raise Refused(400, "the client left before its body was here") from None
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise Refused(415, "expected content-type: application/json")
    if kind is None:
        return None
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Refused(400, f"body: {error}") from None


def as_json(content: Any, status: int = 200) -> Response:
    return Response(msgspec.json.encode(content), status, media_type="application/json")


def live(lounge: Lounge) -> Callable[[WebSocket], Awaitable[None]]:
    """Send a chair's position whenever the table changes; answer the actions that it sends.

    A client that does not read misses positions in between, and is left after `SEND_SECONDS`.
    """

    async def serve(socket: WebSocket) -> None:
        try:
            seated = lounge.find(socket.path_params["token"])
        except Refused as error:
            await socket.close(1008, str(error))
            return
        await socket.accept()
        seated.table.listeners += 1
        try:
            async with asyncio.TaskGroup() as group:
                sending = group.create_task(send_positions(lounge, socket, seated))
                await receive_actions(lounge, socket, seated)
                sending.cancel()
        except* (WebSocketDisconnect, TimeoutError, RuntimeError):
            pass
        finally:
            seated.table.listeners -= 1

    return serve


async def send_positions(lounge: Lounge, socket: WebSocket, seated: Any) -> None:
    while True:
        changed = seated.table.changed
        position = await lounge.position(seated)
        async with asyncio.timeout(SEND_SECONDS):
            await socket.send_bytes(msgspec.json.encode(position))
        await changed.wait()


async def receive_actions(lounge: Lounge, socket: WebSocket, seated: Any) -> None:
    while True:
        message = await socket.receive()
        if message["type"] == "websocket.disconnect":
            return
        try:
            action = msgspec.json.decode(message.get("text") or message["bytes"], type=Action)
            await lounge.act(seated, action)
        except (Refused, PlayerError, msgspec.DecodeError, UnicodeDecodeError) as error:
            async with asyncio.timeout(SEND_SECONDS):
                await socket.send_bytes(msgspec.json.encode(Problem(error=str(error))))


async def openapi(request: Request) -> Response:
    """The API in the terms of OpenAPI 3.1."""
    return as_json(document())


def document() -> dict[str, Any]:
    kinds = [
        *(kind for each in ENDPOINTS for kind in (each.answer, each.body) if kind is not None),
        Problem,
    ]
    template = "#/components/schemas/{name}"
    schemas, components = msgspec.json.schema_components(kinds, ref_template=template)
    schema_of = dict(zip(map(str, kinds), schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for each in ENDPOINTS:
        refusal = {"description": "refused", "content": in_json(schema_of[str(Problem)])}
        operation: dict[str, Any] = {
            "summary": each.summary,
            "operationId": each.handle.__name__,
            "responses": {
                str(each.status): {
                    "description": each.summary,
                    "content": in_json(schema_of[str(each.answer)]),
                },
                "default": refusal,
            },
        }
        if each.body is not None:
            operation["requestBody"] = {
                "required": True,
                "content": in_json(schema_of[str(each.body)]),
            }
        if re.search(r"\{token\}", each.path):
            operation["parameters"] = [
                {"name": "token", "in": "path", "required": True, "schema": {"type": "string"}}
            ]
        paths.setdefault(each.path, {})[each.method.lower()] = operation
    return {
        "openapi": "3.1.0",
        "info": {"title": "asynccfr", "version": __version__},
        "paths": paths,
        "components": {"schemas": components},
    }


def in_json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}
