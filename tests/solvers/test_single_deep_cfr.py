"""Single Deep CFR: an exact average of every iteration's networks, on disk, saved, and played."""

import numpy as np
import pytest
import torch

from asynccfr.agents import Agent, AgentCard, MixtureAgent
from asynccfr.agents.network_history import NetworkHistory, from_row, to_row
from asynccfr.agents.profiles import AverageProfile
from asynccfr.config import MultilayerPerceptron
from asynccfr.errors import CheckpointError
from asynccfr.evaluation.arena import MatchPlan, play_match
from asynccfr.exact.best_response import nash_conv, tabulate
from asynccfr.exact.policy import uniform
from asynccfr.exact.sequence_form import sequence_form
from asynccfr.games import load_game
from asynccfr.networks import build_network
from asynccfr.players import make_player
from asynccfr.players.mixture import MixturePlayer
from asynccfr.players.uniform import UniformPlayer
from asynccfr.runs import RunFolder
from asynccfr.seeding import Rng
from asynccfr.training import train

from .small import digests, small_config

GAME = load_game("kuhn_poker")
SIZE = MultilayerPerceptron(width=8, depth=1)


def arbitrary_networks(seed):
    networks = []
    for player in (0, 1):
        size = GAME.information_state_tensor_size
        network = build_network(SIZE, size, GAME.num_actions, Rng(2 * seed + player))
        with torch.no_grad():
            network.weights[-1].normal_(generator=torch.Generator().manual_seed(2 * seed + player))
        networks.append(network)
    return networks


def mixture(iterations=3):
    card = AgentCard(
        game="kuhn_poker",
        rule="regret_matching_highest",
        network=SIZE,
        seed=0,
        iterations=iterations,
        nodes=0,
        mixture=True,
    )
    return MixtureAgent(card, np.stack([to_row(arbitrary_networks(t)) for t in range(iterations)]))


@pytest.mark.parametrize("player", [0, 1])
def test_the_average_gets_the_average_of_what_its_parts_get(player):
    """Against any opponent, here a best response among them: that is what makes it the average."""
    agent = mixture()
    tree = sequence_form(GAME)
    average = tree.strategy(agent.policy)
    for opponent in (tree.strategy(uniform), tree.normalise(np.arange(tree.num_sequences) % 2.0)):

        def against(strategy, opponent=opponent):
            mine = tree.players[tree.owner] == player
            both = np.where(mine, strategy, opponent)
            return tree.action_values(player, tree.plan(both), both)[1]

        parts = [(against(tree.strategy(profile)), weight) for profile, weight in agent.profiles()]
        values, weights = zip(*parts, strict=True)
        assert against(average) == pytest.approx(np.average(values, weights=weights), abs=1e-12)
        assert weights == (1.0, 2.0, 3.0)


def test_the_average_is_none_of_the_simple_ones():
    """Averaging probabilities, or networks, would be wrong, and is not what happens."""
    agent = mixture()
    tree = sequence_form(GAME)
    profiles = list(agent.profiles())
    naive = sum(weight * tree.strategy(profile) for profile, weight in profiles) / 6
    assert np.abs(naive - tree.strategy(agent.policy)).max() > 1e-3


def test_iterations_are_drawn_in_proportion_to_their_number():
    agent, rng, n = mixture(4), Rng(1), 20_000
    counts = np.bincount([agent.draw(rng) for _ in range(n)], minlength=5)
    assert counts[0] == 0
    expected = n * np.arange(1, 5) / 10
    assert ((counts[1:] - expected) ** 2 / expected).sum() < 16.3  # p = 0.001, 3 degrees


async def test_playing_it_gets_the_exact_value():
    agent = mixture()
    tree = sequence_form(GAME)
    ours, theirs = tree.strategy(agent.policy), tree.strategy(uniform)
    values = []
    for player in (0, 1):
        both = np.where(tree.players[tree.owner] == player, ours, theirs)
        values.append(tree.action_values(player, tree.plan(both), both)[1])
    async with MixturePlayer(agent, "mixture") as player:
        report = await play_match(GAME, player, UniformPlayer(), MatchPlan(deals=3000, seed=1))
    error = (report.score_high - report.score_low) / 2 / 1.96
    assert abs(report.score - sum(values) / 2) < 4 * error
    assert not player.drawn


async def test_one_game_is_played_by_one_iteration():
    agent = mixture()
    async with MixturePlayer(agent, "mixture") as player:
        rngs = [Rng(seed) for seed in range(50)]
        for rng in rngs:
            await player.act(GAME.new_state(3), rng)
        first = [player.drawn[rng] for rng in rngs]
        for rng in rngs:
            await player.act(GAME.new_state(4), rng)
        assert [player.drawn[rng] for rng in rngs] == first
    assert len(set(first)) == 3


