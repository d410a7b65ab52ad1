"""Closing: what waits is computed or told, what runs is waited for, and nothing stays behind."""

import asyncio
import threading

import pytest

from asynccfr.batcher import Batcher, BatcherClosed, BatcherError
from tests.batcher.support import Gate, Recorder, ThreadGate, turns, until


@pytest.fixture(autouse=True)
async def nothing_is_left_running():
    tasks = asyncio.all_tasks()
    yield
    assert asyncio.all_tasks() <= tasks | {asyncio.current_task()}
    assert not [thread for thread in threading.enumerate() if "asynccfr" in thread.name]


async def test_closing_drains(build):
    record = Recorder()
    batcher = build(record, max_batch=4, batch_window_us=3.6e9)
    calls = [batcher(i) for i in range(10)]
    await batcher.aclose()
    assert all(call.done() for call in calls)
    assert await asyncio.gather(*calls) == [2 * i for i in range(10)]
    assert record.sizes == [4, 4, 2]
    assert batcher.statistics().reasons["closing"] == 1


async def test_closing_drains_the_line_too():
    batcher = Batcher(Recorder(), max_batch=2, max_queue=2, inline=True)
    calls = [batcher(i) for i in range(10)]
    await batcher.aclose()
    assert [call.result() for call in calls] == [2 * i for i in range(10)]


async def test_calls_after_closing_are_refused(build):
    batcher = build(Recorder(), max_batch=4)
    await batcher.aclose()
    refused = batcher(1)
    with pytest.raises(BatcherClosed, match="is closed"):
        await refused
    with pytest.raises(BatcherClosed):
        await batcher.submit(1)
    assert "closed" in repr(batcher)


async def test_calls_while_draining_are_refused():
    gate = Gate()
    batcher = Batcher(gate, max_batch=4)
    call = batcher(1)
    await turns()
    closing = asyncio.create_task(batcher.aclose())
    await turns()
    with pytest.raises(BatcherClosed):
        await batcher(2)
    assert "closing" in repr(batcher)
    gate.let_through()
    await closing
    assert call.result() == 2


async def test_cancel_fails_the_callers_at_once_and_waits_for_the_thread():
    gate = ThreadGate()
    batcher = Batcher(gate, max_batch=2, max_queue=2)
    calls = [batcher(i) for i in range(6)]
    await until(lambda: gate.batches)
    closing = asyncio.create_task(batcher.aclose(cancel=True))
    errors = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(error) for error in errors] == [BatcherClosed] * 6
    assert len({id(error) for error in errors}) == 6
    assert not closing.done()
    gate.let_through()
    await closing
    assert gate.batches == [[0, 1]]
    assert batcher.statistics().closed == 6


async def test_cancel_interrupts_a_coroutine():
    interrupted = []

    async def for_ever(items):
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            interrupted.append(items)
            raise

    batcher = Batcher(for_ever, max_batch=2)
    call = batcher(1)
    await turns()
    await batcher.aclose(cancel=True)
    assert interrupted == [[1]]
    with pytest.raises(BatcherClosed):
        await call


async def test_cancel_right_after_the_start_of_a_coroutine():
    batcher = Batcher(Gate(), max_batch=1)
    call = batcher(1)
    batcher._turn()
    await batcher.aclose(cancel=True)
    with pytest.raises(BatcherClosed):
        await call


async def test_cancelling_a_drain():
    gate = Gate()
    batcher = Batcher(gate, max_batch=1)
    calls = [batcher(i) for i in range(3)]
    drain = asyncio.create_task(batcher.aclose())
    await turns()
    await batcher.aclose(cancel=True)
    await drain
    assert {type(e) for e in await asyncio.gather(*calls, return_exceptions=True)} == {
        BatcherClosed
    }


async def test_closing_twice_at_once_and_again(build):
    batcher = build(Recorder(), max_batch=2)
    call = batcher(1)
    await asyncio.gather(batcher.aclose(), batcher.aclose(), batcher.aclose())
    assert call.result() == 2
    await batcher.aclose()
    await batcher.aclose(cancel=True)


async def test_closing_what_was_never_used(build):
    await build(Recorder(), max_batch=2).aclose()
    async with build(Recorder(), max_batch=2):
        pass


async def test_closing_goes_on_when_its_caller_gives_up():
    gate = Gate()
    batcher = Batcher(gate, max_batch=1)
    calls = [batcher(i) for i in range(2)]
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(batcher.aclose(), 0.005)
    with pytest.raises(BatcherClosed):
        await batcher(3)
    gate.let_through(2)
    assert await asyncio.gather(*calls) == [0, 2]
    await batcher.aclose()


