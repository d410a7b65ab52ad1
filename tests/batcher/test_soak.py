"""A long run under random cancellation: nothing is lost, and memory stays flat.

A million items: `SOAK_ITEMS=1000000 python -m pytest tests/batcher/test_soak.py`.
"""

import asyncio
import os
import random
import tracemalloc

from asynccfr.batcher import Batcher

ITEMS = int(os.environ.get("SOAK_ITEMS", 60_000))
CALLERS = 500


async def test_soak():
    rng = random.Random(0)
    served = dropped = 0

    async def function(items):
        await asyncio.sleep(0)
        return [-item for item in items]

    async def caller(items):
        nonlocal served, dropped
        for item in items:
            call = batcher.submit(item, item % 3)
            if rng.random() < 0.1:
                if rng.random() < 0.5:
                    await asyncio.sleep(0)
                if call.cancel():
                    dropped += 1
                    continue
            assert await call == -item
            served += 1

    async def wave(count):
        numbered = iter(range(count))
        await asyncio.gather(*(caller(numbered) for _ in range(CALLERS)))

    async with Batcher(
        function, max_batch=64, max_queue=256, max_concurrent_batches=2, timeout=600
    ) as batcher:
        await wave(ITEMS // 10)
        # Tracing costs a lot: sample the memory with one short wave before and after the long run.
        used = []
        for _ in range(2):
            tracemalloc.start()
            await wave(2000)
            used.append(tracemalloc.get_traced_memory()[0])
            tracemalloc.stop()
            if len(used) == 1:
                await wave(ITEMS)
    assert served + dropped == ITEMS // 10 + 2 * 2000 + ITEMS
    assert dropped > 0.02 * ITEMS
    assert abs(used[1] - used[0]) < 200_000
    statistics = batcher.statistics()
    assert statistics.items == served + dropped
    assert statistics.succeeded == served
    assert statistics.cancelled + statistics.abandoned == dropped
