# cython: auto_pickle=False
"""What waits, what may start, and why: the batcher as a state machine.

`Core` neither runs the function nor owns a timer. It is told what happens (`submit`, `_withdraw`,
`_take`, `_finish`, `_ring`) and asks for two things: a turn, by `loop.call_soon(self._turn)`, and to
be rung at a given time, by `_set_alarm`. Times are seconds of `time.monotonic`.

Every key has a lane, a queue in order of arrival. A lane is *due* when it is full or when its oldest
call has waited the window, and never earlier than its last batch started. The agenda is a heap of
lanes by the time they are due: what is due first starts first. So a lane that is due waits for at most
one batch of each other lane, however busy these are. Within a lane calls of higher priority go first,
but the oldest call always has a place in the next batch: no call is overtaken for ever.

Entries of the agenda and of the heap of deadlines that no longer apply are recognised when they come
up, and swept out before they outnumber the rest.
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

UNSET = object()

cdef long forks = 0  # this process is that many forks away from the first


def count_fork():
    global forks
    forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=count_fork)


cdef double number(str name, value, str expected) except? -1:
    """The value of an argument as a number. Raises BatcherError if it is none."""
    cdef double found = NAN
    with suppress(TypeError):
        found = value
    if found != found:
        raise BatcherError(f"{name}={value!r}: expected {expected}")
    return found


cdef class Core:
    cdef readonly Py_ssize_t max_batch, max_concurrent_batches
    cdef readonly double window
    cdef readonly object key_of, size_of, capacity, timeout, mark
    cdef readonly object forecasts
    cdef object equals
    cdef readonly bint refuse_when_full
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
        mark=None,
        max_concurrent_batches=1,
        forecasts=None,
        equals=None,
        clock=None,
    ):
        self.max_batch = max_batch
        self.window = window
        self.key_of = key_of
        self.size_of = size_of
        self.capacity = capacity
        self.refuse_when_full = refuse_when_full
        self.timeout = timeout
        self.mark = mark
        self.max_concurrent_batches = max_concurrent_batches
        self.forecasts = forecasts
        self.equals = equals
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

    def _unwanted(self, batch):
        """Every caller of an executing batch has given up."""
        raise NotImplementedError

    # What callers do.

    def __call__(self, item, *, key=UNSET, timeout=UNSET, priority=0):
        return self.submit(item, key, timeout, priority)

    cpdef Call submit(self, item, key=UNSET, timeout=UNSET, priority=0):
        if self.equals is not None:
            return self.equals.submit(item, key, timeout, priority)
        return self._submit_alone(item, key, timeout, priority)

    cpdef Call _submit_alone(self, item, key, timeout, priority):
        """Submit an item, whatever equal ones there are."""
        cdef Call call = self._new_call(item)
        try:
            self.accept(call, key, timeout, priority)
        except Exception as error:  # a refusal is an answer like any other
            call.item = call.owner = call.origin = None
            call.fail(personal(error) if isinstance(error, StopIteration) else error)
        return call

    cpdef Call _new_call(self, item):
        """A call that is not accepted yet."""
        cdef Call call = Call.__new__(Call)
        if not self.is_at_home():
            self._bind()
        call.loop = self.loop
        call.item = item
        call.arrived = self.now()
        return call

    cpdef object _seconds(self, timeout):
        """The seconds that a caller is ready to wait; None for any number."""
        if timeout is UNSET:
            timeout = self.timeout
        if timeout is None:
            return None
        return number("timeout", timeout, "a number of seconds or None")

    cdef int accept(self, Call call, key, timeout, priority) except -1:
        cdef Running origin = running_here()
        cdef double expires = NEVER
        if not self.is_open or (origin is not None and origin.is_within(self)):
            self._refuse()
        if key is UNSET:
            key = None if self.key_of is None else self.key_of(call.item)
        call.origin = origin
        call.owner = self
        call.key = key
        if priority != 0:
            call.priority = number("priority", priority, "a number, the higher the sooner")
        call.size = 1 if self.size_of is None else self.measure(call.item)
        timeout = self._seconds(timeout)
        if timeout is not None:
            expires = call.arrived + <double>timeout
        if self.mark is not None:
            call.mark = self.mark()
        if self.capacity is None or self.has_room(call.size):
            self.enqueue(call, call.arrived)
        else:
            self.stand_in_line(call)
        self.submitted += 1
        if timeout is not None:
            self.add_deadline(call, expires)
        if self.participants.count:
            self.note_participant(call)
        return 0

    cpdef void _withdraw(self, Call call):
        """Forget a call whose caller has given up; its place in the queue becomes free."""
        if call.place == RUNNING:
            self.abandoned += 1
            self.leave(call)
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
        batch.wanted = len(batch.calls)
        batch.oldest = now
        for call in batch.calls:
            call.place = RUNNING
            call.batch = batch
            batch.oldest = min(batch.oldest, call.arrived)
            self.queue_wait.add(now - call.arrived)
        self.queued -= len(batch.calls)
        self.queued_size -= batch.size
        self.executing += len(batch.calls)
        self.executing_batches += 1
        if lane.live:
            if lane.size < self.max_batch:
                lane.full_since = NEVER
            lane.not_before = now
            self.file(lane)
        else:
            self.close_lane(lane)
        self.admit()
        return batch

    cpdef list _finish(self, Batch batch, list outcomes):
        """Settle an executed batch, one outcome to a call; an exception fails its call.

        Returns the exceptions that no caller was there to receive. The callbacks of the calls are left
        to the owner, see `wake`.
        """
        cdef Call call
        cdef Py_ssize_t i
        cdef dict unheard = {}
        cdef set heard = set()
        batch.seconds = self.now() - batch.started
        self.execution.add(batch.seconds)
        if self.forecasts is not None:
            self.forecasts[batch.key].cost.observe(batch.size, batch.seconds)
        for i in range(len(batch.calls)):
            call = batch.calls[i]
            outcome = outcomes[i]
            if isinstance(outcome, BaseException):
                batch.failed += 1
                batch.error = outcome if batch.error is None else batch.error
                if call.place != RUNNING:
                    unheard[id(outcome)] = outcome
                    continue
                heard.add(id(outcome))
                self.release(call)
                self.failed += 1
                call.fail(personal(outcome))
            elif call.place == RUNNING:
                self.release(call)
                self.succeeded += 1
                call.succeed(outcome)
        self.executing_batches -= 1
        if self.queued:
            self.ask_for_turn()
        self.notice_empty()
        return [error for which, error in unheard.items() if which not in heard]

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
        return [
            call for lane in lanes for call in lane.calls[lane.first :] if call.place == lane.place
        ]

    cpdef _drop(self, list calls, str message):
        """Fail calls that are not done yet with BatcherClosed."""
        cdef Call call
        for call in calls:
            if call.place != NOWHERE:
                self.closed += 1
                self.leave(call)
                self.release(call)
                call.fail(BatcherClosed(message))
                call.schedule_callbacks()

    @property
    def waiting(self):
        return self.line.live

    cpdef void _set_limits(self, Py_ssize_t max_batch, double window, Py_ssize_t max_concurrent):
        """Other limits from now on, also for what waits."""
        cdef Lane lane
        self.max_batch = max_batch
        self.window = window
        self.max_concurrent_batches = max_concurrent
        for lane in self.lanes.values():
            lane.full_since = self.now() if lane.size >= max_batch else NEVER
            self.file(lane)
        if self.queued:
            self.ask_for_turn()

    cpdef void _forget_times(self):
        """Nothing waits, and nobody will ring or give turns as was asked."""
        self.deadlines = []
        self.agenda = []
        self.alarm_at = NEVER
        self.turn_asked = False

    cpdef double _oldest_arrival(self):
        """When the call arrived that has waited longest; `NEVER` if none waits."""
        cdef Lane lane
        cdef double oldest = NEVER
        for lane in self.lanes.values():
            oldest = min(oldest, lane.head().arrived)
        return min(oldest, self.line.head().arrived) if self.line.live else oldest

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
        # Filed anew it would come after others that are due at the same time.
        is_due_earlier = is_due_earlier and (
            lane.entry is None or self.due(lane) < <double>lane.entry[0]
        )
        if is_due_earlier:
            self.file(lane)
        if <double>lane.entry[0] <= now or self.is_closing:
            self.ask_for_turn()
        elif is_due_earlier:
            self.wake_at(lane.entry[0])
        return 0

    cdef void admit(self):
        """Let those who stand in line into the queue, as far as there is room."""
        while self.line.live and (
            self.queued_size + self.line.head().size <= <Py_ssize_t>self.capacity
        ):
            self.enqueue(self.line.pop(), self.now())

    cdef void leave(self, Call call):
        """A caller gives up; where it was the last one of a batch, nobody wants that any more."""
        cdef Batch batch = call.batch
        if batch is not None and call.place == RUNNING:
            batch.wanted -= 1
            if batch.wanted == 0:
                self._unwanted(batch)

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
        call.item = call.owner = call.kept = call.batch = None
        call.participant = call.origin = call.deadline = call.lane = None

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
                self.leave(call)
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
