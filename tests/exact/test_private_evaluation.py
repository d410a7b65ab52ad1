"""Exact evaluation over private trees: the same numbers as from enumerated histories."""

import threading
from hashlib import blake2b

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asynccfr.errors import GameError
from asynccfr.exact.best_response import evaluate, information_states, nash_conv
from asynccfr.exact.policy import uniform
from asynccfr.exact.private_evaluation import PrivateEvaluation, private_size
from asynccfr.exact.sequence_form import sequence_form
from asynccfr.exact.tabular import TabularCFR
from asynccfr.games import load_game

SMALL = [
    "phantom_ttt(num_rows=2, num_cols=3, line=2)",
    "phantom_ttt(num_rows=2, num_cols=3)",
    "phantom_ttt(num_rows=3, num_cols=2, gameversion=abrupt)",
    "phantom_ttt(num_rows=2, num_cols=2, line=2, gameversion=abrupt)",
    "phantom_ttt(num_rows=1, num_cols=4)",
    "dark_hex(board_size=2)",
    "dark_hex(num_rows=2, num_cols=3)",
    "dark_hex(num_rows=3, num_cols=2)",
    "dark_hex(gameversion=adh, board_size=2)",
    "dark_hex(gameversion=adh, num_rows=2, num_cols=3)",
    "liars_dice",
    "liars_dice(numdice=2, dice_sides=2)",
    "liars_dice(numdice=2, dice_sides=2, bidding_rule=reset-quantity)",
    "liars_dice(dice_sides=1)",
]
LARGE = {
    "phantom_ttt": 5_990_669,
    "phantom_ttt(gameversion=abrupt)": 23_310_269,
    "dark_hex": 6_072_917,
    "dark_hex(gameversion=adh)": 27_325_277,
    "liars_dice(numdice=2, dice_sides=5)": 15_728_640,
}


def random_policy(seed):
    """Random probabilities by player and key, a third of them zero; whatever order they come in."""

    def row(player, key, legal):
        digest = blake2b(bytes([player]) + key, key=seed.to_bytes(8, "little")).digest()
        weights = np.frombuffer(digest * 2, dtype=np.uint8)[: len(legal)] * legal
        kept = np.where(weights > 85, weights, 0)
        chosen = kept if kept.any() else legal
        return chosen / chosen.sum()

    def policy(states):
        movers = zip(states.players.tolist(), states.keys, states.legal, strict=True)
        return np.array([row(*mover) for mover in movers])

    return policy


def same(found, expected):
    assert found.values == pytest.approx(expected.values, abs=1e-9)
    assert found.best_response_values == pytest.approx(expected.best_response_values, abs=1e-9)
    assert found.nash_conv == pytest.approx(expected.nash_conv, abs=1e-9)


@pytest.mark.parametrize("text", SMALL)
def test_information_states_are_those_of_the_enumerated_game(text):
    game = load_game(text)
    tree = sequence_form(game)
    known = tree.information_states
    rows = {
        (player, key): i
        for i, (player, key) in enumerate(zip(known.players.tolist(), known.keys, strict=True))
    }
    met = 0
    for states in information_states(game):
        assert len(states) == len(states.keys) == len(states.players)
        places = [rows.pop(m) for m in zip(states.players.tolist(), states.keys, strict=True)]
        np.testing.assert_array_equal(states.tensors, known.tensors[places])
        np.testing.assert_array_equal(states.legal, known.legal[places])
        met += len(states)
    assert not rows
    assert met == private_size(game).information_states


@settings(max_examples=30, deadline=None)
@given(text=st.sampled_from(SMALL), seed=st.integers(0, 2**32 - 1))
def test_random_policies(text, seed):
    game = load_game(text)
    policy = random_policy(seed)
    tree = sequence_form(game)
    same(nash_conv(game, policy), evaluate(tree, tree.strategy(policy)))


@pytest.mark.parametrize("text", SMALL)
def test_uniform_and_trained_policies(text):
    game = load_game(text)
    tree = sequence_form(game)
    solver = TabularCFR(tree)
    for iterations in (0, 1, 10):
        solver.run(iterations)
        policy = solver.average_policy() if iterations else uniform
        same(nash_conv(game, policy), evaluate(tree, tree.strategy(policy)))


@pytest.mark.parametrize("text", ["dark_hex(board_size=2)", "liars_dice(numdice=2, dice_sides=2)"])
def test_mixtures_of_whole_games(text):
    game = load_game(text)
    tree = sequence_form(game)
    policies = [(random_policy(1), 1.0), (uniform, 2.0), (random_policy(2), 0.5)]
    plan = sum(weight * tree.plan(tree.strategy(policy)) for policy, weight in policies)
    expected = evaluate(tree, tree.normalise(plan[: tree.num_sequences]))
    same(PrivateEvaluation(game).nash_conv_of_mixture(policies), expected)


@pytest.mark.parametrize("text", ["leduc_poker", "dark_hex(num_rows=2, num_cols=3)"])
def test_an_array_by_information_state_is_a_policy(text):
    game = load_game(text)
    policy = random_policy(5)
    table = np.concatenate([policy(states) for states in information_states(game)])
    same(nash_conv(game, table), nash_conv(game, policy))
    with pytest.raises(GameError, match="shape"):
        nash_conv(game, table[1:])


@pytest.mark.parametrize("text", ["dark_hex(num_rows=2, num_cols=3)", "liars_dice"])
def test_threads_change_nothing(text):
    game = load_game(text)
    alone, many = (
        PrivateEvaluation(game, threads).nash_conv(random_policy(0)) for threads in (1, 4)
    )
    assert alone == many


def test_one_evaluation_serves_many_policies():
    game = load_game("dark_hex(num_rows=2, num_cols=3)")
    evaluation = PrivateEvaluation(game)
    first = evaluation.nash_conv(uniform)
    assert evaluation.nash_conv(random_policy(0)) != first
    assert evaluation.nash_conv(uniform) == first


@pytest.mark.parametrize("table", [[2.0, -1.0], [0.5, 0.4], [np.nan, 1.0]])
def test_what_is_no_policy_is_refused(table):
    def policy(states):
        rows = uniform(states)
        two = states.legal.sum(axis=1) == 2
        rows[states.legal & two[:, None]] = np.tile(table, two.sum())
        return rows

    with pytest.raises(GameError, match="expected probabilities that add up to 1"):
        nash_conv(load_game("dark_hex(board_size=2)"), policy)


@pytest.mark.parametrize("text", LARGE)
def test_sizes_are_known_before_memory_is_taken(text):
    size = private_size(load_game(text))
    assert size.information_states == LARGE[text]
    assert size.bytes < 1.5e9


def test_what_does_not_fit_is_refused():
    with pytest.raises(GameError, match=r"information states take .* GB of memory"):
        nash_conv(load_game("dark_hex(num_rows=3, num_cols=4)"), uniform)
    with pytest.raises(GameError, match="takes at most 12"):
        nash_conv(load_game("dark_hex(board_size=4)"), uniform)


def test_an_evaluation_can_be_ended_at_any_time():
    class Enough(Exception):
        pass

    def progress(phase, done, total):
        assert 0 <= done <= total
        if phase == "histories":
            raise Enough

    before = threading.active_count()
    evaluation = PrivateEvaluation(load_game("liars_dice"), 2, progress)
    with pytest.raises(Enough):
        evaluation.nash_conv(uniform)
    assert threading.active_count() == before
