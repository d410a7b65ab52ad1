"""The drivers of a traversal compared on Lost Cities: `python -m benchmarks.traversal`.

Every arm is what training runs, `DeepCFRSolver.traverse`: outcome sampling of the full game with a
3x512 network, samples carried into the reservoirs. The arms take turns within one process. The
async driver is measured with few, more and many traversals at once: larger batches make a row's
forward cheaper, and more games that wait are fetched from further away.
"""

import gc
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol, TypeVar

import torch
from msgspec import Struct

from asynccfr.config import AsyncDriver, DeepCFR, Fit, Inference, SyncDriver
from asynccfr.event_loop import run
from asynccfr.games import load_game
from asynccfr.inference.devices import multiplies_bfloat16
from asynccfr.solvers.deep_cfr import DeepCFRSolver
from benchmarks.common import Machine, Spread, machine, options, report, spread

CONCURRENCY, MAX_BATCH = 1024, 512
FEWER = (64, 256)


class Arm(Struct, frozen=True, kw_only=True):
    """One driver, from the deal to samples in the reservoirs.

    Fields:
        forward_us_per_node: in forwards.
        outside_forward_us_per_node: games, encoding, coroutines, batcher, regrets and samples.
        reservoir_us_per_node: moving the samples into the reservoirs.
        realised_batch: the mean number of rows of a forward.
    """

    nodes_per_second: Spread
    forward_us_per_node: Spread
    outside_forward_us_per_node: Spread
    reservoir_us_per_node: Spread
    realised_batch: float


class TraversalRecord(Struct, frozen=True, kw_only=True):
    machine: Machine
    game: str
    concurrency: int
    max_batch: int
    async_over_sync: float
    bfloat16_over_float32: float | None
    realised_batch_over_concurrency: float
    arms: dict[str, Arm]


class Runner:
    """Runs an arm again and again, each time on other traversals."""

    def __init__(self, inference: Inference, traversals: int) -> None:
        config = DeepCFR(
            traversals=traversals,
            advantage=Fit(memory=100_000),
            average_strategy=Fit(memory=100_000),
        )
        self.solver = DeepCFRSolver(config, inference, load_game("lost_cities"), seed=0)
        for network in self.solver.advantage_networks:
            torch.nn.init.normal_(network.weights[-1], std=0.05)
        self.measured: list[tuple[float, ...]] = []
        self.iteration = 0

    def measure(self) -> None:
        self.iteration += 1
        gc.collect()
        done = run(self.solver.traverse(self.iteration, 0, lambda *_: None))
        outside = done.seconds - done.inference.forward_seconds - done.reservoir_seconds
        parts = (done.inference.forward_seconds, outside, done.reservoir_seconds)
        self.measured.append(
            (
                done.nodes / done.seconds,
                *(seconds / done.nodes * 1e6 for seconds in parts),
                done.nodes / len(done.inference.batch_sizes),
            )
        )

    def arm(self) -> Arm:
        speed, forward, outside, reservoir, batch = zip(*self.measured[1:], strict=True)
        return Arm(
            nodes_per_second=spread(speed),
            forward_us_per_node=spread(forward),
            outside_forward_us_per_node=spread(outside),
            reservoir_us_per_node=spread(reservoir),
            realised_batch=spread(batch).median,
        )


@options
def main(quick: bool, json: Path | None) -> None:
    """Compare the sync driver with the async driver in float32 and bfloat16.

    The bars: async at least 8 times sync; realised batch of a network's group at least a quarter of
    the concurrency; at most 3.0 µs per node outside the forward; bfloat16 at least 1.4 times
    float32 where the CPU has AMX.
    """
    repetitions = 2 if quick else 4
    driver = AsyncDriver(concurrency=CONCURRENCY, max_batch=MAX_BATCH)
    many = CONCURRENCY if quick else 2 * CONCURRENCY
    runners = {
        "sync": Runner(Inference(driver=SyncDriver()), many // 50),
        "async float32": Runner(Inference(driver=driver), many),
    }
    for fewer in FEWER:
        small = AsyncDriver(concurrency=fewer, max_batch=min(fewer, MAX_BATCH))
        runners[f"async float32, {fewer} at once"] = Runner(Inference(driver=small), 2 * fewer)
    if multiplies_bfloat16():
        runners["async bfloat16"] = Runner(Inference(driver=driver, dtype="bfloat16"), many)
    arms = take_turns(runners, repetitions)
    speeds = {name: arm.nodes_per_second.median for name, arm in arms.items()}
    sync, full = speeds["sync"], speeds["async float32"]
    half = speeds.get("async bfloat16")
    record = TraversalRecord(
        machine=machine(),
        game="lost_cities",
        concurrency=CONCURRENCY,
        max_batch=MAX_BATCH,
        async_over_sync=full / sync,
        bfloat16_over_float32=half / full if half else None,
        realised_batch_over_concurrency=arms["async float32"].realised_batch / CONCURRENCY,
        arms=arms,
    )
    report(
        f"Traversal of {record.game}, 3x512 network, {record.machine.torch_threads} torch threads",
        (
            "driver",
            "nodes/s",
            "forward, µs/node",
            "outside, µs/node",
            "reservoir, µs/node",
            "batch",
        ),
        [
            (
                name,
                arm.nodes_per_second,
                arm.forward_us_per_node,
                arm.outside_forward_us_per_node,
                arm.reservoir_us_per_node,
                f"{arm.realised_batch:.0f}",
            )
            for name, arm in arms.items()
        ],
        record,
        json,
    )
    for name, value, bar in (
        ("async over sync", record.async_over_sync, "≥ 8"),
        ("realised batch over concurrency", record.realised_batch_over_concurrency, "≥ 0.25"),
        (
            "outside the forward, µs/node",
            arms["async float32"].outside_forward_us_per_node.median,
            "≤ 3.0",
        ),
    ):
        print(f"{name:<34}{value:6.2f}   bar {bar}")
    if half:
        print(f"{'bfloat16 over float32':<34}{half / full:6.2f}   bar ≥ 1.4 with AMX")
    else:
        print("bfloat16: not measured, this processor has no arithmetic for it")


Measured = TypeVar("Measured", covariant=True)


class Measures(Protocol[Measured]):
    """Measures something again and again, and sums it up."""

    def measure(self) -> None: ...
    def arm(self) -> Measured: ...


def take_turns(runners: Mapping[str, Measures[Measured]], repetitions: int) -> dict[str, Measured]:
    """Measure every runner in turn, so that a slow spell of the machine hits all of them."""
    measures: list[Callable[[], None]] = [runner.measure for runner in runners.values()]
    for _ in range(repetitions + 1):
        for measure in measures:
            measure()
    return {name: runner.arm() for name, runner in runners.items()}


if __name__ == "__main__":
    main()