async def test_giving_up_while_it_drains_ends_the_drain():
    gate = Gate()
    batcher = Batcher(gate, max_batch=1)
    calls = [batcher(i) for i in range(3)]
    closing = asyncio.create_task(batcher.aclose())
    await turns()
    calls[1].cancel()
    calls[2].cancel()
    gate.let_through()
    await closing
    assert gate.batches == [[0]]


async def test_a_caller_may_close():
    batcher = Batcher(Recorder(), max_batch=2, inline=True)
    call = batcher(1)
    await batcher.aclose()
    assert await call == 2


async def test_a_callback_may_start_closing():
    batcher = Batcher(Recorder(), max_batch=2, inline=True)
    tasks = []
    call = batcher(1)
    call.add_done_callback(lambda call: tasks.append(asyncio.ensure_future(batcher.aclose())))
    await call
    await tasks[0]


async def test_the_batch_function_cannot_close():
    async def closes(items):
        await batcher.aclose()

    batcher = Batcher(closes, max_batch=2)
    with pytest.raises(BatcherError, match="called its own batcher"):
        await batcher(1)
    await batcher.aclose()


async def test_leaving_because_of_an_exception_keeps_what_is_being_computed():
    gate = ThreadGate()
    calls = []

    async def leave():
        async with Batcher(gate, max_batch=2) as batcher:
            calls.extend(batcher(i) for i in range(4))
            await until(lambda: gate.batches)
            raise LookupError("out of here")

    leaving = asyncio.create_task(leave())
    await until(lambda: len(calls) == 4 and calls[3].done())
    assert not leaving.done()
    gate.let_through()
    with pytest.raises(LookupError):
        await leaving
    assert await asyncio.gather(*calls[:2]) == [0, 2]
    with pytest.raises(BatcherClosed, match="LookupError"):
        await calls[2]
    assert isinstance(calls[3].exception(), BatcherClosed)


async def test_leaving_because_of_an_exception_keeps_results(build):
    with pytest.raises(LookupError):  # noqa: PT012
        async with build(Recorder(), max_batch=2) as batcher:
            calls = [batcher(i) for i in range(2)]
            await until(lambda: batcher.statistics().batches)
            raise LookupError
    assert [call.result() for call in calls] == [0, 2]


async def test_leaving_by_cancellation():
    gate = Gate()
    calls = []

    async def main():
        async with Batcher(gate, max_batch=1) as batcher:
            calls.extend(batcher(i) for i in range(2))
            await asyncio.gather(asyncio.shield(calls[0]), asyncio.Event().wait())

    task = asyncio.create_task(main())
    await turns()
    task.cancel()
    await turns()
    gate.let_through()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert calls[0].result() == 0
    assert isinstance(calls[1].exception(), BatcherClosed)


async def test_everyone_in_a_task_group_finishes_before_the_batcher_closes(build):
    async with build(Recorder(), max_batch=4) as batcher, asyncio.TaskGroup() as group:

        async def caller(item):
            return await batcher(await batcher(item))

        tasks = [group.create_task(caller(i)) for i in range(20)]
    assert [task.result() for task in tasks] == [4 * i for i in range(20)]


async def test_a_batcher_in_a_loop_that_ends_without_closing_it():
    """asyncio.run cancels what is left, and nobody hangs."""
    outcome = []

    async def main():
        async def caller():
            try:
                await batcher(1)
            except asyncio.CancelledError:
                outcome.append("cancelled")
                raise

        batcher = Batcher(Gate(), max_batch=1, timeout=60)
        task = asyncio.create_task(caller())
        await turns()
        return batcher, task

    batcher, _ = await asyncio.to_thread(lambda: asyncio.run(main()))
    assert outcome == ["cancelled"]
    await batcher.aclose()
    assert not batcher.is_open


@pytest.mark.parametrize("where", ["thread", "task"])
async def test_cancel_ends_the_bisection_of_a_failed_batch(where):
    gate = ThreadGate()
    asynchronous = Gate()
    if where == "thread":

        def fail(items):
            gate(items)
            raise ValueError("no")

        batches = gate.batches
    else:

        async def fail(items):  # type: ignore[misc]
            await asynchronous(items)
            raise ValueError("no")

        batches = asynchronous.batches
    batcher = Batcher(fail, max_batch=8, isolate_errors=True)
    calls = [batcher(item) for item in range(8)]
    await until(lambda: batches)
    (gate if where == "thread" else asynchronous).let_through()
    await until(lambda: len(batches) == 2)
    closing = asyncio.create_task(batcher.aclose(cancel=True))
    await turns()
    errors = [call.exception() for call in calls]
    gate.let_through(100)
    asynchronous.let_through(100)
    await closing
    assert {type(error) for error in errors} == {BatcherClosed}
    assert batches == [[*range(8)], [*range(4)]]
