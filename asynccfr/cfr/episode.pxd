from asynccfr.cfr.buffer cimport ColumnBuffer
from asynccfr.cfr.query cimport Query
from asynccfr.cfr.regret_matching cimport Rule
from asynccfr.seeding cimport Rng

cdef enum:
    FEATURES
    HIDDEN
    ACTIONS
    OUTPUTS
    POLICY
    CHOSEN
    SAMPLED
    PLAYERS
    EXPLORES
    WEIGHTS
    LAST
    OUTCOMES


cdef class DecisionBuffer(ColumnBuffer):
    pass


cdef class Episode(Query):
    cdef readonly DecisionBuffer decisions
    cdef Rng rng
    cdef Rule rule
    cdef double epsilon
    cdef int explorer
    cdef double reach[2]
    cdef bint answered

    cpdef bint advance(self) except -1
    cdef int choose(self) except -1
    cdef int finish(self) except -1


cdef class Challenge(Episode):
    cdef int seat
    cdef Rule rival_rule
