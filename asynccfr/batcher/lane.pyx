# cython: auto_pickle=False
"""The queue of one key, and the line of those who wait for room in the bounded queue."""

from asynccfr.batcher.call cimport NOWHERE, Call, Place
from libc.math cimport INFINITY as NEVER


cdef class Lane:
    """Calls in order of arrival; one that has given up stays as a hole until the lane is tidied."""

    def __cinit__(self, key=None):
        self.key = key
        self.calls = []
        self.buffers = []
        self.full_since = self.promise = NEVER

    cdef void append(self, Call call, Place place):
        call.place = place
        call.lane = self
        self.calls.append(call)
        self.live += 1
        self.size += call.size

    cdef Call head(self):
        """The oldest call; the lane must not be empty."""
        while (<Call>self.calls[self.first]).place == NOWHERE:
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
        """Remove and return the oldest calls that fit into `room`, a sum of sizes."""
        cdef list taken = []
        cdef Call call
        while self.live and self.head().size <= room:
            call = self.pop()
            room -= call.size
            taken.append(call)
        return taken

    cdef void withdraw(self, Call call):
        call.place = NOWHERE
        self.live -= 1
        self.size -= call.size
        if len(self.calls) > 2 * self.live + 64:
            self.tidy()

    cdef void tidy(self):
        cdef Call call
        self.calls = [call for call in self.calls[self.first :] if call.place != NOWHERE]
        self.first = 0
