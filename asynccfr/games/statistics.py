"""What a game counts of itself: named statistics that tables of matches show."""

from typing import Literal, NamedTuple

Unit = Literal["number", "points", "share"]


class Statistic(NamedTuple):
    """A statistic of finished games, listed in `Game.STATISTICS`.

    A finished state gives a pair `(amount, count)` for it; over many games it is the sum of the
    amounts over the sum of the counts.

    Attributes:
        name: the heading of its column.
        description: what it is, for the note below the table.
        unit: "number", "points" (shown with its sign) or "share" (shown in per cent).
        digits: after the decimal point.
        common: whether it is of the game as a whole, the same for every player.
    """

    name: str
    description: str
    unit: Unit = "number"
    digits: int = 1
    common: bool = False
