"""Batches whose callers have all gone: errors are reported, coroutines are cancelled."""

import asyncio
import threading

import pytest

from asynccfr.batcher import Batcher
from tests.batcher.support import turns, until


@pytest.fixture
async def reports():
    """What the event loop's exception handler is told."""
    found = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, report: found.append(report))
    return found


async def test_an_error_that_no_caller_receives_is_reported_once(reports):
    go = threading.Event()
    records = []

    def fail(items):
        assert go.wait(30)
        raise LookupError("nothing there")

    async with Batcher(fail, max_batch=2, name="model", on_batch=records.append) as batcher:
        left, late = batcher(1), batcher(2, timeout=0.02)
        await until(lambda: batcher.executing)
        left.cancel()
        with pytest.raises(TimeoutError):
            await late
        go.set()
    [report] = reports
    assert isinstance(report["exception"], LookupError)
    assert report["message"] == "model: the batch function failed after all its callers had left"
    assert records[0].error is report["exception"]
    assert records[0].failed == 2


async def test_an_error_that_one_caller_receives_is_not_reported(reports):
    go = threading.Event()

    def fail(items):
        assert go.wait(30)
        raise LookupError("nothing there")

    async with Batcher(fail, max_batch=2) as batcher:
        left, stays = batcher(1), batcher(2)
        await until(lambda: batcher.executing)
        left.cancel()
        go.set()
        with pytest.raises(LookupError):
            await stays
    assert reports == []


async def test_a_coroutine_that_nobody_waits_for_is_cancelled(reports):
    go = asyncio.Event()
    ends = []

    async def wait(items):
        try:
            await go.wait()
        finally:
            ends.append(items)
        return items

    async with Batcher(wait, max_batch=2) as batcher:
        calls = [batcher(1), batcher(2)]
        await until(lambda: batcher.executing)
        calls[0].cancel()
        await turns()
        assert ends == []
        calls[1].cancel()
        await turns()
        was_cancelled = bool(ends)
        go.set()
    assert was_cancelled
    assert reports == []


async def test_what_a_cancelled_coroutine_raises_instead_is_reported(reports):
    async def clumsy(items):
        try:
            await asyncio.Event().wait()
        finally:
            raise LookupError("the session is closed")

    async with Batcher(clumsy, max_batch=2) as batcher:
        call = batcher(1)
        await until(lambda: batcher.executing)
        await asyncio.sleep(0)
        call.cancel()
    [report] = reports
    assert isinstance(report["exception"], LookupError)
