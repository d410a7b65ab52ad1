"""Learning in threads beside the event loop."""

import asyncio
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TypeVar

from asynccfr.errors import first_failure

Result = TypeVar("Result")


async def in_thread(learn: Callable[[threading.Event], Result]) -> Result:
    """Run `learn` in a thread; cancelling sets its event and waits until it has returned."""
    stop = threading.Event()
    work = asyncio.ensure_future(asyncio.to_thread(learn, stop))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        stop.set()
        while not work.done():  # cancelled again, it still owns the thread
            with suppress(asyncio.CancelledError):
                await asyncio.wait([work])
        raise


async def in_threads(jobs: Iterable[Callable[[threading.Event], Result]]) -> list[Result]:
    """Run each in a thread of its own, as `in_thread` does; the first failure stops the others."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(in_thread(job)) for job in jobs]
    except BaseExceptionGroup as failures:
        raise first_failure(failures) from None
    return [task.result() for task in tasks]
