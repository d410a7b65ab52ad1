"""What a batcher says about itself."""

import asyncio
import random
import statistics as reference

import pytest

from asynccfr.batcher import Batcher, BatchRecord
from asynccfr.batcher.core import Core
from asynccfr.batcher.statistics import Sizes
from tests.batcher.support import Gate, Recorder, turns
from tests.batcher.test_core import Machine


async def test_everything_is_counted(build):
    async with build(Recorder(), max_batch=4) as batcher:
        await asyncio.gather(*map(batcher, range(10)))
        batcher(1).cancel()
        statistics = batcher.statistics()
    assert statistics.items == 11
    assert statistics.succeeded == 10
    assert statistics.cancelled == 1
    assert statistics.batches == 3
    assert statistics.queued == statistics.in_flight == statistics.waiting == 0
    assert statistics.batch_size.counts == {4: 2, 2: 1}
    assert statistics.batch_size.mean == pytest.approx(10 / 3)
    assert (statistics.batch_size.p50, statistics.batch_size.p95) == (4, 4)
    assert statistics.batch_size.max == 4
    assert statistics.queue_wait_us.count == 10
    assert statistics.execution_us.count == 3
    assert 0 < statistics.execution_us.p50 <= statistics.execution_us.p99
    assert "11 items in 3 batches (2 full, 1 idle)" in str(statistics)


async def test_the_difference_of_two_snapshots_is_the_time_between():
    async with Batcher(Recorder(), max_batch=4, inline=True) as batcher:
        await asyncio.gather(*map(batcher, range(10)))
        before = batcher.statistics()
        await asyncio.gather(*map(batcher, range(3)))
        waiting = batcher(1)
        interval = batcher.statistics() - before
        assert interval.items == 4
        assert interval.succeeded == 3
        assert interval.batches == 1
        assert interval.queued == 1
        assert interval.batch_size.counts == {3: 1}
        assert interval.reasons == {"full": 0, "idle": 1, "window": 0, "closing": 0}
        assert interval.queue_wait_us.count == 3
        assert interval.execution_us.count == 1
        await waiting
    nothing = before - before
    assert nothing.batch_size.mean == nothing.queue_wait_us.p50 == nothing.batch_size.p50 == 0


async def test_waits_and_executions_are_measured():
    machine = Machine(max_batch=10, window=1.0)
    machine.submit("a")
    machine.at(0.25).submit("b")
    batch = machine.at(1.0)._take()
    machine.at(1.5)._finish(batch, [1, 2])
    assert machine.queue_wait.count == 2
    assert machine.queue_wait.p99 == pytest.approx(1e6, rel=0.02)
    assert machine.queue_wait.p50 == pytest.approx(0.75e6, rel=0.02)
    assert machine.queue_wait.mean == pytest.approx(0.875e6)
    assert machine.execution.max == pytest.approx(0.5e6, rel=0.02)


async def test_percentiles_are_within_two_percent():
    machine = Machine(max_batch=1, max_concurrent_batches=10**9)
    rng = random.Random(1)
    waits = sorted(10 ** rng.uniform(-7, 3) for _ in range(2000))
    for wait in waits:
        machine.at(0).submit(1)
        machine.time += wait
        machine._take()
    exact = [1e6 * wait for wait in waits]
    cuts = reference.quantiles(exact, n=100, method="inclusive")
    for percent in (5, 50, 95, 99):
        assert machine.queue_wait.percentile(percent) == pytest.approx(cuts[percent - 1], rel=0.04)
    assert (
        machine.queue_wait.cumulative([0.05, 1e3, 1e12])
        == [
            0,
            sum(wait <= 1e3 for wait in exact),
            2000,
        ]
        or abs(machine.queue_wait.cumulative([1e3])[0] - sum(w <= 1e3 for w in exact)) < 20
    )


def test_percentiles_of_sizes():
    sizes = Sizes({1: 50, 8: 45, 512: 5})
    assert (sizes.p50, sizes.p95, sizes.percentile(96), sizes.max) == (1, 8, 512, 512)
    assert Sizes().p95 == Sizes().max == Sizes().mean == 0


async def test_a_snapshot_does_not_change():
    async with Batcher(Recorder(), max_batch=4, inline=True) as batcher:
        await batcher(1)
        snapshot = batcher.statistics()
        text = str(snapshot)
        await batcher(1)
        assert str(snapshot) == text
        with pytest.raises(AttributeError):
            snapshot.items = 0


async def test_the_hook_is_told_of_every_batch(build):
    records = []
    async with build(
        lambda items: [ValueError() if i == 1 else i for i in items],
        max_batch=2,
        on_batch=records.append,
        name="model",
        key=lambda item: "k",
    ) as batcher:
        await asyncio.gather(*map(batcher, range(3)), return_exceptions=True)
    assert [(r.batcher, r.key, r.reason, r.items, r.size, r.failed) for r in records] == [
        ("model", "k", "full", 2, 2, 1),
        ("model", "k", "idle", 1, 1, 0),
    ]
    for record in records:
        assert isinstance(record, BatchRecord)
        assert record.started_unix_ns <= record.ended_unix_ns
        assert record.queue_wait_us >= 0


async def test_what_is_in_flight():
    gate = Gate()
    async with Batcher(gate, max_batch=2) as batcher:
        calls = [batcher(i) for i in range(3)]
        await turns()
        assert "1 queued, 2 in flight" in repr(batcher)
        assert batcher.statistics().in_flight == 2
        assert isinstance(batcher, Core)
        gate.let_through(2)
        await asyncio.gather(*calls)


async def test_records_tell_what_was_marked():
    records = []
    marks = iter("ab")
    async with Batcher(
        Recorder(), max_batch=4, inline=True, mark=lambda: next(marks), on_batch=records.append
    ) as batcher:
        await asyncio.gather(batcher(1), batcher(2))
    assert records[0].marks == ["a", "b"]


async def test_distinct_sizes_are_few():
    async with Batcher(list, max_batch=10**9, size_of=int, inline=True) as batcher:
        for size in range(1, 2_000_000, 331):
            await batcher(size)
    assert len(batcher.statistics().batch_size.counts) < 12_000
