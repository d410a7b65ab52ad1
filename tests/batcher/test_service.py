"""The FastAPI example, over real connections: correct answers, 503, 504, disconnects, metrics."""

import asyncio
import contextlib
import random
import threading
import urllib.request

import pytest

from asynccfr.batcher import Batcher
from tests.batcher.support import Gate, turns, until

torch = pytest.importorskip("torch")
pytest.importorskip("fastapi")
pytest.importorskip("prometheus_client")
pytest.importorskip("uvicorn")


@pytest.fixture(params=["asyncio", "uvloop"])
def loop_name(request):
    return request.param


class Doubling(torch.nn.Module):  # type: ignore[name-defined,misc]
    """Sums and doubles; can be held up."""

    def __init__(self):
        super().__init__()
        self.open = threading.Event()
        self.open.set()
        self.asked = False
        self.rows = 0

    def forward(self, rows):
        self.asked = True
        assert self.open.wait(30)
        self.rows += len(rows)
        return 2 * rows.sum(dim=1, keepdim=True)


@contextlib.contextmanager
def running(loop_name, behind_middleware=False, **options):
    from tests.batcher.examples.service import service
    from tests.batcher.http import serving

    model = Doubling()
    app = service(model, **options)
    if behind_middleware:

        @app.middleware("http")
        async def pass_on(request, call_next):
            return await call_next(request)

    with serving(app, loop_name) as port:
        yield model, port


def scrape(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics/", timeout=30) as response:
        lines = response.read().decode().splitlines()
    return {
        name: float(value)
        for name, _, value in (line.rpartition(" ") for line in lines if line[:1] != "#")
    }


def outcome(port, what):
    [count] = [n for name, n in scrape(port).items() if f'outcome="{what}"' in name]
    return count


def wait_for(condition):
    pause = threading.Event()
    for _ in range(3000):
        if condition():
            return
        pause.wait(0.01)
    raise AssertionError("nothing happened for 30 s")


def test_every_answer_is_right_though_some_clients_leave(loop_name):
    from tests.batcher.http import Client

    async def load(port):
        answers = 0

        async def client(number):
            nonlocal answers
            rng = random.Random(number)
            connection = Client(port)
            for _ in range(15):
                features = [rng.randrange(100) for _ in range(3)]
                request = asyncio.ensure_future(connection.post("/predict", {"features": features}))
                if rng.random() < 0.15:
                    await asyncio.sleep(rng.random() * 0.005)
                    request.cancel()
                    await asyncio.wait([request])
                    await connection.leave()
                else:
                    assert await request == (200, {"value": 2.0 * sum(features)})
                    answers += 1
            await connection.close()

        await asyncio.gather(*(client(number) for number in range(20)))
        return answers

    with running(loop_name) as (_, port):
        answers = asyncio.run(load(port))
        assert answers > 200
        assert outcome(port, "succeeded") >= answers
        assert outcome(port, "failed") == 0


def test_a_full_queue_is_503_and_a_missed_deadline_504(loop_name):
    from tests.batcher.http import Client

    async def load(port):
        async def post():
            client = Client(port)
            status, _ = await client.post("/predict", {"features": [1.0]})
            await client.close()
            return status

        return await asyncio.gather(*(post() for _ in range(10)))

    with running(loop_name, max_batch=2, max_queue=3, timeout=0.5) as (model, port):
        model.open.clear()
        statuses = asyncio.run(load(port))
        model.open.set()
        assert set(statuses) == {503, 504}
        assert statuses.count(504) >= 3
        wait_for(lambda: asyncio.run(load(port)).count(200) > 0)


@pytest.mark.parametrize("behind", ["nothing", "a middleware"])
def test_an_item_whose_client_has_gone_is_not_computed(loop_name, behind):
    from tests.batcher.http import Client

    async def come_and_go(port, model):
        first, second = Client(port), Client(port)
        staying = asyncio.ensure_future(first.post("/predict", {"features": [1.0]}))
        while 'place="in_flight"} 1' not in await asyncio.to_thread(metrics, port):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        leaving = asyncio.ensure_future(second.post("/predict", {"features": [2.0]}))
        while 'place="queued"} 1' not in await asyncio.to_thread(metrics, port):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        leaving.cancel()
        await asyncio.wait([leaving])
        await second.leave()
        while await asyncio.to_thread(outcome, port, "cancelled") != 1:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        model.open.set()
        answer = await staying
        await first.close()
        return answer

    def metrics(port):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics/", timeout=30) as response:
            return response.read().decode()

    with running(loop_name, behind == "a middleware", max_batch=1) as (model, port):
        model.open.clear()
        assert asyncio.run(come_and_go(port, model)) == (200, {"value": 2.0})
        assert model.rows == 1


async def test_the_service_may_start_again():
    from tests.batcher.examples.service import service

    app = service(Doubling())
    for _ in range(2):
        async with app.router.lifespan_context(app) as state:
            assert await state["batcher"]([1.0, 2.0]) == 6.0


class Connection:
    """What `while_connected` needs of a request."""

    def __init__(self):
        self.gone = asyncio.Event()

    async def receive(self):
        await self.gone.wait()
        return {"type": "http.disconnect"}


async def started(connection, batcher):
    from tests.batcher.examples.service import while_connected

    waiting = asyncio.create_task(while_connected(connection, batcher(1)))
    await until(lambda: batcher.executing)
    await turns()  # for what watches the connection
    return waiting


async def test_only_a_client_that_hung_up_is_499():
    from fastapi import HTTPException

    from tests.batcher.examples.service import while_connected

    async with Batcher(Gate(), max_batch=1) as batcher:
        connection = Connection()
        waiting = await started(connection, batcher)
        connection.gone.set()
        with pytest.raises(HTTPException) as caught:
            await waiting
        assert caught.value.status_code == 499

        waiting = await started(Connection(), batcher)
        waiting.cancel()  # as by uvicorn, at the end of its graceful timeout
        with pytest.raises(asyncio.CancelledError):
            await waiting

        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await while_connected(Connection(), batcher(1))

        connection = Connection()
        waiting = await started(connection, batcher)
        connection.gone.set()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert batcher.statistics().abandoned == 4


async def test_at_the_end_of_its_graceful_timeout_the_server_cancels_a_request(caplog):
    """Which is 500 then; a 499 would say that the client had gone."""
    import uvicorn

    from tests.batcher.examples.service import service

    model = Doubling()
    model.open.clear()
    config = uvicorn.Config(
        service(model), host="127.0.0.1", port=0, log_config=None, timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve())
    await until(lambda: server.started)
    port = server.servers[0].sockets[0].getsockname()[1]
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(
        b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b'Content-Length: 19\r\n\r\n{"features": [1.0]}'
    )
    await until(lambda: model.asked)
    server.should_exit = True
    answer = await reader.readuntil(b"\r\n")
    model.open.set()
    writer.close()
    await serving
    assert b" 500 " in answer
    assert "timeout graceful shutdown exceeded" in caplog.text
