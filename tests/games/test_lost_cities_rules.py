"""Lost Cities by hand: scores, bounds and the corners of the rules."""

from collections import Counter
from itertools import product
from typing import Any

import pytest

from asynccfr.errors import GameError, IllegalAction
from asynccfr.games import load_game
from asynccfr.games.conformance import choose
from asynccfr.games.lost_cities import LostCities
from asynccfr.games.lost_cities_view import WAGER, Card, Move
from asynccfr.seeding import Rng, stream
from tests.games.lost_cities_reference import NAMES

W = "wager"


def apply(state: Any, *names: str) -> None:
    """Apply actions, or cards from the deck, by name."""
    for name in names:
        if state.is_chance:
            numbers = [outcome for outcome, _ in state.chance_outcomes()]
        else:
            numbers = state.legal_actions()
        by_name = {state.action_to_string(number): number for number in numbers}
        assert name in by_name, f"{name!r} is not among {sorted(by_name)}"
        state.apply(by_name[name])


def legal(state: Any) -> list[str]:
    return [state.action_to_string(action) for action in state.legal_actions()]


def deal(game: LostCities, own: list[str], theirs: list[str]) -> Any:
    """A state after the deal, which alternates and begins with player 0."""
    state: Any = game.new_state()
    for pair in zip(own, theirs, strict=True):
        apply(state, *pair)
    return state


def score_of(ranks: list[Any], **parameters: int) -> int:
    """What player 0 scores for red cards played in this order; nothing else is ever played."""
    game = LostCities(**parameters)
    state: Any = game.new_state()
    coming = [f"red {rank}" for rank in ranks]
    script = list(coming)
    receiver = 0
    while not state.is_terminal:
        if state.is_chance:
            cards = [state.action_to_string(card) for card, _ in state.chance_outcomes()]
            others = [card for card in cards if not card.startswith("red")]
            apply(state, coming.pop(0) if receiver == 0 and coming else (others or cards)[0])
            receiver = 1 - receiver
        elif state.current_player == 0 and f"play {script[0] if script else ''}" in legal(state):
            apply(state, f"play {script.pop(0)}")
        else:
            apply(state, legal(state)[-1])  # draw from the deck, or discard the last card
    assert not script
    assert state.scores(0)[1:] == (0,) * (game.colors - 1)
    assert state.returns() == [state.scores(0)[0], -state.scores(0)[0]]
    return int(state.scores(0)[0])


@pytest.mark.parametrize(
    ("ranks", "points"),
    [
        ([], 0),
        ([2], -18),
        ([W], -40),
        ([W, W, W], -80),
        ([10], -10),
        ([5, 6, 9], 0),
        ([W, 8, 9, 10], 14),
        ([W, W, 2, 3], -45),
        ([W, 2, 3, 4, 5, 6, 7], 14),
        ([W, W, W, 2, 3, 4, 5, 6], 20),
        ([W, 2, 3, 4, 5, 6, 7, 8], 50),
        ([2, 3, 4, 5, 6, 7, 8, 9, 10], 54),
        ([W, W, W, 2, 3, 4, 5, 6, 7, 8, 9, 10], 156),
    ],
)
def test_scores_of_the_printed_rules(ranks: list[Any], points: int) -> None:
    assert score_of(ranks) == points


def test_scores_follow_the_parameters() -> None:
    assert score_of([W, 8, 9, 10], multiplier=2) == 21
    assert score_of([W, 8, 9, 10], multiplier=0) == 7
    assert score_of([W, 8, 9, 10], cost=0) == 54
    assert score_of([W, 8, 9, 10], bonus_threshold=4, bonus=7) == 21


