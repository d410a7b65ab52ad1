"""A FastAPI service around a torch model: uvicorn --factory tests.batcher.examples.service:demo"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypedDict

import torch
from fastapi import FastAPI, HTTPException, Request
from prometheus_client import CollectorRegistry, make_asgi_app
from pydantic import BaseModel

from asynccfr import Batcher, BatcherCollector, Call, QueueFull


class Question(BaseModel):
    features: list[float]


class Answer(BaseModel):
    value: float


class State(TypedDict):
    batcher: Batcher[list[float], float]


def service(
    model: torch.nn.Module, *, max_batch: int = 64, max_queue: int = 1024, timeout: float = 5.0
) -> FastAPI:
    registry = CollectorRegistry()
    collector = BatcherCollector(registry=registry)

    def predict(rows: list[list[float]]) -> list[float]:
        with torch.inference_mode():
            values: list[float] = model(torch.tensor(rows)).squeeze(1).tolist()
        return values

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[State]:
        async with Batcher(
            predict, max_batch=max_batch, max_queue=max_queue, when_full="raise", timeout=timeout
        ) as batcher:
            collector.add(batcher)
            yield {"batcher": batcher}

    app = FastAPI(lifespan=lifespan)
    app.mount("/metrics", make_asgi_app(registry))

    @app.post("/predict")
    async def answer(question: Question, request: Request) -> Answer:
        try:
            call = request.state.batcher(question.features)  # refusals come when it is awaited
            return Answer(value=await while_connected(request, call))
        except QueueFull:
            raise HTTPException(503, "busy", headers={"Retry-After": "1"}) from None
        except TimeoutError:
            raise HTTPException(504, "too late") from None

    return app


async def while_connected(request: Request, call: Call[float]) -> float:
    """Await the call, and give it up when the client goes away."""

    async def hang_up() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        call.cancel()

    watcher = asyncio.create_task(hang_up())
    try:
        return await call
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if not watcher.done() or (task and task.cancelling()):
            raise  # a timeout or the server ended the request, not the client
        raise HTTPException(499, "client closed request") from None
    finally:
        watcher.cancel()


def demo() -> FastAPI:
    return service(torch.nn.Sequential(torch.nn.Linear(8, 64), torch.nn.Linear(64, 1)))
