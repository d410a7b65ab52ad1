"""Row buffers: items written straight into the array that the function gets."""

import asyncio
import random

import numpy as np
import pytest

from asynccfr.batcher import Batcher, BatcherError, Rows
from tests.batcher.support import Gate, turns


class RowGate(Gate):
    """Remembers the arrays too; a row's result is its first number."""

    async def __call__(self, rows):
        self.arrays = [*getattr(self, "arrays", []), rows]
        self.batches.append(rows[:, 0].tolist())
        await self._passes.acquire()
        return rows[:, 0].tolist()


def write(item, row):
    row[:] = item


async def test_the_function_gets_the_rows(build):
    seen = []

    def total(rows):
        seen.append((type(rows), rows.shape, rows.dtype, rows.flags.c_contiguous))
        return rows.sum(axis=1)

    async with build(total, max_batch=4, rows=Rows((3,), "float32")) as batcher:
        results = await asyncio.gather(batcher([1, 2, 3]), batcher(np.ones(3)), batcher(7))
    assert results == [6.0, 3.0, 21.0]
    assert seen == [(np.ndarray, (3, 3), np.dtype("float32"), True)]


async def test_items_are_written_when_they_arrive_and_nothing_is_copied():
    addresses = []

    def write(item, row):
        addresses.append(row.__array_interface__["data"][0])
        row[:] = item

    gate = RowGate()
    async with Batcher(gate, max_batch=4, rows=Rows((2,), write=write)) as batcher:
        calls = [batcher(i) for i in range(3)]
        assert len(addresses) == 3
        gate.let_through()
        assert await asyncio.gather(*calls) == [0, 1, 2]
        rows = gate.arrays[0]
    start = rows.__array_interface__["data"][0]
    assert addresses == [start + i * rows.strides[0] for i in range(3)]


async def test_an_executing_buffer_is_not_written_to():
    gate = RowGate()
    async with Batcher(gate, max_batch=4, rows=Rows((1,))) as batcher:
        first = [batcher(i) for i in range(4)]
        await turns()
        second = [batcher(i) for i in range(10, 14)]
        assert gate.arrays[0][:, 0].tolist() == [0, 1, 2, 3]
        gate.let_through(2)
        assert await asyncio.gather(*first, *second) == [0, 1, 2, 3, 10, 11, 12, 13]


async def test_buffers_are_used_again(build):
    count = 0

    def allocate(shape, dtype):
        nonlocal count
        count += 1
        return np.empty(shape, dtype)

    rows = Rows((2,), "int64", allocate=allocate)
    async with build(lambda rows: rows[:, 1].tolist(), max_batch=4, rows=rows) as batcher:

        async def caller(item):
            for i in range(30):
                assert await batcher([item, i]) == i

        await asyncio.gather(*(caller(item) for item in range(10)))
    assert count <= 6


async def test_results_that_are_views_of_the_rows_stay_as_they_are(build):
    async with build(lambda rows: rows, max_batch=4, rows=Rows((2,), "int64")) as batcher:
        kept = []
        for i in range(20):
            kept += await asyncio.gather(*(batcher([i, j]) for j in range(4)))
    assert [row.tolist() for row in kept] == [[i, j] for i in range(20) for j in range(4)]


async def test_a_function_may_keep_its_rows():
    kept = []

    def hoard(rows):
        kept.append(rows)
        return rows[:, 0].tolist()

    async with Batcher(hoard, max_batch=4, inline=True, rows=Rows((1,), "int64")) as batcher:
        for i in range(20):
            await batcher(i)
    assert [rows[0, 0] for rows in kept] == list(range(20))


async def test_gaps_of_callers_that_gave_up_are_closed():
    gate = RowGate()
    async with Batcher(gate, max_batch=4, rows=Rows((1,))) as batcher:
        blocker = batcher(-1)
        await turns()
        calls = [batcher(i) for i in range(10)]
        for i in (0, 2, 5):
            calls[i].cancel()
        gate.let_through(4)
        rest = [call for i, call in enumerate(calls) if i not in (0, 2, 5)]
        assert await asyncio.gather(blocker, *rest) == [-1, 1, 3, 4, 6, 7, 8, 9]
    assert [sorted(batch) for batch in gate.batches] == [[-1], [1, 3, 4, 6], [7, 8, 9]]


