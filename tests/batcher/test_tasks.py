"""A call may be made a task, which is then its only owner."""

import asyncio
import weakref

import pytest

from asynccfr.batcher import Batcher, BatcherError
from tests.batcher.support import Gate, Recorder, turns, until


async def test_a_task_group_takes_calls(build):
    async with build(Recorder(), max_batch=10) as batcher:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(batcher(item)) for item in range(5)]
        assert [task.result() for task in tasks] == [0, 2, 4, 6, 8]


async def test_an_error_ends_the_task(build):
    async with build(lambda items: 1 / 0, max_batch=10) as batcher:
        with pytest.raises(ZeroDivisionError):
            await asyncio.create_task(batcher(1))


async def test_a_task_of_a_call_that_is_done():
    async with Batcher(Recorder(), max_batch=10) as batcher:
        call = batcher(1)
        await call
        assert await asyncio.create_task(call) == 2


@pytest.mark.parametrize("steps", [0, 5])
async def test_cancelling_the_task_withdraws_the_item(steps):
    gate = Gate()
    async with Batcher(gate, max_batch=1) as batcher:
        blocker = batcher(0)
        await turns()
        task = asyncio.create_task(batcher(1))
        await turns(steps)
        assert batcher.statistics().queued == 1
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert batcher.statistics().cancelled == 1
        gate.let_through(2)
        await blocker
    assert gate.batches == [[0]]


async def test_the_failure_of_one_withdraws_the_others_of_its_group():
    gate = Gate()
    async with Batcher(gate, max_batch=1) as batcher:
        blocker = batcher(0)

        async def fail():
            await turns()
            raise ValueError("no")

        async def both():
            async with asyncio.TaskGroup() as group:
                group.create_task(batcher(1))
                group.create_task(fail())

        with pytest.raises(ExceptionGroup):
            await both()
        gate.let_through(2)
        await blocker
    assert gate.batches == [[0]]


async def test_a_call_that_is_thrown_into():
    async with Batcher(Recorder(), max_batch=10) as batcher:
        call = batcher(1)
        with pytest.raises(ValueError, match="no"):
            call.throw(ValueError("no"))
        assert call.cancelled()
        call = batcher(1)
        with pytest.raises(BatcherError, match="why"):
            call.throw(BatcherError, "why")


async def test_closing_a_caller_leaves_a_call_that_others_await():
    gate = Gate()
    async with Batcher(gate, max_batch=1) as batcher:
        call = batcher(1)

        async def caller():
            return await call

        task = asyncio.create_task(caller())
        await turns()
        other = caller()
        other.send(None)
        other.close()
        gate.let_through()
        assert await task == 2


async def test_a_call_can_be_referred_to_weakly():
    async with Batcher(Recorder(), max_batch=10, inline=True) as batcher:
        call = batcher(1)
        reference = weakref.ref(call)
        assert reference() is call
        await call
        await turns()
        del call
        assert reference() is None


async def test_a_finished_call_with_a_deadline_keeps_nothing_alive(build):
    class Result:
        pass

    async with build(lambda items: [Result() for _ in items], max_batch=10) as batcher:
        references = []
        for _ in range(3):
            references.append(weakref.ref(await batcher(1, timeout=3600)))
        await until(lambda: [reference() for reference in references] == [None] * 3)


@pytest.mark.skipif(not hasattr(asyncio, "eager_task_factory"), reason="before Python 3.12")
async def test_tasks_that_start_eagerly(build):
    def eagerly(loop, coroutine, *, name=None, context=None, **_):
        return asyncio.eager_task_factory(loop, coroutine, name=name, context=context)

    asyncio.get_running_loop().set_task_factory(eagerly)
    recorder = Recorder()
    async with build(recorder, max_batch=3, batch_window_us=1000, timeout=60) as batcher:

        async def caller(item):
            return await batcher(item)

        tasks = [asyncio.create_task(caller(i)) for i in range(5)]
        tasks += [asyncio.create_task(batcher(5))]
        tasks[4].cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert results[:4] + results[5:] == [0, 2, 4, 6, 10]
        assert isinstance(results[4], asyncio.CancelledError)
        async with asyncio.TaskGroup() as group:
            more = [group.create_task(caller(i)) for i in range(4)]
        assert [task.result() for task in more] == [0, 2, 4, 6]
    assert recorder.batches[:2] == [[0, 1, 2], [3, 5]]
