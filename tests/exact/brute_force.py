"""Exact quantities by definition, from the public methods of a state only: slow and plain."""

from collections import defaultdict
from itertools import product

import numpy as np


class Profile:
    """Probabilities by player and information-state key, taken from a `TabularPolicy`'s table."""

    def __init__(self, tree, table):
        movers = zip(tree.players.tolist(), tree.keys, strict=True)
        self.rows = dict(zip(movers, table, strict=True))

    def moves(self, state):
        """`(player, action, probability)` of everything that can happen next."""
        if state.is_chance:
            return [(None, outcome, p) for outcome, p in state.chance_outcomes()]
        player = state.current_player
        row = self.rows[player, state.information_state_key(player)]
        return [(player, action, row[action]) for action in state.legal_actions()]


def after(state, action):
    child = state.clone()
    child.apply(action)
    return child


def value(state, profile, player):
    if state.is_terminal:
        return state.returns()[player]
    return sum(
        p * value(after(state, action), profile, player) for _, action, p in profile.moves(state)
    )


def counterfactual_regrets(game, profile):
    """By player and key: the sum over histories of the others' reach times an action's gain."""
    regrets = defaultdict(lambda: np.zeros(game.num_actions))

    def walk(state, reach):
        if state.is_terminal:
            return
        player = state.current_player
        if not state.is_chance:
            others = reach[1 - player] * reach[None]
            here = value(state, profile, player)
            for action in state.legal_actions():
                gain = value(after(state, action), profile, player) - here
                regrets[player, state.information_state_key(player)][action] += others * gain
        for mover, action, p in profile.moves(state):
            walk(after(state, action), {**reach, mover: reach[mover] * p})

    walk(game.new_state(), {0: 1.0, 1: 1.0, None: 1.0})
    return regrets


def best_response_value(game, profile, player, most):
    """The best that any pure strategy of the player gets; None if there are more than `most`."""
    terminals = []  # (reach of the others, what the player must choose to get here, return)
    choices = {}

    def walk(state, reach, chosen):
        if state.is_terminal:
            terminals.append((reach, chosen, state.returns()[player]))
        elif state.current_player == player:
            key = state.information_state_key(player)
            choices[key] = state.legal_actions()
            for action in state.legal_actions():
                walk(after(state, action), reach, {**chosen, key: action})
        else:
            for _, action, p in profile.moves(state):
                walk(after(state, action), reach * p, chosen)

    walk(game.new_state(), 1.0, {})
    if np.prod([len(legal) for legal in choices.values()], dtype=float) > most:
        return None
    return max(
        sum(
            reach * utility
            for reach, chosen, utility in terminals
            if all(strategy[key] == action for key, action in chosen.items())
        )
        for strategy in (
            dict(zip(choices, picked, strict=True)) for picked in product(*choices.values())
        )
    )


def tabular_cfr(game, weighting, iterations):
    """Average strategy by player and key after CFR with alternating updates, by tree recursion."""
    regrets = defaultdict(lambda: defaultdict(float))
    average = defaultdict(lambda: defaultdict(float))

    def current(player, state):
        legal = state.legal_actions()
        mine = regrets[player, state.information_state_key(player)]
        total = sum(max(mine[a], 0.0) for a in legal)
        return {a: max(mine[a], 0.0) / total if total > 0 else 1.0 / len(legal) for a in legal}

    def walk(state, traverser, strategies, reach, gains):
        """The traverser's value; adds regrets to `gains`. `reach` is of chance and the opponent."""
        if state.is_terminal:
            return state.returns()[traverser]
        if state.is_chance:
            return sum(
                p * walk(after(state, o), traverser, strategies, reach * p, gains)
                for o, p in state.chance_outcomes()
            )
        player = state.current_player
        strategy = strategies(player, state)
        values = {}
        for a, p in strategy.items():
            below = reach if player == traverser else reach * p
            values[a] = walk(after(state, a), traverser, strategies, below, gains)
        here = sum(strategy[a] * values[a] for a in strategy)
        if player == traverser:
            for a in strategy:
                gains[player, state.information_state_key(player)][a] += reach * (values[a] - here)
        return here

    def add_average(state, own, weight, met):
        if state.is_terminal:
            return
        if state.is_chance:
            for o, _ in state.chance_outcomes():
                add_average(after(state, o), own, weight, met)
            return
        player = state.current_player
        strategy = current(player, state)
        place = player, state.information_state_key(player)
        for a, p in strategy.items():
            if place not in met:
                average[place][a] += weight * own[player] * p
            add_average(after(state, a), {**own, player: own[player] * p}, weight, met)
        met.add(place)

    for t in range(1, iterations + 1):
        for traverser in (0, 1):
            gains = defaultdict(lambda: defaultdict(float))
            walk(game.new_state(), traverser, current, 1.0, gains)
            for place, row in gains.items():
                for a, gain in row.items():
                    regrets[place][a] += gain
        add_average(game.new_state(), {0: 1.0, 1: 1.0}, t**weighting.gamma, set())
        for row in regrets.values():
            for a in row:
                exponent = weighting.alpha if row[a] > 0 else weighting.beta
                if exponent == -float("inf"):
                    row[a] = 0.0
                elif exponent != float("inf"):
                    row[a] *= t**exponent / (t**exponent + 1)

    result = {}
    for place, row in average.items():
        total = sum(row.values())
        result[place] = {a: w / total if total else 1 / len(row) for a, w in row.items()}
    return result
