"""Phantom tic-tac-toe: tic-tac-toe in which the players do not see each other's stones.

The rules, the numbering of actions and the payoffs are those of OpenSpiel's
`phantom_ttt(obstype=reveal-nothing)`: cell 3 * row + column; the first with a line of stones wins
1, a full board without one is a draw. A refused player moves again in the `classical` version, and
loses the turn in the `abrupt` one. Smaller boards and shorter lines are ours.
"""

from asynccfr.errors import GameError
from asynccfr.games.hidden_board cimport HiddenBoard
from asynccfr.games.hidden_board import paired_cells
from asynccfr.games.parameters import Parameter, check_parameters, choice


cdef class PhantomTicTacToe(HiddenBoard):
    """Tic-tac-toe in which neither player sees the other's stones."""

    PARAMETERS = (
        choice("gameversion", ("classical", "abrupt"), "abrupt: a refused attempt ends the turn"),
        choice("obstype", ("reveal-nothing",), "what is seen of the opponent's attempts"),
        Parameter("num_rows", 3, 1, 4, "rows of the board"),
        Parameter("num_cols", 3, 1, 4, "columns of the board"),
        Parameter("line", 3, 2, 4, "stones in a row, column or diagonal that win"),
    )

    cdef list lines  # sets of stones, one bit a cell

    def __init__(self, **parameters):
        self.name = "phantom_ttt"
        values = check_parameters(self.name, self.PARAMETERS, parameters)
        rows, cols, line = values["num_rows"], values["num_cols"], values["line"]
        if line > max(rows, cols):
            raise GameError(
                f"phantom_ttt: line={line} does not fit on {rows} x {cols} cells; expected at most "
                f"{max(rows, cols)}"
            )
        self.lines = lines_of(rows, cols, line)
        self.set_board(rows, cols, values["gameversion"] == "abrupt")
        self.parameters = values
        if cols > 1:
            self.symmetry = paired_cells(
                rows * cols,
                [
                    (row * cols + col, row * cols + cols - 1 - col)
                    for row in range(rows)
                    for col in range(cols // 2)
                ],
            )

    cdef bint wins_with(self, int player, unsigned stones):
        cdef unsigned line
        for line in self.lines:
            if stones & line == line:
                return True
        return False


cdef list lines_of(int num_rows, int num_cols, int length):
    """The sets of cells that make a line of that length, as bit masks."""
    lines = []
    for row in range(num_rows):
        for col in range(num_cols):
            for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
                cells = [(row + down * k, col + right * k) for k in range(length)]
                if cells[-1][0] < num_rows and 0 <= cells[-1][1] < num_cols:
                    lines.append(sum(1 << (r * num_cols + c) for r, c in cells))
    return lines