def test_an_agent_file_keeps_the_mixture(tmp_path):
    agent = mixture()
    path = tmp_path / "agent.safetensors"
    path.write_bytes(agent.save_bytes())
    again = Agent.load(path)
    assert isinstance(again, MixtureAgent)
    assert again.card == agent.card
    states = sequence_form(GAME).information_states
    np.testing.assert_array_equal(again.policy(states), agent.policy(states))
    assert isinstance(make_player(str(path), GAME), MixturePlayer)
    damaged = bytearray(path.read_bytes())
    damaged[-1] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(CheckpointError, match="damaged"):
        Agent.load(path)

    with pytest.raises(ValueError, match="parameters"):
        MixtureAgent(agent.card, agent.rows[:, 1:])


def test_history_gives_back_what_it_was_given():
    networks = [arbitrary_networks(t) for t in range(3)]
    history = NetworkHistory(len(to_row(networks[0])))
    assert history.columns()["rows"].shape == (0, history.row_size)
    for pair in networks:
        history.append(to_row(pair))
    twin = NetworkHistory(history.row_size)
    twin.restore(history.columns())
    found = arbitrary_networks(9)
    from_row(twin.rows[1], found)
    for one, other in zip(found, networks[1], strict=True):
        assert all(
            torch.equal(p, q) for p, q in zip(one.parameters(), other.parameters(), strict=True)
        )
    with pytest.raises(ValueError, match="float32 rows of"):
        NetworkHistory(history.row_size + 1).restore(history.columns())


async def trained(folder, config):
    reports = [report async for report in train(config, folder=folder)]
    return reports, Agent.load(folder.agent)


async def test_training_makes_the_mixture_and_resumes_it(tmp_path):
    config = small_config(
        solver__average="sd_cfr", solver__iterations=4, evaluation__nash_conv_every=2
    )
    with RunFolder.create(tmp_path / "whole", config).lock() as folder:
        reports, whole = await trained(folder, config)
    assert [report.iteration for report in reports if report.nash_conv] == [2, 4]
    exact = nash_conv(GAME, whole.policy).nash_conv
    assert reports[-1].nash_conv["SD-CFR average"] == pytest.approx(exact, abs=1e-9)
    assert "average strategy" not in reports[-1].memory
    assert len(whole.rows) == 4
    shorter = small_config(
        solver__average="sd_cfr", solver__iterations=2, evaluation__nash_conv_every=2
    )
    with RunFolder.create(tmp_path / "parts", shorter).lock() as folder:
        await trained(folder, shorter)
        folder.reconfigure(config)
        reports, resumed = await trained(folder, config)
    np.testing.assert_array_equal(resumed.rows, whole.rows)
    assert reports[-1].nash_conv["SD-CFR average"] == pytest.approx(exact, abs=1e-9)


async def test_both_averages_of_one_run_can_be_compared():
    config = small_config(evaluation__nash_conv_every=3)
    *_, last = [report async for report in train(config)]
    assert set(last.nash_conv) == {"current profile", "SD-CFR average", "average network"}
    assert all(0 < value < 2 for value in last.nash_conv.values())


async def test_the_kind_of_average_changes_no_regret():
    """The advantage networks learn the same, whatever becomes of the average."""
    rows = []
    for average in ("network", "sd_cfr"):
        config = small_config(solver__average=average, evaluation__nash_conv_every=1)
        reports = [report async for report in train(config)]
        rows.append([report.nash_conv["SD-CFR average"] for report in reports])
    assert rows[0] == rows[1]


def test_averages_need_no_order():
    tree = sequence_form(GAME)
    parts = list(mixture().profiles())
    one, other = (AverageProfile(tree).extend(order).policy() for order in (parts, parts[::-1]))
    np.testing.assert_allclose(
        tabulate(GAME, one).probabilities, tabulate(GAME, other).probabilities, atol=1e-12
    )


async def test_a_baseline_trains_and_resumes(tmp_path):
    sampling = {
        "type": "outcome",
        "baseline": {
            "type": "learned",
            "network": {"type": "mlp", "width": 8, "depth": 1},
            "fit": {"memory": 500, "steps": 10, "batch": 32},
        },
    }
    whole = await digests(small_config(solver__sampling=sampling, solver__iterations=4))
    assert whole != await digests(small_config(solver__iterations=4))
    config = small_config(solver__sampling=sampling)
    with RunFolder.create(tmp_path / "run", config).lock() as folder:
        await digests(config, folder=folder)
        longer = small_config(solver__sampling=sampling, solver__iterations=4)
        folder.reconfigure(longer)
        await digests(longer, folder=folder)
        assert [report.sample_digest for report in folder.reports()] == whole


@pytest.mark.parametrize("driver", [{"type": "sync"}, {"type": "async", "concurrency": 16}])
async def test_a_baseline_does_not_depend_on_the_driver(driver):
    sampling = {
        "type": "outcome",
        "baseline": {"type": "learned", "fit": {"memory": 500, "steps": 10, "batch": 32}},
    }
    config = small_config(game="leduc_poker", solver__sampling=sampling, inference__driver=driver)
    reference = small_config(game="leduc_poker", solver__sampling=sampling)
    assert await digests(config) == await digests(reference)
