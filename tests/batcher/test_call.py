"""A call is a future: asyncio's tools treat it like one of their own."""

import asyncio
import contextvars

import pytest

from asynccfr.batcher import Batcher, Call
from tests.batcher.support import Gate, Recorder, turns


@pytest.fixture
async def gate():
    return Gate()


@pytest.fixture
async def batcher(gate):
    async with Batcher(gate, max_batch=10) as batcher:
        yield batcher
        gate.let_through(100)


async def test_it_counts_as_a_future(batcher):
    call = batcher(1)
    assert isinstance(call, Call)
    assert asyncio.isfuture(call)
    assert call.get_loop() is asyncio.get_running_loop()
    assert asyncio.ensure_future(call) is call


async def test_its_states(batcher, gate):
    call = batcher(1)
    assert "pending" in repr(call)
    with pytest.raises(asyncio.InvalidStateError, match="not done yet"):
        call.result()
    with pytest.raises(asyncio.InvalidStateError):
        call.exception()
    gate.let_through()
    assert await call == 2
    assert call.done()
    assert not call.cancelled()
    assert call.result() == 2
    assert call.exception() is None
    assert not call.cancel()
    assert await call == 2


async def test_several_tasks_may_await_one_call(batcher, gate):
    call = batcher(4)

    async def wait():
        return await call

    tasks = [asyncio.create_task(wait()) for _ in range(5)]
    await turns()
    gate.let_through()
    assert await asyncio.gather(*tasks) == [8] * 5


async def test_gather_and_as_completed(batcher, gate):
    gate.let_through(3)
    assert await asyncio.gather(batcher(1), batcher(2)) == [2, 4]
    assert sorted([await next for next in asyncio.as_completed([batcher(5), batcher(6)])]) == [
        10,
        12,
    ]


async def test_wait_for_and_timeout_withdraw_the_item(batcher, gate):
    blocker = batcher(0)
    await turns()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(batcher(1), 0.005)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.005):
            await batcher(2)
    gate.let_through(2)
    await blocker
    assert await batcher(3) == 6
    assert gate.batches == [[0], [3]]


async def test_shield_keeps_the_call(batcher, gate):
    call = batcher(1)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asyncio.shield(call), 0.005)
    assert not call.done()
    gate.let_through()
    assert await call == 2


async def test_gather_cancels_its_calls(batcher, gate):
    calls = [batcher(1), batcher(2)]
    both = asyncio.gather(*calls)
    await turns()
    both.cancel("enough")
    with pytest.raises(asyncio.CancelledError):
        await both
    assert all(call.cancelled() for call in calls)


async def test_gather_collects_what_became_of_calls(batcher, gate):
    kept, dropped, given_up = batcher(1), batcher(2), batcher(3)
    dropped.cancel("no longer wanted")
    given_up.cancel()
    gate.let_through()
    result, *errors = await asyncio.gather(kept, dropped, given_up, return_exceptions=True)
    assert result == 2
    assert [type(error) for error in errors] == [asyncio.CancelledError] * 2
    assert errors[0].args == ("no longer wanted",)


async def test_a_cancel_message_is_kept(batcher):
    call = batcher(1)
    assert call.cancel("no longer wanted")
    with pytest.raises(asyncio.CancelledError, match="no longer wanted"):
        await call
    with pytest.raises(asyncio.CancelledError):
        call.exception()


async def test_callbacks_run_in_the_loop_in_order_and_in_their_context(batcher, gate):
    variable = contextvars.ContextVar("variable", default="outside")
    seen = []
    call = batcher(1)
    context = contextvars.copy_context()
    context.run(variable.set, "inside")
    call.add_done_callback(lambda call: seen.append(("first", variable.get())), context=context)
    call.add_done_callback(lambda call: seen.append(("second", variable.get())))

    def dropped(call):
        seen.append("dropped")

    call.add_done_callback(dropped)
    call.add_done_callback(dropped)
    assert call.remove_done_callback(dropped) == 2
    gate.let_through()
    await call
    call.add_done_callback(lambda call: seen.append("late"))
    assert seen == [("first", "inside"), ("second", "outside")]
    await turns()
    assert seen[2:] == ["late"]


async def test_callbacks_of_a_cancelled_call_do_not_run_inside_cancel(batcher):
    call = batcher(1)
    seen = []
    call.add_done_callback(seen.append)
    call.add_done_callback(seen.append)
    call.cancel()
    assert seen == []
    await turns()
    assert seen == [call, call]


async def test_a_failing_callback_is_reported_and_harms_nobody(batcher, gate):
    reports = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, report: reports.append(report))
    first, second = batcher(1), batcher(2)
    first.add_done_callback(lambda call: 1 / 0)
    gate.let_through()
    assert await asyncio.gather(first, second) == [2, 4]
    assert [type(report["exception"]) for report in reports] == [ZeroDivisionError]


async def test_an_error_that_nobody_asks_for_is_reported():
    reports = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, report: reports.append(report))
    async with Batcher(lambda items: 1 / 0, max_batch=4, inline=True) as batcher:
        call, asked = batcher(1), batcher(2)
        await turns()
        assert isinstance(asked.exception(), ZeroDivisionError)
        del call
    assert [report["message"] for report in reports] == ["Future exception was never retrieved"]


async def test_results_that_look_like_exceptions_or_stop_iteration_arrive():
    values = [(), (1, 2), StopIteration, ValueError, None]
    async with Batcher(lambda items: items, max_batch=9, inline=True) as batcher:
        assert await asyncio.gather(*map(batcher, values)) == values


async def test_each_caller_goes_on_in_its_own_context(build):
    variable = contextvars.ContextVar("variable")

    async def caller(item):
        variable.set(item)
        await batcher(item)
        return variable.get()

    async with build(Recorder(), max_batch=100) as batcher:
        assert await asyncio.gather(*(caller(i) for i in range(20))) == list(range(20))


async def test_the_function_does_not_see_the_context_of_a_caller(build):
    variable = contextvars.ContextVar("variable", default="nobody")

    async def caller(batcher):
        variable.set("somebody")
        return await batcher(1)

    def function(items):
        return [variable.get() for _ in items]

    made = build(function, max_batch=10)
    assert await asyncio.create_task(caller(made)) == "nobody"
    entered = build(function, max_batch=10)
    variable.set("who entered it")
    async with entered:
        assert await asyncio.create_task(caller(entered)) == "who entered it"
    await made.aclose()


async def test_a_task_that_stops_the_loop_leaves_the_others_of_its_batch_their_results():
    """As with asyncio's own futures: KeyboardInterrupt in a task ends run_forever."""
    results = []

    async def main():
        async def interrupted():
            await batcher(0)
            raise KeyboardInterrupt

        async def caller(item):
            results.append(await batcher(item))

        async with Batcher(Recorder(), max_batch=9, inline=True) as batcher:
            tasks = [asyncio.create_task(interrupted())]
            tasks += [asyncio.create_task(caller(i)) for i in range(1, 4)]
            await asyncio.gather(*tasks[1:])

    def run_in_new_loop():
        loop = asyncio.new_event_loop()
        task = loop.create_task(main())
        with pytest.raises(KeyboardInterrupt):
            loop.run_until_complete(task)
        loop.run_until_complete(task)
        loop.close()

    await asyncio.to_thread(run_in_new_loop)
    assert results == [2, 4, 6]
