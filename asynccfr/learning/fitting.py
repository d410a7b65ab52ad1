"""Fitting a network to a reservoir: two losses.

A sample of iteration t with importance weight w counts w · t (linear CFR; Brown et al. 2019,
Algorithm 1). Both losses sum over the legal actions only and are divided by the mean weight in the
reservoir, so that neither the unit of the game nor that of the weights changes a gradient.
"""

import math
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypedDict, Unpack

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from asynccfr.config import Fit
from asynccfr.errors import ConfigError, TrainingDiverged
from asynccfr.learning.adam import Adam
from asynccfr.learning.descent import Descent, OnStep
from asynccfr.learning.merged import MergedSamples
from asynccfr.learning.reservoir import Batch, Reservoir
from asynccfr.networks import Network, masked_log_softmax
from asynccfr.reports import FitReport
from asynccfr.seeding import Rng

# Predicting 0 costs 1.0 for advantages, a uniform policy log(actions) for strategies.
EXPLODED = 100.0

Columns = dict[str, npt.NDArray[Any]]
Weights = npt.NDArray[np.float64]
Loss = Callable[[Tensor, Batch], Tensor]
"""Of the outputs for the legal actions [n, K] and their batch: a scalar."""


class Options(TypedDict, total=False):
    """How to fit, apart from the configuration.

    name: what errors call the network.
    dtype: arithmetic of forward and backward; parameters stay float32.
    device: where to train; the network is moved there.
    stop: looked at before every step, to end a fit that runs in a thread.
    on_step: as of `Descent`.
    """

    name: str
    dtype: torch.dtype
    device: torch.device | str
    stop: threading.Event
    on_step: OnStep


def fit_advantage(
    network: Network, reservoir: Reservoir, config: Fit, rng: Rng, **options: Unpack[Options]
) -> FitReport:
    """Fit a network in place to the weighted mean of the sampled regrets: squared error.

    Targets are divided by their weighted root mean square, which becomes `network.scale`: regret
    matching is blind to it, and a loss of 1.0 is that of predicting 0. Give it a new network, or
    the last one for a warm start.
    Raises ConfigError for an empty reservoir, TrainingDiverged for a loss that is not finite.
    """
    return _fit(ADVANTAGE, network, reservoir, config, rng, options)


def fit_average_strategy(
    network: Network, reservoir: Reservoir, config: Fit, rng: Rng, **options: Unpack[Options]
) -> FitReport:
    """Fit a network in place to the weighted mean of the sampled strategies: cross-entropy (nats).

    It has the minimiser of the paper's squared error, and still learns where a softmax saturates.
    Raises as `fit_advantage`.
    """
    return _fit(AVERAGE_STRATEGY, network, reservoir, config, rng, options)


def _squared_error(network: Network, columns: Columns, weights: Weights) -> Loss:
    mean_weight = float(np.mean(weights * np.count_nonzero(columns["actions"] >= 0, axis=1)))
    squares = np.einsum("n,nk,nk->", weights, columns["values"], columns["values"]) / len(weights)
    scale = math.sqrt(squares / mean_weight) or 1.0
    network.rescale(scale)

    def loss(outputs: Tensor, batch: Batch) -> Tensor:
        errors = (outputs - batch.values / scale).square() * batch.legal
        return (errors.sum(dim=1) * batch.weights * batch.iterations).mean() / mean_weight

    return loss


def _cross_entropy(network: Network, columns: Columns, weights: Weights) -> Loss:
    mean_weight = float(np.mean(weights))

    def loss(logits: Tensor, batch: Batch) -> Tensor:
        errors = -(batch.values * masked_log_softmax(logits, batch.legal)).sum(dim=1)
        return (errors * batch.weights * batch.iterations).mean() / mean_weight

    return loss


class Task(NamedTuple):
    """What a network is fitted as: in reports, in errors, and by which loss."""

    network: str
    default_name: str
    loss: Callable[[Network, Columns, Weights], Loss]


ADVANTAGE = Task("advantage", "advantage network", _squared_error)
AVERAGE_STRATEGY = Task("average strategy", "average-strategy network", _cross_entropy)


def _linear_weights(columns: Columns, name: str) -> Weights:
    """What every sample of a reservoir counts in linear CFR."""
    for field in ("values", "weights"):
        if not np.isfinite(columns[field]).all():
            raise TrainingDiverged(
                f"{name}: the reservoir holds {field} that are NaN or infinite, expected finite "
                "numbers; look at the game's returns"
            )
    return np.multiply(columns["weights"], columns["iterations"], dtype=np.float64)


def _fit(
    task: Task, network: Network, reservoir: Reservoir, config: Fit, rng: Rng, options: Options
) -> FitReport:
    begun = time.perf_counter()
    name = options.get("name", task.default_name)
    if not len(reservoir):
        raise ConfigError(
            f"{name}: no samples to fit it to; raise solver.traversals or, in self-play, "
            "solver.games"
        )
    weights = _linear_weights(reservoir.columns(), name)
    merged = MergedSamples.of(reservoir, weights)
    samples: Reservoir | MergedSamples
    if merged is None:
        samples, loss = reservoir, task.loss(network, reservoir.columns(), weights)
    else:
        samples, loss = merged, task.loss(network, merged.columns, merged.weights)
    device = torch.device(options.get("device", "cpu"))
    dtype = options.get("dtype", torch.float32)
    adam = Adam(network.to(device).parameters(), config.learning_rate)
    draws = np.random.default_rng(rng.bits())

    def losses() -> Iterator[Tensor]:
        for _ in range(config.steps):
            batch = samples.batch(draws, config.batch, device)
            with torch.autocast(device.type, dtype, enabled=dtype != torch.float32):
                outputs = network(batch.features)
            yield loss(outputs.float().gather(1, batch.actions), batch)

    stop, on_step = options.get("stop"), options.get("on_step")
    descent = Descent(name, adam, config.max_gradient_norm, stop, on_step)
    descent.run(losses())
    if descent.last > max(EXPLODED, 10 * descent.first):
        raise descent.diverged(
            f"the loss grew from {descent.first:.3g} to {descent.last:.3g} in {descent.steps} steps"
        )
    return descent.report(task.network, len(reservoir), begun)
