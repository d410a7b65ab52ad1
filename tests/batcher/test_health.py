"""What a readiness probe and a log see of a batcher."""

import asyncio
import logging
import sys
import threading
import time

from asynccfr.batcher import Batcher
from tests.batcher.support import Gate, Recorder, ThreadGate, until


async def test_a_batch_that_hangs_makes_it_unhealthy():
    gate = ThreadGate()
    async with Batcher(gate, max_batch=1) as batcher:
        assert batcher.is_healthy(within=0.02)
        calls = [batcher(1), batcher(2)]
        await until(lambda: gate.batches)
        await asyncio.sleep(0.05)
        health = batcher.health()
        assert 0.04 < health.executing <= health.queued < 30
        assert not batcher.is_healthy(within=0.02)
        assert batcher.is_healthy(within=30)
        gate.let_through(2)
        await asyncio.gather(*calls)
        await until(lambda: not batcher.executing_batches)
        assert (batcher.health().queued, batcher.health().executing) == (0, 0)
        assert batcher.is_healthy(within=0.02)
    assert not batcher.is_healthy(within=30), "it is closed"


async def test_the_age_is_that_of_the_oldest_who_is_left():
    async with Batcher(Recorder(), max_batch=4, batch_window_us=1e7, max_queue=4) as batcher:
        first = batcher(1, key="a")
        await asyncio.sleep(0.03)
        second = batcher(2, key="b")
        assert batcher.health().queued >= 0.02
        first.cancel()
        assert batcher.health().queued <= time.monotonic() - second.arrived
        second.cancel()
        assert batcher.health().queued == 0


async def test_who_stands_in_line_for_room_waits_too():
    gate = Gate()
    async with Batcher(gate, max_batch=1, max_queue=1) as batcher:
        calls = [batcher(n) for n in range(3)]
        await until(lambda: gate.batches)
        calls[1].cancel()
        await asyncio.sleep(0.02)
        assert batcher.health().queued >= 0.02
        gate.let_through(2)
        assert await asyncio.gather(calls[0], calls[2]) == [0, 4]


async def test_slow_batches_are_logged(caplog):
    caplog.set_level(logging.WARNING, "asynccfr.batcher")
    pauses = iter([0, 0.3])

    async def think(items):
        await asyncio.sleep(next(pauses))
        return items

    async with Batcher(think, max_batch=4, slow_batch=0.25, name="model") as batcher:
        await batcher(1)
        assert not caplog.records
        await batcher.many([1, 2], key="long")
    [record] = caplog.records
    assert record.getMessage().startswith("model: a batch of 2 took 0.")
    assert record.getMessage().endswith("s (key 'long', 0 failed)")


async def test_another_thread_may_look_while_batches_come_and_go():
    """As by prometheus_client.start_http_server, while batches come and go."""
    stop = threading.Event()
    interval = sys.getswitchinterval()

    def scrape():
        while not stop.is_set():
            batcher.health()
            batcher.statistics()

    async def double(items):
        await asyncio.sleep(0)
        return [2 * item for item in items]

    async with Batcher(double, max_batch=2, max_concurrent_batches=64) as batcher:
        sys.setswitchinterval(1e-5)
        try:
            scraping = asyncio.create_task(asyncio.to_thread(scrape))
            for _ in range(100):
                await batcher.many(range(256))
        finally:
            sys.setswitchinterval(interval)
            stop.set()
        await scraping
