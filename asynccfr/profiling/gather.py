"""Moving rows: into the batch buffer, and where there is a GPU between host and device."""

from functools import partial

import numpy as np
import torch
from msgspec import Struct

from asynccfr.profiling.lines import Curve
from asynccfr.profiling.subject import Scale, Subject, curve


class Gather(Struct, frozen=True, kw_only=True):
    """One way for rows to travel.

    Fields:
        bytes_per_row: as they are copied.
        latency_bound_below: rows below which the fixed part of a copy is most of it, None if rows
            cost nothing.
    """

    name: str
    bytes_per_row: int
    curve: Curve
    latency_bound_below: float | None


def measure(subject: Subject, scale: Scale) -> list[Gather]:
    rows = subject.features(scale.most_rows)
    spots = np.random.default_rng(0).permutation(len(rows))
    source, buffer = rows.numpy(), np.empty_like(rows.numpy())

    def scattered(count: int) -> None:
        source.take(spots[:count], axis=0, out=buffer[:count], mode="clip")

    def contiguous(count: int) -> None:
        buffer[:count] = source[:count]

    found = [
        gather("scattered into batch", curve(scattered, scale), rows),
        gather("block into batch", curve(contiguous, scale), rows),
    ]
    if torch.cuda.is_available():
        found += on_device(subject, rows, scale)
    return found


def on_device(subject: Subject, rows: torch.Tensor, scale: Scale) -> list[Gather]:
    """Copies to and from a GPU, each until it has arrived, and what only issuing one costs."""
    pinned, there = rows.pin_memory(), rows.to("cuda")
    outputs = torch.zeros((len(rows), subject.game.num_actions), device="cuda")

    def arrive(host: torch.Tensor, non_blocking: bool, count: int) -> None:
        there[:count].copy_(host[:count], non_blocking=non_blocking)
        torch.cuda.synchronize()

    def back(count: int) -> None:
        outputs[:count].cpu()

    ways = {
        "to device, pageable": partial(arrive, rows, False),
        "to device, pinned": partial(arrive, pinned, False),
        "to device, non-blocking": partial(arrive, pinned, True),
    }
    found = [gather(name, curve(way, scale), rows) for name, way in ways.items()]
    return [*found, gather("to host", curve(back, scale), outputs)]


def gather(name: str, measured: Curve, rows: torch.Tensor) -> Gather:
    line = measured.line
    return Gather(
        name=name,
        bytes_per_row=rows[0].numel() * rows.element_size(),
        curve=measured,
        latency_bound_below=line.fixed_us / line.per_row_us if line.per_row_us else None,
    )
