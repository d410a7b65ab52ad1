"""What the rule bots of Lost Cities share: they decide on a `View`, which hides what is hidden."""

from abc import ABC, abstractmethod
from typing import cast

from asynccfr.games.contract import State
from asynccfr.games.lost_cities import LostCities, LostCitiesState
from asynccfr.games.lost_cities_view import WAGER, Move, View
from asynccfr.players.lost_cities.columns import Rules
from asynccfr.seeding import Rng

DRAW_DECK = Move("draw deck", None, None)


def play(color: int, rank: int) -> Move:
    return Move("play", color, rank)


def discard(color: int, rank: int) -> Move:
    return Move("discard", color, rank)


def draw_pile(color: int) -> Move:
    return Move("draw pile", color, None)


class RuleBot(ABC):
    """A player that follows rules, the same in the same situation every time."""

    name: str

    def __init__(self, game: LostCities) -> None:
        self.rules = Rules.of(game)
        self.actions = {move: action for action, move in enumerate(game.moves)}

    def act(self, state: State, rng: Rng) -> int:
        view = cast(LostCitiesState, state).view(state.current_player)
        return self.actions[self.lay_down(view) if view.phase == "card" else self.draw(view)]

    @abstractmethod
    def lay_down(self, view: View) -> Move:
        """Which card to play or discard."""

    @abstractmethod
    def draw(self, view: View) -> Move:
        """Which card to draw."""


def turns_left(view: View) -> int:
    """Turns that the player to move still has, this one included, if all draw from the deck."""
    return (view.deck_size + 1) // 2


def useful_piles(view: View) -> list[tuple[int, int]]:
    """The piles to draw from whose top is a number for the own expedition, as `(color, rank)`."""
    if view.pile_draws_left == 0:
        return []
    return [
        (color, pile[-1])
        for color, (pile, own) in enumerate(zip(view.piles, view.own_expeditions, strict=True))
        if pile and color != view.forbidden and pile[-1] > (own[-1] if own else WAGER)
    ]
