# cython: auto_pickle=False
"""What waits, what may start, and why: the batcher as a state machine.

`Core` neither runs the function nor owns a timer. It is told what happens (`submit`, `_withdraw`,
`_take`, `_finish`, `_ring`) and asks for two things: a turn, by `loop.call_soon(self._turn)`, and to
be rung at a given time, by `_set_alarm`. Times are seconds of `time.monotonic`.

Every key has a lane, a queue in order of arrival. A lane is *due* when it is full or when its oldest
call has waited the window. The agenda is a heap of lanes by the time they are due: what is due first
starts first, so no key can be overtaken for ever. Entries of the agenda and of the heap of deadlines
that no longer apply are recognised when they come up, and swept out before they outnumber the rest.
"""

import os

from contextlib import suppress
from heapq import heapify, heappop, heappush
from operator import index
from types import GenericAlias

from cpython.time cimport monotonic
from libc.math cimport INFINITY as NEVER, NAN

from asynccfr.batcher.batch cimport Batch
from asynccfr.batcher.call cimport LANE, LINE, NOWHERE, RUNNING, Call, Place
from asynccfr.batcher.histogram cimport Histogram
from asynccfr.batcher.lane cimport Lane
from asynccfr.batcher.participation cimport Participant, Participants
from asynccfr.batcher.running cimport Running, running_here

from asynccfr.batcher.failures import personal
from asynccfr.errors import BatcherClosed, BatcherError, QueueFull

cdef extern from "pythread.h":
    unsigned long PyThread_get_thread_ident()

cdef object UNSET = object()

cdef long forks = 0  # this process is that many forks away from the first


def count_fork():
    global forks
    forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=count_fork)


cdef double check_timeout(timeout) except? -1:
    cdef double seconds = NAN
    with suppress(TypeError):
        seconds = timeout
    if seconds != seconds:
        raise BatcherError(f"timeout={timeout!r}: expected a number of seconds or None")
    return seconds


