"""The bot that never sets out: it scores 0, and what it throws away is for the taking."""

from asynccfr.games.lost_cities_view import Card, Move, View
from asynccfr.players.lost_cities.bot import DRAW_DECK, RuleBot, discard
from asynccfr.players.lost_cities.columns import columns


class DiscardOnly(RuleBot):
    """Plays nothing, discards what the opponent can use least, draws from the deck."""

    name = "discard_only"

    def lay_down(self, view: View) -> Move:
        table = columns(view, self.rules)

        def use_to_opponent(card: Card) -> tuple[int, int]:
            column = table[card.color]
            usable = column.rival_can_use(card.rank)
            return usable * (1 + column.rival_cards), card.rank

        return discard(*min(view.hand, key=use_to_opponent))

    def draw(self, view: View) -> Move:
        return DRAW_DECK
