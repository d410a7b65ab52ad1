"""Two players put stones on one board and do not see each other's: what such games have in common.

A player to move names a cell that they have not tried yet. If it is empty, their stone is put
there; if the opponent's stone is there, the attempt is refused, and the player knows that stone
from now on. Neither is told what the other tried. After a refused attempt the same player moves
again, or, in the abrupt versions, the turn passes. A game adds which sets of stones win.

An information state is the player's own sequence of attempts with the answers. A key is the player,
whether they wait (0), are to move (1) or the game is over (2), and a byte an attempt: the cell,
plus 128 if refused.

Information-state tensor, float32 [2 + 2 n + n^2] for n cells: the player (2), the player's stones
(n), the opponent's that are known (n), and the cell of each attempt in order (n x n).
"""

from libc.string cimport memset

import numpy as np

from asynccfr.errors import GameError
from asynccfr.games.contract cimport TERMINAL_PLAYER, Game, State
from asynccfr.games.symmetry import Symmetry
from asynccfr.seeding cimport Rng

cdef enum:
    WAITS
    MOVES
    OVER

cdef enum:
    NOBODY = -1
    REFUSED = 128


cdef int tensor_size(int num_cells) noexcept nogil:
    return 2 + 2 * num_cells + num_cells * num_cells


cdef void write_view(int num_cells, const View* view, float* row) noexcept nogil:
    """Write the information-state tensor of a view."""
    cdef float* stones = row + 2
    cdef float* refused = stones + num_cells
    cdef float* order = refused + num_cells
    cdef int i
    memset(row, 0, tensor_size(num_cells) * sizeof(float))
    row[view.player] = 1.0
    for i in range(num_cells):
        stones[i] = (view.stones >> i) & 1
        refused[i] = (view.refused >> i) & 1
    for i in range(view.attempts):
        order[i * num_cells + view.cells[i]] = 1.0


cdef bytes view_key(const View* view, int status):
    """The information-state key of a view."""
    cdef bytearray key = bytearray(2 + view.attempts)
    cdef int i
    key[0] = view.player
    key[1] = status
    for i in range(view.attempts):
        key[2 + i] = view.cells[i] + (REFUSED if (view.refused >> view.cells[i]) & 1 else 0)
    return bytes(key)


cdef class HiddenBoard(Game):
    """A game on a board of at most 16 cells, row by row; see the module.

    Attributes:
        num_rows, num_cols: the board's size.
        passes_turn: whether a refused attempt ends the turn.
        wins: uint8 [2, 2^cells], whether the player wins with a set of stones, bit i for cell i.
    """

    cdef set_board(self, int num_rows, int num_cols, bint passes_turn):
        """Describe a board; the subclass gives `wins` by `wins_with` and `name`, `parameters`."""
        cdef int cells = num_rows * num_cols
        if cells > MAX_CELLS:
            raise GameError(
                f"{self.name}: {num_rows} x {num_cols} cells, expected at most {MAX_CELLS}; "
                "`openspiel:` has larger boards"
            )
        self.num_rows, self.num_cols, self.passes_turn = num_rows, num_cols, passes_turn
        self.num_players = 2
        self.num_actions = self.max_legal_actions = cells
        self.information_state_tensor_size = tensor_size(cells)
        self.tensor_quantum = 1.0
        self.min_utility, self.max_utility = -1.0, 1.0
        cdef uint8_t[:, ::1] table = np.empty((2, 1 << cells), dtype=np.uint8)
        cdef int player, stones
        for player in range(2):
            for stones in range(1 << cells):
                table[player, stones] = self.wins_with(player, stones)
        self.wins = np.asarray(table)
        self.wins.flags.writeable = False
        self.is_won = self.wins

    cdef bint wins_with(self, int player, unsigned stones):
        raise NotImplementedError

    cdef State initial_state(self):
        cdef HiddenBoardState state = HiddenBoardState.__new__(HiddenBoardState)
        state.game = state.board = self
        state.views[1].player = 1
        return state


def paired_cells(int num_cells, pairs):
    """The symmetry that exchanges the cells of each pair, for a board of that many cells."""
    def entries(cell):
        return [2 + k * num_cells + cell for k in range(2 + num_cells)]

    sides = tuple(zip(*pairs, strict=True))
    return Symmetry(
        features=tuple(tuple(entry for c in side for entry in entries(c)) for side in sides),
        actions=sides,
        outcomes=((), ()),
    )


