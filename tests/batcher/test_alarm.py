"""Times are kept without timerfd, too: by a thread."""

import asyncio
import gc
import threading
import time

import pytest

from asynccfr.batcher import Batcher, alarm
from tests.batcher.support import Gate, Recorder, turns, until


@pytest.fixture(params=["timerfd", "thread"])
def kind(request, monkeypatch):
    if request.param == "thread":

        def unsupported():
            raise OSError("no timerfd")

        monkeypatch.setattr(alarm, "timerfd_create", unsupported)
        return alarm.ThreadAlarm
    return alarm.TimerfdAlarm


@pytest.fixture(autouse=True)
def threads():
    """Lists the threads of the test's batchers."""
    before = set(threading.enumerate())

    def threads() -> list[threading.Thread]:
        new = set(threading.enumerate()) - before
        return [thread for thread in new if thread.name == "asynccfr-alarm"]

    return threads


async def test_windows_end(kind, threads):
    async with Batcher(Recorder(), max_batch=10, batch_window_us=2000, inline=True) as batcher:
        for _ in range(5):
            start = time.monotonic()
            assert await asyncio.gather(batcher(1), batcher(2)) == [2, 4]
            assert time.monotonic() - start >= 0.002
        assert type(batcher._alarm) is kind
    assert batcher.statistics().reasons["window"] == 5
    await until(lambda: not threads())


async def test_deadlines_are_kept(kind, threads):
    gate = Gate()
    async with Batcher(gate, max_batch=1) as batcher:
        calls = [batcher(i, timeout=timeout) for i, timeout in enumerate((3600, 0.01, 0.005))]
        await turns()
        for call in calls[1:]:
            with pytest.raises(TimeoutError):
                await call
        gate.let_through()
        assert await calls[0] == 0


async def test_an_alarm_rings_once_at_the_last_time_asked_for(kind, threads):
    loop = asyncio.get_running_loop()
    rings = []
    made = kind(loop, lambda: rings.append(time.monotonic()))
    start = time.monotonic()
    made.set(start + 3600)
    made.set(start + 0.02)
    made.set(start + 0.01)
    await until(lambda: rings)
    await asyncio.sleep(0.03)
    assert len(rings) == 1
    assert rings[0] >= start + 0.01
    made.set(time.monotonic() + 0.01)
    made.close()
    await asyncio.sleep(0.03)
    assert len(rings) == 1


async def test_a_time_in_the_past_rings_and_one_beyond_all_times_does_not(kind, threads):
    rings = []
    made = kind(asyncio.get_running_loop(), lambda: rings.append(1))
    made.set(float("inf"))
    await asyncio.sleep(0.005)
    assert rings == []
    made.set(-5.0)
    await until(lambda: rings)
    made.close()


async def test_an_alarm_ends_with_its_batcher(kind, threads):
    batcher = Batcher(Recorder(), max_batch=10, batch_window_us=100, inline=True)
    assert await batcher(1) == 2
    assert (len(threads()) == 1) == (kind is alarm.ThreadAlarm)
    await turns()
    del batcher
    gc.collect()
    await until(lambda: not threads())


async def test_whoever_waits_keeps_the_batcher_alive(kind, threads):
    answers = []

    async def caller():
        batcher = Batcher(Recorder(), max_batch=10, batch_window_us=20_000, inline=True)
        answers.append(await batcher(1))

    asyncio.get_running_loop().call_soon(asyncio.create_task, caller())
    await turns()
    gc.collect()
    await until(lambda: answers == [2])
    gc.collect()
    await until(lambda: not threads())


def test_an_alarm_ends_with_its_loop(kind, threads):
    loop = asyncio.new_event_loop()
    made = kind(loop, lambda: None)
    loop.close()
    made.set(time.monotonic())
    for thread in threads():
        thread.join(30)
    made.close()
    assert threads() == []
