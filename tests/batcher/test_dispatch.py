"""When batches start, and with what in them."""

import asyncio

import pytest

from asynccfr.batcher import Batcher, BatcherError
from tests.batcher.support import Gate, Recorder, ThreadGate, turns, until

HOUR_US = 3.6e9


async def test_every_caller_gets_its_own_result(build):
    async with build(lambda items: [-item for item in items], max_batch=7) as batcher:
        results = await asyncio.gather(*(batcher(i) for i in range(50)))
    assert results == [-i for i in range(50)]


async def test_a_batch_never_exceeds_max_batch(build):
    record = Recorder()
    async with build(record, max_batch=8) as batcher:
        await asyncio.gather(*(batcher(i) for i in range(30)))
    assert record.sizes == [8, 8, 8, 6]
    assert batcher.statistics().reasons == {"full": 3, "idle": 1, "window": 0, "closing": 0}


async def test_without_a_window_a_batch_starts_at_the_end_of_the_turn(build):
    record = Recorder()
    async with build(record, max_batch=100) as batcher:

        async def caller(item):
            return await batcher(item)

        await asyncio.gather(*(caller(i) for i in range(5)))
        assert record.batches == [[0, 1, 2, 3, 4]]
        await batcher(5)
        assert record.batches[1:] == [[5]]
    assert batcher.statistics().reasons["idle"] == 2


async def test_the_function_never_runs_inside_submit():
    record = Recorder()
    async with Batcher(record, max_batch=1, inline=True) as batcher:
        call = batcher(1)
        assert record.batches == []
        assert await call == 2


async def test_a_full_batch_does_not_wait_for_the_window(build):
    record = Recorder()
    async with build(record, max_batch=3, batch_window_us=HOUR_US) as batcher:
        assert await asyncio.gather(*(batcher(i) for i in range(3))) == [0, 2, 4]
    assert batcher.statistics().reasons["full"] == 1


async def test_the_window_ends_a_wait(build):
    record = Recorder()
    async with build(record, max_batch=100, batch_window_us=500) as batcher:
        assert await asyncio.gather(batcher(1), batcher(2)) == [2, 4]
    assert record.batches == [[1, 2]]
    assert batcher.statistics().reasons["window"] == 1


async def test_nothing_starts_within_the_window():
    record = Recorder()
    async with Batcher(record, max_batch=100, batch_window_us=HOUR_US, inline=True) as batcher:
        call = batcher(1)
        await asyncio.sleep(0.02)
        assert not record.batches
        assert not call.done()
    assert await call == 2
    assert batcher.statistics().reasons["closing"] == 1


async def test_a_later_item_does_not_prolong_the_window():
    record = Recorder()
    async with Batcher(record, max_batch=100, batch_window_us=20_000, inline=True) as batcher:
        first = batcher(0)
        while not first.done():
            batcher(1)
            await asyncio.sleep(0.001)
    assert record.batches[0][0] == 0
    assert batcher.statistics().reasons["window"] >= 1


async def test_items_join_one_growing_batch_while_another_executes():
    gate = Gate()
    async with Batcher(gate, max_batch=10) as batcher:
        calls = [batcher(0)]
        await turns()
        for i in range(1, 8):
            calls.append(batcher(i))
            await turns()
        assert gate.batches == [[0]]
        gate.let_through()
        await turns()
        assert gate.batches == [[0], [1, 2, 3, 4, 5, 6, 7]]
        gate.let_through()
        assert await asyncio.gather(*calls) == [2 * i for i in range(8)]


async def test_items_join_one_growing_batch_while_a_thread_executes():
    gate = ThreadGate()
    async with Batcher(gate, max_batch=10) as batcher:
        calls = [batcher(0)]
        await until(lambda: gate.batches)
        for i in range(1, 15):
            calls.append(batcher(i))
            await turns(2)
        gate.let_through(3)
        assert await asyncio.gather(*calls) == [2 * i for i in range(15)]
    assert gate.sizes == [1, 10, 4]


