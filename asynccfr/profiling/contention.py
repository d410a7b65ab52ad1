"""Walks and forwards alone and at the same time: they share cores, memory and the interpreter."""

import threading
import time

import torch
from msgspec import Struct

from asynccfr.inference.evaluator import Forward, padded
from asynccfr.profiling.measuring import Spread, spread
from asynccfr.profiling.subject import Scale, Subject
from asynccfr.profiling.whole_run import node_us

SHORT, LONG = 0.1, 60.0


class Contention(Struct, frozen=True, kw_only=True):
    """Forwards of so many rows in a thread, walks in another.

    Fields:
        walks_slowdown, forwards_slowdown: by each other, 1 for none.
    """

    rows: int
    node_us_alone: Spread
    node_us_together: Spread
    forward_us_alone: Spread
    forward_us_together: Spread
    walks_slowdown: float
    forwards_slowdown: float


def measure(subject: Subject, scale: Scale) -> Contention:
    rows = padded(min(scale.concurrency, 256))
    forward, *_ = subject.forwards()
    features = subject.features(rows)
    alone: list[float] = []
    together: list[float] = []
    walks_alone: list[float] = []
    walks_together: list[float] = []
    for repetition in range(scale.repetitions + 1):
        background = Forwards(forward, features, subject.device)
        calm = node_us(subject, scale)
        background.start()
        busy = node_us(subject, scale)
        background.stop.set()
        background.join()
        quiet = Forwards(forward, features, subject.device, SHORT)
        quiet.start()
        quiet.join()
        if repetition:
            walks_alone.append(calm)
            walks_together.append(busy)
            alone.append(quiet.us)
            together.append(background.us)
    spreads = [spread(each) for each in (walks_alone, walks_together, alone, together)]
    return Contention(
        rows=rows,
        node_us_alone=spreads[0],
        node_us_together=spreads[1],
        forward_us_alone=spreads[2],
        forward_us_together=spreads[3],
        walks_slowdown=spreads[1].median / spreads[0].median,
        forwards_slowdown=spreads[3].median / spreads[2].median,
    )


class Forwards(threading.Thread):
    """Runs one forward after the other, for so many seconds or until it is told to stop.

    Attributes:
        us: microseconds of each.
    """

    def __init__(
        self,
        forward: Forward,
        features: torch.Tensor,
        device: torch.device,
        seconds: float = LONG,
    ) -> None:
        super().__init__()
        self.forward = forward
        self.features = features
        self.device = device
        self.seconds = seconds
        self.stop = threading.Event()
        self.us = 0.0

    def run(self) -> None:
        started, count = time.perf_counter(), 0
        with torch.inference_mode():
            while not count or (
                time.perf_counter() - started < self.seconds and not self.stop.is_set()
            ):
                self.forward(self.features.to(self.device)).cpu()
                count += 1
        self.us = (time.perf_counter() - started) / count * 1e6
