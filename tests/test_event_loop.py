"""`run` works wherever it is called, and what it runs ends with it."""

import asyncio
import contextvars
import os
import signal
import threading

import pytest

from asynccfr.event_loop import new_event_loop, run

name = contextvars.ContextVar("name", default="nobody")


async def answer() -> int:
    await asyncio.sleep(0.001)
    return 42


async def fail() -> None:
    raise ValueError("as it should")


@pytest.fixture(params=[asyncio.new_event_loop, new_event_loop], ids=["asyncio", "uvloop"])
def outer(request):
    """A runner whose loop is there already, as in a notebook."""
    with asyncio.Runner(loop_factory=request.param) as runner:
        yield runner


def test_it_runs_without_a_loop():
    assert run(answer()) == 42


def test_it_runs_within_a_running_loop(outer):
    async def cell():
        name.set("somebody")

        async def told():
            return name.get()

        with pytest.raises(ValueError, match="as it should"):
            run(fail())
        return run(answer()), run(answer()), run(told())

    assert outer.run(cell()) == (42, 42, "somebody")


def test_an_interrupt_within_a_running_loop_ends_it():
    ended = threading.Event()

    async def endless():
        try:
            await asyncio.sleep(0.1)
            os.kill(os.getpid(), signal.SIGINT)
            await asyncio.sleep(60)
        finally:
            ended.set()

    async def cell():
        signal.signal(signal.SIGINT, signal.default_int_handler)
        run(endless())

    loop = asyncio.new_event_loop()
    with pytest.raises(KeyboardInterrupt):
        loop.run_until_complete(cell())
    assert ended.wait(5)
    loop.close()
