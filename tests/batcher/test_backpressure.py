"""Bounded queues: callers that wait for room, or are turned away."""

import asyncio

import pytest

from asynccfr.batcher import Batcher, QueueFull
from tests.batcher.support import Gate, turns


async def test_callers_wait_in_line_and_enter_in_order():
    gate = Gate()
    async with Batcher(gate, max_batch=2, max_queue=2) as batcher:
        calls = [batcher(i) for i in range(9)]
        await turns()
        statistics = batcher.statistics()
        assert (statistics.in_flight, statistics.queued, statistics.waiting) == (2, 2, 5)
        gate.let_through(5)
        assert await asyncio.gather(*calls) == [2 * i for i in range(9)]
    assert gate.batches == [[0, 1], [2, 3], [4, 5], [6, 7], [8]]


async def test_the_queue_never_holds_more_than_its_bound():
    most = []

    async def function(items):
        most.append(batcher.statistics().queued)
        await asyncio.sleep(0)
        return items

    async with Batcher(function, max_batch=3, max_queue=5) as batcher:
        await asyncio.gather(*map(batcher, range(100)))
    assert max(most) <= 5
    assert len(most) == 34


async def test_a_full_queue_may_turn_callers_away():
    gate = Gate()
    async with Batcher(gate, max_batch=2, max_queue=3, when_full="raise") as batcher:
        calls = [batcher(i) for i in range(2)]
        await turns()
        calls += [batcher(i) for i in range(2, 5)]
        with pytest.raises(QueueFull, match="max_queue=3"):
            await batcher(5)
        calls[2].cancel()
        calls.append(batcher(6))
        with pytest.raises(QueueFull):
            await batcher(7)
        gate.let_through(3)
        assert await asyncio.gather(*calls[:2], *calls[3:]) == [0, 2, 6, 8, 12]
    assert batcher.statistics().refused == 2
    assert batcher.statistics().items == 6


async def test_giving_up_in_the_queue_lets_the_next_in_line_enter():
    gate = Gate()
    async with Batcher(gate, max_batch=2, max_queue=2) as batcher:
        blocker = [batcher(i) for i in range(2)]
        await turns()
        queued = [batcher(2), batcher(3)]
        waiting = [batcher(4), batcher(5)]
        queued[0].cancel()
        assert batcher.statistics().waiting == 1
        gate.let_through(3)
        assert await asyncio.gather(*blocker, queued[1], *waiting) == [0, 2, 6, 8, 10]
    assert gate.batches == [[0, 1], [3, 4], [5]]


async def test_giving_up_in_line_does_not_hold_up_the_others():
    gate = Gate()
    async with Batcher(gate, max_batch=1, max_queue=1) as batcher:
        calls = [batcher(i) for i in range(6)]
        await turns()
        for call in calls[2:5]:
            call.cancel()
        gate.let_through(3)
        assert await asyncio.gather(calls[0], calls[1], calls[5]) == [0, 2, 10]
    assert batcher.statistics().cancelled == 3


async def test_nobody_overtakes_those_in_line():
    gate = Gate()
    async with Batcher(gate, max_batch=4, max_queue=4, size_of=len) as batcher:
        calls = [batcher("aaa")]
        await turns()
        calls += [batcher(item) for item in ("bbb", "cc", "d")]
        assert batcher.statistics().waiting == 2
        gate.let_through(4)
        await asyncio.gather(*calls)
    assert [item for batch in gate.batches for item in batch] == ["aaa", "bbb", "cc", "d"]
    assert gate.batches == [["aaa"], ["bbb"], ["cc", "d"]]


async def test_a_bound_with_a_window_and_keys():
    """The queue may be full of items of other keys, none of which fills a batch."""
    gate = Gate()
    async with Batcher(gate, max_batch=3, max_queue=4, batch_window_us=500) as batcher:
        calls = [batcher.submit(i, i % 3) for i in range(12)]
        gate.let_through(12)
        assert await asyncio.gather(*calls) == [2 * i for i in range(12)]
    assert sum(gate.sizes) == 12


async def test_a_producer_that_awaits_is_slowed_down():
    gate = Gate()
    async with Batcher(gate, max_batch=1, max_queue=1) as batcher:
        produced = []

        async def producer(item):
            await batcher(item)
            produced.append(item)

        tasks = [asyncio.create_task(producer(i)) for i in range(4)]
        await turns()
        assert produced == []
        gate.let_through(2)
        await turns(10)
        assert produced == [0, 1]
        gate.let_through(2)
        await asyncio.gather(*tasks)


async def test_a_refusal_is_an_answer_like_any_other():
    gate = Gate()
    async with Batcher(gate, max_batch=1, max_queue=1, when_full="raise") as batcher:
        first = batcher(0)
        await turns()
        gate.let_through(3)
        found = await asyncio.gather(*(batcher(i) for i in range(1, 4)), return_exceptions=True)
        assert found[0] == 2
        assert [type(each) for each in found[1:]] == [QueueFull, QueueFull]
        assert await first == 0
