"""Private trees of liar's dice: a start is a hand, and the answer to a bid is the next bid."""

from collections import Counter
from itertools import product

from libc.stdint cimport uint64_t

import numpy as np

from asynccfr.exact.private_rules cimport Node, PrivateRules, leading_zeros
from asynccfr.games.liars_dice cimport LiarsDice


cdef class LiarsDiceRules(PrivateRules):
    """The private trees of `LiarsDice`.

    Attributes:
        hands: what a player may have rolled, ascending faces.
        weights: their probabilities.
    """

    def __init__(self, LiarsDice dice):
        cdef Node node
        self.game = self.dice = dice
        counts = Counter(
            tuple(sorted(roll)) for roll in product(range(dice.num_sides), repeat=dice.num_dice)
        )
        self.hands = sorted(counts)
        self.weights = [counts[hand] / counts.total() for hand in self.hands]
        self.matches = np.empty((len(self.hands), dice.num_bids), dtype=np.uint8)
        self.quantity = np.empty(dice.num_bids, dtype=np.uint8)
        for bid in range(dice.num_bids):
            self.quantity[bid] = dice.quantity(bid)
            for hand in range(len(self.hands)):
                self.enter(0, hand, 0, &node)
                self.matches[hand, bid] = dice.matches(bid, &node.roll)
        self.play.num_bids = dice.num_bids
        self.play.matches = &self.matches[0, 0]
        self.play.quantity = &self.quantity[0]

    cdef int num_starts(self, int player) except -1:
        return len(self.hands)

    cdef double weight(self, int start) except -1:
        return self.weights[start]

    cdef int start_rows(self, int player) except -1:
        return self.dice.num_bids if player else 1

    cdef int enter(self, int player, int start, int outcome, Node* node) except -1:
        for i, face in enumerate(self.hands[start]):
            node.roll.faces[i] = face
        node.roll.rolled = self.dice.num_dice
        node.bids = <uint64_t>player << outcome
        return 0

    cdef uint64_t actions(self, int player, const Node* node) noexcept:
        cdef int next_bid = 64 - leading_zeros(node.bids) if node.bids else 0
        return ((<uint64_t>2 - (next_bid == 0)) << self.dice.num_bids) - 1 >> next_bid << next_bid

    cdef int outcomes(self, int player, const Node* node, int action, int* lowest) noexcept:
        lowest[0] = 0
        return max(self.dice.num_bids - action - 1, 0)

    cdef void follow(
        self, int player, const Node* node, int action, int outcome, Node* child
    ) noexcept:
        child.roll = node.roll
        child.bids = node.bids | <uint64_t>1 << action | <uint64_t>2 << action + outcome

    cdef object signature(self, int player, const Node* node):
        return self.actions(player, node)

    cdef void write_tensor(self, int player, const Node* node, float* row) noexcept:
        self.dice.write_view(player, &node.roll, node.bids, row)

    cdef bytes key(self, int player, const Node* node):
        return self.dice.view_key(player, 2 * self.dice.num_dice, &node.roll, node.bids)
