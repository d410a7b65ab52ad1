"""One loop for each batcher; any number of threads; no forks."""

import asyncio
import concurrent.futures
import gc
import os
import random
import threading
import warnings

import pytest
import uvloop

from asynccfr.batcher import Batcher, BatcherClosed, BatcherError, QueueFull, batched
from tests.batcher.support import Gate, Recorder, ThreadGate, turns, until


async def in_thread(function, *arguments):
    return await asyncio.to_thread(function, *arguments)


async def test_a_second_loop_is_refused_at_once(build):
    async with build(Recorder(), max_batch=2) as batcher:
        assert await batcher(1) == 2

        async def elsewhere():
            with pytest.raises(BatcherError, match="belongs to the event loop that first used it"):
                batcher(1)
            with pytest.raises(BatcherError, match="is not this one"):
                await batcher.aclose()
            with pytest.raises(BatcherError):
                await batcher.__aenter__()

        await in_thread(lambda: asyncio.run(elsewhere()))
        assert await batcher(2) == 4


async def test_a_batcher_moves_on_when_its_loop_is_closed(build):
    batcher = build(Recorder(), max_batch=2, batch_window_us=100, timeout=60)

    async def use():
        return await asyncio.gather(batcher(1), batcher(2), batcher(3))

    def use_twice():
        for _ in range(2):
            assert asyncio.run(use()) == [2, 4, 6]

    await in_thread(use_twice)
    assert await use() == [2, 4, 6]
    await batcher.aclose()


async def test_a_batcher_stays_where_calls_still_wait():
    batcher = Batcher(Recorder(), max_batch=2, batch_window_us=1e9, inline=True)

    async def leave_one_behind():
        batcher(1)

    async def use():
        with pytest.raises(BatcherError, match="which is closed, with calls that wait"):
            batcher(2)

    def use_twice():
        asyncio.run(leave_one_behind())
        asyncio.run(use())

    await in_thread(use_twice)


async def test_a_batcher_made_before_there_is_a_loop(build):
    batcher = await in_thread(lambda: build(Recorder(), max_batch=2))
    async with batcher:
        assert await batcher(1) == 2


def test_outside_a_loop():
    batcher = Batcher(Recorder(), max_batch=2)
    with pytest.raises(BatcherError, match="call_from_thread"):
        batcher(1)
    with pytest.raises(BatcherError, match="no event loop yet"):
        batcher.call_from_thread(1)


async def test_submit_in_another_thread_is_refused():
    async with Batcher(Recorder(), max_batch=2) as batcher:

        def submit():
            with pytest.raises(BatcherError, match="call_from_thread"):
                batcher(1)

        await in_thread(submit)


async def test_calls_from_another_thread(build):
    async with build(Recorder(), max_batch=2, key=lambda item: item % 2) as batcher:
        assert await in_thread(batcher.call_from_thread, 3) == 6
        future = await in_thread(lambda: batcher.submit_from_thread(4, timeout=60, key="any"))
        assert await asyncio.wrap_future(future) == 8


async def test_a_call_from_the_loop_itself_is_refused():
    async with Batcher(Recorder(), max_batch=2) as batcher:
        with pytest.raises(BatcherError, match="which it would block"):
            batcher.call_from_thread(1)


async def test_errors_reach_the_thread():
    gate = Gate()
    async with Batcher(gate, max_batch=1, max_queue=1, when_full="raise") as batcher:
        blocker = batcher(0)
        await turns()

        def calls():
            with pytest.raises(TimeoutError):
                batcher.call_from_thread(1, timeout=0.01)
            waiting = batcher.submit_from_thread(2)
            with pytest.raises(QueueFull):
                batcher.call_from_thread(3)
            with pytest.raises(TypeError, match="no_such_option"):
                batcher.call_from_thread(4, no_such_option=1)
            return waiting

        waiting = await in_thread(calls)
        gate.let_through(2)
        assert await blocker == 0
        assert await asyncio.wrap_future(waiting) == 4

    async with Batcher(lambda items: 1 / 0, max_batch=1, inline=True) as batcher:
        with pytest.raises(ZeroDivisionError):
            await in_thread(batcher.call_from_thread, 1)


async def test_a_thread_may_give_up():
    gate = Gate()
    async with Batcher(gate, max_batch=1) as batcher:
        blocker = batcher(0)
        await turns()
        queued = await in_thread(batcher.submit_from_thread, 1)
        await turns()
        assert queued.cancel()
        await until(lambda: batcher.statistics().cancelled)
        never = batcher.submit_from_thread
        future = await in_thread(lambda: (future := never(2), future.cancel())[0])
        await turns()
        assert future.cancelled()
        gate.let_through(3)
        assert await blocker == 0
    assert gate.batches == [[0]]


