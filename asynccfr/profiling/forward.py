"""The forward alone: its cost over the batch size, for every way to run it here."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from msgspec import Struct
from msgspec.structs import replace

from asynccfr.config import Network
from asynccfr.inference.devices import multiplies_bfloat16
from asynccfr.inference.evaluator import Forward, padded
from asynccfr.profiling.lines import Curve
from asynccfr.profiling.subject import Scale, Subject, curve

SHAPES = 16


class Way(Struct, frozen=True, kw_only=True):
    """A way to run a forward.

    Fields:
        threads: of torch.
        padded: each batch is run at one of few sizes; otherwise at its own.
        varied: batches of up to a quarter fewer rows, different every time, as a run has them.
    """

    device: str
    dtype: str
    threads: int
    compiled: bool = False
    padded: bool = True
    varied: bool = False

    def __str__(self) -> str:
        words = [self.device, self.dtype, f"{self.threads}t"]
        words += ["compiled"] * self.compiled
        words += [("padded" if self.padded else "unpadded")] * self.varied
        return " ".join(words)


class ForwardProfile(Struct, frozen=True, kw_only=True):
    """Its cost in one way, rows going in and outputs coming out on the host; None with why not."""

    way: Way
    curve: Curve | None
    failure: str = ""


def ways(subject: Subject, thread_counts: list[int], compiled: bool) -> list[Way]:
    dtypes = ["float32", "bfloat16"] if multiplies_bfloat16() else ["float32"]
    found = [
        Way(device="cpu", dtype=dtype, threads=threads)
        for threads, dtype in itertools.product(thread_counts, dtypes)
    ]
    if torch.cuda.is_available():
        found += [Way(device="cuda", dtype=dtype, threads=thread_counts[0]) for dtype in dtypes]
    usual = Way(
        device=subject.device.type, dtype=subject.config.inference.dtype, threads=thread_counts[-1]
    )
    found += [replace(usual, varied=True, padded=padding) for padding in (True, False)]
    if compiled:
        found.append(replace(usual, compiled=True))
    return found


def measure(
    subject: Subject, scale: Scale, way: Way, network: Network | None = None
) -> ForwardProfile:
    """Time one forward at every size; a way that does not work here says why."""
    device = torch.device(way.device)
    dtype: torch.dtype = getattr(torch, way.dtype)
    features = subject.features(padded(scale.most_rows))
    try:
        with torch_threads(way.threads):
            if way.compiled:
                forward = compiled(subject, device, dtype, network)
            else:
                forward, *_ = subject.forwards(device=device, dtype=dtype, network=network)
            return ForwardProfile(way=way, curve=curve(Call(forward, features, way), scale))
    except Exception as error:
        if not way.compiled:
            raise
        return ForwardProfile(way=way, curve=None, failure=str(error).strip().splitlines()[0])


def compiled(
    subject: Subject, device: torch.device, dtype: torch.dtype, network: Network | None
) -> Forward:
    module = subject.solver(network=network).advantage_networks[0].to(device, dtype)
    run = torch.compile(module, dynamic=True)

    def forward(rows: torch.Tensor) -> torch.Tensor:
        outputs: torch.Tensor = run(rows.to(dtype)).float()
        return outputs

    return forward


class Call:
    """A forward of so many rows."""

    def __init__(self, forward: Forward, features: torch.Tensor, way: Way) -> None:
        self.forward = forward
        self.features = features.pin_memory() if way.device == "cuda" else features
        self.way = way
        self.number = 0

    def __call__(self, rows: int) -> None:
        if self.way.varied:
            self.number += 1
            rows -= rows * (self.number % SHAPES) // (4 * SHAPES)
        if self.way.padded:
            rows = padded(rows)
        with torch.inference_mode():
            batch = self.features[:rows].to(self.way.device, non_blocking=True)
            self.forward(batch).cpu()


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Have torch use so many threads for a while."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
