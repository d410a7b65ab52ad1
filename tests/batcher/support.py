"""Batch functions that tests steer, and ways to wait."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any


class Recorder:
    """A batch function that doubles, and remembers its batches."""

    def __init__(self) -> None:
        self.batches: list[list[Any]] = []

    def __call__(self, items):
        self.batches.append(list(items))
        return [item * 2 for item in items]

    @property
    def sizes(self) -> list[int]:
        return [len(batch) for batch in self.batches]


class Gate(Recorder):
    """An asynchronous Recorder whose batches each wait until the test lets one through."""

    def __init__(self) -> None:
        super().__init__()
        self._passes = asyncio.Semaphore(0)

    async def __call__(self, items):
        self.batches.append(list(items))
        await self._passes.acquire()
        return [item * 2 for item in items]

    def let_through(self, batches: int = 1) -> None:
        for _ in range(batches):
            self._passes.release()


class ThreadGate(Recorder):
    """A Gate for a function that runs in a thread."""

    def __init__(self) -> None:
        super().__init__()
        self._passes = threading.Semaphore(0)

    def __call__(self, items):
        self.batches.append(list(items))
        assert self._passes.acquire(timeout=30)
        return [item * 2 for item in items]

    def let_through(self, batches: int = 1) -> None:
        self._passes.release(batches)


async def turns(count: int = 5) -> None:
    """Give everything that is ready its turn."""
    for _ in range(count):
        await asyncio.sleep(0)


async def until(condition: Callable[[], object]) -> None:
    """Wait for something that another thread brings about."""
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.001)