async def test_as_many_batches_execute_at_once_as_permitted():
    gate = Gate()
    async with Batcher(gate, max_batch=2, max_concurrent_batches=3) as batcher:
        calls = [batcher(i) for i in range(10)]
        await turns()
        assert gate.sizes == [2, 2, 2]
        assert batcher.statistics().in_flight == 6
        gate.let_through()
        await turns()
        assert gate.sizes == [2, 2, 2, 2]
        gate.let_through(4)
        await asyncio.gather(*calls)


async def test_a_batch_never_mixes_keys(build):
    record = Recorder()
    async with build(record, max_batch=4, key=lambda item: item % 3) as batcher:
        items = list(range(40))
        assert await asyncio.gather(*map(batcher, items)) == [2 * item for item in items]
    assert all(len({item % 3 for item in batch}) == 1 for batch in record.batches)
    for key in range(3):
        in_order = [item for batch in record.batches for item in batch if item % 3 == key]
        assert in_order == sorted(in_order)


async def test_submit_takes_the_key_by_position():
    record = Recorder()
    async with Batcher(record, max_batch=4, inline=True, key=lambda item: "never used") as batcher:
        await asyncio.gather(batcher.submit(1, "a"), batcher.submit(2, "b"), batcher.submit(3, "a"))
    assert sorted(record.batches) == [[1, 3], [2]]


async def test_between_two_batches_in_the_loop_their_callers_and_the_loop_get_a_turn():
    """So that the second of two keys grows by what the first one's callers ask next."""
    record = Recorder()
    async with Batcher(record, max_batch=10, inline=True) as batcher:

        async def caller(item):
            await batcher.submit(item, "first")
            await batcher.submit(item, "second")

        callers = asyncio.gather(caller(1), caller(2))
        await asyncio.sleep(0)
        other = batcher.submit(3, "second")
        await asyncio.gather(callers, other)
    assert record.batches == [[1, 2], [3, 1, 2]]


async def test_no_key_starves():
    gate = Gate()
    async with Batcher(gate, max_batch=2) as batcher:
        heavy = [batcher.submit(i, "heavy") for i in range(10)]
        light = batcher.submit(100, "light")
        await turns()
        for _ in range(6):
            gate.let_through()
            await turns()
        served = [batch[0] for batch in gate.batches]
        assert served == [0, 100, 2, 4, 6, 8]
        await asyncio.gather(*heavy, light)


async def test_a_busy_key_does_not_starve_another_that_waits_for_its_window():
    record = Recorder()
    async with Batcher(record, max_batch=4, inline=True, batch_window_us=2000) as batcher:
        rare = batcher.submit(-1, "rare")
        while not rare.done():
            await asyncio.gather(*(batcher.submit(i, "busy") for i in range(8)))
    assert await rare == -2


async def test_what_all_participants_wait_for_starts_at_once(build):
    record = Recorder()
    async with build(record, max_batch=100, batch_window_us=HOUR_US) as batcher:

        async def worker(item):
            with batcher.participant():
                first = await batcher(item)
                return await batcher(first)

        assert await asyncio.gather(*(worker(i) for i in range(4))) == [0, 4, 8, 12]
    assert record.batches == [[0, 1, 2, 3], [0, 2, 4, 6]]
    assert batcher.statistics().reasons["idle"] == 2


async def test_a_participant_that_leaves_is_not_waited_for():
    record = Recorder()
    async with Batcher(record, max_batch=9, batch_window_us=HOUR_US, inline=True) as batcher:
        leaving = asyncio.Event()

        async def idler():
            with batcher.participant():
                await leaving.wait()

        async def worker():
            with batcher.participant():
                return await batcher(1)

        tasks = [asyncio.create_task(idler()), asyncio.create_task(worker())]
        await asyncio.sleep(0.01)
        assert not record.batches
        leaving.set()
        assert await tasks[1] == 2
        await tasks[0]


async def test_a_stranger_does_not_stand_in_for_a_participant():
    record = Recorder()
    async with Batcher(record, max_batch=9, batch_window_us=HOUR_US, inline=True) as batcher:
        strangers = [batcher(5), batcher(6)]
        with batcher.participant():
            await asyncio.sleep(0.01)
            assert not record.batches
            assert await batcher(1) == 2
        assert record.batches == [[5, 6, 1]]
        await asyncio.gather(*strangers)