def test_a_round_by_hand() -> None:
    game = LostCities(colors=2, numbers=4, wagers=1, hand_size=2)
    state = deal(game, ["red wager", "red 4"], ["red 3", "green 2"])
    assert legal(state) == ["play red wager", "play red 4", "discard red wager", "discard red 4"]
    apply(state, "discard red wager")
    assert legal(state) == ["draw deck"], "the card just discarded cannot be drawn"
    apply(state, "draw deck", "green 5", "discard green 2")
    assert legal(state) == ["draw red pile", "draw deck"]
    apply(state, "draw red pile")
    assert state.view(0).opponent_known == (Card(0, WAGER),)
    assert state.view(1).opponent_known == ()
    apply(state, "play red 4", "draw green pile")
    apply(state, "play red wager", "draw deck", "red 5")
    assert state.view(0).opponent_known == (), "the known wager has been played"
    assert legal(state) == ["play green 2", "play green 5", "discard green 2", "discard green 5"]
    apply(state, "play green 5", "draw deck", "red 2")
    assert "play red 3" in legal(state)
    apply(state, "play red 5", "draw deck", "green 4")
    assert "play red 2" not in legal(state), "numbers ascend"
    apply(state, "discard red 2", "draw deck", "green 3")
    assert legal(state) == ["discard red 3", "play green 4", "discard green 4"]
    apply(state, "discard green 4", "draw deck")
    assert state.view(0).deck_size == 1
    apply(state, "green wager")
    assert state.is_terminal, "the round ends at once with the last card of the deck"
    # Player 0: red 4, green 5. Player 1: (5 - 20) doubled.
    assert state.scores(0) == (-16, -15)
    assert state.scores(1) == (-30, 0)
    assert state.returns() == [-1.0, 1.0]
    assert state.turn_count == 8
    assert str(state) == (
        "phase over, nobody to move, deck 0, pile draws left 4\n"
        "    red: player 0 [4] player 1 [wager 5] pile [2]\n"
        "  green: player 0 [5] player 1 [] pile [4]\n"
        "player 0: -31 points, hand [green 2, green 3], known [green 2]\n"
        "player 1: -30 points, hand [red 3, green wager], known []"
    )


def test_wagers_come_before_numbers() -> None:
    state = deal(LostCities(colors=1, hand_size=2), ["red wager", "red wager"], ["red 2", "red 9"])
    apply(state, "play red wager", "draw deck", "red 5", "play red 2", "draw deck", "red wager")
    assert legal(state) == ["play red wager", "play red 5", "discard red wager", "discard red 5"]
    apply(state, "play red 5", "draw deck", "red 3")
    assert legal(state) == ["play red 9", "discard red wager", "discard red 9"]


def test_the_cap_leaves_only_the_deck() -> None:
    game = LostCities(colors=2, hand_size=2, max_pile_draws=1)
    state = deal(game, ["red 2", "red 3"], ["green 2", "green 3"])
    apply(state, "discard red 2", "draw deck", "red 4")
    assert not state.pile_draws_exhausted
    apply(state, "discard green 2", "draw red pile")
    assert state.pile_draws_exhausted
    assert state.view(0).pile_draws_left == 0
    apply(state, "play red 3")
    assert legal(state) == ["draw deck"]
    state.undo()
    state.undo()
    assert not state.pile_draws_exhausted


def test_the_default_cap_is_the_deck_after_the_deal() -> None:
    assert LostCities().parameters["max_pile_draws"] == 44
    assert LostCities(colors=6).parameters["max_pile_draws"] == 56


@pytest.mark.parametrize("seed", range(5))
def test_a_seed_gives_one_sequence_of_cards_whatever_is_played(seed: int) -> None:
    game = load_game("lost_cities(colors=4)")

    def cards(player_seed: int) -> tuple[Any, list[Card]]:
        state: Any = game.new_state(seed)
        rng = stream(player_seed)
        hands = state.view(0).hand, state.view(1).hand
        drawn: list[Card] = []
        while not state.is_terminal:
            player, before = state.current_player, state.view(state.current_player)
            action = choose(state, rng)
            state.apply(action)
            if game.moves[action].kind == "draw deck":
                new = Counter(state.view(player).hand) - Counter(before.hand)
                drawn += new.elements()
        return hands, drawn

    plays = [cards(player_seed) for player_seed in range(4)]
    assert all(play == plays[0] for play in plays)
    assert len(plays[0][1]) == 32


def test_deck_draws_are_uniform_over_the_unseen_cards_of_the_deck() -> None:
    state = deal(LostCities(colors=1, hand_size=2), ["red wager", "red 2"], ["red wager", "red 3"])
    apply(state, "discard red wager", "draw deck")
    chances = {state.action_to_string(card): p for card, p in state.chance_outcomes()}
    assert chances == {"red wager": 1 / 8, **{f"red {n}": 1 / 8 for n in range(4, 11)}}


