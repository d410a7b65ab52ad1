"""From finished walks to reservoirs."""

import time
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from asynccfr.cfr.finished import KINDS, FinishedWalk
from asynccfr.cfr.samples import SampleBuffer
from asynccfr.cfr.walk import Walk
from asynccfr.games import Game
from asynccfr.learning.reservoir import Reservoir, Samples
from asynccfr.seeding import RESERVOIR, stream
from asynccfr.solvers.protocol import Progress

FLUSH_SAMPLES = 4096


class Intake(NamedTuple):
    """The way of one kind of samples: from the walks' attribute `kind` to a reservoir."""

    kind: str
    buffer: SampleBuffer
    memory: Reservoir
    rng: np.random.Generator


class Collector:
    """Moves finished walks' samples into the reservoirs, in order and in large blocks.

    Args:
        game: the game that is walked.
        seed: the run's; the reservoirs' draws derive from it, the iteration and the traverser.
        iteration: what the samples are stored with.
        traverser: whose walks they are.
        traversals: how many walks there will be.
        memories: where each of `KINDS` goes; None for one that is not wanted.
        progress: told of every walk.
    """

    def __init__(
        self,
        game: Game,
        seed: int,
        iteration: int,
        traverser: int,
        traversals: int,
        memories: Mapping[str, Reservoir | None],
        progress: Progress,
    ) -> None:
        self.iteration = iteration
        self.total = traversals
        self.progress = progress
        self.done = 0
        self.nodes = 0
        self.finished: list[Walk] = []
        self.digest = 0
        self.seconds = 0.0
        self.intakes: list[Intake] = []
        for kind, memory in memories.items():
            if memory is not None:
                rng = stream(seed, (RESERVOIR, iteration, traverser, KINDS.index(kind)))
                buffer = SampleBuffer(game, histories=kind == "histories")
                self.intakes.append(Intake(kind, buffer, memory, np.random.default_rng(rng.bits())))

    def add(self, walk: Walk | FinishedWalk) -> None:
        """Take the samples of a finished walk."""
        for intake in self.intakes:
            intake.buffer.extend(getattr(walk, intake.kind))
        self.nodes += walk.nodes
        self.done += 1
        if isinstance(walk, Walk):
            self.finished.append(walk)
        self.progress("traverse", self.done, self.total)
        if max(len(intake.buffer) for intake in self.intakes) >= FLUSH_SAMPLES:
            self.flush()

    def flush(self) -> None:
        started = time.perf_counter()
        for intake in self.intakes:
            self.digest = intake.buffer.digest(self.digest)
            intake.memory.extend(Samples(*intake.buffer.take()), self.iteration, intake.rng)
        self.seconds += time.perf_counter() - started