async def test_tasks_started_by_a_participant_wait_on_its_behalf():
    record = Recorder()
    async with Batcher(record, max_batch=9, batch_window_us=HOUR_US, inline=True) as batcher:

        async def child(item):
            return await batcher(item)

        with batcher.participant():
            assert await asyncio.gather(child(1), child(2)) == [2, 4]
    assert record.batches == [[1, 2]]


async def test_sizes_count_against_max_batch():
    record = Recorder()
    async with Batcher(record, max_batch=10, size_of=len, inline=True) as batcher:
        await asyncio.gather(*(batcher("x" * n) for n in (6, 3, 2, 7, 10, 1)))
    assert [[len(item) for item in batch] for batch in record.batches] == [
        [6, 3],
        [2, 7],
        [10],
        [1],
    ]
    assert batcher.statistics().batch_size.max == 10


async def test_a_participant_within_another_stands_for_it(build):
    record = Recorder()
    async with build(record, max_batch=9, batch_window_us=HOUR_US) as batcher:

        async def child(item):
            with batcher.participant():
                return await batcher(item)

        async with asyncio.timeout(30):
            with batcher.participant():
                with batcher.participant(), batcher.participant():
                    assert await batcher(1) == 2
                assert await asyncio.gather(child(2), child(3)) == [4, 6]
                assert await batcher(4) == 8
    assert record.batches == [[1], [2, 3], [4]]
    assert (batcher.participants.count, batcher.participants.waiting) == (0, 0)


async def test_an_outer_participant_that_leaves_first():
    async with Batcher(Recorder(), max_batch=9, batch_window_us=HOUR_US, inline=True) as batcher:

        async def child():
            with batcher.participant():
                await turns()
                return await batcher(1)

        async with asyncio.timeout(30):
            with batcher.participant():
                task = asyncio.create_task(child())
                await asyncio.sleep(0)
            assert await task == 2
    assert (batcher.participants.count, batcher.participants.waiting) == (0, 0)


async def test_a_participant_takes_part_once_at_a_time():
    async with Batcher(Recorder(), max_batch=9, batch_window_us=HOUR_US, inline=True) as batcher:
        participant = batcher.participant()
        for item in range(2):
            with participant:
                with pytest.raises(BatcherError, match="taking part already"), participant:
                    pass
                assert await batcher(item) == 2 * item


class Changing:
    """A key that changes its hash, as it must not."""

    def __init__(self):
        self.hash = 1

    def __hash__(self):
        return self.hash


async def test_a_key_that_changes_keeps_nobody_waiting():
    keys = [Changing() for _ in range(3)]
    batcher = Batcher(list, max_batch=8, batch_window_us=2000, inline=True)
    async with batcher, asyncio.timeout(30):
        calls = [batcher((i, i), key=key) for i, key in enumerate(keys)]
        for i, key in enumerate(keys):
            key.hash = 10 + i
        calls[0].cancel()
        assert [tuple(await call) for call in calls[1:]] == [(1, 1), (2, 2)]
        assert [tuple(await batcher((3, 3), key=key)) for key in keys] == [(3, 3)] * 3


async def test_priority_overtakes_but_starves_nobody():
    gate = Gate()
    async with Batcher(gate, max_batch=2) as batcher:
        calls = [batcher("first")]
        await turns()
        calls += [batcher(f"low {i}", priority=-1) for i in range(2)]
        calls += [batcher(f"high {i}", priority=1) for i in range(4)]
        gate.let_through(9)
        await asyncio.gather(*calls)
    assert gate.batches == [
        ["first"],
        ["low 0", "high 0"],
        ["low 1", "high 1"],
        ["high 2", "high 3"],
    ]


async def test_a_second_argument_is_no_key():
    async with Batcher(Recorder(), max_batch=4, inline=True) as batcher:
        with pytest.raises(TypeError):
            batcher(1, 2)
