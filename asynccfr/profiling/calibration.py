"""A model of nodes per second, checked against every configuration of a grid.

A run takes as long as everything but its forwards, and its forwards. Both are measured in runs of
the other configurations, never of the one that is predicted: all that is not a forward, and the
sizes of the batches, where as many games wait for the same network in another dtype or with other
threads; what a forward of so many rows costs, where the same network answers other numbers of
games. The runs take turns, so that both sides see the same machine. The model is used only where
it is right.
"""

import itertools
import os
from collections import defaultdict
from collections.abc import Callable, Sequence

import numpy as np
import torch
from msgspec import Struct
from msgspec.structs import replace

from asynccfr.config import AsyncDriver, Inference, Network
from asynccfr.event_loop import run
from asynccfr.inference.devices import multiplies_bfloat16
from asynccfr.inference.evaluator import Forward, padded
from asynccfr.profiling.forward import torch_threads
from asynccfr.profiling.lines import fit
from asynccfr.profiling.measuring import Spread, spread
from asynccfr.profiling.phases import Run, run_batched
from asynccfr.profiling.subject import Scale, Subject

TRUSTED_ERROR = 0.10
NEAR_BEST = 0.90
REPETITIONS = 2


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
    """Predicted and measured nodes per second; `error` is predicted / measured - 1."""

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


class Trial(Struct, frozen=True, kw_only=True):
    """One run of a setting."""

    setting: Setting
    ran: Run

    @property
    def batches(self) -> list[tuple[int, float]]:
        """The padded rows of each forward and its seconds."""
        inference = self.ran.inference
        return [*zip(map(padded, inference.batch_sizes), inference.seconds, strict=True)]

    @property
    def outside_seconds(self) -> float:
        """Of a node, all but the forwards."""
        return (self.ran.seconds - self.ran.inference.forward_seconds) / self.ran.nodes


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
    networks = {
        (width, dtype): subject.forwards(
            dtype=getattr(torch, dtype), network=narrowed(subject, width)
        )
        for width, dtype in {(setting.width, setting.dtype) for setting in settings}
    }
    trials: list[Trial] = []
    for iteration in range(REPETITIONS + 1):
        for setting in settings:
            forwards = networks[setting.width, setting.dtype]
            done = trial(subject, scale, setting, forwards, iteration)
            trials += [done] if iteration else []
    return judged(
        [prediction(setting, trials) for setting in settings],
        subject.solver().config.network.width,
    )


def trial(
    subject: Subject, scale: Scale, setting: Setting, forwards: list[Forward], iteration: int
) -> Trial:
    """Run a setting; the first iteration is a short one that warms up."""
    traversals = max(setting.concurrency, scale.traversals // 8) if iteration else 1
    driver = AsyncDriver(concurrency=setting.concurrency, max_batch=setting.max_batch)
    solver = subject.solver(Inference(driver=driver), traversals=traversals)
    evaluator = subject.evaluator(driver.max_batch, forwards)
    with torch_threads(setting.threads):
        ran = run(run_batched(subject, solver, evaluator, driver, iteration=iteration + 1))
    return Trial(setting=setting, ran=ran)


def narrowed(subject: Subject, width: int) -> Network:
    return replace(subject.solver().config.network, width=width)


def prediction(setting: Setting, trials: Sequence[Trial]) -> Prediction:
    """Nodes per second of a setting, from the trials of all others."""
    others = [each for each in trials if each.setting != setting]
    alike = [each for each in others if games_alike(each.setting, setting)]
    same_network = [each for each in alike if each.setting.width == setting.width] or alike
    cost = forward_cost([each for each in others if forwards_alike(each.setting, setting)])
    outside = np.median([each.outside_seconds for each in same_network])
    forwards = np.median(
        [sum(cost(rows) for rows, _ in each.batches) / each.ran.nodes for each in same_network]
    )
    predicted = 1 / float(outside + forwards)
    measured = spread([each.ran.speed for each in trials if each.setting == setting])
    return Prediction(
        setting=setting,
        predicted=predicted,
        measured=measured,
        error=predicted / measured.median - 1,
    )


def games_alike(one: Setting, other: Setting) -> bool:
    return (one.concurrency, one.max_batch) == (other.concurrency, other.max_batch)


def forwards_alike(one: Setting, other: Setting) -> bool:
    return (one.width, one.dtype, one.threads) == (other.width, other.dtype, other.threads)


def forward_cost(trials: Sequence[Trial]) -> Callable[[int], float]:
    """Seconds of a forward by its padded rows: as met where it was, on a line beyond."""
    met: defaultdict[int, list[float]] = defaultdict(list)
    for each in trials:
        for rows, seconds in each.batches:
            met[rows].append(seconds)
    sizes = sorted(met)
    medians = [float(np.median(met[size])) for size in sizes]
    per_row = fit(sizes, medians).per_row_us if len(sizes) > 2 else 0.0

    def cost(rows: int) -> float:
        if rows <= sizes[-1]:
            return float(np.interp(rows, sizes, medians))
        return medians[-1] + per_row * (rows - sizes[-1])

    return cost


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
