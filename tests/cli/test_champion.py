"""The agent that comes with the package is a player by name, wherever players are named."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from asynccfr.agents import Agent
from asynccfr.cli.play import command as play
from asynccfr.config.files import load_config
from asynccfr.games import load_game
from asynccfr.players import game_of_agents, opponents_for, players_for
from asynccfr.players.registry import CHAMPION_FOLDER, agent_path
from asynccfr.runs.folder import AGENT


def reports(run, tmp_path, *arguments):
    path = tmp_path / "reports.json"
    result = run("evaluate", *arguments, "--deals", 2, "--json", path)
    assert (result.status, result.stderr) == (0, "")
    return result.stdout, [(r["a"], r["b"]) for r in json.loads(path.read_text())]


def test_it_is_small_and_what_its_configuration_trains():
    assert (CHAMPION_FOLDER / AGENT).stat().st_size < 1_000_000
    assert "asynccfr train configs/champion.yaml" in (CHAMPION_FOLDER / "CARD.md").read_text()
    card = Agent.load(agent_path("champion")).card
    config = load_config(Path(__file__).parents[2] / "configs" / "champion.yaml")
    assert card.network == config.solver.network
    assert card.game == str(load_game(config.game))
    assert card.seed == config.seed
    assert card.iterations == config.solver.iterations
    assert card.greedy == config.solver.agent.greedy


@pytest.mark.parametrize("arguments", [["champion"], ["--agent", "champion"]])
def test_the_champion_meets_every_bot(run, tmp_path, arguments):
    _, pairs = reports(run, tmp_path, *arguments)
    assert pairs == [("champion", bot) for bot in players_for(load_game("lost_cities"))]


def test_a_bot_meets_the_champion_too(run, tmp_path):
    _, pairs = reports(run, tmp_path, "bold")
    assert ("bold", "champion") in pairs


def test_everybody_meets_everybody_and_is_rated(run, tmp_path):
    output, pairs = reports(run, tmp_path, "--all")
    assert len(pairs) == len(set(pairs)) == 15
    assert {name for pair in pairs for name in pair} == {
        "champion",
        *players_for(load_game("lost_cities")),
    }
    ratings = output.partition("Ratings")[2].partition("Scores")[0]
    assert all(name in ratings for pair in pairs for name in pair)


def test_the_champion_is_of_one_game_only():
    assert str(game_of_agents(["bold", "champion"])) == str(load_game("lost_cities"))
    assert "champion" not in opponents_for(load_game("lost_cities(colors=4)"))
    assert opponents_for(load_game("kuhn_poker")) == ("random",)


def test_play_starts_against_the_champion():
    result = CliRunner().invoke(play, ["--seed", "1"], input="quit\n")
    assert result.exit_code == 0
    assert "lost_cities against champion, deal 1" in result.output


def test_somebody_must_be_named(run):
    result = run("evaluate")
    assert (result.status, result.stdout) == (2, "")
    assert "Missing argument 'AGENT...': name a player, or give --all" in result.stderr
    result = run("evaluate", "--all", "--against", "bold")
    assert "--all and --against: choose one" in result.stderr
