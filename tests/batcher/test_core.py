"""The state machine alone, with a clock that the test turns."""

import asyncio
import gc
import os
import random
from collections import Counter

import pytest

from asynccfr.batcher.core import Core


class Machine(Core):
    """Takes batches when told to; remembers the alarms it was asked for."""

    def __init__(self, **options):
        self.time = 100.0
        self.alarms = []
        self.turns = 0
        super().__init__(clock=lambda: self.time, **options)
        self._settle(asyncio.get_running_loop())
        self.context = None

    def _turn(self):
        self.turns += 1

    def _set_alarm(self, when):
        self.alarms.append(round(when - 100.0, 6))

    def _emptied(self):
        self.alarms.append("emptied")

    def _unwanted(self, batch):
        self.alarms.append("unwanted")

    def take(self):
        batch = self._take()
        return batch and (batch.reason, [call.item for call in batch.calls])

    def at(self, time):
        self.time = 100.0 + time
        return self


async def test_the_window_counts_from_the_oldest_item():
    machine = Machine(max_batch=10, window=1.0)
    machine.submit("a")
    machine.at(0.9).submit("b")
    assert machine.alarms == [1.0]
    assert machine.at(0.99).take() is None
    assert machine.at(1.0).take() == ("window", ["a", "b"])


async def test_an_alarm_that_rings_early_is_set_again():
    machine = Machine(max_batch=10, window=1.0)
    machine.submit("a")
    machine.at(0.999)._ring()
    assert machine.take() is None
    assert machine.alarms == [1.0, 1.0]
    assert machine.at(1.0).take() == ("window", ["a"])


async def test_what_is_left_of_a_full_lane_waits_for_its_own_window():
    machine = Machine(max_batch=2, window=1.0, max_concurrent_batches=9)
    machine.submit("a")
    machine.at(0.5).submit("b")
    machine.at(0.6).submit("c")
    assert machine.take() == ("full", ["a", "b"])
    assert machine.at(1.5).take() is None
    assert machine.at(1.6).take() == ("window", ["c"])


async def test_a_window_that_ends_while_enough_executes():
    machine = Machine(max_batch=10, window=1.0)
    machine.submit("a")
    first = machine.at(1.0)._take()
    machine.at(1.1).submit("b")
    machine.at(2.5).submit("c")
    assert machine.take() is None
    machine._finish(first, ["A"])
    assert machine.take() == ("window", ["b", "c"])


async def test_keys_are_served_in_the_order_they_are_due():
    machine = Machine(max_batch=2, window=1.0, max_concurrent_batches=9)
    machine.submit("a", 1)
    machine.at(0.1).submit("b", 2)
    machine.at(0.2).submit("c", 3)
    machine.at(0.3).submit("d", 3)
    assert machine.take() == ("full", ["c", "d"])
    assert machine.take() is None
    assert machine.at(5).take() == ("window", ["a"])
    assert machine.take() == ("window", ["b"])
    assert machine.take() is None


async def test_lanes_take_turns():
    machine = Machine(max_batch=1, max_concurrent_batches=99)
    for i in range(3):
        machine.at(i / 10).submit(f"a{i}", "a")
    machine.at(0.5).submit("b0", "b")
    machine.at(0.6).submit("c0", "c")
    machine.at(0.7).submit("b1", "b")
    order = []
    machine.at(1.0)
    while (batch := machine.take()) is not None:
        machine.time += 0.01
        order += batch[1]
    assert order == ["a0", "b0", "c0", "a1", "b1", "a2"]


async def test_the_oldest_gives_up_and_the_window_moves_on():
    machine = Machine(max_batch=10, window=1.0)
    first = machine.submit("a")
    machine.at(0.5).submit("b")
    first.cancel()
    assert machine.at(1.2).take() is None
    assert machine.at(1.5).take() == ("window", ["b"])


async def test_full_is_judged_by_those_who_are_left():
    machine = Machine(max_batch=2, window=1.0)
    machine.submit("a")
    second = machine.at(0.1).submit("b")
    second.cancel()
    assert machine.at(0.2).take() is None
    machine.submit("c")
    assert machine.take() == ("full", ["a", "c"])


async def test_a_turn_is_asked_for_once():
    machine = Machine(max_batch=3)
    for item in "abcdef":
        machine.submit(item)
    await asyncio.sleep(0)
    assert machine.turns == 1
    machine.take()
    machine.submit("g")
    await asyncio.sleep(0)
    assert machine.turns == 1  # enough is executing; `_finish` will ask


async def test_a_deadline_passes_before_the_batch_is_taken():
    machine = Machine(max_batch=3)
    late, good = machine.submit("a", timeout=1.0), machine.submit("b", timeout=2.0)
    assert machine.at(1.5).take() == ("idle", ["b"])
    with pytest.raises(TimeoutError, match="within 1 s"):
        late.result()
    assert not good.done()
    machine.at(2.0)._ring()
    assert isinstance(good.exception(), TimeoutError)
    assert machine.timed_out == 2


