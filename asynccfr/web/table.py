"""One table: whose turn it is, what each chair may see, and what it said of the moves.

Chairs 0 and 1 keep their people through a match; seats, which are the game's players, are given
anew every round: whoever begins has seat 0. All that a chair is told is what its seat knows.
"""

import asyncio
import secrets
from collections.abc import Sequence
from urllib.parse import urlencode

from asynccfr.games import Game, State
from asynccfr.games.seen import is_seen
from asynccfr.seeding import EVALUATION, stream
from asynccfr.web.lost_cities import board_of, drawn_by
from asynccfr.web.messages import Card, Choice, Entry, Position, Turn
from asynccfr.web.store import Record, Round


class Hand:
    """What one chair remembers of this round beyond the state."""

    def __init__(self) -> None:
        self.log: list[Entry] = []
        self.drawn: Card | None = None


class Table:
    """A table being played at.

    Attributes:
        record: what is kept of it.
        state: the round that is played.
        changed: set, and replaced, whenever anything happens.
        lock: held by whoever plays a move and the answer to it.
    """

    def __init__(self, number: int, game: Game, record: Record) -> None:
        self.number = number
        self.game = game
        self.record = record
        self.lock = asyncio.Lock()
        self.changed = asyncio.Event()
        self.listeners = 0
        self.totals: list[float] = []  # of chair 0, rounds that are over
        for round_ in record.played:
            self.deal(round_)

    def deal(self, round_: Round) -> None:
        """Begin a round, and play what has been played of it."""
        self.round = round_
        self.state: State = self.game.new_state(round_.seed)
        self.hands = (Hand(), Hand())
        self.rngs = [stream(round_.seed, (EVALUATION, seat)) for seat in range(2)]
        for action in round_.actions:
            self.advance(action)

    def seat(self, chair: int) -> int:
        return 0 if chair == self.round.starter else 1

    def chair_to_move(self) -> int | None:
        """None once the round is over."""
        if self.state.is_terminal:
            return None
        starter = self.round.starter
        return starter if self.state.current_player == 0 else 1 - starter

    def play(self, action: int) -> None:
        """Play a legal action of whoever is to move, for the record. Raises IllegalAction."""
        self.advance(action)
        self.round.actions.append(action)
        self.notify()

    def advance(self, action: int) -> None:
        mover = self.chair_to_move()
        before = self.state.clone()
        self.state.apply(action)
        name = before.action_to_string(action) if mover is not None else ""
        for chair, hand in enumerate(self.hands):
            seat = self.seat(chair)
            if chair == mover:
                drawn = drawn_by(before, self.state, seat)
                if drawn is not None:
                    hand.drawn = drawn
                hand.log.append(Entry(who="you", text=name))
            else:
                text = name if is_seen(before, action, seat) else "moves"
                hand.log.append(Entry(who="opponent", text=text))
        if self.state.is_terminal:
            self.totals.append(self.state.returns()[self.seat(0)])

    def notify(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()

    def next_round(self) -> None:
        """Deal the next round of a match."""
        total = sum(self.totals)
        starter = self.round.starter if total == 0 else 0 if total > 0 else 1
        round_ = Round(seed=new_seed(), starter=starter)
        self.record.played.append(round_)
        self.deal(round_)
        self.notify()

    @property
    def can_go_on(self) -> bool:
        return self.state.is_terminal and len(self.record.played) < self.record.rounds

    def undo(self, chair: int) -> bool:
        """Take back everything since and with this chair's last choice; False if there is none."""
        own = [n for n, entry in enumerate(self.hands[chair].log) if entry.who == "you"]
        if not own:
            return False
        if self.state.is_terminal:
            self.totals.pop()
        del self.round.actions[own[-1] :]
        self.record.practice = True
        self.deal(self.round)
        self.notify()
        return True

    def position(self, chair: int, opponent: str, *, waiting: bool, can_ask: bool) -> Position:
        """What a chair knows."""
        seat, hand = self.seat(chair), self.hands[chair]
        sign = 1 if chair == 0 else -1
        over = self.state.is_terminal
        turn: Turn = "nobody"
        if not over:
            turn = "you" if self.state.current_player == seat else "opponent"
        return Position(
            game=str(self.game),
            opponent=opponent,
            position=len(self.round.actions),
            turn=turn,
            seat=seat,
            round=len(self.record.played),
            rounds=self.record.rounds,
            results=[sign * total for total in self.totals],
            practice=self.record.practice,
            waiting=waiting,
            can_undo=self.record.opponent is not None,
            can_ask=can_ask,
            choices=choices_of(self.state, seat),
            log=hand.log,
            text=self.state.table_to_string(seat),
            board=board_of(self.state, seat, hand.drawn),
            replay=self.replay_url(seat) if over else None,
        )

    def replay_url(self, seat: int) -> str:
        return "/replay?" + urlencode(
            {
                "game": str(self.game),
                "seed": self.round.seed,
                "seat": seat,
                "actions": "-".join(map(str, self.round.actions)),
            }
        )


def choices_of(state: State, seat: int) -> list[Choice]:
    """The legal actions of a seat; none while another is to move."""
    actions: Sequence[int] = state.legal_actions() if state.current_player == seat else ()
    return [Choice(action=action, name=state.action_to_string(action)) for action in actions]


def new_seed() -> int:
    """A seed that nobody can guess from the cards that it deals to them."""
    return secrets.randbits(63)
