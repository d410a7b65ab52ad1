"""A worker: the playing half of a solver, in a process that may be anywhere.

It knows no cluster: given weights and a part of an iteration, it computes what the part yields.
"""

import pickle
import platform
import time
from asyncio import Runner
from collections.abc import Iterator
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import torch
import zstandard
from msgspec.structs import replace

from asynccfr.cfr.episode import Decisions
from asynccfr.cfr.finished import Bundle
from asynccfr.config import NoCluster, TrainConfig
from asynccfr.event_loop import new_event_loop
from asynccfr.games import configured_game
from asynccfr.solvers import make_solver
from asynccfr.solvers.pool import Harvest, Part, Weights


class Reply(NamedTuple):
    """What a part yielded, and who computed it.

    Fields:
        version: of the weights that were used.
        worker: its machine and process.
        processor: what it computes with: where that differs, the last bits of a sum may.
        seconds: that the part took.
        nbytes: that travelled.
    """

    harvest: Harvest
    version: int
    worker: str
    processor: str
    seconds: float
    nbytes: int

    def packed(self) -> "PackedReply":
        """The same, in about a tenth of the bytes."""
        buffers: list[pickle.PickleBuffer] = []
        frame = pickle.dumps(self, protocol=5, buffer_callback=buffers.append)
        press = zstandard.ZstdCompressor(level=1)
        return PackedReply(frame, [press.compress(buffer.raw()) for buffer in buffers])


class PackedReply(NamedTuple):
    """A compressed `Reply`."""

    frame: bytes
    buffers: list[bytes]

    def unpacked(self) -> Reply:
        opener = zstandard.ZstdDecompressor()
        reply: Reply = pickle.loads(self.frame, buffers=map(opener.decompress, self.buffers))
        return reply._replace(nbytes=len(self.frame) + sum(map(len, self.buffers)))


class Worker:
    """Computes parts of iterations, one at a time."""

    def __init__(self, config: TrainConfig, name: str) -> None:
        torch.set_num_threads(config.inference.threads or 1)
        alone = replace(config, cluster=NoCluster())
        self.sampler = make_solver(alone, configured_game(config.game))
        self.name = name
        self.version: int | None = None
        self.runner = Runner(loop_factory=new_event_loop)

    def compute(self, part: Part, weights: Weights) -> Reply:
        """What a part yields with these weights."""
        started = time.perf_counter()
        if self.version != weights.version:
            self.sampler.take(weights)
            self.version = weights.version
        harvest = self.runner.run(self.sampler.sample(part))
        seconds = time.perf_counter() - started
        nbytes = sum(column.nbytes for column in columns_of(harvest.samples))
        return Reply(harvest, self.version, self.name, processor(), seconds, nbytes)


def processor() -> str:
    """What this machine computes with: where it differs, the last bits of a sum may."""
    return f"{platform.machine()} {torch.backends.cpu.get_cpu_capability()}"


def columns_of(samples: Bundle | Decisions) -> Iterator[np.ndarray[Any, Any]]:
    return chain.from_iterable(samples.columns) if isinstance(samples, Bundle) else iter(samples)
