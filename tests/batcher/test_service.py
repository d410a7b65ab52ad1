"""The FastAPI example, over real connections: correct answers, 503, 504, disconnects, metrics."""

import asyncio
import contextlib
import random
import threading
import urllib.request

import pytest

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
        self.rows = 0

    def forward(self, rows):
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


def until(condition):
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
        until(lambda: asyncio.run(load(port)).count(200) > 0)


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
