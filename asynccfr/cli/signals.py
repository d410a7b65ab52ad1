"""Stopping in order when the user or the system asks for it."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from signal import SIGINT, SIGTERM, Signals

SIGNALS = (SIGINT, SIGTERM)


class Stop:
    """Which signal asked for the end, if one did."""

    signal: Signals | None = None


@contextmanager
def stopped_by_signals(asked: Callable[[Signals], None]) -> Iterator[Stop]:
    """The first SIGINT or SIGTERM is noted, the second cancels the body, a third kills.

    `asked` is called at the first; the body looks at the `Stop` where it can end in order.
    """
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    stop = Stop()

    def remove() -> None:
        for number in SIGNALS:
            loop.remove_signal_handler(number)

    def handle(number: Signals) -> None:
        if stop.signal is None:
            stop.signal = number
            asked(number)
        else:
            remove()
            task.cancel()

    for number in SIGNALS:
        loop.add_signal_handler(number, handle, number)
    try:
        yield stop
    except asyncio.CancelledError:
        if stop.signal is None:
            raise
        task.uncancel()
    finally:
        remove()