async def test_random_cancellations_never_mix_rows_up():
    rng = random.Random(5)

    async def function(rows):
        await asyncio.sleep(0)
        assert len({key for key, _ in rows.tolist()}) == 1
        return [tuple(row) for row in rows.tolist()]

    async with Batcher(
        function, max_batch=5, max_concurrent_batches=2, max_queue=12, rows=Rows((2,), "int64")
    ) as batcher:
        calls = []
        for i in range(2000):
            key = rng.randrange(3)
            calls.append(((key, i), batcher.submit((key, i), key)))
            if rng.random() < 0.3:
                rng.choice(calls)[1].cancel()
            if rng.random() < 0.2:
                await asyncio.sleep(0)
        results = await asyncio.gather(*(call for _, call in calls), return_exceptions=True)
    for (item, _), result in zip(calls, results, strict=True):
        assert result == item or isinstance(result, asyncio.CancelledError)
    assert sum(isinstance(result, tuple) for result in results) > 1000


async def test_an_item_that_cannot_be_written_fails_its_own_caller_only():
    gate = RowGate()
    async with Batcher(gate, max_batch=4, max_queue=4, rows=Rows((2,), write=write)) as batcher:
        good = [batcher([1, 1])]
        with pytest.raises(ValueError, match="broadcast"):
            await batcher([1, 2, 3])
        good += [batcher([i, i]) for i in range(2, 5)]
        waiting_in_line = batcher([1, 2, 3])
        good.append(batcher([5, 5]))
        gate.let_through(3)
        assert await asyncio.gather(*good) == [1, 2, 3, 4, 5]
        with pytest.raises(ValueError, match="broadcast"):
            await waiting_in_line
    assert batcher.statistics().failed == 1


async def test_bisecting_slices_the_rows(build):
    def picky(rows):
        if 3 in rows:
            raise ValueError("three")
        return rows[:, 0].tolist()

    async with build(picky, max_batch=6, isolate_errors=True, rows=Rows((1,), "int64")) as batcher:
        results = await asyncio.gather(*map(batcher, range(6)), return_exceptions=True)
    assert isinstance(results.pop(3), ValueError)
    assert results == [0, 1, 2, 4, 5]


async def test_rows_of_torch_share_memory():
    torch = pytest.importorskip("torch")

    def allocate(shape, dtype):
        return torch.empty(shape, dtype=torch.float32).numpy()

    def forward(rows):
        return torch.from_numpy(rows).sum(dim=1).tolist()

    async with Batcher(
        forward, max_batch=4, inline=True, rows=Rows((3,), allocate=allocate)
    ) as batcher:
        for i in range(5):
            assert await asyncio.gather(batcher(i), batcher(i + 1)) == [3 * i, 3 * i + 3]


def test_rows_exclude_sizes():
    with pytest.raises(ValueError, match="rows="):
        Batcher(lambda rows: rows, max_batch=4, rows=Rows((1,)), size_of=len)


ALLOCATORS = {
    "aligned": lambda shape, dtype: np.empty((shape[0] + 1, *shape[1:]), dtype)[1:],
    "flat": lambda shape, dtype: np.empty(np.prod(shape), dtype).reshape(shape),
    "bytes": lambda shape, dtype: np.frombuffer(
        bytearray(int(np.prod(shape)) * dtype.itemsize), dtype
    ).reshape(shape),
    "torch": lambda shape, dtype: pytest.importorskip("torch").zeros(shape).long().numpy(),
}


@pytest.mark.parametrize("allocate", ALLOCATORS.values(), ids=list(ALLOCATORS))
async def test_an_allocator_may_return_views(build, allocate):
    count = 0

    def counted(shape, dtype):
        nonlocal count
        count += 1
        return allocate(shape, dtype)

    kept = []

    def hoard(rows):
        if len(kept) < 10:
            kept.append((rows[1:], rows.tolist()[1:]))
        return rows if len(kept) < 5 else rows[:, 0].tolist()

    rows = Rows((2,), "int64", allocate=counted)
    async with build(hoard, max_batch=4, rows=rows) as batcher:
        results = []
        for i in range(20):
            results += await asyncio.gather(*(batcher([10 * i + j, i]) for j in range(4)))
    assert all(view.tolist() == contents for view, contents in kept)
    firsts = [int(result[0]) if np.ndim(result) else result for result in results]
    assert firsts == [10 * i + j for i in range(20) for j in range(4)]
    assert 10 <= count <= 13


@pytest.mark.parametrize(
    "allocate",
    [
        lambda shape, dtype: np.empty((shape[0], 3), dtype),
        lambda shape, dtype: np.empty(shape, "float64"),
        lambda shape, dtype: np.broadcast_to(np.zeros((), dtype), shape),
    ],
)
async def test_an_allocator_must_return_what_it_is_asked_for(allocate):
    rows = Rows((2,), "int64", allocate=allocate)
    async with Batcher(lambda rows: rows, max_batch=4, inline=True, rows=rows) as batcher:
        with pytest.raises(BatcherError, match="allocate: returned"):
            batcher([1, 2])
