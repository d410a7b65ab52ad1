"""The private trees of both players, and the walk through every history that they span.

The walk is cut into parts that can run at the same time: part (i, j) holds the histories that begin
with choice i of player 0 and choice j of player 1, which are first actions, or hands that are dealt.
Parts that share neither touch no common row.
"""

from asynccfr.exact.hidden_board_rules cimport HiddenBoardRules
from asynccfr.exact.liars_dice_rules cimport LiarsDiceRules
from asynccfr.exact.play cimport SETTLED, Board, Dice, Position, Reply, try_cell
from asynccfr.exact.private_rules cimport PrivateRules
from asynccfr.exact.private_rules import measure
from asynccfr.exact.private_tree cimport PrivateTree, Tree
from asynccfr.exact.walk_kernel cimport attempt, walk
from asynccfr.games.contract cimport Game
from asynccfr.games.hidden_board cimport HiddenBoard
from asynccfr.games.liars_dice cimport LiarsDice

cdef enum:
    BYTES_A_ROW = 8
    BYTES_A_SEQUENCE = 20


def private_rules(Game game):
    """What makes private trees of a game; None for a game without."""
    if isinstance(game, HiddenBoard):
        return HiddenBoardRules(game)
    if isinstance(game, LiarsDice):
        return LiarsDiceRules(game)
    return None


def memory(PrivateRules rules):
    """The rows of `PrivateTrees`, and the bytes that it takes."""
    sizes = [measure(rules, player) for player in range(2)]
    rows, sequences = (sum(column) for column in zip(*sizes, strict=True))
    return rows, BYTES_A_ROW * rows + BYTES_A_SEQUENCE * sequences


cdef class PrivateTrees:
    """Both players' trees, with the vectors that the walk reads and fills.

    Attributes:
        rules: the game's.
        trees: by player.
        parts: how many choices there are for i, and for j.
    """

    cdef readonly PrivateRules rules
    cdef readonly tuple trees
    cdef readonly int parts
    cdef bint stopped

    def __init__(self, PrivateRules rules):
        self.rules = rules
        self.trees = PrivateTree(rules, 0), PrivateTree(rules, 1)
        if isinstance(rules, HiddenBoardRules):
            self.parts = rules.game.num_actions
        else:
            self.parts = rules.num_starts(0)

    def stop(self):
        """Let the parts that run end soon; what they leave is unfinished."""
        self.stopped = True

    def walk(self, int i, int j):
        """Add the histories of part (i, j) to both trees' `gain`. Releases the GIL."""
        cdef Tree first = (<PrivateTree>self.trees[0]).tables()
        cdef Tree second = (<PrivateTree>self.trees[1]).tables()
        cdef const Board* board
        cdef const Dice* dice
        if isinstance(self.rules, HiddenBoardRules):
            board = &(<HiddenBoardRules>self.rules).play
            with nogil:
                walk_cells(board, &first, &second, i, j, &self.stopped)
        else:
            dice = &(<LiarsDiceRules>self.rules).play
            with nogil:
                walk_hands(dice, &first, &second, i, j, &self.stopped)


cdef void walk_hands(
    const Dice* dice, const Tree* first, const Tree* second, int i, int j, const bint* stop
) noexcept nogil:
    walk(dice, first, second, Position(i, j, 0, 0, 0, 0), first.base[i], second.base[j], j, stop)


cdef void walk_cells(
    const Board* board, const Tree* first, const Tree* second, int i, int j, const bint* stop
) noexcept nogil:
    cdef int sequence = first.first[first.base[0]] + i
    cdef int row = second.base[0]
    cdef Reply reply = try_cell(board, 0, Position(0, 0, 0, 0, 0xFFFF, 0), i)
    if reply.kind != SETTLED:
        attempt(
            board, second, first, reply.next, j, second.first[row] + j,
            first.base[sequence] + reply.my_shift, sequence, stop,
        )
    elif j == 0:
        first.gain[sequence] += reply.payoff * second.plan[0]
        second.gain[0] -= reply.payoff * first.plan[sequence]
