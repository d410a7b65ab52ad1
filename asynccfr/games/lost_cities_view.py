"""What one player of Lost Cities may know, as plain records: for bots, terminals and statistics."""

from typing import Literal, NamedTuple

WAGER = 0

COLORS = ("red", "green", "white", "blue", "yellow", "purple")


class Card(NamedTuple):
    """A card: its colour, an index of `COLORS`, and its number from 2, or `WAGER`."""

    color: int
    rank: int

    def __str__(self) -> str:
        return f"{COLORS[self.color]} {self.rank or 'wager'}"


class Move(NamedTuple):
    """What an action does: `color` is None for the deck; `rank` is None for every draw."""

    kind: Literal["play", "discard", "draw pile", "draw deck"]
    color: int | None
    rank: int | None

    def __str__(self) -> str:
        if self.color is None:
            return "draw deck"
        if self.rank is None:
            return f"draw {COLORS[self.color]} pile"
        return f"{self.kind} {Card(self.color, self.rank)}"


class View(NamedTuple):
    """One player's knowledge of the table. Tuples over colours follow the game's colours.

    Attributes:
        player: whose view it is.
        current_player: who is to move (`CHANCE` and `TERMINAL` included).
        phase: "deal", "card" (play or discard), "draw" (from deck or pile), "deck" (the deck
            draw that chance resolves) or "over".
        hand: the player's cards, by colour and rank.
        own_expeditions, opponent_expeditions: the ranks played, ascending, for each colour.
        own_scores, opponent_scores: points so far, for each colour.
        piles: the ranks discarded, bottom to top, for each colour.
        forbidden: the colour just discarded, whose pile may not be drawn from now, or None.
        opponent_known: cards certainly in the opponent's hand, for they were drawn from piles.
        deck_size: cards left in the deck.
        pile_draws_left: draws from piles that both players together still have.
        legal_actions: of this player; empty if another is to move.
        moves: what each of the game's actions does, indexed by action.
    """

    player: int
    current_player: int
    phase: Literal["deal", "card", "draw", "deck", "over"]
    hand: tuple[Card, ...]
    own_expeditions: tuple[tuple[int, ...], ...]
    opponent_expeditions: tuple[tuple[int, ...], ...]
    own_scores: tuple[int, ...]
    opponent_scores: tuple[int, ...]
    piles: tuple[tuple[int, ...], ...]
    forbidden: int | None
    opponent_known: tuple[Card, ...]
    deck_size: int
    pile_draws_left: int
    legal_actions: tuple[int, ...]
    moves: tuple[Move, ...]
