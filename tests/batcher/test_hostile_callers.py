"""Callers that leave, join and fail at awkward moments."""

import asyncio

import pytest

from asynccfr.batcher import Batcher, BatcherClosed
from tests.batcher.support import Gate, Recorder, turns


async def test_an_equal_item_that_comes_right_after_the_last_caller_has_left_is_computed():
    async with Batcher(Recorder(), max_batch=4, inline=True, same=abs) as batcher:
        batcher(1).cancel()
        assert await batcher(1) == 2


async def test_equal_items_that_are_refused_raise_what_was_raised():
    def key_of(item):
        raise ValueError("no key") from KeyError(item)

    async with Batcher(Recorder(), max_batch=4, same=abs, key=key_of) as batcher:
        with pytest.raises(ValueError, match="no key"):
            await batcher(1)


async def test_an_item_larger_than_a_limit_that_was_lowered_goes_alone():
    function = Recorder()
    async with Batcher(
        function, max_batch=8, size_of=len, batch_window_us=1e6, inline=True
    ) as batcher:
        call, other = batcher("abcdefg"), batcher("z")
        batcher.configure(max_batch=4, batch_window_us=0)
        assert await asyncio.wait_for(asyncio.gather(call, other), 10) == ["abcdefg" * 2, "zz"]
    assert function.batches == [["abcdefg"], ["z"]]


async def test_what_executes_is_delivered_whatever_its_priority_when_the_block_fails():
    gate = Gate()
    calls = []

    async def fail():
        async with Batcher(gate, max_batch=2) as batcher:
            calls.extend(batcher(i, priority=i) for i in range(5))
            await turns()
            gate.let_through()
            raise LookupError

    with pytest.raises(LookupError):
        await fail()
    assert [calls[0].result(), calls[4].result()] == [0, 8]
    assert all(isinstance(call.exception(), BatcherClosed) for call in calls[1:4])


async def test_many_items_whose_source_breaks_are_computed_for_nobody():
    def source():
        yield 1
        raise LookupError

    function = Recorder()
    async with Batcher(function, max_batch=4, inline=True) as batcher:
        with pytest.raises(LookupError):
            await batcher.many(source())
    assert function.batches == []
