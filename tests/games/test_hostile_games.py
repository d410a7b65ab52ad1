"""What an own game hands over is checked where it enters: an error that names it, and no crash."""

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asynccfr.errors import GameError
from asynccfr.exact.sequence_form import sequence_form
from asynccfr.games import PythonGame

from .hostile_games import BROKEN, Line, OneWay, broken


def played(game):
    """Play a game to its end, looking at everything that training looks at."""
    state = game.new_state(0)
    while True:
        for player in range(2):
            state.information_state_key(player)
            state.information_state_tensor(player)
        if state.is_terminal:
            return state.returns()
        state.apply(state.legal_actions()[0])


@pytest.mark.parametrize(
    ("method", "value"), [(name, value) for name, values in BROKEN.items() for value in values]
)
def test_what_a_game_gives_is_refused_by_name(method, value):
    with pytest.raises(GameError, match=rf"line\.{method}: .*expected"):
        played(broken(method, value))


def test_the_game_they_are_made_from_is_accepted():
    assert sum(played(Line())) == 0.0


junk = st.recursive(
    st.one_of(st.integers(), st.floats(), st.text(max_size=3), st.none(), st.booleans()),
    lambda inner: st.lists(inner, max_size=3) | st.tuples(inner, inner),
    max_leaves=6,
)


@settings(max_examples=300, deadline=None)
@given(method=st.sampled_from(sorted(BROKEN)), value=junk)
def test_no_value_whatever_crashes(method, value):
    with contextlib.suppress(GameError, TypeError, ValueError, OverflowError):
        played(broken(method, value))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("num_actions", 0),
        ("num_players", 0),
        ("max_legal_actions", 3),
        ("information_state_tensor_size", 0),
        ("tensor_quantum", -1.0),
        ("min_utility", float("nan")),
        ("max_utility", float("inf")),
    ],
)
def test_numbers_of_a_game_that_make_no_sense_are_refused(field, value):
    numbers = {
        "num_actions": 2,
        "information_state_tensor_size": 1,
        "min_utility": -1.0,
        "max_utility": 1.0,
    }
    with pytest.raises(GameError, match="expected"):
        PythonGame(name="odd", **{**numbers, field: value})


def test_a_game_that_was_never_set_up_is_refused():
    class Forgetful(Line):
        def __init__(self):
            pass

    with pytest.raises(GameError, match="super"):
        Forgetful().new_state()


def test_a_line_of_50_000_moves_is_evaluated_exactly():
    tree = sequence_form(OneWay(50_000))
    assert tree.num_histories == 50_001
    assert len(tree.information_states.tensors) == 50_000
    assert tree.history(49_999) == [0] * 49_999


def test_an_endless_game_meets_a_limit():
    with pytest.raises(GameError, match="more than 100000 steps"):
        sequence_form(OneWay(10**9))
