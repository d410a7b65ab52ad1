from asynccfr.seeding cimport Rng

cdef enum:
    CHANCE_PLAYER = -1
    TERMINAL_PLAYER = -4


cdef class Game:
    cdef readonly str name
    cdef readonly dict parameters
    cdef readonly int num_players
    cdef readonly int num_actions
    cdef readonly int max_legal_actions
    cdef readonly int information_state_tensor_size
    cdef readonly double tensor_quantum
    cdef readonly double min_utility
    cdef readonly double max_utility
    cdef readonly object symmetry
    cdef int* scratch

    cdef State initial_state(self)


cdef class State:
    cdef readonly Game game
    cdef readonly int current_player
    cdef Rng chance_rng
    cdef int first_decision

    cdef int write_legal(self, int* actions) except -1
    cdef int advance(self, int action) except -1
    cdef int retreat(self) except -1
    cdef int sample_chance(self, Rng rng) except -1
    cdef int write_tensor(self, int player, float* row) except -1
    cdef double utility(self, int player) except? -1e300
    cdef State copy(self)
    cdef int hide(self, int player, Rng rng) except -1

    cdef int play_chance(self, Rng rng) except -1
    cdef check_player(self, int player)
