# cython: auto_pickle=False
"""Who may still add to a batch: those who have promised to wait for one call at a time."""

from contextvars import ContextVar

from asynccfr.errors import BatcherError

cdef object innermost_here = ContextVar("asynccfr.batcher.participation", default=None)


cdef class Participants:
    """Of one batcher: how many there are, and how many of them wait for a call."""

    cdef bint everyone_waits(self):
        return 0 < self.count == self.waiting

    cdef Participant here(self):
        """Who takes part in this context, or None."""
        cdef Participant participant = innermost_here.get()
        while participant is not None and (participant.all is not self or not participant.active):
            participant = participant.previous
        return participant


cdef class Participant:
    """Somebody who has promised to wait for one call at a time; see `Batcher.participant`.

    One within another stands for it: only the innermost count.
    """

    def __cinit__(self, core):
        self.core = core
        self.all = core.participants

    def __enter__(self):
        if self.active:
            raise BatcherError("the participant is taking part already; make one for each `with`")
        self.previous = innermost_here.get()
        self.outer = self.all.here()
        innermost_here.set(self)
        self.active = True
        if self.outer is not None:
            self.outer.inner += 1
            if self.outer.inner == 1:
                self.outer.add_to_all(-1)
        self.add_to_all(1)
        return self

    def __exit__(self, *_):
        innermost_here.set(self.previous)
        if self.inner == 0:
            self.add_to_all(-1)
        self.active = False
        if self.outer is not None:
            self.outer.inner -= 1
            if self.outer.counts():
                self.outer.add_to_all(1)
        self.core._start_if_everyone_waits()

    cdef bint counts(self):
        return self.active and self.inner == 0

    cdef void add_to_all(self, int sign):
        self.all.count += sign
        if self.calls > 0:
            self.all.waiting += sign

    cdef void waits(self):
        self.calls += 1
        self.all.waiting += self.calls == 1 and self.counts()

    cdef void goes_on(self):
        self.calls -= 1
        self.all.waiting -= self.calls == 0 and self.counts()
