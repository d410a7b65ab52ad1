"""The enumeration of a game: sizes, representatives, and every way to refuse a game or a policy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asynccfr.errors import GameError
from asynccfr.exact.policy import InformationStates, uniform
from asynccfr.exact.sequence_form import sequence_form
from asynccfr.games import CHANCE, TERMINAL, load_game
from asynccfr.games.python import PythonGame

from .random_games import RandomGame, random_policy


@pytest.mark.parametrize(
    ("name", "histories", "terminals", "information_states", "actions"),
    [("kuhn_poker", 58, 30, 12, 24), ("leduc_poker", 9457, 5520, 936, 2184)],
)
def test_sizes(name, histories, terminals, information_states, actions):
    tree = sequence_form(load_game(name))
    assert tree.num_histories == histories
    assert tree.num_terminals == terminals
    assert len(tree.keys) == information_states
    assert tree.num_sequences == actions


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), depth=st.integers(1, 6))
def test_information_states_are_numbered_with_a_state_of_each(seed, depth):
    tree = sequence_form(RandomGame(seed, depth))
    for i in range(len(tree.keys)):
        state = tree.state(i)
        assert state.current_player == tree.players[i]
        assert state.information_state_key(tree.players[i]) == tree.keys[i]
        assert state.legal_actions() == np.flatnonzero(tree.legal[i]).tolist()
        parent = tree.parent[i]
        if parent >= tree.num_sequences:
            assert parent == tree.num_sequences + tree.players[i]
        else:
            assert tree.owner[parent] < i
            assert tree.players[tree.owner[parent]] == tree.players[i]


def test_the_batch_for_policies_is_that_of_the_states():
    tree = sequence_form(load_game("leduc_poker"))
    states = InformationStates.of([tree.state(i) for i in range(len(tree.keys))])
    batch = tree.information_states
    assert list(states.keys) == list(batch.keys)
    for field in ("players", "tensors", "legal"):
        np.testing.assert_array_equal(getattr(states, field), getattr(batch, field))


def test_enumerated_once():
    game = load_game("kuhn_poker")
    assert sequence_form(game) is sequence_form(game)


def test_too_large():
    with pytest.raises(GameError, match="more than max_histories=1000 histories"):
        sequence_form(load_game("leduc_poker"), max_histories=1000)
    assert sequence_form(load_game("kuhn_poker"), max_histories=58).num_histories == 58


class Guess(PythonGame):
    """A hidden coin; player 0 guesses twice; the options spoil the game in one way each."""

    def __init__(self, players=2, general_sum=False, forgetful=False, fickle=False):
        self.general_sum, self.forgetful, self.fickle = general_sum, forgetful, fickle
        super().__init__(
            name="guess",
            num_players=players,
            num_actions=3,
            information_state_tensor_size=1,
            min_utility=-2,
            max_utility=2,
        )

    def start(self):
        return ()

    def player(self, position):
        return [CHANCE, 0, 0, TERMINAL][len(position)]

    def chance_outcomes(self, position):
        return [(0, 0.5), (1, 0.5)]

    def legal_actions(self, position):
        return [0, 2] if self.fickle and position[0] == 1 else [0, 1]

    def next(self, position, action):
        return (*position, action)

    def returns(self, position):
        correct = float(sum(guess == position[0] for guess in position[1:]))
        return [correct, correct if self.general_sum else -correct]

    def information_state(self, position, player):
        return str(len(position)) if self.forgetful else str(position[1:])

    def tensor(self, position, player):
        return [0.0]


@pytest.mark.parametrize(
    ("spoilt", "message"),
    [
        ({"players": 3}, "3 players; exact evaluation needs two"),
        ({"general_sum": True}, r"returns: \[2.0, 2.0\] at .* a sum of 0"),
        ({"forgetful": True}, "player 0 forgets what they did"),
        ({"fickle": True}, "the legal actions differ"),
    ],
)
def test_games_that_do_not_fit(spoilt, message):
    sequence_form(Guess())
    with pytest.raises(GameError, match=message):
        sequence_form(Guess(**spoilt))


def test_policies_are_checked():
    tree = sequence_form(load_game("leduc_poker"))

    def spoilt(change):
        def policy(states):
            table = uniform(states)
            change(table)
            return table

        return policy

    def set_row(row):
        return lambda table: table.__setitem__(0, row)

    for row in (
        [0.0, np.nan, 0.5],
        [0.0, -0.5, 1.5],
        [0.0, 0.5, 0.6],
        [0.0, 0.0, 0.0],
        [1.0, 0.0, 0.0],  # folding is not legal yet
    ):
        with pytest.raises(GameError, match="expected probabilities that add up to 1"):
            tree.strategy(spoilt(set_row(row)))
    with pytest.raises(GameError, match=r"policy: shape \(936, 2\), expected \(936, 3\)"):
        tree.strategy(lambda states: uniform(states)[:, :2])
    with pytest.raises(ValueError, match=r"strategy: shape \(3,\), expected \(2184,\)"):
        tree.plan(np.ones(3))


def test_a_strategy_is_made_exact():
    tree = sequence_form(load_game("leduc_poker"))
    rounded = tree.strategy(lambda states: random_policy(1)(states).astype(np.float32))
    np.testing.assert_allclose(tree.total(rounded), 1.0, rtol=1e-15)


def test_tabular_policy_refuses_other_information_states():
    policy = sequence_form(load_game("kuhn_poker")).tabular_policy(np.full(24, 0.5))
    state = load_game("leduc_poker").new_state(1)
    with pytest.raises(GameError, match="nothing is known of player 0"):
        policy(InformationStates.of([state]))
