"""What all growing buffers do, whatever their columns are."""

import numpy as np
import pytest

from asynccfr.cfr.episode import DecisionBuffer, Episode
from asynccfr.cfr.query import deliver, encode
from asynccfr.cfr.regret_matching import Rule
from asynccfr.cfr.samples import SampleBuffer
from asynccfr.cfr.walk import Walk
from asynccfr.games import load_game
from asynccfr.seeding import Rng

GAME = load_game("leduc_poker")
ZEROS = np.zeros((1, GAME.num_actions), np.float32)


def samples(seed):
    walk = Walk(GAME.new_state(), 0, Rng(seed), Rule.SOFTMAX, 0.5)
    while walk.advance():
        deliver([walk], ZEROS)
    walk.back_up()
    return walk.strategies


def decisions(seed):
    episode = Episode(GAME.new_state(), Rng(seed), Rule.SOFTMAX)
    row = np.zeros((1, GAME.information_state_tensor_size), np.float32)
    while episode.advance():
        encode([episode], row)
        deliver([episode], ZEROS)
    return episode.decisions


KINDS = pytest.mark.parametrize(
    ("fresh", "filled"), [(SampleBuffer, samples), (DecisionBuffer, decisions)]
)


@KINDS
def test_what_is_taken_can_be_put_back(fresh, filled):
    expected, again = filled(1).digest(), fresh(GAME)
    again.put(*filled(1).take())
    assert again.digest() == expected
    again.clear()
    assert len(again) == 0


@KINDS
def test_columns_of_another_size_are_refused(fresh, filled):
    first, *others = filled(1).take()
    with pytest.raises(ValueError, match=r"column of \d+ bytes: expected \d+"):
        fresh(GAME).put(first[:, 1:], *others)


@KINDS
@pytest.mark.parametrize("of", [SampleBuffer, DecisionBuffer], ids=["samples", "decisions"])
def test_only_buffers_of_the_same_kind_and_game_are_appended(fresh, filled, of):
    game = GAME if of is not fresh else load_game("kuhn_poker")
    with pytest.raises(ValueError, match="of the same kind, of the same game object"):
        fresh(GAME).extend(of(game))
