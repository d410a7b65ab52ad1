"""Calls that must be answered in time."""

import asyncio
import math
from datetime import timedelta

import pytest

from asynccfr.batcher import Batcher, BatcherError
from tests.batcher.support import Gate, Recorder, ThreadGate, turns, until


@pytest.mark.parametrize("where", ["default", "call"])
async def test_an_item_past_its_deadline_is_not_computed(where):
    gate = Gate()
    default = {"timeout": 0.01} if where == "default" else {}
    own = {} if where == "default" else {"timeout": 0.01}
    async with Batcher(gate, max_batch=9, **default) as batcher:
        blocker = batcher(0, timeout=None)
        await turns()
        with pytest.raises(TimeoutError, match=r"no result within 0\.01 s"):
            await batcher(1, **own)
        late = batcher(2, timeout=None)
        gate.let_through(2)
        assert await asyncio.gather(blocker, late) == [0, 4]
    assert gate.batches == [[0], [2]]
    assert batcher.statistics().timed_out == 1


async def test_the_caller_is_told_promptly_while_its_item_executes():
    gate = ThreadGate()
    async with Batcher(gate, max_batch=9) as batcher:
        patient, hasty = batcher(1), batcher(2, timeout=0.02)
        await until(lambda: gate.batches)
        with pytest.raises(TimeoutError):
            await hasty
        assert not patient.done()
        gate.let_through()
        assert await patient == 2
    assert batcher.statistics().timed_out == 1


async def test_a_call_in_line_for_the_queue_has_its_deadline_too():
    gate = Gate()
    async with Batcher(gate, max_batch=1, max_queue=1) as batcher:
        calls = [batcher(0)]
        await turns()
        calls.append(batcher(1))
        with pytest.raises(TimeoutError):
            await batcher(2, timeout=0.01)
        assert batcher.statistics().waiting == 0
        gate.let_through(2)
        assert await asyncio.gather(*calls) == [0, 2]


async def test_deadlines_are_kept_in_their_order_not_in_that_of_arrival():
    gate = Gate()
    async with Batcher(gate, max_batch=1) as batcher:
        blocker = batcher(0)
        await turns()
        order = []
        for timeout in (0.03, 0.01, 0.02):
            batcher(1, timeout=timeout).add_done_callback(
                lambda call, timeout=timeout: order.append((timeout, type(call.exception())))
            )
        await until(lambda: len(order) == 3)
        assert order == [(timeout, TimeoutError) for timeout in (0.01, 0.02, 0.03)]
        gate.let_through()
        await blocker


@pytest.mark.parametrize("timeout", [0, -1])
async def test_a_deadline_that_has_passed_already(timeout):  # noqa: ASYNC109
    record = Recorder()
    async with Batcher(record, max_batch=9, inline=True) as batcher:
        with pytest.raises(TimeoutError):
            await batcher(1, timeout=timeout)
    assert record.batches == []


async def test_a_result_in_time_ends_the_deadline():
    async with Batcher(Recorder(), max_batch=9, inline=True, timeout=0.01) as batcher:
        call = batcher(1)
        assert await call == 2
        await asyncio.sleep(0.02)
        assert call.result() == 2
        assert batcher.statistics().timed_out == 0


async def test_no_deadline_in_spite_of_the_default():
    gate = Gate()
    async with Batcher(gate, max_batch=9, timeout=0.005) as batcher:
        call = batcher(1, timeout=None)
        await asyncio.sleep(0.02)
        gate.let_through()
        assert await call == 2


async def test_an_infinite_deadline_is_none():
    async with Batcher(Recorder(), max_batch=9, inline=True) as batcher:
        assert await batcher(1, timeout=math.inf) == 2


async def test_a_deadline_must_be_a_number():
    async with Batcher(Recorder(), max_batch=9, inline=True) as batcher:
        for timeout in (math.nan, "soon", timedelta(seconds=1)):
            with pytest.raises(BatcherError, match="timeout=.*expected a number of seconds"):
                await batcher(1, timeout=timeout)
        assert batcher.statistics().items == 0
