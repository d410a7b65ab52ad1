"""Stopping in order when the user or the system asks for it."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from signal import SIGINT, SIGTERM, Signals

SIGNALS = (SIGINT, SIGTERM)


class Stop:
    """Which signal asked for the end, if one did."""

    signal: Signals | None = None


@contextmanager
def cancelled_by_signals() -> Iterator[Stop]:
    """SIGINT and SIGTERM cancel the body, once; a second one ends the process at once."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    stop = Stop()

    def remove() -> None:
        for number in SIGNALS:
            loop.remove_signal_handler(number)

    def cancel(number: Signals) -> None:
        stop.signal = number
        remove()
        task.cancel()

    for number in SIGNALS:
        loop.add_signal_handler(number, cancel, number)
    try:
        yield stop
    except asyncio.CancelledError:
        if stop.signal is None:
            raise
        task.uncancel()
    finally:
        remove()
