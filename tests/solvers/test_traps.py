"""Traps of Deep CFR that lie between traversal and fit."""

import pytest
import torch

from asynccfr.games import load_game
from asynccfr.solvers.deep_cfr import DeepCFRSolver

from .small import small_config


def no_progress(phase, done, total):
    pass


def make_solver(**changes):
    config = small_config(**changes)
    return DeepCFRSolver(config.solver, config.inference, load_game(config.game), config.seed)


def flat(network):
    return torch.cat([parameter.detach().flatten() for parameter in network.parameters()])


async def test_before_the_first_fit_play_is_uniform():
    solver = make_solver(game="leduc_poker")
    await solver.traverse(1, 0, no_progress)
    columns = solver.strategy_memory.columns()
    legal = columns["actions"] >= 0
    uniform = legal / legal.sum(axis=1, keepdims=True)
    assert columns["values"] == pytest.approx(uniform)


@pytest.mark.parametrize("warm_start", [False, True])
async def test_networks_start_from_scratch_unless_warm(warm_start):
    """What the last network was matters to the next fit only with a warm start."""
    fitted = []
    for disturb in (False, True):
        solver = make_solver(solver__warm_start=warm_start)
        await solver.traverse(1, 0, no_progress)
        await solver.fit_advantage(1, 0, no_progress)
        if disturb:
            with torch.no_grad():
                for parameter in solver.advantage_networks[0].parameters():
                    parameter += 0.1
        await solver.fit_advantage(2, 0, no_progress)
        fitted.append(flat(solver.advantage_networks[0]))
    assert torch.equal(*fitted) != warm_start


async def test_each_iteration_fits_another_initialisation():
    solver = make_solver()
    assert not torch.equal(flat(solver.fresh_network(1, 0)), flat(solver.fresh_network(2, 0)))
    assert not torch.equal(flat(solver.fresh_network(1, 0)), flat(solver.fresh_network(1, 1)))


async def test_traversals_ask_the_networks_just_fitted():
    """A stale network would leave the second iteration's play uniform."""
    solver = make_solver()
    for player in (0, 1):
        await solver.traverse(1, player, no_progress)
        await solver.fit_advantage(1, player, no_progress)
    seen = len(solver.strategy_memory)
    await solver.traverse(2, 0, no_progress)
    values = solver.strategy_memory.columns()["values"][seen:]
    assert len(values)
    assert (abs(values - 0.5) > 0.01).any()


async def test_only_the_traverser_gets_regrets():
    solver = make_solver()
    await solver.traverse(1, 1, no_progress)
    assert len(solver.advantage_memory[0]) == 0
    assert len(solver.advantage_memory[1]) > 0


async def test_samples_carry_their_iteration():
    solver = make_solver()
    for iteration in (1, 2, 3):
        await solver.traverse(iteration, 0, no_progress)
    assert set(solver.advantage_memory[0].columns()["iterations"]) == {1, 2, 3}


async def test_restoring_columns_restores_the_next_iteration():
    solver, twin = make_solver(), make_solver()
    for player in (0, 1):
        await solver.traverse(1, player, no_progress)
        await solver.fit_advantage(1, player, no_progress)
    twin.restore({name: column.copy() for name, column in solver.columns().items()})
    digests = [(await each.traverse(2, 0, no_progress)).digest for each in (solver, twin)]
    assert digests[0] == digests[1]
