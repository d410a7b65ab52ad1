"""The FastAPI example under load over loopback, with the batcher and without."""

import asyncio
import importlib.util
import multiprocessing
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

import torch
from msgspec import Struct
from torch import nn

from benchmarks.common import Spread, alternate, report

FEATURES, CLIENTS = 128, 128
WITH, WITHOUT = "/predict", "/without"


class ServiceRecord(Struct, frozen=True, kw_only=True):
    """Correct answers a second; some clients hang up before theirs."""

    model: str
    clients: int
    requests: dict[str, int]
    left_early: int
    wrong: int
    answers_per_second: dict[str, Spread]
    speedup: float

    def report(self) -> None:
        rows: list[tuple[object, ...]] = [
            (name, self.requests[name], figure) for name, figure in self.answers_per_second.items()
        ]
        rows.append(("with / without", "", f"{self.speedup:.1f}"))
        title = (
            f"FastAPI, {self.model}, {self.clients} clients: "
            f"{self.left_early} left early, {self.wrong} wrong answers"
        )
        report(title, ("service", "requests", "answers/s"), rows, self, None)


class Reader(nn.Module):
    """Reads a sequence step by step: a forward takes little longer for many rows than for one."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.steps = nn.GRU(1, 32, num_layers=4, batch_first=True)
        self.value = nn.Linear(32, 1)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        states, _ = self.steps(rows.unsqueeze(2))
        value: torch.Tensor = self.value(states[:, -1])
        return value


def serve(connection: Connection) -> None:
    """The process of the service; tells its port, and ends when it is told anything."""
    from tests.batcher.examples.service import service
    from tests.batcher.http import serving

    model = Reader()
    app = service(model, max_batch=128, timeout=60)
    one_at_a_time = asyncio.Lock()

    def forward(features: list[float]) -> float:
        with torch.inference_mode():
            return float(model(torch.tensor([features])))

    @app.post(WITHOUT)
    async def without(question: dict[str, list[float]]) -> dict[str, float]:
        async with one_at_a_time:
            return {"value": await asyncio.to_thread(forward, question["features"])}

    with serving(app, "uvloop") as port:
        connection.send(port)
        connection.recv()


@contextmanager
def service_process() -> Iterator[int]:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=serve, args=(theirs,))
    process.start()
    try:
        yield ours.recv()
    finally:
        ours.send("enough")
        process.join()


class Load:
    """Requests with known answers from many clients, of whom some leave early."""

    def __init__(self, port: int, model: nn.Module) -> None:
        self.port = port
        self.model = model
        self.sent = {WITH: 0, WITHOUT: 0}
        self.left = self.wrong = 0
        self.random = random.Random(0)

    def run(self, path: str, requests: int) -> float:
        """Correct answers a second."""
        questions = [[self.random.random() for _ in range(FEATURES)] for _ in range(requests)]
        self.sent[path] += requests
        start = time.perf_counter()
        answers = asyncio.run(self.send(path, list(questions)))
        seconds = time.perf_counter() - start
        with torch.inference_mode():
            expected = self.model(torch.tensor([features for features, _ in answers])).squeeze(1)
        errors = (expected - torch.tensor([value for _, value in answers])).abs()
        right = int((errors < 1e-4).sum())
        self.wrong += len(answers) - right
        return right / seconds

    async def send(self, path: str, waiting: list[list[float]]) -> list[tuple[list[float], float]]:
        from tests.batcher.http import Client

        answers: list[tuple[list[float], float]] = []

        async def client() -> None:
            connection = Client(self.port)
            while waiting:
                features = waiting.pop()
                request: asyncio.Future[Any] = asyncio.ensure_future(
                    connection.post(path, {"features": features})
                )
                if self.random.random() < 0.05:
                    await asyncio.wait([request], timeout=0.02 * self.random.random())
                    if not request.done():
                        request.cancel()
                        await asyncio.wait([request])
                        await connection.leave()
                        self.left += 1
                        continue
                status, body = await request
                answers.append((features, body["value"] if status == 200 else float("nan")))
            await connection.close()

        await asyncio.gather(*(client() for _ in range(CLIENTS)))
        return answers


def measure_service(quick: bool) -> ServiceRecord | None:
    """None where what the service needs (extra `test`) is not installed."""
    if not all(map(importlib.util.find_spec, ("fastapi", "uvicorn", "prometheus_client"))):
        return None
    requests = {WITH: 500, WITHOUT: 50} if quick else {WITH: 1500, WITHOUT: 150}
    with service_process() as port:
        load = Load(port, Reader())
        arms = {path: partial(load.run, path, count) for path, count in requests.items()}
        figures = alternate(arms, repetitions=2 if quick else 5)
    return ServiceRecord(
        model=f"GRU of 4 layers over {FEATURES} steps",
        clients=CLIENTS,
        requests=load.sent,
        left_early=load.left,
        wrong=load.wrong,
        answers_per_second=figures,
        speedup=figures[WITH].median / figures[WITHOUT].median,
    )
