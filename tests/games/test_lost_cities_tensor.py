"""The tensor of Lost Cities says what its layout promises, and nothing that the view does not."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from asynccfr.games.conformance import choose
from asynccfr.games.lost_cities import LostCities
from asynccfr.games.lost_cities_view import View
from asynccfr.seeding import stream

GAMES = [
    LostCities(),
    LostCities(colors=6, max_pile_draws=3),
    LostCities(colors=3, numbers=5, wagers=0, hand_size=4),
    LostCities(colors=2, numbers=4, wagers=1, hand_size=2, multiplier=10, cost=100),
    LostCities(colors=1, numbers=9, wagers=3, hand_size=5, bonus_threshold=2),
]
Row = npt.NDArray[np.float32]


def visited(game: LostCities, seed: int, count: int = 2) -> Iterator[Any]:
    """The states of some random rounds, chance nodes and ends included."""
    rng = stream(seed)
    for _ in range(count):
        state = game.new_state()
        while not state.is_terminal:
            yield state
            state.apply(choose(state, rng))
        yield state


def one_per_rank(game: LostCities, ranks: list[int]) -> Row:
    """How many of the cards have each rank, wagers first."""
    row: Row = np.zeros(int(game.parameters["numbers"]) + 1, dtype=np.float32)
    for rank in ranks:
        row[max(rank - 1, 0)] += 1
    return row


def thermometer(level: int, width: int) -> Row:
    return np.array([level > i for i in range(width)], dtype=np.float32)


def is_playable(rank: int, expedition: tuple[int, ...]) -> bool:
    return not any(expedition) or rank > max(expedition)


def score_scale(game: LostCities) -> tuple[int, int]:
    """The lowest score of an expedition, and by how many bits all must be cut to fit a byte."""
    rules: Any = game.parameters
    scores = {0}
    for wagers in range(rules["wagers"] + 1):
        for owned in product((False, True), repeat=rules["numbers"]):
            size = wagers + sum(owned)
            bonus = rules["bonus"] if size >= rules["bonus_threshold"] else 0
            total = sum(i + 2 for i, owns in enumerate(owned) if owns)
            if size:
                factor = 1 + wagers * rules["multiplier"]
                scores.add((total - rules["cost"]) * factor + bonus)
    shift = 0
    while (max(scores) - min(scores)) >> shift > 255:
        shift += 1
    return min(scores), shift


def color_features(
    game: LostCities, view: View, color: int, scale: tuple[int, int]
) -> dict[str, Any]:
    """The block of a colour, computed from a player's view alone."""
    numbers, wagers = (int(game.parameters[name]) for name in ("numbers", "wagers"))
    own, theirs, pile = (
        stacks[color] for stacks in (view.own_expeditions, view.opponent_expeditions, view.piles)
    )
    hand = [card.rank for card in view.hand if card.color == color]
    known = [card.rank for card in view.opponent_known if card.color == color]
    every = one_per_rank(game, [0] * wagers + list(range(2, numbers + 2)))
    seen = one_per_rank(game, [*hand, *known, *own, *theirs, *pile])
    depths = np.zeros(numbers + 1, dtype=np.float32)
    for depth, rank in enumerate(reversed(pile)):
        depths[max(rank - 1, 0)] += 0.5 ** min(depth, 3)
    playable = [rank for rank in hand if is_playable(rank, own)]
    lowest, shift = scale
    return {
        "own hand": one_per_rank(game, hand),
        "opponent's known cards": one_per_rank(game, known),
        "unseen cards": every - seen,
        "pile": depths,
        "own top number": thermometer(max((0, *own)) - 1, numbers),
        "opponent's top number": thermometer(max((0, *theirs)) - 1, numbers),
        "own wagers played": thermometer(own.count(0), wagers),
        "opponent's wagers played": thermometer(theirs.count(0), wagers),
        "own cards played": len(own) / 8,
        "opponent's cards played": len(theirs) / 8,
        "own sum": sum(own) / 64,
        "opponent's sum": sum(theirs) / 64,
        "own score": ((view.own_scores[color] - lowest) >> shift) / 64,
        "opponent's score": ((view.opponent_scores[color] - lowest) >> shift) / 64,
        "own playable cards in hand": len(playable) / 8,
        "sum of own playable cards in hand": sum(playable) / 64,
        "top of pile is playable": bool(pile) and is_playable(pile[-1], own),
        "top of pile is playable for opponent": bool(pile) and is_playable(pile[-1], theirs),
        "pile is forbidden now": color == view.forbidden,
    }


def global_features(view: View) -> dict[str, Any]:
    lead = sum(view.own_scores) - sum(view.opponent_scores)
    drawing = view.phase in ("draw", "deck")
    own_turn = view.turn == view.player
    return {
        "own turn": own_turn and view.phase in ("card", "draw", "deck"),
        "own draw": drawing and own_turn,
        "opponent's draw": drawing and not own_turn,
        "cards in deck": view.deck_size / 64,
        "last cards in deck": thermometer(view.deck_size, 8),
        "pile draws left": view.pile_draws_left / 64,
        "no pile draws left": view.pile_draws_left == 0,
        "own lead": min(max(lead, 0), 255) / 64,
        "opponent's lead": min(max(-lead, 0), 255) / 64,
    }


def joined(features: dict[str, Any], layout: list[tuple[str, int]]) -> Row:
    rows = []
    for name, width in layout:
        row = np.atleast_1d(np.asarray(features[name], dtype=np.float32))
        assert row.shape == (width,), name
        rows.append(row)
    assert list(features) == [name for name, _ in layout]
    return np.concatenate(rows)


@pytest.mark.parametrize("game", GAMES, ids=str)
def test_tensor_is_what_the_layout_says_of_the_view(game: LostCities) -> None:
    color_layout, global_layout = game.tensor_layout()
    scale = score_scale(game)
    for state in visited(game, seed=1):
        for player in range(2):
            view = state.view(player)
            blocks = [
                joined(color_features(game, view, color, scale), color_layout)
                for color in range(game.colors)
            ]
            expected = np.concatenate([*blocks, joined(global_features(view), global_layout)])
            np.testing.assert_array_equal(state.information_state_tensor(player), expected)
