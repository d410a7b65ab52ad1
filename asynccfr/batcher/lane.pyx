# cython: auto_pickle=False
"""The queue of one key, and the line of those who wait for room in the bounded queue."""

from heapq import heapify, heappop, heappush

from asynccfr.batcher.call cimport LANE, NOWHERE, Call, Place
from libc.math cimport INFINITY as NEVER


cdef class Lane:
    """Calls in order of arrival; one that has given up stays as a hole until the lane is tidied."""

    def __cinit__(self, key=None):
        self.key = key
        self.calls = []
        self.full_since = self.promise = NEVER

    cdef void append(self, Call call, Place place):
        if place == LANE and (self.ranked is not None or call.priority != 0):
            self.rank(call)
        call.place = self.place = place
        call.lane = self
        self.calls.append(call)
        self.live += 1
        self.size += call.size

    cdef Call head(self):
        """The oldest call; the lane must not be empty."""
        while (<Call>self.calls[self.first]).place != self.place:
            self.first += 1
        return <Call>self.calls[self.first]

    cdef Call pop(self):
        cdef Call call = self.head()
        self.calls[self.first] = None
        self.first += 1
        self.live -= 1
        self.size -= call.size
        if self.first > 32 and self.first > self.live:
            self.tidy()
        return call

    cdef list take(self, Py_ssize_t room):
        """Remove and return calls that fit into `room`, a sum of sizes: the oldest one at least.

        The oldest may be larger, where the limit has been lowered since it came. The others in order
        of priority, then of arrival.
        """
        cdef list taken = []
        cdef Call call
        while self.live and (not taken or self.head().size <= room):
            call = self.pop()
            room -= call.size
            taken.append(call)
            if self.ranked is not None:
                self.take_ranked(taken, room)
                break
        return taken

    cdef void take_ranked(self, list taken, Py_ssize_t room):
        cdef Call call
        (<Call>taken[0]).place = NOWHERE
        while self.live:
            call = self.ranked[0][2]
            if call.place == self.place:
                if call.size > room:
                    break
                room -= call.size
                taken.append(call)
                self.remove(call)
            heappop(self.ranked)
        if self.live == 0:
            self.ranked = None
        self.tidy_if_worthwhile()

    cdef void rank(self, Call call):
        """Have calls go by priority from now on, `call` among them."""
        cdef Call other
        cdef Py_ssize_t i
        if self.ranked is None:
            waiting = [other for other in self.calls[self.first :] if other.place == self.place]
            self.ranked = [(-other.priority, i, other) for i, other in enumerate(waiting)]
            heapify(self.ranked)
            self.serial = len(waiting)
        heappush(self.ranked, (-call.priority, self.serial, call))
        self.serial += 1

    cdef void withdraw(self, Call call):
        self.remove(call)
        self.tidy_if_worthwhile()

    cdef void remove(self, Call call):
        call.place = NOWHERE
        self.live -= 1
        self.size -= call.size

    cdef void tidy_if_worthwhile(self):
        if len(self.calls) > 2 * self.live + 64:
            self.tidy()

    cdef void tidy(self):
        cdef Call call
        self.calls = [call for call in self.calls[self.first :] if call.place == self.place]
        self.first = 0
        if self.ranked is not None:
            self.ranked = [entry for entry in self.ranked if (<Call>entry[2]).place == self.place]
            heapify(self.ranked)
