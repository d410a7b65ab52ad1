"""Running a coroutine on the fastest event loop there is."""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from typing import Any, TypeVar

new_event_loop: Callable[[], asyncio.AbstractEventLoop]
try:
    from uvloop import new_event_loop
except ImportError:
    from asyncio import new_event_loop

Result = TypeVar("Result")


def run(main: Coroutine[Any, Any, Result]) -> Result:
    """`asyncio.run`, on uvloop where that is installed, and from within a running loop too.

    There, as in a notebook, it runs in a thread of its own while the caller's loop stands still;
    an interrupt cancels it.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            return runner.run(main)
    tasks: list[asyncio.Task[Any]] = []
    context = copy_context()

    async def noted() -> Result:
        task = asyncio.current_task()
        assert task is not None
        tasks.append(task)
        return await main

    with ThreadPoolExecutor(1) as thread:
        try:
            return thread.submit(lambda: context.run(lambda: run(noted()))).result()
        except KeyboardInterrupt:
            for task in tasks:
                with suppress(RuntimeError):  # it has ended meanwhile
                    task.get_loop().call_soon_threadsafe(task.cancel)
            raise
