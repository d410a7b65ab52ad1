"""What one player of Lost Cities may know, as plain records, and how the game speaks to people."""

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from asynccfr.games.statistics import Statistic

WAGER = 0

COLORS = ("red", "green", "white", "blue", "yellow", "purple")
LINE_COLORS = {color: color for color in COLORS} | {"purple": "magenta", "white": "reset"}

STATISTICS = (
    Statistic("capped", "rounds that used up all draws from piles", "share", common=True),
    Statistic("pile draws", "the share of draws that were from piles", "share", digits=0),
    Statistic("opened", "colours opened a round"),
    Statistic("points each", "points an opened colour", "points"),
)


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

    @property
    def short(self) -> str:
        """What people type for it: `p r7`, `d bw`, `pile g` or `deck`."""
        if self.color is None:
            return "deck"
        color = COLORS[self.color][0]
        if self.rank is None:
            return f"pile {color}"
        return f"{self.kind[0]} {color}{self.rank or 'w'}"


class View(NamedTuple):
    """One player's knowledge of the table. Tuples over colours follow the game's colours.

    Attributes:
        player: whose view it is.
        current_player: who is to move (`CHANCE` and `TERMINAL` included).
        turn: whose turn it is, also while chance draws for them.
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
    turn: int
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

    def __str__(self) -> str:
        """The table, a line for each colour: wagers are `w`, the top of a pile is its last card."""
        rows = [("", "opponent", "pile", "you", "hand")]
        for color, pile in enumerate(self.piles):
            rows.append(
                (
                    COLORS[color],
                    _expedition(self.opponent_expeditions[color], self.opponent_scores[color]),
                    _ranks(pile) + (" (just discarded)" if color == self.forbidden else ""),
                    _expedition(self.own_expeditions[color], self.own_scores[color]),
                    _ranks(card.rank for card in self.hand if card.color == color),
                )
            )
        points = str(sum(self.opponent_scores)), "", str(sum(self.own_scores)), ""
        rows.append(("points", *points))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        taken = ", ".join(map(str, self.opponent_known)) or "none"
        return "\n".join(
            [
                *lines,
                f"deck: {self.deck_size} cards; draws from piles left: {self.pile_draws_left}",
                f"cards that the opponent took from piles and still holds: {taken}",
            ]
        )


def _ranks(ranks: Iterable[int]) -> str:
    return " ".join("w" if rank == WAGER else str(rank) for rank in ranks) or "-"


def _expedition(ranks: tuple[int, ...], score: int) -> str:
    return f"{_ranks(ranks)} ({score})" if ranks else "-"


def told_rules(parameters: Mapping[str, object]) -> str:
    """Rules, scoring and what may be typed, with the numbers of this edition."""
    return """\
Play a card to your expedition of its colour, numbers ascending and wagers before them, or discard
it; then draw from the deck or the top of a pile, but not the card just discarded. The round ends
when the deck is empty.

An expedition that has been opened scores its numbers minus {cost}, times 1 plus {multiplier} for
each wager, and {bonus} more if it holds {bonus_threshold} cards or more. In all, {max_pile_draws}
draws may be from piles.

`p r7` plays the red 7, `p rw` a red wager, `d b3` discards the blue 3, `deck` draws from the deck
and `pile g` from the green pile.""".format_map(parameters)
