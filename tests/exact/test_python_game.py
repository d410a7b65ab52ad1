"""Games in plain Python: the documented example, and the contract's promises on random games."""

import textwrap

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asynccfr.errors import GameError, IllegalAction
from asynccfr.exact.sequence_form import sequence_form
from asynccfr.exact.tabular import solve
from asynccfr.games import PythonGame, python
from asynccfr.games.conformance import check_game

from .random_games import RandomGame


def documented_game():
    """The example of the module's documentation."""
    text = python.__doc__
    begin, end = text.index("    from asynccfr"), text.index("With chance")
    scope = {}
    exec(textwrap.dedent(text[begin:end]), scope)
    return scope["RockPaperScissors"]()


def test_the_documented_example_has_its_equilibrium():
    game = documented_game()
    tree = sequence_form(game)
    solver, evaluation = solve(tree, 1e-3)
    assert evaluation.values[0] == pytest.approx(0.0, abs=1e-3)
    np.testing.assert_allclose(solver.average_strategy(), [0.25, 0.5, 0.25] * 2, atol=1e-2)


def test_the_documented_example_keeps_the_contract():
    check_game(documented_game(), playouts=20, hidden_information=False)


def test_the_documented_example_reads_well():
    state = documented_game().new_state()
    state.apply(2)
    assert state.action_to_string(0) == "rock"
    assert str(state) == "(2,)"
    assert state.position == (2,)


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10**6), depth=st.integers(1, 6), play=st.integers(0, 10**6))
def test_undo_clone_and_seeds(seed, depth, play):
    game = RandomGame(seed, depth)
    state, again = game.new_state(play), game.new_state(play)
    while not state.is_terminal:
        assert state.position == again.position
        before = state.position
        action = state.legal_actions()[play % len(state.legal_actions())]
        twin = state.clone()
        twin.apply(action)
        assert state.position == before
        twin.undo()
        assert twin.position == before
        assert twin.current_player == state.current_player
        state.apply(action)
        again.apply(action)
    assert state.returns()[0] == -state.returns()[1]


def test_chance_is_drawn_with_its_probabilities():
    game = next(
        game
        for game in (RandomGame(seed, 3) for seed in range(100))
        if game.new_state().is_chance and len(game.new_state().chance_outcomes()) == 3
    )
    outcomes = game.new_state().chance_outcomes()
    draws = 4000
    counts = np.zeros(3)
    for seed in range(draws):
        counts[game.new_state(seed).position[0][0]] += 1
    probabilities = np.array([p for _, p in outcomes])
    error = np.sqrt(probabilities * (1 - probabilities) / draws)
    assert (np.abs(counts / draws - probabilities) < 4 * error).all()


def test_misuse():
    class Broken(RandomGame):
        def legal_actions(self, position):
            return range(5)

        def tensor(self, position, player):
            return [0.0, 0.0]

    state = next(s for s in (Broken(seed, 3).new_state() for seed in range(9)) if not s.is_chance)
    with pytest.raises(GameError, match=r"legal_actions: .* 1 to max_legal_actions=3 integers"):
        state.legal_actions()
    with pytest.raises(GameError, match=r"random.tensor: 2 floats, expected 1"):
        state.information_state_tensor(0)
    with pytest.raises(IllegalAction):
        documented_game().new_state().apply(3)
    with pytest.raises(NotImplementedError, match=r"PythonGame.start"):
        PythonGame(
            name="empty",
            num_actions=1,
            information_state_tensor_size=1,
            min_utility=0,
            max_utility=0,
        ).new_state()