cdef class HiddenBoardState(State):
    """One history: `movers[:length]` made the attempts that the two views hold."""

    cdef int turn(self) noexcept nogil:
        """Who is to move after the last attempt."""
        cdef View* last
        if self.length == 0:
            return 0
        last = &self.views[self.movers[self.length - 1]]
        if self.winner() != NOBODY:
            return TERMINAL_PLAYER
        if self.views[0].stones | self.views[1].stones == (1 << self.board.num_actions) - 1:
            return TERMINAL_PLAYER
        if (last.refused >> last.cells[last.attempts - 1]) & 1 and not self.board.passes_turn:
            return last.player
        return 1 - last.player

    cdef int winner(self) noexcept nogil:
        cdef int player
        for player in range(2):
            if self.board.is_won[player, self.views[player].stones]:
                return player
        return NOBODY

    cdef int write_legal(self, int* actions) except -1:
        cdef View* view = &self.views[self.current_player]
        cdef int cell
        cdef int n = 0
        for cell in range(self.board.num_actions):
            if not ((view.stones | view.refused) >> cell) & 1:
                actions[n] = cell
                n += 1
        return n

    cdef int advance(self, int action) except -1:
        cdef View* view = &self.views[self.current_player]
        cdef uint16_t cell = 1 << action
        view.cells[view.attempts] = action
        view.attempts += 1
        if self.views[1 - view.player].stones & cell:
            view.refused |= cell
        else:
            view.stones |= cell
        self.movers[self.length] = view.player
        self.length += 1
        self.current_player = self.turn()
        return 0

    cdef int retreat(self) except -1:
        self.length -= 1
        self.current_player = self.movers[self.length]
        cdef View* view = &self.views[self.current_player]
        view.attempts -= 1
        cdef uint16_t cell = 1 << view.cells[view.attempts]
        view.stones &= ~cell
        view.refused &= ~cell
        return 0

    cdef int sample_chance(self, Rng rng) except -1:
        raise GameError("draw: not a chance node")

    cdef int write_tensor(self, int player, float* row) except -1:
        write_view(self.board.num_actions, &self.views[player], row)
        return 0

    cdef double utility(self, int player) except? -1e300:
        cdef int winner = self.winner()
        return 0.0 if winner == NOBODY else 1.0 if winner == player else -1.0

    cdef State copy(self):
        cdef HiddenBoardState twin = HiddenBoardState.__new__(HiddenBoardState)
        twin.game = twin.board = self.board
        twin.current_player = self.current_player
        twin.length = self.length
        twin.movers[:] = self.movers
        twin.views[0], twin.views[1] = self.views[0], self.views[1]
        return twin

    def history_length(self):
        return self.length

    def chance_outcomes(self):
        raise GameError("chance_outcomes: not a chance node")

    def information_state_key(self, int player):
        self.check_player(player)
        cdef int status = OVER if self.current_player == TERMINAL_PLAYER else WAITS
        return view_key(&self.views[player], MOVES if self.current_player == player else status)

    def information_state_string(self, int player):
        self.check_player(player)
        cdef View* view = &self.views[player]
        tried = [
            self.action_to_string(view.cells[i])
            + (" refused" if (view.refused >> view.cells[i]) & 1 else "")
            for i in range(view.attempts)
        ]
        mine, theirs = (view.stones, view.refused) if player == 0 else (view.refused, view.stones)
        return f"{self.drawn(mine, theirs)}\ntried: {', '.join(tried) or '-'}"

    def action_to_string(self, int action):
        return f"{'abcdefghijklmnop'[action % self.board.num_cols]}{action // self.board.num_cols + 1}"

    def __str__(self):
        mover = {0: "x to move", 1: "o to move"}.get(self.current_player, "over")
        return f"{self.drawn(self.views[0].stones, self.views[1].stones)}\n{mover}"

    cdef str drawn(self, unsigned crosses, unsigned noughts):
        signs = [
            "x" if (crosses >> cell) & 1 else "o" if (noughts >> cell) & 1 else "."
            for cell in range(self.board.num_actions)
        ]
        width = self.board.num_cols
        return "\n".join(
            "".join(signs[start : start + width]) for start in range(0, len(signs), width)
        )
