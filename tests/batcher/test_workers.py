"""The threads that compute batches come when needed and leave nothing behind."""

import asyncio
import gc
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from asynccfr.batcher import Batcher, workers
from tests.batcher.support import Recorder, ThreadGate, until


@pytest.fixture(autouse=True)
def threads():
    """Lists the threads of the test's batchers."""
    before = set(threading.enumerate())

    def threads() -> list[threading.Thread]:
        new = set(threading.enumerate()) - before
        return [thread for thread in new if thread.name == "asynccfr-batch"]

    return threads


async def test_there_are_no_more_threads_than_batches_at_once(threads):
    gate = ThreadGate()
    async with Batcher(gate, max_batch=1, max_concurrent_batches=3) as batcher:
        assert threads() == []
        for _ in range(3):
            call = batcher(1)
            gate.let_through()
            assert await call == 2
        assert len(threads()) == 1
        calls = [batcher(i) for i in range(9)]
        await until(lambda: len(gate.batches) == 6)
        assert len(threads()) == 3
        gate.let_through(9)
        assert await asyncio.gather(*calls) == [0, 2, 4, 6, 8, 10, 12, 14, 16]
    assert threads() == []


async def test_threads_end_with_a_batcher_that_is_dropped(threads):
    batcher = Batcher(Recorder(), max_batch=1)
    assert await batcher(1) == 2
    del batcher
    await until(lambda: gc.collect() >= 0 and not threads())


async def test_callers_are_told_that_there_are_no_threads(monkeypatch, threads):
    async with Batcher(Recorder(), max_batch=2) as batcher:
        with monkeypatch.context() as patch:

            def start(thread):
                raise RuntimeError("can't start new thread")

            patch.setattr(workers.Thread, "start", start)
            with pytest.raises(RuntimeError, match="can't start new thread"):
                await batcher(1)
        assert await batcher(1) == 2


async def test_a_function_that_is_executing_at_exit_comes_to_its_end(threads):
    program = """
import asyncio, time
from asynccfr.batcher import Batcher

def slow(items):
    time.sleep(0.3)
    print("finished")
    return items

async def main():
    call = Batcher(slow, max_batch=1)(1)
    await asyncio.sleep(0.05)

asyncio.run(main())
print("leaving")
"""
    run = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    assert (run.stdout, run.stderr, run.returncode) == ("leaving\nfinished\n", "", 0)


HUNG = """
import asyncio, threading
from asynccfr import Batcher

def hang(items):
    threading.Event().wait()

async def main():
    batcher = Batcher(hang, max_batch=2)
    call = batcher(1)
    await asyncio.sleep(0.05)
    try:
        await asyncio.wait_for(batcher.aclose(cancel=True), 0.2)
    except TimeoutError:
        print(type(call.exception()).__name__)

asyncio.run(main())
"""


def test_a_function_that_hangs_does_not_keep_the_interpreter_from_exiting():
    """Once closing with cancel=True was bounded and given up."""
    done = subprocess.run(
        [sys.executable, "-c", HUNG],
        capture_output=True,
        text=True,
        timeout=30,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert (done.stdout.strip(), done.returncode) == ("BatcherClosed", 0), done.stderr
