"""A player's own tree of information states, as tables instead of hashed histories.

In a game in which a player learns only answers to what they did themselves, an information state is
a node of a small private tree: action and answer lead from one to the next. Rows are the nodes at
which the player decides. A sequence is a row with one of its actions; the first sequences are the
empty ones, one for each private start (a hand, say), which no row precedes.

    first[row]      the first of the row's sequences, one an action, ascending; [R + 1]
    parent[row]     the sequence that leads to the row; [R]
    base[sequence]  the row that follows after the answer a is base + a; [S]

Whatever precedes a row has a smaller number, so that one pass forwards multiplies the probabilities
of a policy to a realisation plan, and one backwards finds a best response.
"""

cimport cython
from libc.stdint cimport uint64_t, uint8_t
from libc.stdlib cimport free, realloc

import numpy as np

from asynccfr.exact.private_rules cimport Node, PrivateRules, lowest_bit, popcount
from asynccfr.exact.private_rules import measure


cdef class NodeStack:
    """Nodes to visit, last come first served."""

    def __dealloc__(self):
        free(self.nodes)

    cdef Node* push(self) except NULL:
        """Room for one more node; valid until the next call."""
        cdef Node* grown
        if self.size == self.capacity:
            self.capacity = 2 * self.capacity + 64
            grown = <Node*>realloc(self.nodes, self.capacity * sizeof(Node))
            if grown is NULL:
                raise MemoryError
            self.nodes = grown
        self.size += 1
        return &self.nodes[self.size - 1]

    cdef bint pop(self, Node* node) noexcept:
        """Take the node that came last; False if there is none."""
        if self.size == 0:
            return False
        self.size -= 1
        node[0] = self.nodes[self.size]
        return True


cdef class PrivateTree:
    """The tables of one player's tree, see the module, and two vectors over its sequences.

    Attributes:
        num_rows, num_sequences: R and S.
        plan: the realisation plan, float64 [S].
        gain: what the player gets after a sequence as their last, weighted with the opponent's plan
            and with chance for the opponent, float64 [S].
    """

    def __init__(self, PrivateRules rules, int player):
        self.rules, self.player = rules, player
        self.num_starts = rules.num_starts(player)
        self.num_rows, self.num_sequences = measure(rules, player)
        self.first = np.empty(self.num_rows + 1, dtype=np.intc)
        self.parent = np.empty(self.num_rows, dtype=np.intc)
        self.base = np.zeros(self.num_sequences, dtype=np.intc)
        self.plan = np.empty(self.num_sequences)
        self.gain = np.zeros(self.num_sequences)
        self.first_, self.parent_, self.base_ = self.first, self.parent, self.base
        self.plan_, self.gain_ = self.plan, self.gain
        self.rows_made, self.sequences_made = 0, self.num_starts
        cdef NodeStack stack = NodeStack()
        cdef Node node
        self.start(stack, True)
        while stack.pop(&node):
            self.expand(&node, stack, True)
        assert self.rows_made == self.num_rows and self.sequences_made == self.num_sequences
        self.first_[self.num_rows] = self.num_sequences

    cdef int start(self, NodeStack stack, bint making) except -1:
        """Push the rows after the starts."""
        cdef int start, outcome
        cdef Node* node
        for start in range(self.num_starts):
            if making:
                self.base_[start] = self.rows_made
            for outcome in range(self.rules.start_rows(self.player)):
                node = stack.push()
                self.rules.enter(self.player, start, outcome, node)
                node.row = self.base_[start] + outcome
                if making:
                    self.make_row(node, start)
        return 0

    cdef int expand(self, const Node* node, NodeStack stack, bint making) except -1:
        """Push the rows that follow a row."""
        cdef uint64_t actions = self.rules.actions(self.player, node)
        cdef int sequence = self.first_[node.row]
        cdef int action, outcome, count
        cdef int lowest = 0
        cdef Node* child
        while actions:
            action = lowest_bit(actions)
            actions &= actions - 1
            count = self.rules.outcomes(self.player, node, action, &lowest)
            if making:
                self.base_[sequence] = self.rows_made - lowest
            for outcome in range(lowest, lowest + count):
                child = stack.push()
                self.rules.follow(self.player, node, action, outcome, child)
                child.row = self.base_[sequence] + outcome
                if making:
                    self.make_row(child, sequence)
            sequence += 1
        return 0

    cdef void make_row(self, const Node* node, int parent) noexcept:
        """Give the next row its sequences."""
        self.first_[self.rows_made] = self.sequences_made
        self.parent_[self.rows_made] = parent
        self.rows_made += 1
        self.sequences_made += popcount(self.rules.actions(self.player, node))

    cdef Tree tables(self):
        return Tree(
            self.player, &self.first_[0], &self.base_[0], &self.plan_[0], &self.gain_[0]
        )

    def batches(self, int size):
        """Every row once, as `NodeBatch`es of at most `size`."""
        cdef NodeStack stack = NodeStack()
        self.start(stack, False)
        while stack.size:
            yield self.take(stack, size)

    cdef NodeBatch take(self, NodeStack stack, int size):
        cdef NodeBatch batch = NodeBatch()
        cdef Node* node
        batch.tree = self
        while stack.size and batch.nodes.size < size:
            node = batch.nodes.push()
            stack.pop(node)
            self.expand(node, stack, False)
        return batch

    @cython.boundscheck(False)
    @cython.wraparound(False)
    def set_policy(self, const int[::1] rows, const double[:, ::1] table, const uint8_t[:, ::1] legal):
        """Note action probabilities [n, num_actions] of `rows` [n] in `plan`.

        Returns the first row of the table that is no distribution over the legal actions (within
        1e-4, then made exact); -1 if all are.
        """
        cdef Py_ssize_t i, action
        cdef int sequence
        cdef double total
        for i in range(rows.shape[0]):
            total = 0.0
            for action in range(table.shape[1]):
                if legal[i, action]:
                    if not table[i, action] >= 0.0:
                        return i
                    total += table[i, action]
            if not abs(total - 1.0) <= 1e-4:
                return i
            sequence = self.first_[rows[i]]
            for action in range(table.shape[1]):
                if legal[i, action]:
                    self.plan_[sequence] = table[i, action] / total
                    sequence += 1
        return -1

    @cython.boundscheck(False)
    @cython.wraparound(False)
    def multiply_down(self):
        """Make the probabilities in `plan` a realisation plan, starts weighted by chance."""
        cdef int row, sequence
        for sequence in range(self.num_starts):
            self.plan_[sequence] = self.rules.weight(sequence)
        with nogil:
            for row in range(self.num_rows):
                for sequence in range(self.first_[row], self.first_[row + 1]):
                    self.plan_[sequence] *= self.plan_[self.parent_[row]]

    @cython.boundscheck(False)
    @cython.wraparound(False)
    def respond(self):
        """The value of a best response to what `gain` holds, which then holds action values."""
        cdef int row, sequence
        cdef double best
        with nogil:
            for row in range(self.num_rows - 1, -1, -1):
                best = self.gain_[self.first_[row]]
                for sequence in range(self.first_[row] + 1, self.first_[row + 1]):
                    best = max(best, self.gain_[sequence])
                self.gain_[self.parent_[row]] += best
        return sum(self.rules.weight(s) * self.gain_[s] for s in range(self.num_starts))


