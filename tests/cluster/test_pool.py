"""Whoever plays the parts of an iteration, and however many are lost: the same samples, once."""

import asyncio
import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from msgspec.structs import replace

from asynccfr.cluster.pool import LocalSeat, WorkerLost, WorkerPool
from asynccfr.cluster.worker import Reply, Worker
from asynccfr.config import TrainConfig
from asynccfr.errors import ClusterError
from asynccfr.solvers.pool import Harvest, Part, Weights
from tests.cluster.configs import CONFIGS
from tests.solvers.small import digests


class MortalSeat(LocalSeat):
    """Its worker dies in three parts of four, after the work is done or before."""

    def __init__(self, worker: Worker, seed: int) -> None:
        super().__init__(worker)
        self.chance = random.Random(seed)

    async def compute(self, part: Part, weights: Weights) -> Reply:
        if self.chance.random() < 0.5:
            raise WorkerLost("killed before it began")
        reply = await super().compute(part, weights)
        if self.chance.random() < 0.5:
            raise WorkerLost("killed before it answered")
        return reply


def seats(config: TrainConfig, workers: int, *, mortal: bool) -> list[LocalSeat]:
    made = [Worker(config, f"worker {number}") for number in range(workers)]
    return [
        MortalSeat(worker, number) if mortal else LocalSeat(worker)
        for number, worker in enumerate(made)
    ]


def use(monkeypatch: pytest.MonkeyPatch, pool: WorkerPool) -> None:
    @contextmanager
    def pool_of(*_: object) -> Iterator[WorkerPool]:
        yield pool

    monkeypatch.setattr("asynccfr.training.pool_of", pool_of)


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize(("workers", "parts", "mortal"), [(1, 1, False), (3, 7, True)])
async def test_who_plays_changes_nothing(
    name: str, workers: int, parts: int, mortal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = CONFIGS[name]
    alone = await digests(config)
    use(monkeypatch, WorkerPool(seats(config, workers, mortal=mortal), parts))
    assert await digests(config) == alone


async def test_weights_reach_the_workers() -> None:
    """Weights of zero play uniformly, whatever was played before."""
    config = CONFIGS["ppo"]
    (seat,) = seats(config, 1, mortal=False)
    pool = WorkerPool([seat])
    network = seat.worker.sampler.policy.network
    rng = np.random.default_rng(0)
    shapes = {f"policy.{key}": value.shape for key, value in network.state_dict().items()}
    wild = {key: rng.normal(size=shape).astype(np.float32) for key, shape in shapes.items()}
    zero = {key: np.zeros(shape, np.float32) for key, shape in shapes.items()}
    for version, columns in enumerate((wild, zero)):
        harvests: list[Harvest] = []
        await pool.compute(Part(1, range(20)).cut(3), Weights(version, columns), harvests.append)
        policies = [harvest.samples.policy for harvest in harvests]
        uniform = all(np.allclose(policy[policy > 0], 0.5) for policy in policies)
        assert uniform == (columns is zero)


async def test_other_weights_are_an_error() -> None:
    class Stale(LocalSeat):
        async def compute(self, part: Part, weights: Weights) -> Reply:
            return (await super().compute(part, weights))._replace(version=weights.version - 1)

    config = CONFIGS["outcome"]
    worker = Worker(config, "stale")
    weights = Weights(5, worker.sampler.columns())
    with pytest.raises(ClusterError, match="worker stale: played with weights 4, expected 5"):
        await WorkerPool([Stale(worker)]).compute([Part(1, range(3), 0)], weights, print)


async def test_too_many_losses_end_the_run() -> None:
    class Cursed(LocalSeat):
        async def compute(self, part: Part, weights: Weights) -> Reply:
            raise WorkerLost("out of memory")

    worker = Worker(CONFIGS["outcome"], "cursed")
    weights = Weights(0, worker.sampler.columns())
    with pytest.raises(ClusterError, match="101 workers were lost.*out of memory"):
        await WorkerPool([Cursed(worker)]).compute([Part(1, range(3), 0)], weights, print)


async def test_failures_of_a_worker_dismiss_the_others() -> None:
    dismissed = []

    class Failing(LocalSeat):
        async def compute(self, part: Part, weights: Weights) -> Reply:
            if part.numbers.start == 0:
                raise ValueError("a game that fails")
            await asyncio.Event().wait()
            raise AssertionError

        def dismiss(self) -> None:
            dismissed.append(self)

    worker = Worker(CONFIGS["outcome"], "failing")
    pool = WorkerPool([Failing(worker), Failing(worker)])
    weights = Weights(0, worker.sampler.columns())
    with pytest.raises(ValueError, match="a game that fails"):
        await pool.compute(Part(1, range(4), 0).cut(4), weights, print)
    assert len(dismissed) == 2


async def test_an_empty_seat_holds_up_no_part() -> None:
    class Empty(LocalSeat):
        async def occupied(self) -> None:
            await asyncio.Event().wait()

    worker = Worker(CONFIGS["outcome"], "present")
    harvests: list[Harvest] = []
    weights = Weights(0, worker.sampler.columns())
    await WorkerPool([Empty(worker), LocalSeat(worker)]).compute(
        Part(1, range(8), 0).cut(4), weights, harvests.append
    )
    assert len(harvests) == 4


def test_packed_replies_are_what_they_were() -> None:
    config = CONFIGS["ppo"]
    worker = Worker(replace(config, solver=replace(config.solver, games=2000)), "far")
    weights = Weights(1, {f"policy.{k}": v for k, v in policy_columns(worker).items()})
    reply = worker.compute(Part(1, range(2000)), weights)
    packed = reply.packed()
    back = packed.unpacked()
    for ours, theirs in zip(reply.harvest.samples, back.harvest.samples, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert back.nbytes < reply.nbytes / 4


def policy_columns(worker: Worker) -> dict[str, np.ndarray]:
    network = worker.sampler.policy.network
    return {key: value.numpy() for key, value in network.state_dict().items()}
