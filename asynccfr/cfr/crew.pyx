"""Traversals that are driven together: what they wait for goes to the batcher many at a time.

A task for every traversal and a future for every decision would cost more than playing the game. So
each traversal stays a coroutine of its own, but awaits the `Query` itself: a `Crew` resumes all that
have been answered, one after the other, and tells what they wait for next.
"""

from types import GenericAlias

from cpython.object cimport PyObject
from cpython.ref cimport Py_XDECREF

from asynccfr.awaiting cimport PYGEN_NEXT, PyIter_Send
from asynccfr.cfr.query cimport Query, look_ahead


cdef class Strand:
    """A traversal on its way."""

    cdef object number, walk, coroutine


cdef class Waiting:
    """Traversals that wait for the network of one group; as long as there are of them.

    Attributes:
        group: of their queries.
        queries: what they wait for.
    """

    cdef readonly object group
    cdef readonly list queries
    cdef list strands

    def __cinit__(self, group):
        self.group = group
        self.queries = []
        self.strands = []

    def __len__(self):
        return len(self.queries)


def hold(Query query not None):
    """Leave a query to whoever drives the coroutine that awaits it."""
    return query


cdef class Crew:
    """Runs up to `size` traversals at a time; new ones take the places of those that are over.

    Args:
        scheme: makes the coroutine of a traversal; see `asynccfr.cfr.traversal`.
        walks: what to traverse, as `(number, walk)`.
        size: how many at a time.
        together: the most of them in one `Waiting`.
        evaluate: what the coroutines await for their queries: `hold`, or what answers some at once.
        finish: called as `finish(number, walk)` for each that is over.

    Attributes:
        is_over: whether every traversal is.
    """

    cdef readonly bint is_over
    cdef object scheme, walks, evaluate, finish
    cdef Py_ssize_t size, together, running
    cdef dict open  # to which `Waiting` the next of a group is added
    cdef list waiting

    __class_getitem__ = classmethod(GenericAlias)

    def __init__(self, scheme, walks, Py_ssize_t size, Py_ssize_t together, evaluate, finish):
        self.scheme = scheme
        self.walks = walks
        self.size = size
        self.together = together
        self.evaluate = evaluate
        self.finish = finish

    def go_on(self, answered=()):
        """Resume those in `answered`, begin others in free places; return what all these wait for.

        A list of `Waiting`. Raises what a traversal raises, and RuntimeError if one awaits anything
        but a query.
        """
        cdef Waiting each
        cdef Strand strand
        cdef Py_ssize_t i
        self.open = {}
        self.waiting = []
        for each in answered:
            for i in range(len(each.strands)):
                look_ahead(each.queries, i)
                self.resume(<Strand>each.strands[i])
        for _ in range(self.size - self.running):
            entry = next(self.walks, None)
            if entry is None:
                self.size = 0
                break
            strand = Strand.__new__(Strand)
            strand.number, strand.walk = entry
            strand.coroutine = self.scheme(strand.walk, self.evaluate)
            self.running += 1
            self.resume(strand)
        self.is_over = self.size == self.running == 0
        return self.waiting

    cdef int resume(self, Strand strand) except -1:
        cdef PyObject* result = NULL
        cdef bint suspended = PyIter_Send(strand.coroutine, None, &result) == PYGEN_NEXT
        cdef object awaited = <object>result
        Py_XDECREF(result)
        if suspended:
            self.add(strand, awaited)
        else:
            self.running -= 1
            self.finish(strand.number, strand.walk)
        return 0

    cdef int add(self, Strand strand, awaited) except -1:
        cdef Waiting waiting
        if not isinstance(awaited, Query):
            raise RuntimeError(
                f"the traversal awaits {awaited!r}, expected what `evaluate` returned for a query"
            )
        group = (<Query>awaited).group
        waiting = self.open.get(group)
        if waiting is None or len(waiting.queries) == self.together:
            waiting = self.open[group] = Waiting.__new__(Waiting, group)
            self.waiting.append(waiting)
        waiting.queries.append(awaited)
        waiting.strands.append(strand)
        return 0
