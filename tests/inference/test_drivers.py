"""The drivers: order of collection, failures, and a coroutine that must not suspend."""

import asyncio

import numpy as np
import pytest
import torch

from asynccfr.batcher import Batcher
from asynccfr.cfr.crew import Crew
from asynccfr.cfr.query import deliver
from asynccfr.cfr.regret_matching import Rule
from asynccfr.cfr.traversal import external_sampling, outcome_sampling
from asynccfr.cfr.walk import Walk
from asynccfr.config import AsyncDriver, SyncDriver
from asynccfr.games import load_game
from asynccfr.inference import drivers
from asynccfr.inference.drivers import (
    batcher_of,
    queries_of,
    run_blocking,
    traverse,
    traverse_batched,
)
from asynccfr.inference.evaluator import Evaluator
from asynccfr.seeding import stream
from tests.bystander import Bystander

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
    assert sum(evaluator.tally.batch_sizes) == sum(walk.nodes for walk in made)
    if isinstance(driver, AsyncDriver):
        assert max(evaluator.tally.batch_sizes) <= driver.max_batch


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


async def python_scheme(walk, evaluate):
    """What somebody might write: a coroutine of the interpreter, around one of ours."""
    await outcome_sampling(walk, evaluate)


@pytest.mark.parametrize("driver", DRIVERS, ids=str)
async def test_a_scheme_may_be_any_coroutine(driver):
    made, collected = [], []
    await traverse(driver, python_scheme, walks(20, made), make_evaluator(), collected.append)
    assert collected == made
    assert all(walk.nodes for walk in made)


@pytest.mark.parametrize("driver", DRIVERS, ids=str)
async def test_a_failing_traversal_surfaces_as_itself(driver):
    async def fails(walk, evaluate):
        await evaluate(walk)
        raise LookupError("in the traversal")

    with pytest.raises(LookupError, match="in the traversal"):
        await traverse(driver, fails, walks(20), make_evaluator(), lambda walk: None)
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_traversal_waits_for_queries_only():
    async def sleeps(walk, evaluate):
        await asyncio.sleep(0)

    with pytest.raises(RuntimeError, match="awaits None, expected what `evaluate` returned"):
        await traverse(AsyncDriver(), sleeps, walks(3), make_evaluator(), lambda walk: None)


async def test_a_failing_source_of_walks_surfaces_as_itself():
    def source():
        yield from walks(5)
        raise LookupError("no more to be had")

    with pytest.raises(LookupError, match="no more to be had"):
        await traverse(
            AsyncDriver(concurrency=3),
            outcome_sampling,
            source(),
            make_evaluator(),
            lambda walk: None,
        )


async def test_a_collector_that_runs_out_ends_the_traversal():
    collected = iter(())
    with pytest.raises(RuntimeError, match="raised StopIteration"):
        await traverse(
            AsyncDriver(),
            outcome_sampling,
            walks(5),
            make_evaluator(),
            lambda walk: next(collected),
        )


@pytest.mark.parametrize("concurrency", [0, -1])
async def test_less_than_one_walk_at_once_is_refused(concurrency):
    batcher = batcher_of(make_evaluator(), max_batch=4)
    with pytest.raises(ValueError, match=f"concurrency={concurrency}: expected at least 1"):
        await traverse_batched(concurrency, outcome_sampling, walks(5), batcher, lambda walk: None)


async def test_others_have_their_turns_when_no_decision_has_to_wait():
    def known(query):
        deliver([query], np.zeros((1, GAME.num_actions), np.float32))
        return True

    evaluator = make_evaluator()
    batcher = batcher_of(evaluator, max_batch=4, inline=True)
    async with Bystander() as bystander:
        await traverse_batched(5, outcome_sampling, walks(50), batcher, lambda walk: None, known)
    assert bystander.turns >= 10
    assert not evaluator.tally.batch_sizes


async def test_batches_fill_from_all_that_wait():
    """64 walks wait for two networks: batches of about 32, whatever was submitted together."""
    evaluator = make_evaluator()
    driver = AsyncDriver(concurrency=64, max_batch=32)
    await traverse(driver, outcome_sampling, walks(2000), evaluator, lambda walk: None)
    assert np.median(evaluator.tally.batch_sizes) >= 24


async def test_all_that_a_batch_answers_goes_on_together(monkeypatch):
    """Each item of a batch has an answer of its own; the crew is resumed once for all of them."""
    resumed = []

    class Noting(Crew):
        def go_on(self, answered):
            resumed.append([query for each in answered for query in each.queries])
            return super().go_on(answered)

    monkeypatch.setattr(drivers, "Crew", Noting)
    evaluator = make_evaluator()
    driver = AsyncDriver(concurrency=64, max_batch=32)
    await traverse(driver, outcome_sampling, walks(200), evaluator, lambda walk: None)
    assert [len(queries) for queries in resumed[1:]] == evaluator.tally.batch_sizes


async def test_a_coroutine_function_may_answer_several_batches_at_once():
    evaluator = make_evaluator()
    at_once, most = 0, 0

    async def answer(items):
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await asyncio.sleep(0)
        evaluator(queries_of(items))
        at_once -= 1
        return items

    made, collected = [], []
    batcher = Batcher(answer, size_of=len, max_batch=8, max_concurrent_batches=3)
    await traverse_batched(30, external_sampling, walks(40, made), batcher, collected.append)
    assert collected == made
    assert most == 3
