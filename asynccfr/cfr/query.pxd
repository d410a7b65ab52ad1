from asynccfr.cfr.regret_matching cimport Rule
from asynccfr.games.contract cimport Game, State
from asynccfr.seeding cimport Rng


cdef class Query:
    cdef readonly State state
    cdef readonly int player
    cdef int num_legal
    cdef bint suspends  # the coroutine that awaits it, at its next step
    cdef int moves  # of players and chance since the last decision
    cdef int* legal
    cdef float* outputs

    cdef bint alternate(self) noexcept
    cdef int look(self) except -1
    cdef void take(self, const float* outputs) noexcept
    cdef bint play_on(self, Rng rng) except -1
    cdef int write_row(self, float* row) except -1


cdef void look_ahead(list queries, Py_ssize_t i) noexcept
cdef double* policy_room(int n) except NULL
cdef float* row_room(int n) except NULL
cdef int sample_index(const double* probabilities, int n, Rng rng) noexcept nogil
