"""A bot of thresholds: no forecast, only what its hand adds up to."""

from asynccfr.games.lost_cities_view import WAGER, Move, View
from asynccfr.players.lost_cities.bot import (
    DRAW_DECK,
    RuleBot,
    discard,
    draw_pile,
    play,
    turns_left,
    useful_piles,
)
from asynccfr.players.lost_cities.columns import Column, columns

# Shares of the cost: what the numbers in hand must sum to, to start a colour (18 of 20; 24 once
# half the deck is gone) and to play its wagers first; what each number passed over weighs; what a
# card from a pile must be good for.
START = 0.9
LATE_START = 1.2
STRONG = 1.0
GAP = 0.1
WORTH_A_DRAW = 0.25

SMALL_GAP = 2  # numbers passed over


class Threshold(RuleBot):
    """Starts what its hand nearly pays, plays low cards after small gaps, discards with care."""

    name = "threshold"

    def lay_down(self, view: View) -> Move:
        table = columns(view, self.rules)
        started = [self.is_started(view, column) for column in table]
        harm, color, rank = min(
            (self.harm(table[color], rank, started[color]), color, rank)
            for color, rank in view.hand
        )
        plays = [
            self.next_play(view, color, column)
            for color, column in enumerate(table)
            if started[color] and column.playable
        ]
        if not plays:
            return discard(color, rank)
        gap, move = min(plays)
        hurry = sum(len(column.playable) for column in table if column.cards) >= turns_left(view)
        if hurry or gap <= SMALL_GAP or gap * GAP * self.rules.cost < harm:
            return move
        return discard(color, rank)

    def is_started(self, view: View, column: Column, extra: int = 0) -> bool:
        """Whether a colour is started, or will be with what the hand, and `extra`, add up to."""
        needed = START if 2 * view.deck_size > self.rules.deck_size else LATE_START
        in_hand = sum(column.playable[-turns_left(view) :])
        return bool(column.cards) or in_hand + extra >= needed * self.rules.cost

    def next_play(self, view: View, color: int, column: Column) -> tuple[int, Move]:
        """The next card of an expedition, and how many numbers it passes over that may come."""
        if column.hand_wagers and sum(column.playable) >= STRONG * self.rules.cost:
            return 0, play(color, WAGER)
        rank = column.playable[-turns_left(view) :][0]
        return sum(number < rank for number in column.unseen), play(color, rank)

    def harm(self, column: Column, rank: int, started: bool) -> float:
        """What discarding a card costs: its use to this player and to the opponent."""
        worth = self.rules.worth(rank)
        harm = 0.0
        if column.can_use(rank):
            likely = 1.0 if started else sum(column.playable) / (LATE_START * self.rules.cost)
            harm += likely * worth * self.rules.factor(column.wagers)
        if column.rival_can_use(rank):
            likely = 1.0 if column.rival_cards else 0.5
            harm += likely * worth * self.rules.factor(column.rival_wagers)
        return harm

    def draw(self, view: View) -> Move:
        piles = useful_piles(view)
        if not piles:
            return DRAW_DECK
        table = columns(view, self.rules)
        use, color = max(
            (
                rank * self.rules.factor(table[color].wagers)
                if self.is_started(view, table[color], extra=rank)
                else 0,
                color,
            )
            for color, rank in piles
        )
        return draw_pile(color) if use >= WORTH_A_DRAW * self.rules.cost else DRAW_DECK
