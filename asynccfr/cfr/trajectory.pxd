from asynccfr.cfr.query cimport Query
from asynccfr.cfr.regret_matching cimport Rule
from asynccfr.games.contract cimport Game
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
    COLUMNS


cdef struct Column:
    char* data
    Py_ssize_t stride


cdef class DecisionBuffer:
    cdef Game game
    cdef int tensor_size
    cdef int max_legal
    cdef float quanta
    cdef Py_ssize_t size
    cdef Py_ssize_t capacity
    cdef Column columns[COLUMNS]
    cdef float* row

    cdef int reserve(self, Py_ssize_t size) except -1
    cdef void* at(self, int column, Py_ssize_t index) noexcept nogil
    cdef void write_features(self, int column, const float* row) noexcept nogil


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
