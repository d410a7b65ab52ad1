"""Kuhn and Leduc as a player sees them: texts, tensors, keys and payoffs of known histories."""

import numpy as np
import pytest

from asynccfr.games import load_game


def play(name, *actions):
    state = load_game(name).new_state()
    for action in actions:
        state.apply(action)
    return state


JS, JH, QS, QH, KS, KH = range(6)
FOLD, CALL, RAISE = range(3)


def test_kuhn_reads_well():
    assert str(play("kuhn_poker")) == "cards: -; moves: -"
    assert play("kuhn_poker").action_to_string(2) == "deal K"
    state = play("kuhn_poker", 2, 0, 0)
    assert str(state) == "cards: K J; moves: pass"
    assert [state.action_to_string(action) for action in (0, 1)] == ["pass", "bet"]


def test_leduc_reads_well():
    assert play("leduc_poker").action_to_string(KH) == "deal Kh"
    state = play("leduc_poker", JS, KH, CALL, RAISE, CALL, QS, CALL)
    assert str(state) == "cards: Js Kh; public: Qs; chips: 3 3; moves: call raise call / call"
    assert [state.action_to_string(action) for action in (0, 1, 2)] == ["fold", "call", "raise"]


@pytest.mark.parametrize(
    ("actions", "payoff"),
    [
        ((JS, KH, RAISE, FOLD), 1),  # the caller's ante
        ((JS, KH, CALL, RAISE, FOLD), -1),
        ((JS, KH, CALL, CALL, QS, CALL, CALL), -1),
        ((JS, KH, CALL, CALL, JH, CALL, CALL), 1),  # a pair beats a king
        ((JS, JH, RAISE, CALL, QS, RAISE, CALL), 0),
        ((QS, KH, RAISE, RAISE, CALL, QH, RAISE, RAISE, CALL), 13),
        ((QS, KH, RAISE, RAISE, CALL, QH, RAISE, RAISE, FOLD), -9),
        ((QS, KH, CALL, CALL, QH, RAISE, FOLD), 1),
    ],
)
def test_leduc_payoffs(actions, payoff):
    assert play("leduc_poker", *actions).returns() == [payoff, -payoff]


def test_leduc_raises_are_limited():
    assert play("leduc_poker", JS, KH).legal_actions() == [CALL, RAISE]
    assert play("leduc_poker", JS, KH, RAISE).legal_actions() == [FOLD, CALL, RAISE]
    assert play("leduc_poker", JS, KH, RAISE, RAISE).legal_actions() == [FOLD, CALL]
    later = play("leduc_poker", JS, KH, RAISE, RAISE, CALL, QS)
    assert later.legal_actions() == [CALL, RAISE]


def test_suits_show_in_keys_only():
    spades, hearts = (
        play("leduc_poker", card, QS, CALL, CALL, KS, RAISE, CALL) for card in (JS, JH)
    )
    assert spades.information_state_key(0) != hearts.information_state_key(0)
    assert spades.information_state_key(1) == hearts.information_state_key(1)
    for player in (0, 1):
        np.testing.assert_array_equal(
            spades.information_state_tensor(player), hearts.information_state_tensor(player)
        )


def test_tensors():
    kuhn = play("kuhn_poker", 2, 0, 0, 1).information_state_tensor(1)
    assert np.flatnonzero(kuhn).tolist() == [1, 2, 5, 8]
    leduc = play("leduc_poker", JS, KH, CALL, RAISE, CALL, QS, CALL).information_state_tensor(0)
    assert np.flatnonzero(leduc).tolist() == [0, 2, 6, 8, 11, 12, 16]