cdef class NodeBatch:
    """Rows of a tree, for a policy.

    Attributes:
        tree: theirs.
    """

    def __init__(self):
        self.nodes = NodeStack()

    def __len__(self):
        return self.nodes.size

    def rows(self):
        """Their numbers, int [n]."""
        cdef Py_ssize_t i
        cdef int[::1] rows = np.empty(self.nodes.size, dtype=np.intc)
        for i in range(self.nodes.size):
            rows[i] = self.nodes.nodes[i].row
        return np.asarray(rows)

    def legal(self):
        """Their legal actions, bool [n, num_actions]."""
        cdef Py_ssize_t i, action
        cdef uint64_t actions
        table = np.zeros((self.nodes.size, self.tree.rules.game.num_actions), dtype=np.bool_)
        cdef uint8_t[:, ::1] mask = table.view(np.uint8)
        for i in range(self.nodes.size):
            actions = self.tree.rules.actions(self.tree.player, &self.nodes.nodes[i])
            for action in range(mask.shape[1]):
                mask[i, action] = (actions >> action) & 1
        return table

    def tensors(self):
        """Their information-state tensors, float32 [n, size]."""
        cdef Py_ssize_t i
        cdef PrivateRules rules = self.tree.rules
        cdef float[:, ::1] rows = np.empty(
            (self.nodes.size, rules.game.information_state_tensor_size), dtype=np.float32
        )
        for i in range(self.nodes.size):
            rules.write_tensor(self.tree.player, &self.nodes.nodes[i], &rows[i, 0])
        return np.asarray(rows)

    def keys(self):
        """Their information-state keys."""
        cdef Py_ssize_t i
        cdef PrivateRules rules = self.tree.rules
        return [
            rules.key(self.tree.player, &self.nodes.nodes[i]) for i in range(self.nodes.size)
        ]
