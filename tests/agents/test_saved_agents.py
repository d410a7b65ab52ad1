import shutil

import pytest

from asynccfr.agents import Agent, AgentCard
from asynccfr.config import EquivariantNetwork, MultilayerPerceptron
from asynccfr.errors import CheckpointError, PlayerError
from asynccfr.evaluation.arena import MatchPlan, play_match
from asynccfr.games import load_game
from asynccfr.networks import build_network
from asynccfr.players import game_of_agents, make_player, seated
from asynccfr.runs.folder import AGENT
from asynccfr.seeding import Rng

SPEC = "lost_cities(colors=3, numbers=5, hand_size=4)"


@pytest.fixture(params=[MultilayerPerceptron(width=16, depth=1), EquivariantNetwork(width=8)])
def agent_path(tmp_path, request):
    """The file of an agent that was never trained."""
    game = load_game(SPEC)
    size = request.param
    network = build_network(
        size, game.information_state_tensor_size, game.num_actions, Rng(1), game.symmetry
    )
    card = AgentCard(game=str(game), rule="softmax", network=size, seed=1, iterations=0, nodes=0)
    path = tmp_path / "untrained.safetensors"
    path.write_bytes(Agent(card, network, game).save_bytes())
    return path


async def test_an_agent_plays_from_its_file_or_the_folder_of_its_run(agent_path):
    run_folder = agent_path.parent / "run"
    run_folder.mkdir()
    shutil.copy(agent_path, run_folder / AGENT)
    game = load_game(SPEC)
    async with seated([str(agent_path), str(run_folder)], game) as players:
        assert [player.name for player in players] == [str(agent_path), str(run_folder)]
        report = await play_match(game, *players, MatchPlan(deals=20))
    assert (report.score, report.win_rate) == (0.0, 0.5)


async def test_the_games_of_a_match_share_batches(agent_path):
    game = load_game(SPEC)
    async with seated([str(agent_path), "random"], game) as (agent, bot):
        await play_match(game, agent, bot, MatchPlan(deals=100, concurrency=100))
        sizes = agent.evaluator.tally.batch_sizes
    assert sum(sizes) > 2000
    assert sum(sizes) / len(sizes) > 25


async def test_an_agents_play_does_not_depend_on_concurrency(agent_path):
    game = load_game(SPEC)
    reports = []
    for concurrency in (1, 64):
        async with seated([str(agent_path), "bold"], game) as (agent, bot):
            plan = MatchPlan(deals=20, concurrency=concurrency)
            reports.append(await play_match(game, agent, bot, plan))
    assert reports[0] == reports[1]


async def test_a_stopped_agent_is_an_error_and_does_not_hang(agent_path):
    game = load_game(SPEC)
    async with seated([str(agent_path), "bold"], game) as (agent, bot):
        pass
    with pytest.raises(PlayerError, match=r"untrained.safetensors' failed: BatcherClosed"):
        await play_match(game, agent, bot, MatchPlan(deals=5))


def test_the_game_of_an_agent_is_read_from_its_file(agent_path):
    assert str(game_of_agents(["bold", str(agent_path)])) == str(load_game(SPEC))


def test_an_agent_of_another_game_is_refused(agent_path):
    with pytest.raises(PlayerError, match=r"untrained.safetensors: an agent of lost_cities.*kuhn"):
        make_player(str(agent_path), load_game("kuhn_poker"))


def test_a_file_that_holds_no_agent_is_refused(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("hello")
    with pytest.raises(CheckpointError, match=r"notes.txt: not a readable agent file"):
        make_player(str(path), load_game("kuhn_poker"))


def test_a_folder_without_an_agent_is_refused(tmp_path):
    with pytest.raises(CheckpointError, match=r"agent.safetensors: not a readable agent file"):
        make_player(str(tmp_path), load_game("kuhn_poker"))
