"""The table of Lost Cities as a rule bot thinks of it: one column per colour, from its own view."""

from typing import NamedTuple, Self

from asynccfr.games.lost_cities import LostCities
from asynccfr.games.lost_cities_view import WAGER, View


class Rules(NamedTuple):
    """The game's parameters that a bot reckons with."""

    colors: int
    numbers: int
    wagers: int
    hand_size: int
    cost: int
    multiplier: int
    bonus_threshold: int
    bonus: int

    @classmethod
    def of(cls, game: LostCities) -> Self:
        return cls(*(int(game.parameters[name]) for name in cls._fields))

    @property
    def deck_size(self) -> int:
        """Cards in the deck after the deal."""
        return self.colors * (self.numbers + self.wagers) - 2 * self.hand_size

    def factor(self, wagers: int) -> int:
        return 1 + self.multiplier * wagers

    def points(self, total: float, wagers: int, cards: float) -> float:
        """Points of an opened expedition with numbers that sum to `total`, and `cards` in all."""
        bonus = self.bonus if cards >= self.bonus_threshold else 0
        return (total - self.cost) * self.factor(wagers) + bonus

    def worth(self, rank: int) -> float:
        """What a card is good for where it can be played: its number; a wager, a guess."""
        return self.cost / 4 if rank == WAGER else rank


class Column(NamedTuple):
    """One colour, as a player sees it.

    Attributes:
        top, wagers, cards, total: of the own expedition: highest number (0 if none), wagers played,
            cards played, sum of numbers.
        playable: numbers in hand above `top`, ascending.
        hand_wagers: wagers in hand that may still be played.
        unseen: numbers above `top` that are in the deck, or hidden in the opponent's hand.
        rival_top, rival_wagers, rival_cards: of the opponent's expedition.
    """

    top: int
    wagers: int
    cards: int
    total: int
    playable: list[int]
    hand_wagers: int
    unseen: list[int]
    rival_top: int
    rival_wagers: int
    rival_cards: int

    def can_use(self, rank: int) -> bool:
        """Whether the player may play a card of this rank in hand, now or later."""
        return rank > self.top or self.top == 0

    def rival_can_use(self, rank: int) -> bool:
        return rank > self.rival_top or self.rival_top == 0


def columns(view: View, rules: Rules) -> list[Column]:
    """The columns of a view, by colour."""
    hands: list[list[int]] = [[] for _ in view.piles]
    for color, rank in view.hand:
        hands[color].append(rank)
    known: list[list[int]] = [[] for _ in view.piles]
    for color, rank in view.opponent_known:
        known[color].append(rank)
    result = []
    for hand, own, rival, pile, held in zip(
        hands, view.own_expeditions, view.opponent_expeditions, view.piles, known, strict=True
    ):
        top = own[-1] if own else 0
        seen = {*hand, *rival, *pile, *held}
        result.append(
            Column(
                top=top,
                wagers=own.count(WAGER),
                cards=len(own),
                total=sum(own),
                playable=[rank for rank in hand if rank > top],
                hand_wagers=0 if top else hand.count(WAGER),
                unseen=[n for n in range(max(2, top + 1), rules.numbers + 2) if n not in seen],
                rival_top=rival[-1] if rival else 0,
                rival_wagers=rival.count(WAGER),
                rival_cards=len(rival),
            )
        )
    return result
