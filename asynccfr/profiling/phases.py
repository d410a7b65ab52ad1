"""What times the phases of an evaluator, and the real run of the async driver around it."""

import time
from dataclasses import dataclass, field

import torch

from asynccfr.batcher import Batcher
from asynccfr.cfr.crew import Waiting
from asynccfr.config import AsyncDriver
from asynccfr.inference.drivers import batcher_of, traverse_batched
from asynccfr.inference.evaluator import BEGIN, LAUNCH, PHASES, SCATTER, Evaluator
from asynccfr.inference.tally import Tally
from asynccfr.profiling.subject import Subject
from asynccfr.solvers.deep_cfr import DeepCFRSolver


class Stopwatch:
    """Times each phase of a batch; on a GPU it waits for each to end, so that none hides another.

    Attributes:
        seconds: the sum of each phase, by its name.
        spans: when each batch began and ended, seconds of `time.perf_counter`.
    """

    def __init__(self, device: torch.device) -> None:
        self.on_gpu = device.type == "cuda"
        self.device = device
        self.reset()

    def reset(self) -> None:
        self.seconds = dict.fromkeys(PHASES, 0.0)
        self.spans: list[tuple[float, float]] = []
        self.began = self.last = 0.0

    def __call__(self, phase: str) -> None:
        if phase == LAUNCH and not self.on_gpu:  # launching and computing are one
            return
        if phase != LAUNCH and self.on_gpu:
            torch.cuda.synchronize(self.device)
        now = time.perf_counter()
        if phase == BEGIN:
            self.began = now
        else:
            self.seconds[phase] += now - self.last
        self.last = now
        if phase == SCATTER:
            self.spans.append((self.began, now))


@dataclass
class Run:
    """A run of the async driver from the deal to samples in the reservoirs.

    Attributes:
        seconds: wall time; `loop_seconds` of it the event loop's thread was computing.
        reservoir_seconds: moving samples into the reservoirs.
        inference: its forwards.
    """

    nodes: int = 0
    seconds: float = 0.0
    loop_seconds: float = 0.0
    reservoir_seconds: float = 0.0
    inference: Tally = field(default_factory=Tally)

    @property
    def speed(self) -> float:
        """Nodes per second."""
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
    evaluator.tally = Tally()
    started, computing = time.perf_counter(), time.thread_time()
    concurrency = min(driver.concurrency, traversals)
    await traverse_batched(concurrency, plan.scheme, walks, batcher, collector.add)
    collector.flush()
    return Run(
        nodes=collector.nodes,
        seconds=time.perf_counter() - started,
        loop_seconds=time.thread_time() - computing,
        reservoir_seconds=collector.seconds,
        inference=evaluator.tally,
    )
