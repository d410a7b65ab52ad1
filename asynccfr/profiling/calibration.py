"""A model of nodes a second, checked against every configuration of a grid.

A run takes as long as everything but its forwards, and its forwards. The first is a run of the same
driver whose network costs nothing; it also says which batches are met. The second sums, over those
batches, what the forward profile of the network says. The model is used only where it is right.
"""

import itertools
import os
from collections.abc import Sequence

import numpy as np
import torch
from msgspec import Struct
from msgspec.structs import replace

from asynccfr.config import AsyncDriver, Inference, Network
from asynccfr.event_loop import run
from asynccfr.inference.evaluator import Forward, padded
from asynccfr.profiling.forward import Way, torch_threads
from asynccfr.profiling.forward import measure as measure_forward
from asynccfr.profiling.lines import Curve
from asynccfr.profiling.measuring import Spread, multiplies_bfloat16, spread
from asynccfr.profiling.phases import Run, run_batched
from asynccfr.profiling.subject import OUTPUT_SCALE, Scale, Subject

TRUSTED_ERROR = 0.10
NEAR_BEST = 0.90
MOST_REPETITIONS = 3


class Setting(Struct, frozen=True, kw_only=True):
    """One configuration of the grid."""

    concurrency: int
    max_batch: int
    width: int
    dtype: str
    threads: int

    def __str__(self) -> str:
        return (
            f"concurrency {self.concurrency}, max_batch {self.max_batch}, {self.dtype}, "
            f"{self.threads} threads"
        )


class Prediction(Struct, frozen=True, kw_only=True):
    """Predicted and measured nodes a second; `error` is predicted / measured - 1."""

    setting: Setting
    predicted: float
    measured: Spread
    error: float


class Calibration(Struct, frozen=True, kw_only=True):
    """The grid.

    Fields:
        recommended: the setting of the user's network that the model expects to be fastest; None
            unless the median error is at most 10% and, run itself, it is within 10% of the best.
        reason: why there is a recommendation, or none.
    """

    predictions: list[Prediction]
    median_error: float
    recommended: Setting | None
    reason: str


def grid(subject: Subject, scale: Scale) -> list[Setting]:
    """At least 24 settings: the user's network and a narrower one, up to all cores."""
    most = scale.concurrency
    width = subject.solver().config.network.width
    cores = sorted({1, os.cpu_count() or 1})
    dtypes = ["float32", "bfloat16"] if multiplies_bfloat16() else ["float32"]
    concurrencies = [max(1, most // 8), max(1, most // 3), most]
    shares = (1, 4) if len(cores) * len(dtypes) > 1 else (1, 2, 4, 8)
    batches = [max(1, most // share) for share in shares]
    return [
        Setting(concurrency=c, max_batch=b, width=w, dtype=d, threads=t)
        for w, d, t, b, c in itertools.product(
            (width, max(8, width // 4)), dtypes, cores, batches, concurrencies
        )
    ]


def measure(subject: Subject, scale: Scale) -> Calibration:
    settings = grid(subject, scale)
    drivers = {
        (s.concurrency, s.max_batch): AsyncDriver(concurrency=s.concurrency, max_batch=s.max_batch)
        for s in settings
    }
    curves = {
        key: forward_curve(subject, scale, *key)
        for key in {(s.width, s.dtype, s.threads) for s in settings}
    }
    speeds: list[list[float]] = [[] for _ in settings]
    without: dict[tuple[int, int], list[Run]] = {key: [] for key in drivers}
    for iteration in range(min(scale.repetitions, MOST_REPETITIONS)):
        for key, driver in drivers.items():
            free = free_forwards(subject, driver.max_batch)
            without[key].append(end_to_end(subject, scale, driver, free, iteration))
        for setting, kept in zip(settings, speeds, strict=True):
            driver = drivers[setting.concurrency, setting.max_batch]
            forwards = subject.forwards(
                dtype=getattr(torch, setting.dtype), network=narrowed(subject, setting.width)
            )
            with torch_threads(setting.threads):
                kept.append(end_to_end(subject, scale, driver, forwards, iteration).speed)
    return judged(
        [
            prediction(
                setting,
                without[setting.concurrency, setting.max_batch],
                curves[setting.width, setting.dtype, setting.threads],
                kept,
            )
            for setting, kept in zip(settings, speeds, strict=True)
        ],
        subject.solver().config.network.width,
    )


def narrowed(subject: Subject, width: int) -> Network:
    return replace(subject.solver().config.network, width=width)


def forward_curve(subject: Subject, scale: Scale, width: int, dtype: str, threads: int) -> Curve:
    way = Way(device=subject.device.type, dtype=dtype, threads=threads)
    found = measure_forward(subject, scale, way, narrowed(subject, width)).curve
    assert found is not None
    return found


def free_forwards(subject: Subject, max_batch: int) -> list[Forward]:
    """Networks that cost nothing and have mixed policies."""
    generator = torch.Generator().manual_seed(0)
    shape = (padded(max_batch), subject.game.num_actions)
    outputs = OUTPUT_SCALE * torch.randn(shape, generator=generator)
    return [lambda rows: outputs[: len(rows)]] * subject.game.num_players


def end_to_end(
    subject: Subject, scale: Scale, driver: AsyncDriver, forwards: list[Forward], iteration: int
) -> Run:
    traversals = max(driver.concurrency, scale.traversals // 4)
    solver = subject.solver(Inference(driver=driver), traversals=traversals)
    evaluator = subject.evaluator(driver.max_batch, forwards)
    return run(run_batched(subject, solver, evaluator, driver, iteration=iteration + 1))


def prediction(
    setting: Setting, without: Sequence[Run], curve: Curve, speeds: list[float]
) -> Prediction:
    outside = [(ran.seconds - ran.forward_seconds) / ran.nodes for ran in without]
    forwards = [
        sum(curve.at(padded(size)) for size in ran.batch_sizes) * 1e-6 / ran.nodes
        for ran in without
    ]
    predicted = 1 / float(np.median(outside) + np.median(forwards))
    measured = spread(speeds)
    return Prediction(
        setting=setting,
        predicted=predicted,
        measured=measured,
        error=predicted / measured.median - 1,
    )


def judged(predictions: list[Prediction], width: int) -> Calibration:
    """Recommend among the settings of that width, if the model has earned it."""
    median_error = float(np.median([abs(each.error) for each in predictions]))
    own = [each for each in predictions if each.setting.width == width]
    chosen = max(own, key=lambda each: each.predicted)
    best = max(each.measured.median for each in own)
    share = chosen.measured.median / best
    recommended = None
    if median_error > TRUSTED_ERROR:
        reason = f"no recommendation: the model's median error is {median_error:.0%}, above 10%"
    elif share < NEAR_BEST:
        reason = (
            f"no recommendation: the setting that the model prefers ({chosen.setting}) ran at "
            f"{share:.0%} of the best of the grid, below 90%"
        )
    else:
        recommended = chosen.setting
        reason = (
            f"recommended: {chosen.setting}; it ran at {share:.0%} of the best of the grid, and "
            f"the model's median error is {median_error:.0%}"
        )
    return Calibration(
        predictions=predictions, median_error=median_error, recommended=recommended, reason=reason
    )
