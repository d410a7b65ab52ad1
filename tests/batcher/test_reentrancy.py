"""A batch function that reaches its own batcher would wait for itself, and is told so."""

import asyncio
import contextvars
import gc
import weakref

import pytest

from asynccfr.batcher import Batcher, BatcherError
from tests.batcher.support import Recorder, turns

ITSELF = "called its own batcher"


@pytest.fixture(autouse=True)
async def patience():
    async with asyncio.timeout(30):
        yield


async def test_by_way_of_a_task():
    async def function(items):
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(batcher(item)) for item in items]
        return [task.result() for task in tasks]

    async with Batcher(function, max_batch=4) as batcher:
        with pytest.raises(ExceptionGroup) as group:
            await batcher(1)
    assert ITSELF in str(group.value.exceptions[0])


async def test_by_way_of_tasks_that_are_gathered():
    async def ask(item):
        return await batcher(item)

    async def function(items):
        return await asyncio.gather(*map(ask, items))

    async with Batcher(function, max_batch=4) as batcher:
        with pytest.raises(BatcherError, match=ITSELF):
            await batcher(1)


async def test_by_way_of_a_thread():
    async def function(items):
        return [await asyncio.to_thread(batcher.call_from_thread, item) for item in items]

    async with Batcher(function, max_batch=4) as batcher:
        with pytest.raises(BatcherError, match=ITSELF):
            await batcher(1)


async def test_from_a_thread_by_way_of_the_event_loop():
    async def ask(item):
        return await batcher(item)

    def function(items):
        return [asyncio.run_coroutine_threadsafe(ask(item), loop).result(30) for item in items]

    loop = asyncio.get_running_loop()
    async with Batcher(function, max_batch=4) as batcher:
        with pytest.raises(BatcherError, match=ITSELF):
            await batcher(1)


async def test_from_a_thread_by_a_future():
    def function(items):
        return [batcher.submit_from_thread(item).result(30) for item in items]

    async with Batcher(function, max_batch=4) as batcher:
        with pytest.raises(BatcherError, match=ITSELF):
            await batcher(1)


async def test_by_way_of_another_batcher():
    async def back(items):
        return [await batcher(item) for item in items]

    async def forth(items):
        return [await other(item) for item in items]

    async with Batcher(forth, max_batch=4) as batcher, Batcher(back, max_batch=4) as other:
        with pytest.raises(BatcherError, match=ITSELF):
            await batcher(1)


async def test_two_batchers_may_share_a_third(build):
    async with build(Recorder(), max_batch=4) as shared:

        async def function(items):
            return await asyncio.gather(*(shared(item) for item in items))

        async with Batcher(function, max_batch=4) as one, Batcher(function, max_batch=4) as two:
            assert await asyncio.gather(one(1), two(2), one(3)) == [2, 4, 6]


async def test_closing_by_way_of_a_task():
    async def function(items):
        await asyncio.create_task(batcher.aclose())
        return items

    async with Batcher(function, max_batch=4) as batcher:
        with pytest.raises(BatcherError, match=ITSELF):
            await batcher(1)


async def test_what_it_left_behind_may_call_later(build):
    """A connection pool's task, say, that the function happened to start."""
    later = asyncio.Event()
    tasks = []
    loop = asyncio.get_running_loop()

    async def ask(item):
        await later.wait()
        return await batcher(item), await asyncio.to_thread(batcher.call_from_thread, item)

    def function(items):
        if not tasks:
            context = contextvars.copy_context()
            start = lambda: tasks.append(loop.create_task(ask(5), context=context))  # noqa: E731
            loop.call_soon_threadsafe(start)
        return [item * 2 for item in items]

    async with build(function, max_batch=4) as batcher:
        assert await batcher(1) == 2
        later.set()
        await turns()
        assert await tasks[0] == (10, 10)


async def test_a_task_that_starts_as_the_function_returns_may_call():
    tasks = []

    async def ask():
        return await batcher(7)

    async def function(items):
        if not tasks:
            tasks.append(asyncio.create_task(ask()))
        return items

    async with Batcher(function, max_batch=4) as batcher:
        assert await batcher(1) == 1
        assert await tasks[0] == 7


async def test_a_task_of_another_context_may_call_while_it_executes():
    tasks = []

    async def ask():
        return await batcher(7)

    async def function(items):
        if not tasks:
            tasks.append(asyncio.create_task(ask(), context=contextvars.Context()))
            await turns()
        return items

    async with Batcher(function, max_batch=4) as batcher:
        assert await batcher(1) == 1
        assert await tasks[0] == 7


async def test_a_context_that_is_kept_keeps_no_results():
    class Result:
        pass

    kept = []

    async def function(items):
        kept.append(contextvars.copy_context())
        return [Result() for _ in items]

    async with Batcher(function, max_batch=4) as batcher:
        reference = weakref.ref(await batcher(1))
        await turns()
        gc.collect()
        assert kept
        assert reference() is None
