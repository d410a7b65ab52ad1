"""Placing some batches on a second evaluator, such as small ones on the CPU beside a GPU.

Fixed cost, cost per row and cost of moving weights say what each path costs; only a run in which
both compute says whether two are better than one. Without a GPU both paths are on the CPU.
"""

import threading

import torch
from msgspec import Struct

from asynccfr.cfr.query import Query
from asynccfr.config import AsyncDriver
from asynccfr.event_loop import run
from asynccfr.inference.drivers import batcher_of
from asynccfr.inference.evaluator import Evaluator
from asynccfr.networks import InferenceCopy
from asynccfr.profiling.contention import Forwards
from asynccfr.profiling.forward import Way
from asynccfr.profiling.forward import measure as measure_forward
from asynccfr.profiling.lines import Curve
from asynccfr.profiling.measuring import Spread, spread
from asynccfr.profiling.phases import run_batched
from asynccfr.profiling.subject import Scale, Subject, curve

SMALL, LARGE = 16, 256
RESIDENT = [1, 2, 4, 8]


class Path(Struct, frozen=True, kw_only=True):
    """One evaluator.

    Fields:
        forward: over the number of rows.
        weights: over the number of networks that are not there yet and must be brought.
        alone_us, together_us: a forward (LARGE rows on the first path, SMALL on the second), with
            the other path idle and with it busy.
    """

    device: str
    forward: Curve
    weights: Curve
    rows: int
    alone_us: Spread
    together_us: Spread


class Placement(Struct, frozen=True, kw_only=True):
    """Two paths, and runs of the same walks on the first alone and on both.

    Fields:
        small_batch: rows up to which a batch goes to the second path while the first is busy.
        both_over_first: of the nodes per second, each of two runs that followed each other.
        verdict: what those runs say.
    """

    paths: list[Path]
    small_batch: int
    first_only: Spread
    both: Spread
    both_over_first: Spread
    verdict: str


def measure(subject: Subject, scale: Scale) -> Placement:
    devices = [subject.device, torch.device("cpu")]
    threads = torch.get_num_threads()
    curves = []
    for device in devices:
        way = Way(device=device.type, dtype=subject.config.inference.dtype, threads=threads)
        found = measure_forward(subject, scale, way).curve
        assert found is not None
        curves.append((found, weights(subject, device, scale)))
    alone, together = contended(subject, devices, scale)
    small = max(SMALL, min(scale.concurrency // 4, LARGE))
    first, both = compared(subject, devices, scale, small)
    ratio = spread([b / a for a, b in zip(first, both, strict=True)])
    return Placement(
        paths=[
            Path(
                device=device.type,
                forward=forward,
                weights=brought,
                rows=rows,
                alone_us=spread(alone[i]),
                together_us=spread(together[i]),
            )
            for i, (device, (forward, brought), rows) in enumerate(
                zip(devices, curves, (LARGE, SMALL), strict=True)
            )
        ],
        small_batch=small,
        first_only=spread(first),
        both=spread(both),
        both_over_first=ratio,
        verdict=verdict(ratio),
    )


def verdict(ratio: Spread) -> str:
    """What the end-to-end runs say; nothing where their spread contains equality."""
    if ratio.p05 > 1:
        return f"both paths together ran at {ratio} times the first alone"
    if ratio.p95 < 1:
        return f"the first path alone is faster: both together ran at {ratio} times it"
    return f"no verdict: both together ran at {ratio} times the first alone"


def weights(subject: Subject, device: torch.device, scale: Scale) -> Curve:
    """Bringing the weights of so many networks to a device."""
    network = subject.solver().advantage_networks[0].cpu()

    def bring(count: int) -> None:
        for _ in range(count):
            InferenceCopy(network, dtype=subject.dtype, device=device)
        if device.type == "cuda":
            torch.cuda.synchronize(device)

    return curve(bring, scale, RESIDENT)


def contended(
    subject: Subject, devices: list[torch.device], scale: Scale
) -> tuple[list[list[float]], list[list[float]]]:
    """Microseconds per forward of each path: by itself, and while the other runs too."""
    forwards = [subject.forwards(device=device)[0] for device in devices]
    features = [subject.features(rows) for rows in (LARGE, SMALL)]
    alone: list[list[float]] = [[], []]
    together: list[list[float]] = [[], []]
    for _ in range(scale.repetitions + 1):
        for kept, groups in ((alone, ((0,), (1,))), (together, ((0, 1),))):
            for group in groups:
                running = [Forwards(forwards[i], features[i], devices[i], 0.1) for i in group]
                for thread in running:
                    thread.start()
                for i, thread in zip(group, running, strict=True):
                    thread.join()
                    kept[i].append(thread.us)
    return [each[1:] for each in alone], [each[1:] for each in together]


def compared(
    subject: Subject, devices: list[torch.device], scale: Scale, small: int
) -> tuple[list[float], list[float]]:
    """Nodes per second of the first path alone and of both, in turns; batches run in threads."""
    driver = AsyncDriver(concurrency=scale.concurrency, max_batch=max(1, scale.concurrency // 2))
    solver = subject.solver(traversals=scale.traversals)
    evaluators = [
        Evaluator(
            subject.forwards(device=device), subject.game, device=device, max_batch=driver.max_batch
        )
        for device in devices
    ]
    first: list[float] = []
    both: list[float] = []
    for iteration in range(scale.repetitions + 1):
        for kept, paths in ((first, evaluators[:1]), (both, evaluators)):
            batcher = batcher_of(
                Paths(paths, small), max_batch=driver.max_batch, max_concurrent_batches=len(paths)
            )
            ran = run(
                run_batched(
                    subject, solver, paths[0], driver, iteration=iteration + 1, batcher=batcher
                )
            )
            kept.append(ran.speed)
    return first[1:], both[1:]


class Paths:
    """A batch function on the first path, or for a small batch while that is busy on the second."""

    def __init__(self, evaluators: list[Evaluator], small: int) -> None:
        self.paths = [(evaluator, threading.Lock()) for evaluator in evaluators]
        self.small = small

    def __call__(self, queries: list[Query]) -> None:
        (first, busy), *others = self.paths
        if others and len(queries) <= self.small and busy.locked():
            first, busy = others[0]
        with busy:
            first(queries)
