"""Games drawn at random, with perfect recall: everything follows from a seed."""

from random import Random

import numpy as np

from asynccfr.games import CHANCE, TERMINAL
from asynccfr.games.python import PythonGame


class RandomGame(PythonGame):
    """At most `depth` moves; actions are numbered with gaps, and players see some of what happens.

    A position is the path of actions and, for each player, what they have done and seen. What they
    may do depends on the latter only; who moves, chance and payoffs on the path.
    """

    def __init__(self, seed, depth):
        self.seed, self.depth = seed, depth
        super().__init__(
            name="random",
            parameters={"seed": seed, "depth": depth},
            num_actions=5,
            max_legal_actions=3,
            information_state_tensor_size=1,
            min_utility=-9.0,
            max_utility=9.0,
        )

    def draw(self, *what):
        return Random(repr((self.seed, *what)))

    def start(self):
        return (), ((), ())

    def player(self, position):
        path, _ = position
        draw = self.draw("player", path)
        if len(path) == self.depth or (path and draw.random() < 0.15):
            return TERMINAL
        return draw.choice([CHANCE, 0, 0, 1, 1])

    def legal_actions(self, position):
        _, seen = position
        mover = self.player(position)
        draw = self.draw("legal", mover, seen[mover])
        return draw.sample(range(5), draw.choice([1, 2, 2, 3]))

    def chance_outcomes(self, position):
        draw = self.draw("chance", position[0])
        weights = [draw.random() for _ in range(draw.choice([1, 2, 3]))]
        return [(outcome, weight / sum(weights)) for outcome, weight in enumerate(weights)]

    def next(self, position, action):
        path, seen = position
        mover = self.player(position)
        path = (*path, action)
        news = [() if p != mover else (("did", action),) for p in (0, 1)]
        for p in (0, 1):
            signal = self.draw("signal", p, path).choice([None, "a", "b"])
            news[p] += () if signal is None else (("saw", signal),)
        return path, (seen[0] + news[0], seen[1] + news[1])

    def returns(self, position):
        payoff = float(self.draw("payoff", position[0]).randint(-9, 9))
        return [payoff, -payoff]

    def information_state(self, position, player):
        return repr(position[1][player])

    def tensor(self, position, player):
        return [float(len(position[1][player]))]


def random_policy(seed):
    """A policy that depends on the order of the information states it is asked about, at random."""

    def policy(states):
        weights = np.random.default_rng(seed).random(states.legal.shape) * states.legal
        return weights / weights.sum(axis=1, keepdims=True)

    return policy
