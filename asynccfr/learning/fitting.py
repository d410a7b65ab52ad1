"""Fitting a network to a reservoir: one loop of Adam, two losses.

A sample of iteration t with importance weight w counts w · t (linear CFR; Brown et al. 2019,
Algorithm 1). Both losses sum over the legal actions only and are divided by the mean weight in the
reservoir, so that neither the unit of the game nor that of the weights changes a gradient.
"""

import math
import threading
import time
from collections.abc import Callable
from statistics import fmean
from typing import Any, TypedDict, Unpack

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from asynccfr.config import Fit
from asynccfr.errors import ConfigError, TrainingDiverged
from asynccfr.learning.adam import Adam
from asynccfr.learning.merged import MergedSamples
from asynccfr.learning.reservoir import Batch, Reservoir
from asynccfr.networks import Network, masked_log_softmax
from asynccfr.reports import FitReport
from asynccfr.seeding import Rng

# Steps between looks at the loss: a look waits for the device.
STEPS_PER_CHECK = 20

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
    on_step: called with the steps taken and their mean loss, every `STEPS_PER_CHECK` steps.
    """

    name: str
    dtype: torch.dtype
    device: torch.device | str
    stop: threading.Event
    on_step: Callable[[int, float], None]


def fit_advantage(
    network: Network, reservoir: Reservoir, config: Fit, rng: Rng, **options: Unpack[Options]
) -> FitReport:
    """Fit a network in place to the weighted mean of the sampled regrets: squared error.

    Targets are divided by their weighted root mean square, which becomes `network.scale`: regret
    matching is blind to it, and a loss of 1.0 is that of predicting 0. Give it a new network, or
    the last one for a warm start.
    Raises ConfigError for an empty reservoir, TrainingDiverged for a loss that is not finite.
    """
    options.setdefault("name", "advantage network")
    return _fit("advantage", network, reservoir, config, rng, _squared_error, **options)


def fit_average_strategy(
    network: Network, reservoir: Reservoir, config: Fit, rng: Rng, **options: Unpack[Options]
) -> FitReport:
    """Fit a network in place to the weighted mean of the sampled strategies: cross-entropy (nats).

    It has the minimiser of the paper's squared error, and still learns where a softmax saturates.
    Raises as `fit_advantage`.
    """
    options.setdefault("name", "average-strategy network")
    return _fit("average strategy", network, reservoir, config, rng, _cross_entropy, **options)


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
    kind: str,
    network: Network,
    reservoir: Reservoir,
    config: Fit,
    rng: Rng,
    objective: Callable[[Network, Columns, Weights], Loss],
    *,
    name: str,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str = "cpu",
    stop: threading.Event | None = None,
    on_step: Callable[[int, float], None] | None = None,
) -> FitReport:
    begun = time.perf_counter()
    if not len(reservoir):
        raise ConfigError(
            f"{name}: no samples to fit it to; raise solver.traversals or, in self-play, "
            "solver.games"
        )
    weights = _linear_weights(reservoir.columns(), name)
    merged = MergedSamples.of(reservoir, weights)
    samples: Reservoir | MergedSamples
    if merged is None:
        samples, loss = reservoir, objective(network, reservoir.columns(), weights)
    else:
        samples, loss = merged, objective(network, merged.columns, merged.weights)
    device = torch.device(device)
    parameters = list(network.to(device).parameters())
    adam = Adam(parameters, config.learning_rate)
    draws = np.random.default_rng(rng.bits())
    recent: list[Tensor] = []
    losses: list[float] = []
    step = 0
    while step < config.steps and not (stop and stop.is_set()):
        batch = samples.batch(draws, config.batch, device)
        with torch.autocast(device.type, dtype, enabled=dtype != torch.float32):
            outputs = network(batch.features)
        value = loss(outputs.float().gather(1, batch.actions), batch)
        adam.descend(value, config.max_gradient_norm)
        step += 1
        recent.append(value.detach())
        if step % STEPS_PER_CHECK == 0 or step == config.steps:
            latest = torch.stack(recent).tolist()
            if not math.isfinite(sum(latest)):
                raise TrainingDiverged(
                    f"{name}: the loss is {latest[-1]} after {step} steps, expected a finite "
                    f"number; lower learning_rate ({config.learning_rate:g}) or "
                    f"max_gradient_norm ({config.max_gradient_norm:g})"
                )
            recent.clear()
            losses += latest
            if on_step is not None:
                on_step(step, fmean(latest))
    if not all(parameter.isfinite().all() for parameter in parameters):
        raise TrainingDiverged(
            f"{name}: its parameters are no longer finite after {step} steps; lower learning_rate "
            f"({config.learning_rate:g}) or max_gradient_norm ({config.max_gradient_norm:g})"
        )
    tenth = math.ceil(len(losses) / 10)
    if losses and fmean(losses[-tenth:]) > max(EXPLODED, 10 * fmean(losses[:tenth])):
        raise TrainingDiverged(
            f"{name}: the loss grew from {fmean(losses[:tenth]):.3g} to "
            f"{fmean(losses[-tenth:]):.3g} in {step} steps; lower learning_rate "
            f"({config.learning_rate:g})"
        )
    return FitReport(
        network=kind,
        samples=len(reservoir),
        steps=step,
        loss_first=fmean(losses[:tenth]) if losses else math.nan,
        loss_last=fmean(losses[-tenth:]) if losses else math.nan,
        seconds=time.perf_counter() - begun,
    )
