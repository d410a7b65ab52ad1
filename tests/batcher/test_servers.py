"""Real servers on loopback: under load, with clients that leave, and shut down with work to do.

The same two tests for each framework, which a fixture reduces to `Served`.
"""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, NamedTuple

import pytest

from asynccfr.batcher import Batcher
from tests.batcher.support import Gate, until

CLIENTS, REQUESTS = 20, 10


class Served(NamedTuple):
    """A batcher behind a server.

    `connect()` is a client's connection: it yields what asks for one number, and whose cancellation
    hangs up. `shut_down()` lets the server end what is under way.
    """

    connect: Callable[[], AbstractAsyncContextManager[Callable[[int], Awaitable[int]]]]
    shut_down: Callable[[], Awaitable[None]]


@contextlib.asynccontextmanager
async def http_client(port: int) -> AsyncIterator[Callable[[int], Awaitable[int]]]:
    from tests.batcher.http import Client

    client = Client(port)

    async def ask(number: int) -> int:
        try:
            status, answer = await client.post("/", {"number": number})
        except asyncio.CancelledError:
            await client.leave()
            raise
        assert status == 200
        return answer["value"]

    try:
        yield ask
    finally:
        await client.close()


@contextlib.asynccontextmanager
async def uvicorn_server(app: Any) -> AsyncIterator[Served]:
    uvicorn = pytest.importorskip("uvicorn")
    config = uvicorn.Config(
        app, host="127.0.0.1", port=0, log_level="error", ws="none", lifespan="off"
    )
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve())
    await until(lambda: server.started or serving.done())
    port = server.servers[0].sockets[0].getsockname()[1]

    async def shut_down() -> None:
        server.should_exit = True
        await serving

    try:
        yield Served(lambda: http_client(port), shut_down)
    finally:
        await shut_down()


def fastapi_service(batcher: Batcher[int, float]) -> AbstractAsyncContextManager[Served]:
    fastapi = pytest.importorskip("fastapi")
    from tests.batcher.examples.service import while_connected

    app = fastapi.FastAPI()

    async def answer(request: Any) -> dict[str, Any]:
        number = (await request.json())["number"]
        return {"value": await while_connected(request, batcher(number))}

    answer.__annotations__ = {"request": fastapi.Request}
    app.post("/")(answer)
    return uvicorn_server(app)


def starlette_service(batcher: Batcher[int, float]) -> AbstractAsyncContextManager[Served]:
    pytest.importorskip("starlette")
    pytest.importorskip("fastapi")
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.middleware.base import BaseHTTPMiddleware
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    from tests.batcher.examples.service import while_connected

    async def answer(request: Any) -> Any:
        number = (await request.json())["number"]
        return JSONResponse({"value": await while_connected(request, batcher(number))})

    async def pass_on(request: Any, call_next: Any) -> Any:
        return await call_next(request)

    return uvicorn_server(
        Starlette(
            routes=[Route("/", answer, methods=["POST"])],
            middleware=[Middleware(BaseHTTPMiddleware, dispatch=pass_on)],
        )
    )


@contextlib.asynccontextmanager
async def aiohttp_service(batcher: Batcher[int, float]) -> AsyncIterator[Served]:
    web = pytest.importorskip("aiohttp.web")

    async def answer(request: Any) -> Any:
        return web.json_response({"value": await batcher((await request.json())["number"])})

    app = web.Application()
    app.router.add_post("/", answer)
    runner = web.AppRunner(app, handler_cancellation=True)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    [(_, port)] = runner.addresses
    try:
        yield Served(lambda: http_client(port), runner.cleanup)
    finally:
        await runner.cleanup()


@contextlib.asynccontextmanager
async def grpc_service(batcher: Batcher[int, float]) -> AsyncIterator[Served]:
    grpc = pytest.importorskip("grpc")
    pytest.importorskip("grpc.aio")

    async def answer(request: bytes, context: Any) -> bytes:
        return str(await batcher(int(request))).encode()

    server = grpc.aio.server()
    handlers = {"double": grpc.unary_unary_rpc_method_handler(answer)}
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("Model", handlers)])
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()

    @contextlib.asynccontextmanager
    async def connect() -> AsyncIterator[Callable[[int], Awaitable[int]]]:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            double = channel.unary_unary("/Model/double")

            async def ask(number: int) -> int:
                return int(await double(str(number).encode(), timeout=30))

            yield ask

    async def shut_down() -> None:
        await server.stop(grace=30)

    try:
        yield Served(connect, shut_down)
    finally:
        await shut_down()


SERVICES = [fastapi_service, starlette_service, aiohttp_service, grpc_service]
services = pytest.mark.parametrize("service", SERVICES, ids=lambda service: service.__name__)


@services
async def test_under_load_every_answer_is_right_and_none_is_lost(service):
    async def double(numbers: list[int]) -> list[int]:
        await asyncio.sleep(0.003)
        return [2 * number for number in numbers]

    async def client(seed: int) -> tuple[int, int]:
        rng = random.Random(seed)
        answered = left = 0
        async with served.connect() as ask:
            for _ in range(REQUESTS):
                number = rng.randrange(10**6)
                asking = asyncio.ensure_future(ask(number))
                if rng.random() < 0.2:
                    await asyncio.sleep(rng.random() * 0.005)
                    asking.cancel()
                    await asyncio.wait([asking])
                    left += asking.cancelled()
                if not asking.cancelled():
                    assert await asking == 2 * number
                    answered += 1
        return answered, left

    async with Batcher(double, max_batch=8) as batcher, service(batcher) as served:
        counts = await asyncio.gather(*map(client, range(CLIENTS)))
        answered, left = map(sum, zip(*counts, strict=True))
        assert answered + left == CLIENTS * REQUESTS
        assert left > 10
        await until(batcher.is_empty)
        seen = batcher.statistics()
    # Who leaves may do so before the server has seen the request, or after it has answered.
    assert seen.succeeded + seen.cancelled + seen.abandoned == seen.items
    assert answered <= seen.succeeded <= answered + left
    assert seen.items <= CLIENTS * REQUESTS
    assert seen.batch_size.mean > 1


@services
async def test_who_leaves_frees_the_place_and_a_shutdown_ends_what_is_under_way(service):
    gate = Gate()

    async def ask_once(number: int) -> int:
        async with served.connect() as ask:
            return await ask(number)

    async with Batcher(gate, max_batch=4) as batcher, service(batcher) as served:
        first = asyncio.create_task(ask_once(0))
        await until(lambda: gate.batches)
        leaving = asyncio.create_task(ask_once(-1))
        await until(lambda: batcher.queued == 1)
        leaving.cancel()
        await until(lambda: batcher.statistics().cancelled == 1)

        staying = [asyncio.create_task(ask_once(number)) for number in range(1, 9)]
        await until(lambda: batcher.queued == 8)
        ending = asyncio.create_task(served.shut_down())
        await asyncio.sleep(0.05)
        assert not ending.done()
        gate.let_through(3)
        assert await asyncio.gather(first, *staying) == [2 * number for number in range(9)]
        await ending
        with pytest.raises(Exception):  # noqa: B017, PT011 (each client has its own)
            await ask_once(1)
    assert all(-1 not in batch for batch in gate.batches)
    assert batcher.statistics().succeeded == 9
