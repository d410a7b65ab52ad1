"""Callers that give up, before and during the execution of their item."""

import asyncio
import gc
import weakref

import pytest

from asynccfr.batcher import Batcher
from tests.batcher.support import Gate, Recorder, ThreadGate, turns, until


async def test_a_queued_item_is_dropped_and_its_place_reused():
    gate = Gate()
    async with Batcher(gate, max_batch=3) as batcher:
        blocker = batcher(0)
        await turns()
        calls = [batcher(i) for i in range(1, 4)]
        calls[1].cancel()
        calls.append(batcher(4))
        gate.let_through(2)
        assert await asyncio.gather(blocker, calls[0], *calls[2:]) == [0, 2, 6, 8]
    assert gate.batches == [[0], [1, 3, 4]]
    assert batcher.statistics().cancelled == 1


async def test_a_cancelled_item_does_not_count_as_part_of_a_full_batch():
    record = Recorder()
    async with Batcher(record, max_batch=3, batch_window_us=3.6e9, inline=True) as batcher:
        batcher(1).cancel()
        calls = [batcher(2), batcher(3)]
        await asyncio.sleep(0.01)
        assert not record.batches
        calls.append(batcher(4))
        assert await asyncio.gather(*calls) == [4, 6, 8]


async def test_a_batch_that_was_full_is_not_after_a_cancellation():
    record = Recorder()
    async with Batcher(record, max_batch=2, batch_window_us=3.6e9, inline=True) as batcher:
        first, second = batcher(1), batcher(2)
        second.cancel()
        await asyncio.sleep(0.01)
        assert not record.batches
        assert not first.done()
        assert await asyncio.gather(first, batcher(3)) == [2, 6]


async def test_the_window_counts_from_the_oldest_that_is_left():
    record = Recorder()
    async with Batcher(record, max_batch=9, batch_window_us=20_000, inline=True) as batcher:
        batcher(1).cancel()
        second = batcher(2)
        assert await second == 4
    assert record.batches == [[2]]


async def test_when_everybody_has_given_up_nothing_runs(build):
    record = Recorder()
    async with build(record, max_batch=9) as batcher:
        for call in [batcher(i) for i in range(5)]:
            call.cancel()
        await turns()
    assert record.batches == []
    assert batcher.statistics().cancelled == 5


async def test_cancelled_while_running_the_others_get_their_results():
    gate = ThreadGate()
    async with Batcher(gate, max_batch=9) as batcher:
        calls = [batcher(i) for i in range(3)]
        await until(lambda: gate.batches)
        calls[1].cancel()
        gate.let_through()
        assert await asyncio.gather(calls[0], calls[2]) == [0, 4]
        with pytest.raises(asyncio.CancelledError):
            await calls[1]
    statistics = batcher.statistics()
    assert (statistics.cancelled, statistics.abandoned, statistics.succeeded) == (0, 1, 2)


async def test_a_cancelled_task_is_cancelled():
    gate = Gate()
    async with Batcher(gate, max_batch=9) as batcher:

        async def caller():
            try:
                await batcher(1)
            except asyncio.CancelledError:
                seen.append("cancelled")
                raise

        seen = []
        task = asyncio.create_task(caller())
        await turns()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert task.cancelled()
        assert seen == ["cancelled"]
        gate.let_through()


async def test_a_task_cancelled_together_with_its_result_is_cancelled():
    gate = Gate()
    async with Batcher(gate, max_batch=9) as batcher:

        async def first():
            await batcher(1)
            task.cancel()

        async def second():
            return await batcher(2)

        canceller = asyncio.create_task(first())
        task = asyncio.create_task(second())
        await turns()
        gate.let_through()
        await canceller
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_a_task_group_that_fails_takes_its_calls_along():
    gate = Gate()
    async with Batcher(gate, max_batch=2) as batcher:
        blocker = batcher(0)
        await turns()

        async def caller(item):
            await batcher(item)

        with pytest.raises(ExceptionGroup):  # noqa: PT012
            async with asyncio.TaskGroup() as group:
                for item in range(1, 6):
                    group.create_task(caller(item))
                await turns()
                group.create_task(asyncio.wait_for(asyncio.Event().wait(), 0.001))
        gate.let_through(2)
        assert await asyncio.gather(blocker, batcher(9)) == [0, 18]
    assert gate.batches == [[0], [9]]


async def test_what_was_cancelled_is_not_kept_alive():
    class Item:
        pass

    gate = Gate()
    async with Batcher(gate, max_batch=1000) as batcher:
        blocker = batcher(0)
        await turns()
        item = Item()
        alive = weakref.ref(item)
        batcher(item).cancel()
        del item
        gc.collect()
        assert alive() is None
        gate.let_through()
        await blocker


async def test_submitting_and_cancelling_for_ever_keeps_nothing():
    gate = Gate()
    async with Batcher(gate, max_batch=10, timeout=60, batch_window_us=3.6e9) as batcher:
        blockers = [batcher(0) for _ in range(10)]
        await turns()
        before = len(gc.get_objects())
        for i in range(5000):
            batcher.submit(i, i).cancel()
            batcher.submit(i, "same").cancel()
        await turns()
        gc.collect()
        assert len(gc.get_objects()) - before < 1500
        gate.let_through()
        await asyncio.gather(*blockers)
