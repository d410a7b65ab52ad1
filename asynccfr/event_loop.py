"""Running a coroutine on the fastest event loop there is."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

new_event_loop: Callable[[], asyncio.AbstractEventLoop]
try:
    from uvloop import new_event_loop
except ImportError:
    from asyncio import new_event_loop

Result = TypeVar("Result")


def run(main: Coroutine[Any, Any, Result]) -> Result:
    """`asyncio.run`, on uvloop where that is installed."""
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(main)
