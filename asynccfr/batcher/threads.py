"""Calls from other threads: a hand-over to the event loop, and a future to wait on."""

import asyncio
from collections.abc import Mapping
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar
from weakref import WeakKeyDictionary, ref

from asynccfr.batcher.call import Call
from asynccfr.batcher.core import Core
from asynccfr.errors import BatcherClosed, BatcherError

Item = TypeVar("Item")
Result = TypeVar("Result")

A_CENTURY = 3e9  # seconds


class Lifeline:
    """Fails the futures that wait for an event loop when that is closed, which it tells nobody.

    But it forgets its timers, and only a timer refers to this object.
    """

    def __init__(self) -> None:
        self.futures: set[Future[Any]] = set()
        self._is_held = False

    def hold(self, loop: asyncio.AbstractEventLoop) -> None:
        """Live for as long as the loop is open; to be called in the loop."""
        if not self._is_held:
            self._is_held = True
            loop.call_later(A_CENTURY, self.hold, loop)

    def __del__(self) -> None:
        for future in list(self.futures):
            settle(future, error=BatcherClosed("the batcher's event loop was closed"))


lifelines: WeakKeyDictionary[asyncio.AbstractEventLoop, ref[Lifeline]] = WeakKeyDictionary()


def lifeline_of(loop: asyncio.AbstractEventLoop) -> Lifeline:
    known = lifelines.get(loop)
    lifeline = known() if known is not None else None
    if lifeline is None:
        lifeline = Lifeline()
        lifelines[loop] = ref(lifeline)
    return lifeline


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

    def submit(lifeline: Lifeline) -> None:
        lifeline.hold(loop)
        if future.cancelled():
            return
        try:
            call = batcher.submit(item, **options)
        except Exception as error:
            settle(future, error=error)
        else:
            future.add_done_callback(partial(give_up_call, call))
            call.add_done_callback(partial(pass_on, future))

    lifeline = lifeline_of(loop)
    lifeline.futures.add(future)
    future.add_done_callback(lifeline.futures.discard)
    try:
        loop.call_soon_threadsafe(submit, lifeline)
    except RuntimeError:
        raise BatcherClosed("the batcher's event loop is closed") from None
    return future


def result_in_thread(future: Future[Result]) -> Result:
    """The future's result; an interrupted wait cancels it."""
    try:
        return future.result()
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
