"""What a game's parts have in common: blocks of features and actions that can be exchanged.

In Lost Cities any permutation of the colours turns a round into a round of equal worth. A game says
so once, in `Game.symmetry`; networks that respect it and the conformance test read it there.
"""

from collections.abc import Sequence
from typing import NamedTuple

Blocks = tuple[tuple[int, ...], ...]
"""The members of each block, [blocks][members]: the k-th member means the same in every block."""


class Symmetry(NamedTuple):
    """The blocks of a game; whatever belongs to none is global.

    If block c of every action and chance outcome of a history is moved to block p(c), for any
    permutation p, the result is a history too: tensors and legal actions move with it, and the
    returns stay.

    Attributes:
        features: entries of the information-state tensor.
        actions: actions of the players.
        outcomes: outcomes of chance.
    """

    features: Blocks
    actions: Blocks
    outcomes: Blocks


def equal_blocks(count: int, width: int, stride: int | None = None) -> Blocks:
    """`count` blocks of `width` consecutive members from 0, starting `stride` (`width`) apart."""
    starts = (block * (width if stride is None else stride) for block in range(count))
    return tuple(tuple(range(start, start + width)) for start in starts)


def outside(blocks: Blocks, size: int) -> tuple[int, ...]:
    """Those of 0 … size - 1 that belong to no block, ascending."""
    inside = {member for block in blocks for member in block}
    return tuple(member for member in range(size) if member not in inside)


def moved(blocks: Blocks, permutation: Sequence[int], size: int) -> list[int]:
    """Where each of 0 … size - 1 goes when block c takes the place of block `permutation[c]`."""
    places = list(range(size))
    for block, target in zip(blocks, permutation, strict=True):
        for member, place in zip(block, blocks[target], strict=True):
            places[member] = place
    return places


def repeated(symmetry: Symmetry, times: int, size: int) -> Symmetry:
    """The symmetry of so many tensors of `size` entries, one after the other."""
    features = tuple(
        tuple(copy * size + member for copy in range(times) for member in block)
        for block in symmetry.features
    )
    return symmetry._replace(features=features)
