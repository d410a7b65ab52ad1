"""Private trees of hidden boards: a row is the cells that a player tried, with the answers.

Histories whose payoff is settled, whoever places which of the stones to come, are not walked: they
pay both players where they stand.
"""

from libc.stdint cimport uint8_t, uint64_t

import numpy as np

from asynccfr.errors import GameError
from asynccfr.exact.play cimport UNSETTLED
from asynccfr.exact.private_rules cimport Node, PrivateRules, popcount
from asynccfr.games.hidden_board cimport HiddenBoard, view_key, write_view

cdef enum:
    MOST_CELLS = 12
    TO_MOVE = 1  # status of a key
    LOSS = 1  # to player 0; bits of a set of payoffs
    DRAW = 2
    WIN = 4


cdef class HiddenBoardRules(PrivateRules):
    """The private trees of a `HiddenBoard` of at most 12 cells."""

    def __init__(self, HiddenBoard board):
        if board.num_actions > MOST_CELLS:
            raise GameError(
                f"{board}: {board.num_actions} cells, exact evaluation takes at most "
                f"{MOST_CELLS}; `asynccfr exploit` gives a sampled lower bound"
            )
        self.game = self.board = board
        self.num_cells = board.num_actions
        self.play.cells = (1 << self.num_cells) - 1
        self.play.passes_turn = board.passes_turn
        self.num_codes = 1
        for cell in range(self.num_cells):
            self.play.place[cell] = self.num_codes
            self.num_codes *= 3
        self.find_settled()
        self.find_possible()

    cdef int code(self, unsigned ones, unsigned twos) noexcept:
        """A number of base 3 with the digits 1 and 2 at the cells of the two sets."""
        cdef int code = 0
        cdef int cell
        for cell in range(self.num_cells):
            code += self.play.place[cell] * (((ones >> cell) & 1) + 2 * ((twos >> cell) & 1))
        return code

    cdef find_settled(self):
        """Fill `settled[player, code]`: the payoff to the player who has just placed a stone."""
        cdef uint8_t[:, ::1] known = np.zeros((2, self.num_codes), dtype=np.uint8)
        cdef int player, code
        self.settled = np.full((2, self.num_codes), UNSETTLED, dtype=np.int8)
        self.payoffs(0, 0, 0, known)
        for player in range(2):
            for code in range(known.shape[1]):
                if known[1 - player, code] in (LOSS, DRAW, WIN):
                    value = {LOSS: -1, DRAW: 0, WIN: 1}[known[1 - player, code]]
                    self.settled[player, code] = -value if player else value
            self.play.settled[player] = &self.settled[player, 0]

    cdef int payoffs(self, unsigned first, unsigned second, int mover, uint8_t[:, ::1] known):
        """The payoffs that can follow, as bits, from the stones of both and who places next."""
        cdef int code = self.code(first, second)
        cdef int cell, result
        if known[mover, code]:
            return known[mover, code]
        if self.board.is_won[0, first]:
            result = WIN
        elif self.board.is_won[1, second]:
            result = LOSS
        elif first | second == self.play.cells:
            result = DRAW
        else:
            result = 0
            for cell in range(self.num_cells):
                if not ((first | second) >> cell) & 1:
                    if mover == 0 or self.play.passes_turn:
                        result |= self.payoffs(first | (1 << cell), second, 1, known)
                    if mover == 1 or self.play.passes_turn:
                        result |= self.payoffs(first, second | (1 << cell), 0, known)
        known[mover, code] = result
        return result

    def find_possible(self):
        """Fill `possible`: at which rows the player may be to move."""
        cdef unsigned stones, rest, refused
        self.possible = np.zeros((2, self.num_codes), dtype=np.uint8)
        for player in range(2):
            for stones in range(self.play.cells + 1):
                rest = refused = self.play.cells & ~stones
                while True:
                    self.possible[player, self.code(stones, refused)] = self.could_be(
                        player, stones, refused
                    )
                    if refused == 0:
                        break
                    refused = (refused - 1) & rest

    cdef bint could_be(self, int player, unsigned stones, unsigned refused) noexcept:
        """Whether the opponent can have stones such that the game goes on with this player.

        In the classical versions the number of the opponent's stones follows from the player's. In
        the abrupt ones the fewest are best: those that were met, and for player 1 the one stone
        with which player 0 begins and that nothing can have met.
        """
        cdef int mine = popcount(stones)
        cdef int met = popcount(refused)
        cdef int theirs = (met if self.play.passes_turn else mine) + player
        cdef unsigned rest = self.play.cells & ~stones & ~refused
        cdef unsigned more = rest
        if self.board.is_won[player, stones] or mine + theirs >= self.num_cells or met > theirs:
            return False
        if player == 0 and met and not mine:
            return False
        while True:
            if met + popcount(more) == theirs and not self.board.is_won[1 - player, refused | more]:
                return True
            if more == 0:
                return False
            more = (more - 1) & rest

    cdef bint has_row(self, int player, unsigned stones, unsigned refused) noexcept:
        return self.possible[player, self.code(stones, refused)]

    cdef int num_starts(self, int player) except -1:
        return 1

    cdef double weight(self, int start) except -1:
        return 1.0

    cdef int start_rows(self, int player) except -1:
        return self.has_row(player, 0, 0)

    cdef int enter(self, int player, int start, int outcome, Node* node) except -1:
        node.view.player = player
        node.view.attempts = 0
        node.view.stones = node.view.refused = 0
        return 0

    cdef uint64_t actions(self, int player, const Node* node) noexcept:
        return self.play.cells & ~(node.view.stones | node.view.refused)

    cdef int outcomes(self, int player, const Node* node, int action, int* lowest) noexcept:
        cdef unsigned cell = 1 << action
        cdef bint accepted = self.has_row(player, node.view.stones | cell, node.view.refused)
        cdef bint refused = self.has_row(player, node.view.stones, node.view.refused | cell)
        lowest[0] = not accepted
        return accepted + refused

    cdef void follow(
        self, int player, const Node* node, int action, int outcome, Node* child
    ) noexcept:
        child.view = node.view
        child.view.cells[child.view.attempts] = action
        child.view.attempts += 1
        if outcome:
            child.view.refused |= 1 << action
        else:
            child.view.stones |= 1 << action

    cdef object signature(self, int player, const Node* node):
        return node.view.stones, node.view.refused

    cdef void write_tensor(self, int player, const Node* node, float* row) noexcept:
        write_view(self.num_cells, &node.view, row)

    cdef bytes key(self, int player, const Node* node):
        return view_key(&node.view, TO_MOVE)
