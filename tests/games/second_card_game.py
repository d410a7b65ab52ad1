"""A card game in one file."""

from asynccfr.games import CHANCE, TERMINAL, PythonGame, Statistic


class HighCard(PythonGame):
    """Each gets one of four cards; player 0 folds or bets, player 1 folds or calls."""

    STATISTICS = (
        Statistic("aces", "games with the highest card", "share", digits=0),
        Statistic("showdowns", "games that cards decided", "share", common=True),
    )

    def __init__(self):
        super().__init__(
            name="high_card",
            num_actions=2,
            information_state_tensor_size=6,
            min_utility=-2.0,
            max_utility=2.0,
        )

    def start(self):
        return ()

    def player(self, position):
        if len(position) < 2:
            return CHANCE
        return TERMINAL if 0 in position[2:] or len(position) == 4 else len(position) - 2

    def chance_outcomes(self, position):
        left = [card for card in range(4) if card not in position]
        return [(card, 1 / len(left)) for card in left]

    def legal_actions(self, position):
        return [0, 1]

    def next(self, position, action):
        return (*position, action)

    def returns(self, position):
        first, second, *moves = position
        if 0 in moves:
            return [-1.0, 1.0] if len(moves) == 1 else [1.0, -1.0]
        return [2.0, -2.0] if first > second else [-2.0, 2.0]

    def information_state(self, position, player):
        return bytes([player, *position[player : player + 1], 9, *position[2:]])

    def tensor(self, position, player):
        card = position[player] if len(position) > player else None
        return [float(player == 0), float(player == 1), *(float(card == c) for c in range(4))]

    def action_name(self, position, action):
        return "9TKA"[action] if len(position) < 2 else ("fold", "bet")[action]

    def statistics(self, position, player):
        return (position[player] == 3, 1), (0 not in position[2:], 1)