def test_actions_are_laid_out_in_colour_blocks() -> None:
    game = LostCities(colors=3, numbers=4, wagers=1, hand_size=3)
    assert game.num_actions == 3 * game.color_actions + 1
    for color in range(3):
        block = game.moves[color * game.color_actions : (color + 1) * game.color_actions]
        ranks = [WAGER, 2, 3, 4, 5]
        assert block == (
            *(Move("play", color, rank) for rank in ranks),
            *(Move("discard", color, rank) for rank in ranks),
            Move("draw pile", color, None),
        )
    assert game.moves[-1] == Move("draw deck", None, None)


@pytest.mark.parametrize(
    "parameters",
    [
        {"colors": 2, "numbers": 3, "wagers": 1, "hand_size": 1},
        {"colors": 2, "numbers": 3, "wagers": 1, "hand_size": 2, "cost": 5},
        {"colors": 2, "numbers": 3, "wagers": 1, "hand_size": 3, "cost": 3, "multiplier": 3},
        {"colors": 2, "numbers": 4, "wagers": 0, "hand_size": 2, "cost": 0, "bonus_threshold": 2},
        {"colors": 1, "numbers": 5, "wagers": 3, "hand_size": 1, "cost": 9, "bonus_threshold": 1},
        {"colors": 3, "numbers": 2, "wagers": 1, "hand_size": 2, "cost": 2, "bonus": 0},
    ],
)
def test_utility_bound_is_the_best_division_of_the_cards(parameters: dict[str, int]) -> None:
    """Every card goes to an expedition of player 0 or 1 or to none; the deck limits how many do."""
    game = LostCities(**parameters)
    rules: Any = game.parameters
    kinds = [0] * rules["wagers"] + list(range(2, rules["numbers"] + 2))
    cards = [(color, rank) for color in range(rules["colors"]) for rank in kinds]
    deck_size = len(cards) - 2 * rules["hand_size"]

    def score(ranks: list[int]) -> int:
        if not ranks:
            return 0
        factor = 1 + rules["multiplier"] * ranks.count(0)
        bonus = rules["bonus"] if len(ranks) >= rules["bonus_threshold"] else 0
        return int((sum(ranks) - rules["cost"]) * factor + bonus)

    best = 0
    for owners in product((0, 1, None), repeat=len(cards)):
        if len(cards) - owners.count(None) > deck_size:
            continue
        lead = 0
        for color, player in product(range(rules["colors"]), range(2)):
            owned = zip(cards, owners, strict=True)
            ranks = [card[1] for card, owner in owned if owner == player and card[0] == color]
            lead += score(ranks) if player == 0 else -score(ranks)
        best = max(best, lead)
    assert game.max_utility == best
    assert game.min_utility == -best


def test_utility_bound_is_reached_in_a_tiny_game() -> None:
    game = LostCities(colors=1, numbers=3, wagers=0, hand_size=1, cost=0)
    state = deal(game, ["red 4"], ["red 2"])
    apply(state, "play red 4", "draw deck", "red 3")
    assert state.returns() == [game.max_utility, game.min_utility] == [4.0, -4.0]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"colors": 7}, "lost_cities: colors=7: expected an integer from 1 to 6"),
        ({"numbers": 1}, "numbers=1: expected an integer from 2 to 9"),
        ({"wagers": -1}, "wagers=-1"),
        ({"colors": True}, "colors=True"),
        ({"colors": 3.0}, "colors=3.0"),
        ({"color": 3}, "unknown parameter 'color'; did you mean 'colors'?"),
        ({"hand_size": 30}, "hand_size=30: the 60 cards of colors=5, numbers=9, wagers=3"),
        ({"colors": 1, "numbers": 2, "wagers": 0, "hand_size": 1}, "the 2 cards"),
    ],
)
def test_bad_parameters_are_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(GameError, match=message.replace("?", r"\?")):
        LostCities(**parameters)


def test_illegal_actions_are_refused_by_name_of_the_state() -> None:
    state: Any = load_game("lost_cities").new_state(1)
    draw_deck = state.game.num_actions - 1
    with pytest.raises(IllegalAction, match=f"action={draw_deck}: expected one of"):
        state.apply(draw_deck)
    with pytest.raises(GameError, match="player=2: expected 0 to 1"):
        state.view(2)


def test_six_colours_and_their_names() -> None:
    game = LostCities(colors=6)
    colors = {str(move).split()[1] for move in game.moves if move.kind == "play"}
    assert colors == set(NAMES)
    assert game.new_state(Rng(0)).view(0).deck_size == 56
