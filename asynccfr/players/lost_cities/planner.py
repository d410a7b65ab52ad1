"""Two bots that forecast, in points, what every expedition will come to."""

from typing import NamedTuple

from asynccfr.games.lost_cities import LostCities
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
from asynccfr.players.lost_cities.columns import Column, Rules, columns


class Style(NamedTuple):
    """What tells one planner from another; points are for a cost of 20, and scale with it.

    Attributes:
        hope: share of this player's part of the unseen cards that it counts on.
        opening: points that an expedition must promise before it is opened.
        wagering: points above the cost that its numbers must promise before a wager is played.
        feeding: weight of what a discard is worth to the opponent.
        greed: points that a card from a pile must be good for to be preferred to the deck.
    """

    hope: float
    opening: float
    wagering: float
    feeding: float
    greed: float

    def scaled(self, scale: float) -> "Style":
        return self._replace(
            opening=scale * self.opening,
            wagering=scale * self.wagering,
            greed=scale * self.greed,
        )


class Planner(RuleBot):
    """Lays down whatever costs least by its forecast, and draws what the forecast can use."""

    def __init__(self, game: LostCities, name: str, style: Style) -> None:
        super().__init__(game)
        self.name = name
        self.style = style.scaled(self.rules.cost / 20)

    def lay_down(self, view: View) -> Move:
        forecast = Forecast(view, self.rules, self.style)
        options = [
            (-forecast.harm(color, rank), 0.0, discard(color, rank)) for color, rank in view.hand
        ]
        for color, column in enumerate(forecast.table):
            if column.playable or column.hand_wagers:
                value, move = forecast.next_play(color)
                options.append((value, forecast.promises[color], move))
        return max(options)[-1]

    def draw(self, view: View) -> Move:
        piles = useful_piles(view)
        if not piles:
            return DRAW_DECK
        forecast = Forecast(view, self.rules, self.style)
        use, color = max((forecast.use(color, rank), color) for color, rank in piles)
        return draw_pile(color) if use > self.style.greed else DRAW_DECK


class Forecast:
    """What a view promises to the player who holds it.

    Attributes:
        table: the columns, by colour.
        turns: turns that the player still has.
        luck: the chance to get, in time, a card that is unseen now, as the style hopes for.
        promises: points to expect of each column if it is, or were, opened.
        wanted: which columns are opened, or promise enough to be.
        hurry: whether there are no turns left for anything but the cards in hand for those.
    """

    def __init__(self, view: View, rules: Rules, style: Style) -> None:
        self.rules = rules
        self.style = style
        self.table = columns(view, rules)
        self.turns = turns_left(view)
        unseen = view.deck_size + rules.hand_size - len(view.opponent_known)
        self.luck = style.hope * view.deck_size / 2 / unseen
        self.promises = [self.promise(column) for column in self.table]
        self.wanted = [
            column.cards > 0 or promise >= style.opening
            for column, promise in zip(self.table, self.promises, strict=True)
        ]
        self.hurry = self.turns <= sum(
            len(column.playable) + column.hand_wagers
            for column, wanted in zip(self.table, self.wanted, strict=True)
            if wanted
        )

    def total(self, column: Column) -> float:
        """The sum of numbers to expect: those played, those in hand, a share of those unseen."""
        in_hand = sum(column.playable[-self.turns :])
        return column.total + in_hand + self.luck * sum(column.unseen)

    def promise(self, column: Column) -> float:
        cards = column.cards + len(column.playable) + self.luck * len(column.unseen)
        return self.rules.points(self.total(column), column.wagers, cards)

    def next_play(self, color: int) -> tuple[float, Move]:
        """The next card for a column and what playing it now is worth, 0 if nothing is lost."""
        column = self.table[color]
        shortfall = 0.0 if self.wanted[color] else self.style.opening - self.promises[color]
        profit = self.total(column) - self.rules.cost
        if column.hand_wagers and profit >= self.style.wagering and not self.hurry:
            return -shortfall, play(color, WAGER)
        factor = self.rules.factor(column.wagers)
        if not column.playable:
            return -shortfall - self.rules.cost * factor, play(color, WAGER)
        rank = column.playable[-self.turns :][0]
        if self.hurry and self.wanted[color]:
            return rank * factor, play(color, rank)
        passed_over = sum(number for number in column.unseen if number < rank)
        return -shortfall - self.luck * passed_over * factor, play(color, rank)

    def harm(self, color: int, rank: int) -> float:
        """What it costs to discard a card: its use here and, weighted, to the opponent."""
        column = self.table[color]
        worth = self.rules.worth(rank)
        harm = 0.0
        if column.can_use(rank):
            promise, cost = self.promises[color], self.rules.cost
            likely = 1.0 if self.wanted[color] else (promise + cost) / (self.style.opening + cost)
            harm += max(0.0, likely) * worth * self.rules.factor(column.wagers)
        if column.rival_can_use(rank):
            likely = 1.0 if column.rival_cards else 0.5
            likely *= self.style.feeding
            harm += likely * worth * self.rules.factor(column.rival_wagers)
        return harm

    def use(self, color: int, rank: int) -> float:
        """What a number that fits on a column adds, if the column is wanted or would be with it."""
        column = self.table[color]
        promise = self.promise(column._replace(playable=sorted([*column.playable, rank])))
        if not column.cards and promise < self.style.opening:
            return 0.0
        return rank * self.rules.factor(column.wagers)


CAUTIOUS = Style(hope=1.0, opening=11.0, wagering=6.0, feeding=1.0, greed=1.5)
BOLD = Style(hope=0.7, opening=3.0, wagering=0.0, feeding=0.5, greed=2.0)


def cautious(game: LostCities) -> Planner:
    """Opens only what its hand nearly pays for, and is loath to feed the opponent."""
    return Planner(game, "cautious", CAUTIOUS)


def bold(game: LostCities) -> Planner:
    """Opens what cards to come may pay for, wagers early, and thinks little of the opponent."""
    return Planner(game, "bold", BOLD)
