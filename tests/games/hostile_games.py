"""A small game, and ways to break it one method at a time."""

from asynccfr.games import CHANCE, TERMINAL, PythonGame


class Line(PythonGame):
    """Chance, then both players in turn with two actions until `length` moves are made."""

    def __init__(self, length=2, quantum=1.0):
        self.length = length
        super().__init__(
            name="line",
            num_actions=2,
            information_state_tensor_size=2,
            tensor_quantum=quantum,
            min_utility=-1.0,
            max_utility=1.0,
        )

    def start(self):
        return -1, 0

    def player(self, position):
        number, _ = position
        if number < 0:
            return CHANCE
        return TERMINAL if number == self.length else number % 2

    def chance_outcomes(self, position):
        return [(0, 0.5), (1, 0.5)]

    def legal_actions(self, position):
        return [0, 1]

    def next(self, position, action):
        return position[0] + 1, action

    def returns(self, position):
        return [1.0, -1.0] if position[1] else [-1.0, 1.0]

    def information_state(self, position, player):
        return f"{player} {position}"

    def tensor(self, position, player):
        return [float(player), 1.0]


class OneWay(Line):
    """A line that the players can only walk along; no chance, one action at each place."""

    def start(self):
        return 0, 0

    def legal_actions(self, position):
        return [0]


BROKEN = {
    "legal_actions": [[], [-1], [0, 0], [0, 2], [2**40], [0.5], ["a"], [0, 1, 1], [None]],
    "chance_outcomes": [
        [],
        [(0, 0.5)],
        [(0, 1.5), (1, -0.5)],
        [(0, float("nan")), (1, 1.0)],
        [(0, 0.5), (0, 0.5)],
        [(-1, 1.0)],
        [(0.5, 1.0)],
        [(2**40, 1.0)],
    ],
    "returns": [[1.0, 1.0], [float("nan"), 0.0], [float("inf"), -float("inf")], [1.0], []],
    "information_state": [None, 3, ["a"]],
    "tensor": [
        [0.0],
        [0.0, float("nan")],
        [0.0, float("inf")],
        [0.0, 0.5],
        [0.0, 300.0],
        [-1.0, 0.0],
    ],
    "player": [2, -2, 2**40, None, 0.5, "a"],
}


def broken(method, value):
    """A line of which one method gives the value."""
    return type("Broken", (Line,), {method: lambda self, position, *rest: value})()
