"""A decision that waits for a network: what the batcher collects, encodes and answers.

A `Query` holds a state and room for the network's outputs at its legal actions. `encode` and `deliver`
carry a whole batch between queries and arrays in one compiled loop, so that a row costs no Python
object; between them lies the forward.
"""

from libc.stdlib cimport free, malloc

from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF

from asynccfr.awaiting cimport PYGEN_NEXT, PYGEN_RETURN, PySendResult, use_for_await
from asynccfr.cfr.regret_matching cimport Rule, policy_from_outputs
from asynccfr.cfr.buffer cimport grown
from asynccfr.games.contract cimport TERMINAL_PLAYER

from asynccfr.errors import GameError


cdef class Query:
    """The decision of the player to move in `state`, which must not be chance or terminal.

    Awaiting it hands it to whoever drives the coroutine, who goes on with that once it is answered.
    """

    def __cinit__(self, State state not None, *args, **kwargs):
        cdef int n = state.game.max_legal_actions
        self.state = state
        self.legal = <int*>malloc(n * (sizeof(int) + sizeof(float)))
        if self.legal is NULL:
            raise MemoryError
        self.outputs = <float*>(self.legal + n)
        self.suspends = True

    def __init__(self, State state):
        if state.current_player < 0:
            raise ValueError(f"{state!r}: expected a state where a player is to move")
        self.look()

    def __dealloc__(self):
        free(self.legal)

    def __await__(self):
        self.suspends = True  # the last await may have been given up halfway
        return self

    def __iter__(self):
        return self

    def __next__(self):
        if self.alternate():
            return self
        raise StopIteration

    cdef bint alternate(self) noexcept:
        """Change sides: suspend the coroutine at every other step; return whether at this one."""
        self.suspends = not self.suspends
        return not self.suspends

    @property
    def group(self):
        """Decisions of one group share a network, and so a batch."""
        return self.player

    cdef int look(self) except -1:
        """Note who is to move and what is legal; return 0."""
        self.player = self.state.current_player
        self.num_legal = self.state.write_legal(self.legal)
        return 0

    cdef void take(self, const float* outputs) noexcept:
        """Take the network's outputs [num_actions] at the legal actions."""
        cdef int i
        for i in range(self.num_legal):
            self.outputs[i] = outputs[self.legal[i]]

    cdef bint play_on(self, Rng rng) except -1:
        """Play chance and forced actions up to a decision; False at the end of the game."""
        while True:
            self.moves += self.state.play_chance(rng)
            if self.state.current_player == TERMINAL_PLAYER:
                return False
            self.look()
            if self.num_legal < 1:
                raise GameError(f"{self.state!r}: no legal action, expected at least one")
            if self.num_legal > 1:
                return True
            self.state.advance(self.legal[0])
            self.moves += 1

    cdef int write_row(self, float* row) except -1:
        """Write the information state of the player to move; return 0."""
        return self.state.write_tensor(self.player, row)

    def probabilities(self, Rule rule):
        """The answered policy as `(action, probability)` pairs, actions ascending."""
        cdef double* policy = policy_room(self.num_legal)
        policy_from_outputs(rule, self.outputs, self.num_legal, policy)
        return [(self.legal[i], policy[i]) for i in range(self.num_legal)]

    def sample(self, Rule rule, Rng rng):
        """An action drawn from the answered policy."""
        cdef double* policy = policy_room(self.num_legal)
        policy_from_outputs(rule, self.outputs, self.num_legal, policy)
        return self.legal[sample_index(policy, self.num_legal, rng)]


cdef PySendResult send(PyObject* self, PyObject* argument, PyObject** result) noexcept:
    if (<Query>self).alternate():
        Py_INCREF(<object>self)
        result[0] = self
        return <PySendResult>PYGEN_NEXT
    Py_INCREF(None)
    result[0] = <PyObject*>None
    return <PySendResult>PYGEN_RETURN


use_for_await(Query, send)


cdef extern from *:
    """
    #if defined(__GNUC__)
    #define FETCH(address) __builtin_prefetch(address)
    #else
    #define FETCH(address)
    #endif
    """
    void FETCH(const void* address) nogil

cdef enum:
    CACHE_LINE = 64
    AHEAD = 3  # queries; by then what was fetched is there
    QUERY_LINES = 4  # of a query and of a state, those that play uses most
    STATE_LINES = 14


cdef void fetch(const void* start, int lines) noexcept nogil:
    cdef int i
    for i in range(lines):
        FETCH(<const char*>start + i * CACHE_LINE)


cdef void look_ahead(list queries, Py_ssize_t i) noexcept:
    """Have the processor fetch the queries that come after number i, while it is busy with that.

    A thousand games do not fit into its cache, and a forward in between has driven them out.
    """
    cdef Py_ssize_t n = len(queries)
    cdef Query query
    if i + 2 * AHEAD < n:
        fetch(<const void*>queries[i + 2 * AHEAD], QUERY_LINES)
    if i + AHEAD < n and isinstance(queries[i + AHEAD], Query):
        query = <Query>queries[i + AHEAD]
        fetch(<const void*>query.state, STATE_LINES)
        fetch(query.outputs, 2)


cdef class Room:
    """Memory to work in: one for all queries stays in the processor's cache."""

    cdef void* block
    cdef size_t size

    def __dealloc__(self):
        free(self.block)

    cdef void* of(self, size_t size) except NULL:
        """At least so many bytes, until the next call."""
        if size > self.size:
            self.block = grown(self.block, size)
            self.size = size
        return self.block


cdef Room policies = Room()
cdef Room rows = Room()


cdef double* policy_room(int n) except NULL:
    """Room for a policy over `n` actions, until the next call."""
    return <double*>policies.of(n * sizeof(double))


cdef float* row_room(int n) except NULL:
    """Room for a row of `n` floats, until the next call."""
    return <float*>rows.of(n * sizeof(float))


cdef int sample_index(const double* probabilities, int n, Rng rng) noexcept nogil:
    """An index drawn with the given probabilities, never one of probability zero."""
    cdef double left = rng.next_double()
    cdef int i, last = 0
    for i in range(n):
        if probabilities[i] > 0:
            last = i
            left -= probabilities[i]
            if left < 0:
                break
    return last


def encode(list queries, float[:, ::1] rows):
    """Write the information state of each query into its row; rows is float32 [>= n, tensor_size]."""
    cdef Py_ssize_t i, n = len(queries)
    check_shape(queries, rows.shape[0], rows.shape[1], tensor=True)
    for i in range(n):
        look_ahead(queries, i)
        (<Query?>queries[i]).write_row(&rows[i, 0])


def deliver(list queries, const float[:, ::1] outputs):
    """Give each query its row of network outputs, float32 [>= n, num_actions]."""
    cdef Py_ssize_t i, n = len(queries)
    check_shape(queries, outputs.shape[0], outputs.shape[1], tensor=False)
    for i in range(n):
        (<Query?>queries[i]).take(&outputs[i, 0])


cdef check_shape(list queries, Py_ssize_t rows, Py_ssize_t width, bint tensor):
    if not queries:
        return
    cdef Game game = (<Query?>queries[0]).state.game
    cdef Py_ssize_t expected = game.information_state_tensor_size if tensor else game.num_actions
    if width != expected or rows < len(queries):
        raise ValueError(
            f"array of {rows}x{width}: expected at least {len(queries)} rows of {expected} for {game}"
        )
