"""Learning in a thread beside the event loop."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

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
