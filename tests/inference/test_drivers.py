"""The drivers: order of collection, failures, and a coroutine that must not suspend."""

import asyncio

import pytest
import torch

from asynccfr.cfr.regret_matching import Rule
from asynccfr.cfr.traversal import external_sampling, outcome_sampling
from asynccfr.cfr.walk import Walk
from asynccfr.config import AsyncDriver, SyncDriver
from asynccfr.games import load_game
from asynccfr.inference.drivers import run_blocking, traverse
from asynccfr.inference.evaluator import Evaluator
from asynccfr.seeding import stream

GAME = load_game("leduc_poker")
DRIVERS = [SyncDriver(), AsyncDriver(concurrency=7, max_batch=3), AsyncDriver(concurrency=100)]


def zeros(rows):
    return torch.zeros(len(rows), GAME.num_actions)


def make_evaluator(network=zeros):
    return Evaluator([network] * 2, GAME, device=torch.device("cpu"), max_batch=512)


def walks(count, made=None):
    for index in range(count):
        rng = stream(0, (index,))
        walk = Walk(GAME.new_state(), index % 2, rng, Rule.REGRET_MATCHING_HIGHEST, 0.5, 1e9)
        if made is not None:
            made.append(walk)
        yield walk


@pytest.mark.parametrize("driver", DRIVERS, ids=str)
@pytest.mark.parametrize("scheme", [outcome_sampling, external_sampling])
async def test_walks_are_collected_in_the_order_given(driver, scheme):
    made, collected = [], []
    evaluator = make_evaluator()
    await traverse(driver, scheme, walks(50, made), evaluator, collected.append)
    assert collected == made
    assert sum(evaluator.batch_sizes) == sum(walk.nodes for walk in made)
    if isinstance(driver, AsyncDriver):
        assert max(evaluator.batch_sizes) <= driver.max_batch


@pytest.mark.parametrize("driver", DRIVERS, ids=str)
async def test_a_failing_forward_surfaces_as_itself(driver):
    def broken(rows):
        raise MemoryError("out of memory on the device")

    with pytest.raises(MemoryError, match="on the device"):
        await traverse(
            driver, outcome_sampling, walks(20), make_evaluator(broken), lambda walk: None
        )
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_cancelling_leaves_no_task():
    started = asyncio.Event()

    def network(rows):
        started.set()
        return zeros(rows)

    task = asyncio.create_task(
        traverse(
            AsyncDriver(concurrency=16),
            outcome_sampling,
            walks(10**6),
            make_evaluator(network),
            lambda walk: None,
        )
    )
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert asyncio.all_tasks() == {asyncio.current_task()}


def test_the_sync_driver_refuses_to_suspend():
    async def suspends():
        await asyncio.sleep(0)

    with pytest.raises(RuntimeError, match="suspended"):
        run_blocking(suspends())
