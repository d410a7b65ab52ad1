"""Bots decide alike wherever they cannot tell two states apart."""

import pytest

from asynccfr.games import load_game
from asynccfr.players import make_player, players_for
from asynccfr.seeding import Rng

BOTS = players_for(load_game("lost_cities"))


def replay(game, steps):
    """A state after steps, chance outcomes included."""
    state = game.new_state()
    for step in steps:
        state.apply(step)
    return state


def play(game, bot, rng, decisions):
    """The steps of so many decisions of a bot against itself, and which were chance's."""
    state = game.new_state()
    steps = []
    while decisions and not state.is_terminal:
        if state.is_chance:
            step = state.draw(rng)
            steps.append((step, True))
        else:
            step = bot.act(state, rng)
            steps.append((step, False))
            decisions -= 1
        state.apply(step)
    while state.is_chance:
        steps.append((state.draw(rng), True))
        state.apply(steps[-1][0])
    return steps


def swap_hidden_card(game, steps, rng):
    """The same steps but for one card that the player to move cannot see; None without one."""
    start, state = game.new_state(), replay(game, [step for step, _ in steps])
    if state.is_terminal:
        return None
    outcomes = {start.action_to_string(card): card for card, _ in start.chance_outcomes()}
    numbers = {name: card for name, card in outcomes.items() if "wager" not in name}
    player = state.current_player
    theirs = {*state.view(1 - player).hand} - {*state.view(player).opponent_known}
    hidden = [numbers[str(card)] for card in sorted(theirs) if card.rank]
    dealt = {step for step, is_chance in steps if is_chance}
    in_deck = [card for card in numbers.values() if card not in dealt]
    if not hidden or not in_deck:
        return None
    old, new = hidden[rng.integer(len(hidden))], in_deck[rng.integer(len(in_deck))]
    return [new if is_chance and step == old else step for step, is_chance in steps]


@pytest.mark.parametrize("name", BOTS)
def test_bots_ignore_hidden_cards(name):
    game = load_game("lost_cities")
    bot = make_player(name, game)
    players = make_player("cautious", game), make_player("random", game)
    compared = 0
    for seed in range(60):
        rng = Rng(seed)
        steps = play(game, players[seed % 2], rng, decisions=rng.integer(90))
        swapped = swap_hidden_card(game, steps, rng)
        if swapped is None:
            continue
        state, twin = replay(game, [step for step, _ in steps]), replay(game, swapped)
        player = state.current_player
        assert str(state) != str(twin)
        assert state.information_state_key(player) == twin.information_state_key(player)
        assert bot.act(state, Rng(seed)) == bot.act(twin, Rng(seed))
        compared += 1
    assert compared >= 40


@pytest.mark.parametrize("name", BOTS)
def test_bots_leave_the_state_as_it_was(name):
    game = load_game("lost_cities")
    bot = make_player(name, game)
    state = game.new_state(3)
    while not state.is_terminal:
        before = str(state)
        action = bot.act(state, Rng(0))
        assert str(state) == before
        state.apply(action)