async def test_the_alarm_is_set_to_the_earliest_of_windows_and_deadlines():
    machine = Machine(max_batch=10, window=1.0)
    machine.submit("a", timeout=5.0)
    machine.submit("b", timeout=0.5)
    machine.submit("c", timeout=0.7)
    assert machine.alarms == [1.0, 0.5]
    machine.at(0.5)._ring()
    assert machine.alarms[2:] == [0.7]
    assert machine.take() is None
    machine.at(0.7)._ring()
    assert machine.take() is None
    assert machine.alarms[-1] == 1.0
    assert machine.at(1.0).take() == ("window", ["a"])


async def test_closing_ignores_windows():
    machine = Machine(max_batch=10, window=1.0)
    machine.submit("a")
    machine._close()
    batch = machine._take()
    assert batch.reason == "closing"
    machine._finish(batch, ["A"])
    assert machine.alarms[-1] == "emptied"


async def test_closing_ends_when_the_last_one_gives_up():
    machine = Machine(max_batch=10, window=1.0)
    call = machine.submit("a")
    machine._close()
    assert "emptied" not in machine.alarms
    call.cancel()
    assert machine.alarms[-1] == "emptied"


async def test_old_entries_do_not_accumulate():
    machine = Machine(max_batch=2, window=1e6, timeout=1e6, max_concurrent_batches=1)
    machine.submit("x")
    before = len(gc.get_objects())
    for i in range(2000):
        machine.submit(i, i % 7).cancel()
        machine.submit("a", "full")
        machine.submit("b", "full")
        batch = machine._take()
        assert batch.reason == "full"
        machine._finish(batch, [1, 2])
    del batch
    await asyncio.sleep(0)
    gc.collect()
    assert len(gc.get_objects()) - before < 800


async def test_every_item_is_counted_once():
    machine = Machine(max_batch=2, capacity=4)
    calls = [machine.submit(i) for i in range(8)]
    batch = machine._take()
    calls[0].cancel()
    calls[3].cancel()
    machine._finish(batch, [ValueError(), ValueError()])
    machine._drop(calls[4:6], "closed")
    assert machine.submitted == 8
    assert (machine.abandoned, machine.cancelled, machine.failed, machine.closed) == (1, 1, 1, 2)
    assert machine.queued + machine.waiting + machine.executing == 3


SCHEDULES = int(os.environ.get("SCHEDULES", "1000"))


async def test_no_key_waits_for_more_than_a_batch_of_each_other():
    """Random schedules: busy keys, windows, priorities, cancellations, several executions."""
    for seed in range(SCHEDULES):
        Schedule(random.Random(seed)).run()


class Schedule:
    """A random history of a machine, in which every start is held against the bound."""

    def __init__(self, chance):
        self.chance = chance
        self.keys = "abcdef"[: chance.randint(2, 6)]
        self.window = chance.choice([0, 0, 1, 3])
        self.machine = Machine(
            max_batch=chance.randint(1, 4),
            window=self.window,
            max_concurrent_batches=chance.randint(1, 3),
        )
        self.running = []
        self.waiting = {key: [] for key in self.keys}
        self.passed = (
            Counter()
        )  # batches of a key that started while a call was the oldest, and due

    def run(self):
        for _ in range(40):
            getattr(
                self, self.chance.choice(["arrive", "arrive", "crowd", "leave", "end", "wait"])
            )()
            while (batch := self.machine._take()) is not None:
                self.started(batch)

    def arrive(self, key=None):
        key = key or self.chance.choice(self.keys)
        priority = self.chance.choice([0, 0, 0, 5, -5])
        self.waiting[key].append(self.machine.submit(object(), key, None, priority))

    def crowd(self):
        """A key that is kept full by twice as many callers as fit."""
        for _ in range(2 * self.machine.max_batch):
            self.arrive(self.keys[0])

    def leave(self):
        key = self.chance.choice(self.keys)
        if self.waiting[key]:
            self.waiting[key].pop(self.chance.randrange(len(self.waiting[key]))).cancel()

    def end(self):
        if self.running:
            batch = self.running.pop(self.chance.randrange(len(self.running)))
            self.machine._finish(batch, [1] * len(batch.calls))

    def wait(self):
        self.machine.time += self.chance.choice([0.5, 1, 2])

    def started(self, batch):
        now, key = self.machine.time, batch.key
        oldest = self.waiting[key][0]
        assert oldest in batch.calls, "the oldest has a place in the next batch"
        self.waiting[key] = [call for call in self.waiting[key] if call not in batch.calls]
        self.running.append(batch)
        for other in set(self.keys) - {key}:
            oldest = next(iter(self.waiting[other]), None)
            if oldest is not None and oldest.arrived + self.window < now:
                self.passed[oldest, key] += 1
                assert self.passed[oldest, key] <= 1, "one batch of each other key at most"
