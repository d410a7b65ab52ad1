"""A game whose truth is known: two numbers are compared after a stroke of luck."""

import asyncio
from typing import NamedTuple

from asynccfr.errors import IllegalAction


class DuelGame:
    """Seat 0, then seat 1, name a number from 0 to 99; seat 0 gets luck + its number - the other's.

    Luck is uniform in [-luck / 2, luck / 2]; mirrored deals cancel it, `skew` times it they do not:
    that is paid to whoever named the higher number.
    """

    name = "duel"
    num_players = 2
    STATISTICS = ()

    def __init__(self, luck=0.0, skew=0.0):
        self.luck = luck
        self.skew = skew

    def new_state(self, rng):
        return DuelState(self, self.luck * (rng.uniform() - 0.5))

    def __str__(self):
        return self.name


class DuelState:
    def __init__(self, game, luck):
        self.game = game
        self.luck = luck
        self.named = []

    @property
    def current_player(self):
        return len(self.named) if len(self.named) < 2 else -4

    @property
    def is_terminal(self):
        return len(self.named) == 2

    def legal_actions(self):
        return list(range(100))

    def apply(self, action):
        if not 0 <= action < 100:
            raise IllegalAction(f"action={action}: expected 0 to 99\nand more")
        self.named.append(action)

    def returns(self):
        lead = self.named[0] - self.named[1]
        extra = self.game.skew * self.luck * ((lead > 0) - (lead < 0))
        return [lead + self.luck + extra, -lead - self.luck - extra]

    def statistics(self, player):
        return ()


class Constant(NamedTuple):
    """Names its number, plus one of `spread` equally likely ones from 0 upwards."""

    name: str
    number: int
    spread: int = 1

    def act(self, state, rng):
        return self.number + rng.integer(self.spread)


class Slow:
    """A constant player that is awaited; counts its games in play and those given up."""

    def __init__(self, name="slow", number=5, naps=3):
        self.name = name
        self.number = number
        self.naps = naps
        self.waiting = self.most_waiting = self.cancelled = 0

    async def act(self, state, rng):
        self.waiting += 1
        self.most_waiting = max(self.most_waiting, self.waiting)
        try:
            for _ in range(1 + rng.integer(self.naps)):
                await asyncio.sleep(0)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.waiting -= 1
        return self.number
