"""What `Game` and `State` do for every game, beyond what the conformance test asks of each."""

from collections.abc import Callable

import numpy as np
import pytest

from asynccfr.errors import GameError, IllegalAction
from asynccfr.games import CHANCE, TERMINAL, Game, State, load_game
from asynccfr.seeding import Rng


@pytest.fixture
def state() -> State:
    """Kuhn poker with both cards dealt."""
    return load_game("kuhn_poker").new_state(7)


def test_a_bare_game_has_no_states() -> None:
    with pytest.raises(NotImplementedError):
        Game().new_state()


def test_players_are_told_from_chance_and_the_end() -> None:
    state = load_game("kuhn_poker").new_state()
    assert state.current_player == CHANCE
    assert state.legal_actions() == []
    assert not state.legal_actions_mask().any()
    for step in (0, 1, 0, 0):
        state.apply(step)
    assert state.current_player == TERMINAL
    assert state.legal_actions() == []
    with pytest.raises(IllegalAction, match="action=0: the game is over; start a new one or undo"):
        state.apply(0)


@pytest.mark.parametrize("action", [-1, 2, 1000])
def test_illegal_actions_name_the_legal_ones(state: State, action: int) -> None:
    with pytest.raises(IllegalAction, match=rf"action={action}: expected one of \[0, 1\]\nin "):
        state.apply(action)
    assert state.history_length() == 2


@pytest.mark.parametrize(
    "row",
    [
        np.zeros(10, dtype=np.float32),
        np.zeros(12, dtype=np.float32),
        np.zeros(11, dtype=np.float64),
        np.zeros((1, 11), dtype=np.float32),
        np.zeros(22, dtype=np.float32)[::2],
    ],
    ids=["short", "long", "double", "matrix", "strided"],
)
def test_rows_of_another_shape_or_type_are_refused(
    state: State, row: np.typing.NDArray[np.float32]
) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        state.information_state_tensor(0, row)
    assert not row.any()


def test_rows_may_be_parts_of_a_batch(state: State) -> None:
    batch = np.full((3, 11), -1, dtype=np.float32)
    state.information_state_tensor(1, batch[1])
    np.testing.assert_array_equal(batch[1], state.information_state_tensor(1))
    assert (batch[[0, 2]] == -1).all()


@pytest.mark.parametrize(
    "ask",
    [
        lambda state, player: state.information_state_tensor(player),
        lambda state, player: state.information_state_key(player),
    ],
)
def test_only_players_have_information(state: State, ask: Callable[[State, int], object]) -> None:
    with pytest.raises(GameError, match="player=2: expected 0 to 1"):
        ask(state, 2)


def test_questions_out_of_time(state: State) -> None:
    with pytest.raises(GameError, match="returns: the game is not over"):
        state.returns()
    with pytest.raises(GameError, match="chance_outcomes: not a chance node"):
        state.chance_outcomes()
    with pytest.raises(GameError, match="draw: not a chance node"):
        state.draw(Rng(1))
    with pytest.raises(GameError, match="undo: nothing has been played yet"):
        state.undo()


def test_a_shared_generator_deals_on() -> None:
    game = load_game("lost_cities")
    rng = Rng(5)
    first, second = game.new_state(rng), game.new_state(rng)
    assert str(first) == str(game.new_state(Rng(5)))
    assert str(first) != str(second)


def test_clones_of_a_seeded_state_draw_alike_and_apart() -> None:
    state = load_game("lost_cities").new_state(5)
    twin = state.clone()
    state.apply(state.legal_actions()[0])
    draw_deck = state.game.num_actions - 1
    state.apply(draw_deck)
    twin.apply(twin.legal_actions()[0])
    twin.apply(draw_deck)
    assert str(twin) == str(state)


def test_games_and_states_print() -> None:
    game = load_game("kuhn_poker")
    assert str(game) == "kuhn_poker"
    assert repr(game) == "<Game kuhn_poker>"
    assert repr(game.new_state(0)) == "<State of kuhn_poker, player 0 to move>"