async def test_closing_reaches_waiting_threads():
    gate = ThreadGate()
    batcher = Batcher(gate, max_batch=1)
    first = batcher(0)
    await until(lambda: gate.batches)
    threads = [asyncio.create_task(in_thread(batcher.call_from_thread, i)) for i in range(4)]
    await until(lambda: batcher.statistics().queued == 4)
    closing = asyncio.create_task(batcher.aclose(cancel=True))
    errors = await asyncio.gather(*threads, return_exceptions=True)
    assert {type(error) for error in errors} == {BatcherClosed}
    gate.let_through()
    await closing
    assert isinstance(first.exception(), BatcherClosed)
    with pytest.raises(BatcherClosed):
        await in_thread(batcher.call_from_thread, 1)


async def test_a_thread_does_not_hang_on_a_loop_that_is_gone():
    batchers = []
    entered, leave = threading.Event(), threading.Event()

    async def main():
        batchers.append(Batcher(Gate(), max_batch=1))
        await batchers[0].__aenter__()
        entered.set()
        await asyncio.to_thread(leave.wait)

    def run():
        asyncio.run(main())

    loop = asyncio.create_task(in_thread(run))
    await in_thread(entered.wait)
    call = asyncio.create_task(in_thread(batchers[0].call_from_thread, 1))
    await until(lambda: batchers[0].statistics().items)
    leave.set()
    await loop
    with pytest.raises((BatcherClosed, concurrent.futures.CancelledError, BatcherError)):
        await call
    with pytest.raises(BatcherClosed, match="event loop is closed"):
        await in_thread(batchers[0].call_from_thread, 1)


async def test_eight_threads_and_a_thousand_coroutines_lose_nothing(build):
    answers = {}
    async with build(lambda items: [-item for item in items], max_batch=64) as batcher:

        def thread(number):
            rng = random.Random(number)
            for i in range(100):
                item = 1_000_000 * (number + 1) + i
                future = batcher.submit_from_thread(item)
                if rng.random() < 0.2:
                    future.cancel()
                    future = batcher.submit_from_thread(item)
                answers[item] = future.result(60)

        async def coroutine(item):
            if item % 7 == 0:
                batcher(item).cancel()
            answers[item] = await batcher(item)

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            loop = asyncio.get_running_loop()
            threads = [loop.run_in_executor(pool, thread, number) for number in range(8)]
            await asyncio.gather(*threads, *(coroutine(i) for i in range(1000)))
    assert len(answers) == 1800
    assert all(answer == -item for item, answer in answers.items())
    statistics = batcher.statistics()
    assert statistics.succeeded + statistics.cancelled + statistics.abandoned == statistics.items
    assert statistics.succeeded >= 1800


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
async def test_a_fork_is_detected(build):
    async with build(Recorder(), max_batch=2) as batcher:
        unused = build(Recorder(), max_batch=2)
        assert await batcher(1) == 2
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            status = 1
            try:

                async def in_child():
                    assert await unused(1) == 2
                    with pytest.raises(BatcherError, match="was forked"):
                        batcher(1)
                    with pytest.raises(BatcherError, match="was forked"):
                        await batcher.aclose()

                with pytest.raises(BatcherError, match="was forked"):
                    batcher(1)
                with pytest.raises(BatcherError, match="was forked"):
                    batcher.call_from_thread(1)
                thread = threading.Thread(target=lambda: asyncio.run(in_child()))
                thread.start()
                thread.join(30)
                status = 0
            finally:
                os._exit(status)
        _, status = await in_thread(os.waitpid, child, 0)
        assert status == 0
        assert await batcher(2) == 4


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
@pytest.mark.parametrize("state", ["executing", "queued", "not yet submitted"])
def test_closing_the_loop_fails_the_futures_of_threads(new_loop, state):
    loop, gate = new_loop(), ThreadGate()

    async def start():
        batcher = Batcher(gate, max_batch=1)
        batcher(0)
        if state == "queued":
            await turns()
        return batcher

    batcher = loop.run_until_complete(start())
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        done, open_one = (pool.submit(batcher.submit_from_thread, i).result() for i in range(2))
        done.cancel()
        blocked = pool.submit(batcher.call_from_thread, 3)
        if state != "not yet submitted":
            loop.run_until_complete(turns())
        assert not open_one.done()
        loop.close()
        with pytest.raises(BatcherClosed, match="event loop"):
            open_one.result(30)
        with pytest.raises(BatcherClosed, match="event loop"):
            blocked.result(30)
        with pytest.raises(BatcherClosed, match="event loop is closed"):
            pool.submit(batcher.submit_from_thread, 1).result(30)
    gate.let_through()


@batched(max_batch=2)
def doubled(items):
    return [item * 2 for item in items]


@batched(max_batch=2, timeout=60)
async def doubled_in_a_task(items):
    return [item * 2 for item in items]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("function", [doubled, doubled_in_a_task])
async def test_a_decorated_function_works_in_a_forked_process(function):
    assert await function(1) == 2
    closed = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        status = 1
        try:

            async def in_child():
                assert await function(2) == 4
                await function.aclose()
                closed.append(function)

            thread = threading.Thread(target=lambda: asyncio.run(in_child()))
            thread.start()
            thread.join(30)
            gc.collect()
            status = int(closed != [function])
        finally:
            os._exit(status)
    _, status = await in_thread(os.waitpid, child, 0)
    assert status == 0
    assert await function(2, timeout=60) == 4
    await function.aclose()
