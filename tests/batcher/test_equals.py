"""Equal items are computed once, and every caller has an answer of its own."""

import asyncio

import pytest

from asynccfr.batcher import Batcher, QueueFull
from tests.batcher.support import Gate, Recorder, turns, until


async def test_equal_items_are_computed_once(build):
    function = Recorder()
    async with build(function, max_batch=8, same=abs) as batcher:
        answers = await asyncio.gather(*map(batcher, [1, -1, 2, 1]))
        assert answers == [2, 2, 4, 2], "of the first of them"
        assert function.batches == [[1, 2]]
        assert batcher.statistics().shared == 2
        assert await batcher(-1) == -2, "nothing is kept"


async def test_who_comes_while_an_equal_item_executes_shares_its_answer():
    gate = Gate()
    async with Batcher(gate, max_batch=1, same=abs) as batcher:
        first = batcher(1)
        await until(lambda: gate.batches)
        second = batcher(-1)
        gate.let_through()
        assert await asyncio.gather(first, second) == [2, 2]


async def test_one_caller_that_leaves_takes_nothing_from_the_others():
    gate = Gate()
    async with Batcher(gate, max_batch=1, same=abs) as batcher:
        first, second, late = batcher(1), batcher(1), batcher(1, timeout=0.01)
        await turns()
        first.cancel()
        with pytest.raises(TimeoutError):
            await late
        gate.let_through()
        assert await asyncio.wait_for(second, 10) == 2
        assert first.cancelled()


async def test_the_item_is_given_up_with_its_last_caller():
    gate = Gate()
    async with Batcher(gate, max_batch=1, same=abs) as batcher:
        ahead = batcher(0)
        await turns()
        for call in [batcher(1), batcher(1)]:
            call.cancel()
        gate.let_through()
        assert await ahead == 0
    assert gate.batches == [[0]]


async def test_each_caller_gets_its_own_error(build):
    def fail(items):
        raise LookupError("nothing there")

    async with build(fail, max_batch=8, same=abs) as batcher:
        errors = await asyncio.gather(*map(batcher, [1, 1, 1]), return_exceptions=True)
    assert len({id(error) for error in errors}) == 3
    assert [repr(error) for error in errors] == ["LookupError('nothing there')"] * 3
    assert len({id(error.__cause__) for error in errors}) == 1


async def test_equal_items_under_other_keys_are_others():
    function = Recorder()
    async with Batcher(function, max_batch=8, same=abs, inline=True) as batcher:
        await asyncio.gather(batcher(1, key="a"), batcher(1, key="b"))
    assert function.sizes == [1, 1]


async def test_an_equal_item_needs_no_room_in_the_queue():
    gate = Gate()
    async with Batcher(gate, max_batch=1, max_queue=1, when_full="raise", same=abs) as batcher:
        first = batcher(0)
        await turns()
        second, equal, refused = batcher(1), batcher(-1), batcher(2)
        with pytest.raises(QueueFull):
            await refused
        gate.let_through(2)
        assert await asyncio.gather(first, second, equal) == [0, 2, 2]
