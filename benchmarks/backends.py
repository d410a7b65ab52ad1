"""Ways to give traversals their network, end to end: `python -m benchmarks.backends`.

Every arm samples the same traversals of Lost Cities against a 3x512 network and carries the samples
into the reservoirs: blocking local calls; processes that block on a central server, one row each;
processes with many traversals that share one inference process; the async driver; and the ceiling,
a compiled loop in lockstep that has no coroutines. The arms take turns within one process.
"""

import gc
import time
from itertools import islice
from pathlib import Path
from typing import Any, Literal, get_args

import click
import numpy as np
import pyximport
import torch
from msgspec import Struct

from asynccfr.cfr.walk import Walk
from asynccfr.config import AsyncDriver, DeepCFR, Fit, Inference, ServerDriver, SyncDriver
from asynccfr.event_loop import run
from asynccfr.games import load_game
from asynccfr.solvers.deep_cfr import DeepCFRSolver, Traversals
from benchmarks.common import Machine, Spread, machine, options, report, spread

pyximport.install(language_level=3)
from benchmarks.lockstep import advance  # noqa: E402

Dtype = Literal["float32", "bfloat16"]

GAME = "lost_cities"
BLOCKING_WORKERS = 8  # as in the measurement that this project started from
WINDOW_US = 1000
MAX_BATCH = 512


class Backend(Struct, frozen=True, kw_only=True):
    """One way to traverse.

    Fields:
        batch_mean, batch_p50, batch_p95, batch_max: rows that were collected at once.
        groups: forwards that such a batch took, because it had rows of several networks.
        rows_per_forward: the mean.
        forward_share: of the wall time.
    """

    nodes_per_second: Spread
    batch_mean: float
    batch_p50: float
    batch_p95: float
    batch_max: int
    groups: float
    rows_per_forward: float
    forward_share: Spread


class BackendsRecord(Struct, frozen=True, kw_only=True):
    """Ratios are medians over the repetitions, each of two arms that ran one after the other."""

    machine: Machine
    game: str
    dtype: Dtype
    concurrency: int
    blocking_workers: int
    async_over_blocking_local: Spread
    async_over_blocking_server: Spread
    async_over_lockstep: Spread
    backends: dict[str, Backend]


class Arm:
    """Runs one backend again and again, each time on other traversals."""

    def __init__(
        self,
        game: str,
        driver: SyncDriver | AsyncDriver | ServerDriver,
        traversals: int,
        dtype: Dtype,
    ) -> None:
        config = DeepCFR(
            traversals=traversals,
            advantage=Fit(memory=100_000),
            average_strategy=Fit(memory=100_000),
        )
        inference = Inference(driver=driver, cache=0, dtype=dtype)
        self.solver = DeepCFRSolver(config, inference, load_game(game), seed=0)
        for network in self.solver.advantage_networks:
            torch.nn.init.normal_(network.weights[-1], std=0.05)
        self.done: list[Traversals] = []

    def measure(self) -> None:
        gc.collect()
        self.done.append(self.traverse(len(self.done) + 1))

    def traverse(self, iteration: int) -> Traversals:
        return run(self.solver.traverse(iteration, 0, lambda *_: None))

    def speeds(self) -> list[float]:
        """Nodes per second of each repetition; the first warms up."""
        return [part.nodes / part.seconds for part in self.done[1:]]

    def summary(self) -> Backend:
        kept = self.done[1:]
        forwards = np.array([size for part in kept for size in part.inference.batch_sizes])
        groups = np.array([count for part in kept for count in part.inference.group_counts] or [1])
        batches = forwards
        if groups.sum() == len(forwards):  # forwards of one batch follow each other
            batches = np.add.reduceat(forwards, np.cumsum(groups) - groups)
        return Backend(
            nodes_per_second=spread(self.speeds()),
            batch_mean=float(batches.mean()),
            batch_p50=float(np.percentile(batches, 50)),
            batch_p95=float(np.percentile(batches, 95)),
            batch_max=int(batches.max()),
            groups=float(groups.mean()),
            rows_per_forward=float(forwards.mean()),
            forward_share=spread([part.inference.forward_seconds / part.seconds for part in kept]),
        )


