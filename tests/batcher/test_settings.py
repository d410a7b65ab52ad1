"""Limits that change while a batcher runs, sizes that are allowed, and functions told their key."""

import asyncio

import pytest

from asynccfr.batcher import Batcher
from asynccfr.errors import ConfigError
from tests.batcher.support import Gate, Recorder, turns, until


async def test_a_batch_that_is_full_by_a_lowered_limit_starts(build):
    function = Recorder()
    async with build(function, max_batch=8, batch_window_us=1e9) as batcher:
        calls = [batcher(n) for n in range(4)]
        await turns()
        assert function.batches == []
        batcher.configure(max_batch=2)
        assert await asyncio.gather(*calls) == [0, 2, 4, 6]
    assert function.sizes == [2, 2]


async def test_a_raised_limit_holds_for_what_waits():
    gate = Gate()
    async with Batcher(gate, max_batch=2) as batcher:
        calls = [batcher(n) for n in range(8)]
        await until(lambda: gate.batches)
        batcher.configure(max_batch=6)
        gate.let_through(2)
        await asyncio.gather(*calls)
    assert gate.sizes == [2, 6]


async def test_a_shorter_window_holds_for_what_waits(build):
    async with build(Recorder(), max_batch=8, batch_window_us=1e9) as batcher:
        call = batcher(1)
        await turns()
        batcher.configure(batch_window_us=100)
        assert await asyncio.wait_for(call, 10) == 2


async def test_a_longer_window_holds_for_what_waits():
    function = Recorder()
    async with Batcher(function, max_batch=2, batch_window_us=20_000, inline=True) as batcher:
        call = batcher(1)
        batcher.configure(batch_window_us=1e9)
        await asyncio.sleep(0.05)
        assert function.batches == []
        assert await asyncio.gather(call, batcher(2)) == [2, 4]


async def test_more_batches_execute_at_once_from_then_on():
    gate = Gate()
    async with Batcher(gate, max_batch=1) as batcher:
        calls = [batcher(n) for n in range(4)]
        await turns()
        assert len(gate.batches) == 1
        batcher.configure(max_concurrent_batches=3)
        await turns()
        assert len(gate.batches) == 3
        batcher.configure(max_concurrent_batches=1)
        gate.let_through()
        await turns()
        assert len(gate.batches) == 3
        gate.let_through(3)
        await asyncio.gather(*calls)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"max_batch": 0}, "max_batch=0: expected an integer of at least 1"),
        ({"max_batch": 9}, "max_queue=8: expected None or at least max_batch=9"),
        ({"batch_window_us": -1}, "batch_window_us=-1: expected at least 0"),
        ({"max_concurrent_batches": 2}, "inline=True: expected .* one batch at a time"),
    ],
)
async def test_a_limit_that_does_not_fit_changes_nothing(changes, message):
    async with Batcher(Recorder(), max_batch=4, max_queue=8, inline=True) as batcher:
        with pytest.raises(ConfigError, match=message):
            batcher.configure(**changes)
        assert (batcher.max_batch, batcher.max_concurrent_batches, batcher.window) == (4, 1, 0)


async def test_batches_have_allowed_sizes_only(build):
    function = Recorder()
    async with build(function, max_batch=8, allowed_sizes=(1, 4, 8)) as batcher:
        for count in (1, 2, 4, 5, 8):
            assert await batcher.many(range(count)) == [2 * n for n in range(count)]
        assert batcher.statistics().batch_size.counts == {1: 1, 2: 1, 4: 1, 5: 1, 8: 1}
    assert function.sizes == [1, 4, 4, 8, 8]
    assert function.batches[1] == [0, 1, 1, 1]


async def test_halves_of_a_batch_that_failed_have_allowed_sizes_too(build):
    sizes = []

    def invert(items):
        sizes.append(len(items))
        return [1 / item for item in items]

    async with build(invert, max_batch=8, allowed_sizes=(2, 8), isolate_errors=True) as batcher:
        results = await batcher.many([1, 2, 0, 4, 5], return_exceptions=True)
    assert [results[n] for n in (0, 1, 3, 4)] == [1, 0.5, 0.25, 0.2]
    assert isinstance(results[2], ZeroDivisionError)
    assert set(sizes) == {2, 8}


@pytest.mark.parametrize("sizes", [(4, 1, 8), (1, 4), (4, 4, 8), (1, 8, 16)])
def test_allowed_sizes_ascend_to_the_largest_batch(sizes):
    with pytest.raises(ConfigError, match="allowed_sizes=.*ascending sizes.*max_batch=8"):
        Batcher(Recorder(), max_batch=8, allowed_sizes=sizes)


@pytest.mark.parametrize("way", ["inline", "thread", "task"])
async def test_a_function_with_a_keyword_only_key_is_told_what_its_items_share(way):
    def tell(items, *, key):
        return [(key, item) for item in items]

    async def tell_later(items, *, key):
        return tell(items, key=key)

    function = tell_later if way == "task" else tell
    async with Batcher(function, max_batch=8, inline=way == "inline", key=len) as batcher:
        assert await batcher.many(["a", "bc", "d"]) == [(1, "a"), (2, "bc"), (1, "d")]
        assert await batcher("e", key="other") == ("other", "e")


async def test_a_key_among_the_positional_parameters_is_the_functions_own():
    def tell(items, key="own"):
        return [key for _ in items]

    async with Batcher(tell, max_batch=8, inline=True) as batcher:
        assert await batcher(1, key="other") == "own"
