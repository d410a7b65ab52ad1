from asynccfr.cfr.query cimport Query
from asynccfr.cfr.regret_matching cimport Rule
from asynccfr.cfr.samples cimport SampleBuffer
from asynccfr.seeding cimport Rng


cdef struct Step:
    # A sampled decision.
    bint own
    int chosen  # index into the legal actions
    int moves  # since the decision before
    float weight
    double probability


cdef class Walk(Query):
    cdef readonly int traverser
    cdef readonly Py_ssize_t nodes
    cdef readonly SampleBuffer advantages
    cdef readonly SampleBuffer strategies
    cdef Rng rng
    cdef Rule rule
    cdef double epsilon
    cdef double max_weight
    cdef double sampling_reach
    cdef bint answered
    cdef Py_ssize_t opened
    cdef Step* steps
    cdef float* policies  # [steps, max_legal]
    cdef Py_ssize_t num_steps, own_steps
    cdef Py_ssize_t step_capacity
    cdef Py_ssize_t next_own, next_other  # samples are written from the last one backwards

    cpdef bint advance(self) except -1
    cpdef back_up(self)
    cdef int begin(
        self, int traverser, Rng rng, Rule rule, double epsilon, double max_weight
    ) except -1
    cdef int choose(self) except -1
    cdef double weight(self) noexcept
    cdef int reserve(self) except -1
    cdef int remember(self, Step step) except -1
    cdef int add_samples(self) except -1
    cdef float* take_back(self) except NULL
