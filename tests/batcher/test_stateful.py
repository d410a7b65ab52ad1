"""Random histories of a batcher against a simple model of it."""

import asyncio
import sys

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from asynccfr.batcher import Batcher, BatcherClosed

MAX_BATCH, MAX_QUEUE = 3, 5


class Simulated(Batcher):
    """With the test's clock: its alarm rings when the test says so, or at once if it is due."""

    def _set_alarm(self, when):
        if when <= self.clock():
            self.loop.call_soon(self._ring)


class Histories(RuleBasedStateMachine):
    """The model: when every call expires, and what has become of it; batches as they start."""

    loop_factory = staticmethod(asyncio.new_event_loop)

    def __init__(self):
        super().__init__()
        self.runner = asyncio.Runner(loop_factory=self.loop_factory)
        self.now = 1000.0
        self.calls = {}
        self.order = []
        self.expires = {}
        self.priority = {}
        self.expected = {}
        self.started = {}
        self.closed = False
        self.run(self.open)

    def run(self, action, *arguments):
        async def step():
            result = await action(*arguments)
            for _ in range(6):
                await asyncio.sleep(0)
            return result

        return self.runner.run(step())

    async def open(self):
        self.batcher = Simulated(
            self.function, max_batch=MAX_BATCH, max_queue=MAX_QUEUE, max_concurrent_batches=2
        )
        self.batcher.clock = lambda: self.now
        await self.batcher.__aenter__()

    async def function(self, items):
        keys = {key for key, _ in items}
        assert len(keys) == 1
        assert 1 <= len(items) <= MAX_BATCH
        waiting = [item for item in self.order if item[0] in keys and self.is_waiting(item)]
        queued = [item for item in waiting if item in items or not self.in_line(item)]
        oldest, *others = queued
        others.sort(key=lambda item: -self.priority[item])
        assert items == [oldest, *others][: len(items)], "the oldest, then by priority and arrival"
        assert len(items) == MAX_BATCH or len(waiting) == len(items) or len(self.order) > MAX_QUEUE
        for item in items:
            assert self.expires[item] > self.now, "past its deadline"
            self.expected[item] = "running"
        gate = asyncio.get_running_loop().create_future()
        self.started[gate] = items
        try:
            return await gate
        except asyncio.CancelledError:
            assert not any(self.expected[item] == "running" for item in items), "still wanted"
            self.started.pop(gate, None)
            raise

    def in_line(self, item):
        """Whether it waits for room in the queue, where the order is that of arrival."""
        waiting = [other for other in self.order if self.is_waiting(other)]
        return item in waiting[MAX_QUEUE:]

    def is_waiting(self, item):
        return self.expected[item] == "waiting"

    @rule(
        key=st.integers(0, 2),
        timeout=st.one_of(st.none(), st.integers(0, 5)),
        priority=st.sampled_from([0, 0, 1, -1]),
    )
    def submit(self, key, timeout, priority):
        async def submit():
            if self.closed:
                with pytest.raises(BatcherClosed):
                    await self.batcher.submit((key, -1), key)
                return
            item = (key, len(self.calls))
            self.order.append(item)
            self.expires[item] = float("inf") if timeout is None else self.now + timeout
            self.expected[item] = "waiting"
            self.priority[item] = priority
            self.calls[item] = self.batcher.submit(item, key, timeout, priority)
            if timeout == 0:
                self.expected[item] = TimeoutError

        self.run(submit)

    @precondition(lambda self: self.order)
    @rule(data=st.data())
    def cancel(self, data):
        async def cancel():
            item = data.draw(st.sampled_from(self.order))
            if self.calls[item].cancel():
                assert self.expected[item] in ("waiting", "running")
                self.expected[item] = asyncio.CancelledError

        self.run(cancel)

    @rule(seconds=st.integers(1, 4))
    def pass_time(self, seconds):
        async def ring():
            self.now += seconds
            for item, expires in self.expires.items():
                if expires <= self.now and self.expected[item] in ("waiting", "running"):
                    self.expected[item] = TimeoutError
            self.batcher._ring()

        self.run(ring)

    @precondition(lambda self: self.started)
    @rule(data=st.data(), how=st.sampled_from(["results", "error", "one error", "too few"]))
    def finish(self, data, how):
        async def finish():
            gate = data.draw(st.sampled_from(list(self.started)))
            items = self.started.pop(gate)
            results = [("result", item) for item in items]
            outcomes = dict(zip(items, results, strict=True))
            if how == "results":
                gate.set_result(results)
            elif how == "one error":
                outcomes[items[0]] = ValueError
                gate.set_result([ValueError(), *results[1:]])
            elif how == "error":
                outcomes = dict.fromkeys(items, LookupError)
                gate.set_exception(LookupError())
            else:
                outcomes = dict.fromkeys(items, RuntimeError)
                gate.set_result(results[1:])
            for item in items:
                if self.expected[item] == "running":
                    self.expected[item] = outcomes[item]

        self.run(finish)

    @rule(cancel=st.booleans())
    @precondition(lambda self: len(self.order) > 8)
    def close(self, cancel):
        async def close():
            self.closed = True
            self.closing = asyncio.ensure_future(self.batcher.aclose(cancel=cancel))
            if cancel:
                for item, state in self.expected.items():
                    if state in ("waiting", "running"):
                        self.expected[item] = BatcherClosed
                self.started.clear()

        self.run(close)

    @invariant()
    def calls_are_as_expected(self):
        for item, expected in self.expected.items():
            call = self.calls[item]
            if expected in ("waiting", "running"):
                assert not call.done()
            elif isinstance(expected, tuple):
                assert call.result() == expected
            elif expected is asyncio.CancelledError:
                assert call.cancelled()
            else:
                assert isinstance(call.exception(), expected)
        statistics = self.batcher.statistics()
        assert statistics.queued <= MAX_QUEUE
        assert statistics.items == len(self.calls) == (
            statistics.succeeded + statistics.failed + statistics.cancelled + statistics.abandoned
            + statistics.timed_out + statistics.closed
            + statistics.waiting + statistics.queued + statistics.in_flight
        )  # fmt: skip
        # Nothing waits without a reason.
        if len(self.started) < 2 and not self.closed:
            assert statistics.queued == statistics.waiting == 0

    def teardown(self):
        async def end():
            closing = asyncio.ensure_future(self.batcher.aclose())
            while not closing.done():
                for gate, items in list(self.started.items()):
                    del self.started[gate]
                    gate.set_result(items)
                await asyncio.sleep(0)
            await closing
            assert all(call.done() for call in self.calls.values())
            for call in self.calls.values():
                call.cancelled() or call.exception()

        self.run(end)
        self.runner.close()


TestOnAsyncio = Histories.TestCase
TestOnAsyncio.settings = settings(max_examples=25, stateful_step_count=40, deadline=None)

if sys.platform != "win32":
    import uvloop

    class HistoriesOnUvloop(Histories):
        loop_factory = staticmethod(uvloop.new_event_loop)

    TestOnUvloop = HistoriesOnUvloop.TestCase
    TestOnUvloop.settings = settings(max_examples=25, stateful_step_count=40, deadline=None)
