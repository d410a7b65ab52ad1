"""Calls from other threads: a hand-over to the event loop, and a future to wait on."""

import asyncio
from collections.abc import Mapping
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from asynccfr.batcher.call import Call
from asynccfr.batcher.core import Core
from asynccfr.errors import BatcherClosed, BatcherError

Item = TypeVar("Item")
Result = TypeVar("Result")

# The loop may be closed, without a word to us, while a thread waits.
LOOK_AT_LOOP_EVERY = 0.5


def submit_in_thread(
    batcher: Core[Item, Result], item: Item, options: Mapping[str, Any]
) -> Future[Result]:
    """Submit in the batcher's event loop; the future follows the call, and cancels it."""
    loop = batcher.loop
    future: Future[Result] = Future()
    if not isinstance(loop, asyncio.AbstractEventLoop):
        raise BatcherError(
            "the batcher has no event loop yet; enter it with `async with`, or await a call, first"
        )
    if asyncio._get_running_loop() is loop:
        raise BatcherError("called from the event loop, which it would block; await the call")

    def submit() -> None:
        if future.cancelled():
            return
        try:
            call = batcher.submit(item, **options)
        except Exception as error:
            settle(future, error=error)
        else:
            future.add_done_callback(partial(give_up_call, call))
            call.add_done_callback(partial(pass_on, future))

    try:
        loop.call_soon_threadsafe(submit)
    except RuntimeError:
        raise BatcherClosed("the batcher's event loop is closed") from None
    return future


def result_in_thread(batcher: Core[Item, Result], future: Future[Result]) -> Result:
    """Wait for the future for as long as there is an event loop to resolve it."""
    while True:
        try:
            return future.result(LOOK_AT_LOOP_EVERY)
        except TimeoutError:
            if future.done():
                return future.result()
            if batcher.loop.is_closed():
                raise BatcherClosed("the batcher's event loop was closed") from None
        except BaseException:
            future.cancel()
            raise


def give_up_call(call: Call[Result], future: Future[Result]) -> None:
    if future.cancelled():
        with suppress(RuntimeError):
            call.get_loop().call_soon_threadsafe(call.cancel)


def pass_on(future: Future[Result], call: Call[Result]) -> None:
    if call.cancelled():
        settle(future, error=CancelledError())
    elif (error := call.exception()) is not None:
        settle(future, error=error)
    else:
        settle(future, result=call.result())


def settle(future: Future[Any], *, result: Any = None, error: BaseException | None = None) -> None:
    if future.set_running_or_notify_cancel():
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)
