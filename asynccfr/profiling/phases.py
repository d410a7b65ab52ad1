"""An evaluator that times its phases, and the real run of the async driver around it."""

import time
from dataclasses import dataclass, field

import torch

from asynccfr.batcher import Batcher
from asynccfr.cfr.crew import Waiting
from asynccfr.cfr.query import Query, deliver, encode
from asynccfr.config import AsyncDriver
from asynccfr.inference.drivers import batcher_of, traverse_batched
from asynccfr.inference.evaluator import Evaluator, padded
from asynccfr.profiling.subject import Subject
from asynccfr.solvers.deep_cfr import DeepCFRSolver

PHASES = ("encode", "copy in", "launch", "forward", "copy out", "scatter")


class PhasedEvaluator(Evaluator):
    """Times each phase of a batch; on a GPU it waits for each to end, so that none hides another.

    Attributes:
        seconds: the sum of each phase, by its name.
        spans: when each batch began and ended, seconds of `time.perf_counter`.
    """

    def __call__(self, queries: list[Query]) -> list[Query]:
        times = [time.perf_counter()]
        network = self.networks[queries[0].player]
        encode(queries, self.row_view)
        times.append(time.perf_counter())
        with torch.inference_mode():
            rows = self.rows[: padded(len(queries))].to(self.device, non_blocking=True)
            self.wait(times)
            outputs = network(rows)
            times.append(time.perf_counter() if self.device.type == "cuda" else times[-1])
            self.wait(times)
            host = outputs.cpu().numpy()
        times.append(time.perf_counter())
        deliver(queries, host)
        times.append(time.perf_counter())
        for phase, before, after in zip(PHASES, times, times[1:], strict=False):
            self.seconds[phase] += after - before
        self.batch_sizes.append(len(queries))
        self.forward_seconds += times[-2] - times[1]
        self.spans.append((times[0], times[-1]))
        return queries

    def wait(self, times: list[float]) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        times.append(time.perf_counter())

    def reset(self) -> None:
        self.seconds = dict.fromkeys(PHASES, 0.0)
        self.spans: list[tuple[float, float]] = []
        self.batch_sizes = []
        self.forward_seconds = 0.0


def phased(subject: Subject, max_batch: int) -> PhasedEvaluator:
    evaluator = PhasedEvaluator(
        subject.forwards(), subject.game, device=subject.device, max_batch=max_batch
    )
    evaluator.reset()
    return evaluator


@dataclass
class Run:
    """A run of the async driver from the deal to samples in the reservoirs.

    Attributes:
        seconds: wall time; `loop_seconds` of it the event loop's thread was computing.
        forward_seconds: in the forwards; reservoir_seconds: moving samples into the reservoirs.
        batch_sizes: of the batches it made.
    """

    nodes: int = 0
    seconds: float = 0.0
    loop_seconds: float = 0.0
    forward_seconds: float = 0.0
    reservoir_seconds: float = 0.0
    batch_sizes: list[int] = field(default_factory=list)

    @property
    def speed(self) -> float:
        """Nodes a second."""
        return self.nodes / self.seconds


async def run_batched(
    subject: Subject,
    solver: DeepCFRSolver,
    evaluator: Evaluator,
    driver: AsyncDriver,
    *,
    iteration: int = 1,
    batcher: Batcher[Waiting, Waiting] | None = None,
) -> Run:
    """What the solver does for one player, with an evaluator and a batcher of one's own."""
    traversals = solver.config.traversals
    plan = solver.plan(iteration, 0)
    collector = subject.collector(solver, iteration)
    walks = plan.walks(subject.game, range(traversals), collector.finished)
    if batcher is None:
        batcher = batcher_of(evaluator, max_batch=driver.max_batch, inline=True)
    evaluator.batch_sizes, evaluator.forward_seconds = [], 0.0
    started, computing = time.perf_counter(), time.thread_time()
    concurrency = min(driver.concurrency, traversals)
    await traverse_batched(concurrency, plan.scheme, walks, batcher, collector.add)
    collector.flush()
    return Run(
        nodes=collector.nodes,
        seconds=time.perf_counter() - started,
        loop_seconds=time.thread_time() - computing,
        forward_seconds=evaluator.forward_seconds,
        reservoir_seconds=collector.seconds,
        batch_sizes=evaluator.batch_sizes,
    )