class Lockstep(Arm):
    """The vectorised ceiling: `concurrency` games advance together, then wait for the network."""

    def traverse(self, iteration: int) -> Traversals:
        solver = self.solver
        driver = solver.inference.driver
        assert isinstance(driver, AsyncDriver)
        evaluator = solver.make_evaluator()
        plan = solver.plan(iteration, 0)
        collector = solver.collector(iteration, 0, lambda *_: None)
        walks = plan.walks(solver.game, range(plan.traversals), collector.finished)
        started = time.perf_counter()
        active: list[Walk] = list(islice(walks, driver.concurrency))
        while active:
            lanes: list[list[Any]] = [[] for _ in range(solver.game.num_players)]
            for walk in advance(active, lanes):
                walk.back_up()
                collector.add(walk)
            for lane in lanes:
                for first in range(0, len(lane), driver.max_batch):
                    evaluator(lane[first : first + driver.max_batch])
            active = [walk for lane in lanes for walk in lane]
            active += islice(walks, driver.concurrency - len(active))
        collector.flush()
        return Traversals.made(collector, evaluator.tally, time.perf_counter() - started)


def compare(
    game: str,
    concurrency: int,
    few: int = 16,
    workers: int = BLOCKING_WORKERS,
    repetitions: int = 3,
    dtype: Dtype = "float32",
) -> BackendsRecord:
    """Measure every backend; the slow ones make `few` traversals."""
    many = 4 * concurrency  # the last games of an arm leave its batches half empty
    batched = AsyncDriver(concurrency=concurrency, max_batch=MAX_BATCH)
    arms = {
        "blocking, local": Arm(game, SyncDriver(), few, dtype),
        "blocking, server": Arm(
            game,
            ServerDriver(
                processes=workers,
                concurrency=1,
                max_batch=MAX_BATCH,
                batch_window_us=WINDOW_US,
            ),
            few,
            dtype,
        ),
        "async, server": Arm(
            game,
            ServerDriver(processes=2, concurrency=concurrency // 2, max_batch=MAX_BATCH),
            many,
            dtype,
        ),
        "async, in process": Arm(game, batched, many, dtype),
        "lockstep, compiled": Lockstep(game, batched, many, dtype),
    }
    for _ in range(repetitions + 1):
        for arm in arms.values():
            arm.measure()
    local, blocked, _, ours, ceiling = (np.array(arm.speeds()) for arm in arms.values())
    return BackendsRecord(
        machine=machine(),
        game=game,
        dtype=dtype,
        concurrency=concurrency,
        blocking_workers=workers,
        async_over_blocking_local=spread((ours / local).tolist()),
        async_over_blocking_server=spread((ours / blocked).tolist()),
        async_over_lockstep=spread((ours / ceiling).tolist()),
        backends={name: arm.summary() for name, arm in arms.items()},
    )


@options
@click.option("--dtype", type=click.Choice(get_args(Dtype)), default="float32", show_default=True)
def main(quick: bool, json: Path | None, dtype: Dtype) -> None:
    """Compare ways to give traversals their network, and what a coroutine costs.

    The bars: async at least 8 times blocking local calls, 40 times the blocking server, and 0.75 of
    the loop in lockstep; a batch of the blocking server has at most as many rows as workers.
    """
    scale = {"concurrency": 256, "repetitions": 2} if quick else {"concurrency": 1024}
    record = compare(GAME, **scale, dtype=dtype)
    repetitions = record.async_over_lockstep.repetitions
    report(
        f"Backends: {record.game}, 3x512 network, {dtype}, medians of {repetitions} (5% to 95%)",
        (
            "backend",
            "nodes/s",
            "batch mean",
            "p50",
            "p95",
            "max",
            "groups",
            "rows per forward",
            "forward share",
        ),
        [
            (
                name,
                each.nodes_per_second,
                f"{each.batch_mean:.1f}",
                f"{each.batch_p50:.0f}",
                f"{each.batch_p95:.0f}",
                each.batch_max,
                f"{each.groups:.2f}",
                f"{each.rows_per_forward:.1f}",
                each.forward_share,
            )
            for name, each in record.backends.items()
        ],
        record,
        json,
    )
    blocked = record.backends["blocking, server"]
    for name, value, bar in (
        ("async over blocking, local", record.async_over_blocking_local, "≥ 8"),
        ("async over blocking, server", record.async_over_blocking_server, "≥ 40"),
        ("async over lockstep", record.async_over_lockstep, "≥ 0.75"),
        ("largest batch of the blocking server", blocked.batch_max, f"≤ {BLOCKING_WORKERS}"),
    ):
        print(f"{name:<38}{value}   bar {bar}")


if __name__ == "__main__":
    main()
