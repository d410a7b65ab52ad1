"""What a game says of a player's private tree, of which `private_tree` makes tables."""

from libc.stdint cimport uint64_t


cdef class PrivateRules:
    """What a game says of a player's tree. Hooks trust their caller.

    A start is what a player is dealt before they first decide; the answer to it leads to a row.
    """

    cdef int num_starts(self, int player) except -1:
        """How many starts the player has."""
        raise NotImplementedError

    cdef double weight(self, int start) except -1:
        """The probability of a start, independent of the opponent's."""
        raise NotImplementedError

    cdef int start_rows(self, int player) except -1:
        """How many rows follow each start."""
        raise NotImplementedError

    cdef int enter(self, int player, int start, int outcome, Node* node) except -1:
        """Make `node` the row after a start and an answer; return 0."""
        raise NotImplementedError

    cdef uint64_t actions(self, int player, const Node* node) noexcept:
        """The legal actions as bits."""
        return 0

    cdef int outcomes(self, int player, const Node* node, int action, int* lowest) noexcept:
        """How many answers lead to a row; they are numbered consecutively from `lowest`."""
        return 0

    cdef void follow(
        self, int player, const Node* node, int action, int outcome, Node* child
    ) noexcept:
        """Make `child` the row after an action and its answer."""

    cdef object signature(self, int player, const Node* node):
        """Equal where the trees below have the same shape."""
        raise NotImplementedError

    cdef void write_tensor(self, int player, const Node* node, float* row) noexcept:
        """Write the information-state tensor."""

    cdef bytes key(self, int player, const Node* node):
        """The information-state key."""
        raise NotImplementedError


def measure(PrivateRules rules, int player):
    """The rows R and sequences S of a player's tree, without making it."""
    cdef Node node
    cdef int start, outcome
    cdef dict known = {}
    rows, sequences = 0, rules.num_starts(player)
    for start in range(rules.num_starts(player)):
        for outcome in range(rules.start_rows(player)):
            rules.enter(player, start, outcome, &node)
            below = size_below(rules, player, &node, known)
            rows, sequences = rows + below[0], sequences + below[1]
    return rows, sequences


cdef tuple size_below(PrivateRules rules, int player, const Node* node, dict known):
    cdef Node child
    cdef int action, outcome, lowest, count
    cdef uint64_t actions
    signature = rules.signature(player, node)
    if signature in known:
        return known[signature]
    actions = rules.actions(player, node)
    rows, sequences = 1, popcount(actions)
    for action in range(rules.game.num_actions):
        if (actions >> action) & 1:
            count = rules.outcomes(player, node, action, &lowest)
            for outcome in range(lowest, lowest + count):
                rules.follow(player, node, action, outcome, &child)
                below = size_below(rules, player, &child, known)
                rows, sequences = rows + below[0], sequences + below[1]
    known[signature] = rows, sequences
    return rows, sequences
