"""Exact expectations of what traversals sample, by plain recursion over the whole game."""

from collections import defaultdict

import numpy as np

from asynccfr.cfr.regret_matching import Rule, policy_rows


class RandomNetwork:
    """A fixed function of the information-state tensor, standing in for an advantage network."""

    def __init__(self, game, seed=0):
        shape = (game.information_state_tensor_size, game.num_actions)
        self.weights = np.random.default_rng(seed).normal(size=shape).astype(np.float32)

    def __call__(self, rows):
        return np.ascontiguousarray(rows @ self.weights)

    def policy(self, state, rule):
        row = state.information_state_tensor(state.current_player)
        mask = state.legal_actions_mask()
        return policy_rows(self(row[None]), mask[None].view(np.uint8), rule)[0]


def expectations(game, network, traverser, rule=Rule.REGRET_MATCHING_HIGHEST):
    """Per information state, expected sums over one traversal of weight times value.

    Returns two dicts from tensor bytes to float arrays [num_actions]: counterfactual regrets
    at the traverser's nodes, and policies times their player's own reach at the others'.
    """
    regrets = defaultdict(lambda: np.zeros(game.num_actions))
    policies = defaultdict(lambda: np.zeros(game.num_actions))

    def value(state, others_reach):
        if state.is_terminal:
            return state.returns()[traverser]
        if state.is_chance:
            return sum(
                p * value(after(state, outcome), others_reach * p)
                for outcome, p in state.chance_outcomes()
            )
        player = state.current_player
        policy = network.policy(state, rule)
        key = state.information_state_tensor(player).tobytes()
        legal = state.legal_actions()
        if player != traverser:
            if len(legal) > 1:
                policies[key] += others_reach * policy
            return sum(policy[a] * value(after(state, a), others_reach * policy[a]) for a in legal)
        below = {a: value(after(state, a), others_reach) for a in legal}
        here = sum(policy[a] * below[a] for a in legal)
        if len(legal) > 1:
            for a in legal:
                regrets[key][a] += others_reach * (below[a] - here)
        return here

    value(game.new_state(), 1.0)
    return dict(regrets), dict(policies)


def after(state, action):
    child = state.clone()
    child.apply(action)
    return child


def blocking(network, game):
    """A policy call, for `run_blocking`, that answers with the network before it is awaited."""
    from asynccfr.cfr.query import deliver, encode

    rows = np.empty((1, game.information_state_tensor_size), dtype=np.float32)

    class Answered:
        def __call__(self, walk):
            encode([walk], rows)
            deliver([walk], network(rows))
            return self

        def __await__(self):
            return iter(())

    return Answered()
