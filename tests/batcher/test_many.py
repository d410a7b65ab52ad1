"""Many items in one call."""

import asyncio

import pytest

from asynccfr.batcher import Batcher, QueueFull
from tests.batcher.support import Gate, Recorder, turns, until


async def test_a_request_larger_than_a_batch_is_spread_over_several(build):
    function = Recorder()
    async with build(function, max_batch=4) as batcher:
        assert await batcher.many(range(10)) == [2 * n for n in range(10)]
        assert await batcher.many([]) == []
    assert function.sizes == [4, 4, 2]


async def test_a_request_larger_than_the_queue_stands_in_line(build):
    async with build(Recorder(), max_batch=2, max_queue=2) as batcher:
        assert await batcher.many(range(9)) == [2 * n for n in range(9)]


async def test_requests_share_batches(build):
    function = Recorder()
    async with build(function, max_batch=8) as batcher:
        answers = await asyncio.gather(*(batcher.many([n, -n]) for n in range(1, 4)))
    assert answers == [[2, -2], [4, -4], [6, -6]]
    assert function.sizes == [6]


async def test_options_hold_for_every_item():
    function = Recorder()
    async with Batcher(function, max_batch=8, inline=True) as batcher:
        urgent = batcher.many([1, 2], key="a", priority=1)
        await asyncio.gather(urgent, batcher.many([3], key="b"))
    assert function.batches == [[1, 2], [3]]
    async with Batcher(Gate(), max_batch=8) as hanging:
        with pytest.raises(TimeoutError):
            await hanging.many([1, 2], timeout=0.01)
        statistics = hanging.statistics()
        assert statistics.timed_out >= 1
        assert statistics.timed_out + statistics.abandoned == 2


async def test_a_cancelled_request_frees_the_places_of_all_its_items():
    gate = Gate()
    async with Batcher(gate, max_batch=2, max_queue=4) as batcher:
        request = asyncio.create_task(batcher.many(range(20)))
        await turns()
        assert (batcher.executing, batcher.queued, batcher.waiting) == (2, 4, 14)
        request.cancel()
        with pytest.raises(asyncio.CancelledError):
            await request
        assert (batcher.executing, batcher.queued, batcher.waiting) == (0, 0, 0)
        await until(batcher.is_empty)
        assert batcher.queued_size == 0
        gate.let_through(2)
        assert await asyncio.wait_for(batcher.many(range(4)), 10) == [0, 2, 4, 6]
    assert gate.sizes == [2, 2, 2]


async def test_the_first_error_gives_the_others_up():
    def invert(items):
        return [ZeroDivisionError(f"item {n}") if n == 0 else 1 / n for n in items]

    async with Batcher(invert, max_batch=2) as batcher:
        with pytest.raises(ZeroDivisionError, match="item 0"):
            await batcher.many([1, 0, 2, 0, 4, 0])
        assert batcher.is_empty() or batcher.executing_batches == 1
        results = await batcher.many([1, 0, 4], return_exceptions=True)
    assert results[::2] == [1, 0.25]
    assert isinstance(results[1], ZeroDivisionError)


async def test_refusals_are_errors_of_their_items():
    gate = Gate()
    async with Batcher(gate, max_batch=1, max_queue=1, when_full="raise") as batcher:
        request = asyncio.create_task(batcher.many([1, 2, 3], return_exceptions=True))
        await turns()
        gate.let_through(3)
        first, *refused = await request
    assert first == 2
    assert [type(error) for error in refused] == [QueueFull, QueueFull]
