"""Lost Cities in plain Python, written from the rules of the game and not from the package.

Slow and literal: cards are objects, everything is a list of them, and nothing is kept that can be
counted anew. Moves and cards go by the names that the package prints.
"""

from collections import Counter
from dataclasses import dataclass, field

NAMES = ["red", "green", "white", "blue", "yellow", "purple"]


class Card:
    def __init__(self, color: str, number: int | None) -> None:
        self.color = color
        self.number = number  # None: a wager
        self.name = f"{color} {'wager' if number is None else number}"

    def __str__(self) -> str:
        return self.name


@dataclass
class Player:
    hand: list[Card] = field(default_factory=list)
    expeditions: dict[str, list[Card]] = field(default_factory=dict)
    observations: list[str] = field(default_factory=list)


class Round:
    """A round from the deal on. `pending` says who gets the next card of the deck, if anybody."""

    def __init__(
        self,
        colors: int,
        numbers: int,
        wagers: int,
        hand_size: int,
        cost: int,
        multiplier: int,
        bonus_threshold: int,
        bonus: int,
        max_pile_draws: int,
    ) -> None:
        self.colors = NAMES[:colors]
        self.hand_size = hand_size
        self.cost = cost
        self.multiplier = multiplier
        self.bonus_threshold = bonus_threshold
        self.bonus = bonus
        self.max_pile_draws = max_pile_draws
        ranks: list[int | None] = [None] * wagers
        ranks += [2 + i for i in range(numbers)]
        self.deck = [Card(color, rank) for color in self.colors for rank in ranks]
        self.piles: dict[str, list[Card]] = {color: [] for color in self.colors}
        self.players = [Player(expeditions={c: [] for c in self.colors}) for _ in range(2)]
        self.public_log: list[tuple[int, str, str]] = []  # player, verb, card
        self.turn = 0
        self.must_draw = False
        self.just_discarded: Card | None = None
        self.pending: int | None = 0

    @property
    def dealing(self) -> bool:
        return not self.public_log and len(self.players[1].hand) < self.hand_size

    @property
    def over(self) -> bool:
        return not self.deck

    def player_to_move(self) -> int | None:
        """None while the deck decides or when the round is over."""
        return None if self.over or self.pending is not None else self.turn

    def deck_contents(self) -> Counter[str]:
        return Counter([card.name for card in self.deck])

    def legal_moves(self) -> set[str]:
        player = self.players[self.turn]
        moves = set()
        if not self.must_draw:
            for card in player.hand:
                moves.add(f"discard {card}")
                if self.fits(player.expeditions[card.color], card):
                    moves.add(f"play {card}")
            return moves
        moves.add("draw deck")
        if self.pile_draws() < self.max_pile_draws:
            for color, pile in self.piles.items():
                if pile and pile[-1] is not self.just_discarded:
                    moves.add(f"draw {color} pile")
        return moves

    @staticmethod
    def fits(expedition: list[Card], card: Card) -> bool:
        """Numbers go on smaller numbers and on wagers; wagers go on wagers only."""
        for laid in expedition:
            if laid.number is None:
                continue
            if card.number is None or card.number <= laid.number:
                return False
        return True

    def deal(self, name: str) -> None:
        """The deck gives a card of this name to whom it is due."""
        assert self.pending is not None
        receiver = self.pending
        card = next(card for card in self.deck if card.name == name)
        was_dealing = self.dealing
        self.deck.remove(card)
        self.players[receiver].hand.append(card)
        self.players[receiver].observations.append(f"I get {card}")
        self.players[1 - receiver].observations.append("they get a card")
        if was_dealing:
            self.pending = 1 - receiver if self.dealing else None
        else:
            self.finish_turn()

    def move(self, move: str) -> None:
        verb, _, what = move.partition(" ")
        player = self.players[self.turn]
        for observer, who in ((self.turn, "I"), (1 - self.turn, "they")):
            self.players[observer].observations.append(f"{who} {move}")
        if verb == "draw":
            self.just_discarded = None
        if verb == "draw" and what == "deck":
            self.pending = self.turn
        elif verb == "draw":
            card = self.piles[what.removesuffix(" pile")].pop()
            player.hand.append(card)
            self.public_log.append((self.turn, "draw", card.name))
            self.finish_turn()
        else:
            card = next(card for card in player.hand if card.name == what)
            player.hand.remove(card)
            if verb == "play":
                player.expeditions[card.color].append(card)
            else:
                self.piles[card.color].append(card)
                self.just_discarded = card
            self.public_log.append((self.turn, verb, what))
            self.must_draw = True

    def finish_turn(self) -> None:
        self.pending = None
        self.must_draw = False
        self.turn = 1 - self.turn

    def pile_draws(self) -> int:
        return sum(1 for _, verb, _ in self.public_log if verb == "draw")

    def turns(self) -> int:
        """A turn has one play or discard, and is complete but for its draw."""
        begun = sum(1 for _, verb, _ in self.public_log if verb != "draw")
        return begun - 1 if self.must_draw else begun

    def certain_cards(self, owner: int) -> list[str]:
        """The cards that everybody knows the owner to hold.

        For each name: at some time at least no such card was held; since then the draws from piles
        added one each, and each card laid down took one away.
        """
        balance: dict[str, int] = {}
        certain: dict[str, int] = {}
        for who, verb, name in reversed(self.public_log):
            if who == owner:
                balance[name] = balance.get(name, 0) + (1 if verb == "draw" else -1)
                certain[name] = max(certain.get(name, 0), balance[name])
        return [name for name, count in certain.items() for _ in range(count)]

    def score(self, owner: int, color: str) -> int:
        expedition = self.players[owner].expeditions[color]
        if not expedition:
            return 0
        points = -self.cost
        factor = 1
        for card in expedition:
            if card.number is None:
                factor += self.multiplier
            else:
                points += card.number
        points *= factor
        if len(expedition) >= self.bonus_threshold:
            points += self.bonus
        return points

    def scores(self, owner: int) -> tuple[int, ...]:
        return tuple(self.score(owner, color) for color in self.colors)
