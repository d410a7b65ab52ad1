"""Recorded self-play, replayed through the public game interface."""

import numpy as np
import pytest

from asynccfr.cfr.episode import DecisionBuffer, Episode
from asynccfr.cfr.query import deliver, encode
from asynccfr.cfr.regret_matching import Rule
from asynccfr.errors import GameError
from asynccfr.games import load_game
from asynccfr.games.python import PythonGame
from asynccfr.seeding import Rng

GAMES = ["kuhn_poker", "leduc_poker", "lost_cities(colors=2, numbers=4, wagers=1, hand_size=3)"]
EPSILON = 0.25


def outputs_of(rows, num_actions):
    """A stand-in for a network: any function of the rows."""
    weights = np.random.default_rng(1).normal(size=(rows.shape[1], num_actions))
    return (rows @ weights).astype(np.float32)


def play(game, seed, reuse=None, explorer=-1):
    """A finished episode, and the tensors of both players at each decision."""
    episode = Episode(game.new_state(), Rng(seed), Rule.SOFTMAX, EPSILON, reuse, explorer=explorer)
    rows = np.empty((1, game.information_state_tensor_size), dtype=np.float32)
    seen = []
    while episode.advance():
        state = episode.state
        seen.append([state.information_state_tensor(player) for player in (0, 1)])
        seen[-1].append(state.legal_actions())
        encode([episode], rows)
        deliver([episode], outputs_of(rows, game.num_actions))
    return episode, seen


@pytest.mark.parametrize("name", GAMES)
def test_records_are_what_happened(name):
    game = load_game(name)
    for seed in range(20):
        episode, seen = play(game, seed)
        returns = episode.state.returns()
        decisions = episode.decisions.take()
        assert len(decisions.chosen) == len(seen)
        assert decisions.last.tolist() == [0] * (len(seen) - 1) + [1]
        reach = [1.0, 1.0]
        for t, (*tensors, legal) in enumerate(seen):
            player = int(decisions.players[t])
            n = len(legal)
            assert decisions.actions[t].tolist() == legal + [-1] * (game.max_legal_actions - n)
            quantum = game.tensor_quantum
            assert np.array_equal(decisions.features[t] * np.float32(quantum), tensors[player])
            assert np.array_equal(decisions.hidden[t] * np.float32(quantum), tensors[1 - player])
            outputs = outputs_of(tensors[player][None], game.num_actions)[0, legal]
            assert decisions.outputs[t, :n] == pytest.approx(outputs)
            policy = np.exp(outputs - outputs.max())
            policy /= policy.sum()
            assert decisions.policy[t, :n] == pytest.approx(policy, abs=1e-5)
            assert not decisions.policy[t, n:].any()
            behaviour = (1 - EPSILON) * policy + EPSILON / n
            chosen = decisions.chosen[t]
            assert decisions.sampled[t] == pytest.approx(behaviour[chosen], abs=1e-5)
            assert decisions.weights[t] == pytest.approx(1 / reach[1 - player], rel=1e-4)
            reach[player] *= float(decisions.sampled[t])
        assert decisions.outcomes[-1] == pytest.approx(returns[decisions.players[-1]])
        assert not decisions.outcomes[:-1].any()


@pytest.mark.parametrize("explorer", [0, 1])
def test_an_explorer_plays_uniformly(explorer):
    game = load_game("leduc_poker")
    for seed in range(20):
        decisions = play(game, seed, explorer=explorer)[0].decisions.take()
        explores = decisions.players == explorer
        assert np.array_equal(decisions.explores, explores)
        legal = (decisions.actions >= 0).sum(axis=1)
        policy = decisions.policy[np.arange(len(legal)), decisions.chosen]
        mixed = EPSILON / legal + (1 - EPSILON) * policy
        assert decisions.sampled == pytest.approx(np.where(explores, 1 / legal, mixed), abs=1e-6)


def test_actions_follow_the_behaviour():
    """Over many first decisions of Kuhn poker, as often as the mixture says."""
    game = load_game("kuhn_poker")
    taken, expected = 0, 0.0
    for seed in range(3000):
        decisions = play(game, seed)[0].decisions.take()
        taken += decisions.chosen[0] == 0
        expected += (1 - EPSILON) * decisions.policy[0, 0] + EPSILON / 2
    assert abs(taken - expected) < 4 * np.sqrt(3000 / 4)


def test_buffers_join_in_order():
    game = load_game("leduc_poker")
    episodes = [play(game, seed)[0] for seed in range(5)]
    joined = DecisionBuffer(game)
    digest = 0
    for episode in episodes:
        joined.extend(episode.decisions)
    digest = joined.digest()
    parts = [episode.decisions.take() for episode in episodes]
    for name, column in joined.take()._asdict().items():
        assert np.array_equal(column, np.concatenate([getattr(part, name) for part in parts])), name
    assert len(joined) == 0
    assert digest != joined.digest()


def test_memory_is_inherited_empty():
    game = load_game("leduc_poker")
    first, _ = play(game, 0)
    buffer = first.decisions
    second, seen = play(game, 1, reuse=first)
    assert second.decisions is buffer
    assert len(buffer) == len(seen)


def test_games_for_more_or_fewer_players_are_refused():
    game = PythonGame(
        name="three",
        num_actions=2,
        num_players=3,
        information_state_tensor_size=1,
        min_utility=-1.0,
        max_utility=1.0,
    )
    with pytest.raises(GameError, match="3 players, expected 2"):
        DecisionBuffer(game)