cdef class Core:
    cdef readonly Py_ssize_t max_batch, max_concurrent_batches
    cdef readonly double window
    cdef readonly object key_of, size_of, capacity, timeout
    cdef readonly object rows, forecasts
    cdef readonly bint refuse_when_full, fair
    cdef public object clock

    cdef readonly object loop
    cdef public object context
    cdef unsigned long thread
    cdef long forks
    cdef public bint is_open, is_closing
    cdef bint turn_asked
    cdef double alarm_at

    cdef dict lanes
    cdef Lane line  # calls that wait for the bounded queue to have room
    cdef list agenda, deadlines
    cdef Py_ssize_t serial  # breaks ties in the heaps
    cdef readonly Participants participants

    cdef readonly Py_ssize_t queued, queued_size, executing, executing_batches
    cdef readonly Py_ssize_t submitted, succeeded, failed, cancelled, abandoned, timed_out, refused
    cdef readonly Py_ssize_t closed
    cdef readonly Histogram queue_wait, execution

    __class_getitem__ = classmethod(GenericAlias)

    def __init__(
        self,
        *,
        max_batch,
        window=0.0,
        key_of=None,
        size_of=None,
        capacity=None,
        refuse_when_full=False,
        timeout=None,
        max_concurrent_batches=1,
        fair=False,
        rows=None,
        forecasts=None,
        clock=None,
    ):
        self.max_batch = max_batch
        self.window = window
        self.key_of = key_of
        self.size_of = size_of
        self.capacity = capacity
        self.refuse_when_full = refuse_when_full
        self.timeout = timeout
        self.max_concurrent_batches = max_concurrent_batches
        self.fair = fair
        self.rows = rows
        self.forecasts = forecasts
        self.clock = clock
        self.is_open = True
        self.loop = UNSET
        self.alarm_at = NEVER
        self.lanes = {}
        self.line = Lane()
        self.participants = Participants()
        self.agenda = []
        self.deadlines = []
        self.queue_wait = Histogram()
        self.execution = Histogram()

    # What the owner provides.

    def _turn(self):
        """Start what may start; called back from the loop."""
        raise NotImplementedError

    def _set_alarm(self, when):
        """Have the owner call `_ring` at `when`, in place of any earlier request."""
        raise NotImplementedError

    def _bind(self):
        """`submit` was called outside `self.loop`: adopt the running loop, or raise."""
        raise NotImplementedError

    def _refuse(self):
        """`submit` was called when closed or by the function itself: raise."""
        raise NotImplementedError

    def _emptied(self):
        """Nothing is left, while closing."""
        raise NotImplementedError

    # What callers do.

    def __call__(self, item, key=UNSET, timeout=UNSET):
        return self.submit(item, key, timeout)

    cpdef Call submit(self, item, key=UNSET, timeout=UNSET):
        cdef Call call = Call.__new__(Call)
        cdef Running origin
        cdef double expires = NEVER
        if not self.is_at_home():
            self._bind()
        origin = running_here()
        if not self.is_open or (origin is not None and origin.is_within(self)):
            self._refuse()
        if key is UNSET:
            key = None if self.key_of is None else self.key_of(item)
        call.origin = origin
        call.owner = self
        call.loop = self.loop
        call.item = item
        call.key = key
        call.size = 1 if self.size_of is None else self.measure(item)
        call.arrived = self.now()
        if timeout is UNSET:
            timeout = self.timeout
        if timeout is not None:
            expires = call.arrived + check_timeout(timeout)
        if self.capacity is None or self.has_room(call.size):
            self.enqueue(call, call.arrived)
        else:
            self.stand_in_line(call)
        self.submitted += 1
        if timeout is not None:
            self.add_deadline(call, expires)
        if self.participants.count:
            self.note_participant(call)
        return call

    cpdef void _withdraw(self, Call call):
        """Forget a call whose caller has given up; its place in the queue becomes free."""
        if call.place == RUNNING:
            self.abandoned += 1
        else:
            self.cancelled += 1
        self.release(call)

    # What the owner does.

    cpdef Batch _take(self):
        """The batch to start now; None if nothing is due or enough is executing already."""
        cdef Batch batch
        cdef Lane lane
        cdef Call call
        cdef Py_ssize_t size
        cdef double now = self.now()
        self.turn_asked = False
        if self.executing_batches >= self.max_concurrent_batches:
            return None
        if self.deadlines and <double>self.deadlines[0][0] <= now:
            self.expire(now)
        lane = self.next_lane()
        if lane is None:
            return None
        batch = Batch.__new__(Batch)
        if lane.size >= self.max_batch:
            batch.reason = "full"
        elif self.is_closing:
            batch.reason = "closing"
        elif self.window == 0 or self.participants.everyone_waits():
            batch.reason = "idle"
        elif <double>lane.entry[0] <= now:
            batch.reason = "window" if lane.head().arrived + self.window <= now else "idle"
        else:
            self.wake_at(lane.entry[0])
            return None
        heappop(self.agenda)
        if self.forecasts is not None:
            self.forecasts[lane.key].started(now)
        size = lane.size
        batch.key = lane.key
        batch.started = now
        batch.calls = lane.take(self.max_batch)
        batch.size = size - lane.size
        if self.rows is not None:
            rows = [call.row for call in batch.calls]
            batch.buffer, batch.indices = self.rows.gather(lane.buffers, rows)
        for call in batch.calls:
            call.place = RUNNING
            self.queue_wait.add(now - call.arrived)
        self.queued -= len(batch.calls)
        self.queued_size -= batch.size
        self.executing += len(batch.calls)
        self.executing_batches += 1
        if lane.live:
            if lane.size < self.max_batch:
                lane.full_since = NEVER
            if self.fair:
                lane.not_before = now
            self.file(lane)
        else:
            self.close_lane(lane)
        self.admit()
        return batch

    cpdef list _finish(self, Batch batch, list outcomes):
        """Settle an executed batch, one outcome to a call; an exception fails its call.

        Returns the exceptions. The callbacks of the calls are left to the owner, see `wake`.
        """
        cdef Call call
        cdef Py_ssize_t i
        cdef bint failed
        cdef list errors = []
        batch.seconds = self.now() - batch.started
        self.execution.add(batch.seconds)
        if self.forecasts is not None:
            self.forecasts[batch.key].cost.observe(batch.size, batch.seconds)
        for i in range(len(batch.calls)):
            call = batch.calls[i]
            outcome = outcomes[i if batch.indices is None else batch.indices[i]]
            failed = isinstance(outcome, BaseException)
            if failed:
                errors.append(outcome)
            if call.place != RUNNING:
                continue
            self.release(call)
            if failed:
                self.failed += 1
                call.fail(personal(outcome))
            else:
                self.succeeded += 1
                call.succeed(outcome)
        self.executing_batches -= 1
        if batch.buffer is not None:
            self.rows.recycle(batch.buffer)
        if self.queued:
            self.ask_for_turn()
        self.notice_empty()
        return errors

    cpdef _ring(self):
        """The alarm has gone off: fail the calls that are past their deadline, start what is due."""
        self.alarm_at = NEVER
        self.expire(self.now())
        if self.deadlines:
            self.wake_at(self.deadlines[0][0])
        self._turn()

    cpdef list _waiting_calls(self):
        """Every call that has not started, in order of arrival within its key."""
        cdef Lane lane
        cdef Call call
        lanes = [*self.lanes.values(), self.line]
        return [call for lane in lanes for call in lane.calls[lane.first :] if call.place != NOWHERE]

    cpdef _drop(self, list calls, str message):
        """Fail calls that are not done yet with BatcherClosed."""
        cdef Call call
        for call in calls:
            if call.place != NOWHERE:
                self.closed += 1
                self.release(call)
                call.fail(BatcherClosed(message))
                call.schedule_callbacks()

    @property
    def waiting(self):
        return self.line.live

    cpdef void _close(self):
        """Accept nothing more; what waits is started without delay."""
        self.is_open = False
        self.is_closing = True
        if self.is_empty():
            self._emptied()
        else:
            self.ask_for_turn()

    cpdef bint is_empty(self):
        return not (self.queued or self.line.live or self.executing_batches)

    cpdef bint _is_within_itself(self):
        """Whether this is called by the batch function, or by what it started or called."""
        cdef Running origin = running_here()
        return origin is not None and origin.is_within(self)

    cpdef void _settle(self, loop):
        """Belong to the event loop, which is running in this thread."""
        self.loop = loop
        self.thread = PyThread_get_thread_ident()
        self.forks = forks

    cpdef bint is_at_home(self):
        """Whether this is called in the batcher's event loop.

        In Python 3.11 asyncio's own get_running_loop costs a system call.
        """
        return (
            self.thread == PyThread_get_thread_ident()
            and self.forks == forks
            and self.loop.is_running()
        )

    # Queueing.

    cdef double now(self):
        return monotonic() if self.clock is None else self.clock()

    cdef Py_ssize_t measure(self, item) except -1:
        measured = self.size_of(item)
        cdef object size = index(measured) if hasattr(measured, "__index__") else 0
        if not 1 <= size <= self.max_batch:
            raise BatcherError(
                f"size_of: an item of size {measured!r}, expected an integer from 1 to "
                f"max_batch={self.max_batch}; split the item or raise max_batch"
            )
        return size

    cdef bint has_room(self, Py_ssize_t size):
        return self.line.live == 0 and self.queued_size + size <= <Py_ssize_t>self.capacity

    cdef void stand_in_line(self, Call call):
        if self.refuse_when_full:
            self.refused += 1
            raise QueueFull(
                f"max_queue={self.capacity}: the queue is full; try again later, raise max_queue, "
                "or let callers wait"
            )
        hash(call.key)
        self.line.append(call, LINE)

    cdef int enqueue(self, Call call, double now) except -1:
        cdef Lane lane = self.lanes.get(call.key)
        cdef bint is_due_earlier = lane is None
        if lane is None:
            lane = Lane.__new__(Lane, call.key)
        if self.rows is not None:
            self.write_row(call, lane)
        if is_due_earlier:
            self.lanes[call.key] = lane
        lane.append(call, LANE)
        self.queued += 1
        self.queued_size += call.size
        if lane.size >= self.max_batch and lane.full_since == NEVER:
            lane.full_since = now
            is_due_earlier = True
        if self.forecasts is not None:
            lane.promise = self.forecasts[call.key].arrived(now, lane.live)
            is_due_earlier = is_due_earlier or lane.promise < <double>lane.entry[0]
        if is_due_earlier:
            self.file(lane)
        if <double>lane.entry[0] <= now or self.is_closing:
            self.ask_for_turn()
        elif is_due_earlier:
            self.wake_at(lane.entry[0])
        return 0

    cdef int write_row(self, Call call, Lane lane) except -1:
        try:
            call.row = self.rows.place(lane.buffers, call.item)
        except BaseException:
            if lane.live == 0:
                self.rows.abandon(lane.buffers)
            raise
        call.item = None
        return 0

    cdef void admit(self):
        """Let those who stand in line into the queue, as far as there is room."""
        cdef Call call
        while self.line.live and (
            self.queued_size + self.line.head().size <= <Py_ssize_t>self.capacity
        ):
            call = self.line.pop()
            try:
                self.enqueue(call, self.now())
            except BaseException as error:  # from writing its row
                self.failed += 1
                call.place = NOWHERE
                self.let_go(call)
                call.fail(personal(error))
                call.schedule_callbacks()

    cdef void release(self, Call call):
        """Take a call out of wherever it is."""
        cdef Lane lane = call.lane
        cdef Place place = call.place
        call.place = NOWHERE
        self.let_go(call)
        if place != LINE and self.forecasts is not None:
            self.forecasts[call.key].left()
        if place == RUNNING:
            self.executing -= 1
        elif place == LINE:
            self.line.withdraw(call)
            self.admit()
        else:
            lane.withdraw(call)
            self.queued -= 1
            self.queued_size -= call.size
            if lane.size < self.max_batch:
                lane.full_since = NEVER
            if lane.live == 0:
                self.close_lane(lane)
            self.admit()
        self.notice_empty()

    cdef void let_go(self, Call call):
        if call.participant is not None:
            (<Participant>call.participant).goes_on()
        if call.deadline is not None:
            call.deadline[2] = None  # the heap would keep the result alive
        call.item = call.row = call.owner = call.participant = call.origin = call.deadline = None
        call.lane = None

    # When the next batch may start.

    cdef double due(self, Lane lane):
        cdef double waited = lane.head().arrived + self.window
        return max(lane.not_before, min(waited, lane.full_since, lane.promise))

    cdef void file(self, Lane lane):
        self.serial += 1
        lane.entry = (self.due(lane), self.serial, lane)
        heappush(self.agenda, lane.entry)
        if len(self.agenda) > 2 * len(self.lanes) + 64:
            self.agenda = [lane.entry for lane in self.lanes.values()]
            heapify(self.agenda)

    cdef void close_lane(self, Lane lane):
        cdef Lane other
        lane.entry = None
        if self.lanes.get(lane.key) is lane:
            del self.lanes[lane.key]
        else:  # the key has changed
            self.lanes = {other.key: other for other in self.lanes.values() if other is not lane}
        if self.rows is not None:
            self.rows.abandon(lane.buffers)

    cdef Lane next_lane(self):
        """The lane that is due first, with a valid entry on top of the agenda."""
        cdef Lane lane
        while self.agenda:
            entry = self.agenda[0]
            lane = entry[2]
            if lane.entry is entry and self.due(lane) <= <double>entry[0]:
                return lane
            heappop(self.agenda)
            if lane.entry is entry:
                self.file(lane)
        return None

    cdef void note_participant(self, Call call):
        cdef Participant participant = self.participants.here()
        if participant is not None:
            call.participant = participant
            participant.waits()
        self._start_if_everyone_waits()

    def _start_if_everyone_waits(self):
        if self.participants.everyone_waits():
            self.ask_for_turn()

    cdef void add_deadline(self, Call call, double expires):
        self.serial += 1
        call.deadline = [expires, self.serial, call]
        heappush(self.deadlines, call.deadline)
        if len(self.deadlines) > 2 * (self.queued + self.line.live + self.executing) + 64:
            self.deadlines = [entry for entry in self.deadlines if entry[2] is not None]
            heapify(self.deadlines)
        self.wake_at(expires)

    cdef void expire(self, double now):
        cdef Call call
        while self.deadlines and <double>self.deadlines[0][0] <= now:
            expires, _, call = heappop(self.deadlines)
            if call is not None:
                self.timed_out += 1
                self.release(call)
                call.fail(TimeoutError(f"no result within {expires - call.arrived:.6g} s"))
                call.schedule_callbacks()

    cdef void ask_for_turn(self):
        if not self.turn_asked and self.executing_batches < self.max_concurrent_batches:
            self.turn_asked = True
            self.loop.call_soon(self._turn, context=self.context)

    cdef void wake_at(self, double when):
        if when < self.alarm_at:
            self.alarm_at = when
            self._set_alarm(when)

    cdef void notice_empty(self):
        if self.is_closing and self.is_empty():
            self._emptied()
