import pytest

from asynccfr.errors import PlayerError
from asynccfr.games import load_game
from asynccfr.players import described, game_of_agents, make_player, opponents_for, players_for
from asynccfr.players.registry import BOTS, is_saved_agent
from asynccfr.seeding import Rng


@pytest.mark.parametrize("spec", ["lost_cities(colors=2)", "kuhn_poker", "leduc_poker"])
def test_every_bot_that_knows_a_game_plays_it(spec):
    game = load_game(spec)
    assert players_for(game)[0] == "random"
    for name in players_for(game):
        player = make_player(name, game)
        assert player.name == name
        state = game.new_state(1)
        state.apply(player.act(state, Rng(2)))


def test_random_chooses_every_legal_action_equally_often():
    game = load_game("leduc_poker")
    state, rng, player = game.new_state(1), Rng(3), make_player("random", game)
    chosen = [player.act(state, rng) for _ in range(3000)]
    assert set(chosen) == set(state.legal_actions()) == {1, 2}
    assert 0.46 < chosen.count(1) / 3000 < 0.54


def test_an_unknown_name_is_refused_with_the_nearest():
    with pytest.raises(PlayerError) as caught:
        make_player("coutious", load_game("lost_cities"))
    assert str(caught.value) == (
        "unknown player 'coutious'; did you mean 'cautious'? (expected a bot of lost_cities: "
        "random, discard_only, threshold, cautious, bold; or an agent's file, or the folder of a "
        "run)"
    )


def test_a_bot_of_another_game_is_unknown():
    with pytest.raises(PlayerError, match=r"player 'cautious'.*a bot of kuhn_poker: random;"):
        make_player("cautious", load_game("kuhn_poker"))


def test_a_bots_name_goes_before_a_file_of_that_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bold").write_text("")
    assert not is_saved_agent("bold")
    assert is_saved_agent("./bold")
    assert game_of_agents(["bold", "random"]) is None


def test_an_empty_name_is_no_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PlayerError, match="unknown player ''"):
        make_player("", load_game("kuhn_poker"))


@pytest.mark.parametrize("spec", ["lost_cities", "kuhn_poker"])
def test_every_opponent_is_described(spec):
    game = load_game(spec)
    told = [described(name, game) for name in opponents_for(game)]
    assert all(line.endswith(".") for line in told)
    assert len(set(told)) == len(told)
    assert described("runs/a", game) == "A saved agent."


def test_bots_have_one_name_each():
    names = [name for bots in BOTS.values() for name in bots]
    assert len(names) == len(set(names))
