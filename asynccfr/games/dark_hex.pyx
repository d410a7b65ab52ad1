"""Dark hex: hex in which the players do not see each other's stones.

The rules, the numbering of actions and the payoffs are those of OpenSpiel's
`dark_hex(obstype=reveal-nothing)`: cell num_cols * row + column; player 0 wins 1 by connecting the
first row with the last, player 1 by connecting the first column with the last; there are no draws.
A refused player moves again in the classical version (`cdh`), and loses the turn in the abrupt one
(`adh`). OpenSpiel's text of a `cdh` information state holds the number of both players' attempts,
which would tell the opponent's refused ones; here, as in its tensor, it does not.
"""

from asynccfr.games.hidden_board cimport MAX_CELLS, HiddenBoard
from asynccfr.games.hidden_board import paired_cells
from asynccfr.games.parameters import Parameter, check_parameters, choice


cdef class DarkHex(HiddenBoard):
    """Hex in which neither player sees the other's stones."""

    PARAMETERS = (
        choice("gameversion", ("cdh", "adh"), "adh, abrupt: a refused attempt ends the turn"),
        Parameter("board_size", 3, 2, 4, "rows and columns of a square board"),
        Parameter("num_rows", None, 2, 8, "rows of the board; board_size if not given"),
        Parameter("num_cols", None, 2, 8, "columns of the board; board_size if not given"),
        choice("obstype", ("reveal-nothing",), "what is seen of the opponent's attempts"),
    )

    cdef unsigned sides[2][2]  # of each player, the cells of the first and of the last side
    cdef unsigned beside[MAX_CELLS]  # the up to six cells beside each

    def __init__(self, **parameters):
        self.name = "dark_hex"
        values = check_parameters(self.name, self.PARAMETERS, parameters)
        size = values["board_size"]
        rows, cols = values["num_rows"] or size, values["num_cols"] or size
        if rows * cols <= MAX_CELLS:
            self.set_sides(rows, cols)
        self.set_board(rows, cols, values["gameversion"] == "adh")
        self.parameters = values | {"num_rows": rows, "num_cols": cols}
        cells = rows * cols
        self.symmetry = paired_cells(cells, [(c, cells - 1 - c) for c in range(cells // 2)])

    cdef bint wins_with(self, int player, unsigned stones):
        """Whether the stones connect the player's sides: flood from the first to the last."""
        cdef unsigned reached = stones & self.sides[player][0]
        cdef unsigned grown = 0
        cdef int cell
        while reached != grown:
            grown = reached
            for cell in range(self.num_actions):
                if (grown >> cell) & 1:
                    reached |= self.beside[cell] & stones
        return (reached & self.sides[player][1]) != 0

    cdef set_sides(self, int rows, int cols):
        cdef int row, col
        cdef unsigned cell = 1
        self.sides = [[0, 0], [0, 0]]
        for row in range(rows):
            for col in range(cols):
                self.sides[0][0] |= cell * (row == 0)
                self.sides[0][1] |= cell * (row == rows - 1)
                self.sides[1][0] |= cell * (col == 0)
                self.sides[1][1] |= cell * (col == cols - 1)
                self.beside[row * cols + col] = sum(
                    1 << ((row + down) * cols + col + right)
                    for down, right in ((0, -1), (0, 1), (-1, 0), (-1, 1), (1, -1), (1, 0))
                    if 0 <= row + down < rows and 0 <= col + right < cols
                )
                cell <<= 1
