"""The table of Lost Cities as one seat knows it: what the page draws in the game's own layout."""

from collections import Counter

from asynccfr.games import State
from asynccfr.games.lost_cities import LostCitiesState
from asynccfr.games.lost_cities_view import COLORS, Move, View
from asynccfr.web.messages import Board, Card, Color


def board_of(state: State, seat: int, drawn: Card | None, *, show: bool = False) -> Board | None:
    """The board as `seat` knows it; None for other games. `show` the opponent's hand too."""
    if not isinstance(state, LostCitiesState):
        return None
    view = state.view(seat)
    legal = {view.moves[action]: action for action in view.legal_actions}
    known = [Card(color=card.color, rank=card.rank) for card in view.opponent_known]
    other = state.view(1 - seat).hand
    return Board(
        phase=view.phase,
        colors=[column(view, color, legal) for color in range(len(view.piles))],
        hand=[
            Card(
                color=card.color,
                rank=card.rank,
                play=legal.get(Move("play", *card)),
                discard=legal.get(Move("discard", *card)),
            )
            for card in view.hand
        ],
        known=known,
        unknown=len(other) - len(known),
        drawn=drawn,
        deck=view.deck_size,
        draw_deck=legal.get(Move("draw deck", None, None)),
        pile_draws_left=view.pile_draws_left,
        shown=[Card(color=c.color, rank=c.rank) for c in other] if show else None,
    )


def column(view: View, color: int, legal: dict[Move, int]) -> Color:
    return Color(
        name=COLORS[color],
        own=view.own_expeditions[color],
        own_score=view.own_scores[color],
        opponent=view.opponent_expeditions[color],
        opponent_score=view.opponent_scores[color],
        pile=view.piles[color],
        draw=legal.get(Move("draw pile", color, None)),
        forbidden=view.forbidden == color,
    )


def drawn_by(before: State, after: State, seat: int) -> Card | None:
    """The card that came into a seat's hand between two states."""
    if not isinstance(before, LostCitiesState) or not isinstance(after, LostCitiesState):
        return None
    came = Counter(after.view(seat).hand) - Counter(before.view(seat).hand)
    return next((Card(color=card.color, rank=card.rank) for card in came), None)
